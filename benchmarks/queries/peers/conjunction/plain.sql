SELECT a.account, least(a.ts, b.ts, c.ts) AS match_start, greatest(a.ts, b.ts, c.ts) AS match_end,
  a.ts AS a_ts, a.amount AS a_amount, b.ts AS b_ts, b.amount AS b_amount, c.ts AS c_ts, c.amount AS c_amount
FROM busy AS a
JOIN busy AS b ON b.account = a.account AND b.ts BETWEEN a.ts - INTERVAL '40' SECOND AND a.ts + INTERVAL '40' SECOND
JOIN busy AS c ON c.account = a.account AND c.ts BETWEEN a.ts - INTERVAL '40' SECOND AND a.ts + INTERVAL '40' SECOND
WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C'
  AND greatest(a.ts, b.ts, c.ts) <= least(a.ts, b.ts, c.ts) + INTERVAL '40' SECOND
