-- Interval joins; their bounds are in milliseconds, those in microseconds are exact.
SELECT a.account, a.ts_us AS match_start, c.ts_us AS match_end, a.amount AS a, b.amount AS b, c.amount AS c
FROM (SELECT * FROM rare WHERE type = 'A') AS a
JOIN (SELECT * FROM rare WHERE type = 'B') AS b
  ON b.account = a.account AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '175' MINUTE(3)
JOIN (SELECT * FROM rare WHERE type = 'C') AS c
  ON c.account = a.account AND c.ts BETWEEN a.ts AND a.ts + INTERVAL '175' MINUTE(3)
WHERE b.ts_us > a.ts_us AND c.ts_us > b.ts_us AND c.ts_us <= a.ts_us + 10500000000 AND c.amount > a.amount
