-- Interval joins; their bounds are in milliseconds, those in microseconds are exact.
SELECT a.account, a.ts_us AS match_start, c.ts_us AS match_end, a.amount AS a, b.amount AS b, c.amount AS c
FROM (SELECT * FROM busy WHERE type = 'A') AS a
JOIN (SELECT * FROM busy WHERE type = 'B') AS b
  ON b.account = a.account AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '105' SECOND(3)
JOIN (SELECT * FROM busy WHERE type = 'C') AS c
  ON c.account = a.account AND c.ts BETWEEN a.ts AND a.ts + INTERVAL '105' SECOND(3)
WHERE b.ts_us > a.ts_us AND c.ts_us > b.ts_us AND c.ts_us <= a.ts_us + 105000000 AND c.amount > a.amount
