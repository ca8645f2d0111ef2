-- No B lies between two events that have seen the same number of them.
WITH counted AS (
  SELECT account, ts, type, amount, sum(CASE WHEN type = 'B' THEN 1 ELSE 0 END) OVER (PARTITION BY account ORDER BY ts) AS seen
  FROM busy
)
SELECT a.account, a.ts AS match_start, c.ts AS match_end, a.amount AS a, c.amount AS c
FROM counted AS a
JOIN counted AS c ON c.account = a.account AND c.seen = a.seen AND c.ts > a.ts AND c.ts <= a.ts + INTERVAL '105' SECOND
WHERE a.type = 'A' AND c.type = 'C' AND c.amount > a.amount
