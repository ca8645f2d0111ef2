-- Interval joins; their bounds are in milliseconds, those in microseconds are exact.
SELECT a.account, a.ts_us AS a_us, a.amount AS a_amount, b.ts_us AS b_us, b.amount AS b_amount, c.ts_us AS c_us,
  c.amount AS c_amount
FROM (SELECT * FROM busy WHERE type = 'A') AS a
JOIN (SELECT * FROM busy WHERE type = 'B') AS b
  ON b.account = a.account AND b.ts BETWEEN a.ts - INTERVAL '40' SECOND AND a.ts + INTERVAL '40' SECOND
JOIN (SELECT * FROM busy WHERE type = 'C') AS c
  ON c.account = a.account AND c.ts BETWEEN a.ts - INTERVAL '40' SECOND AND a.ts + INTERVAL '40' SECOND
WHERE GREATEST(a.ts_us, b.ts_us, c.ts_us) <= LEAST(a.ts_us, b.ts_us, c.ts_us) + 40000000
