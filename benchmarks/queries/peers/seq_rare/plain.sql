-- The last bound follows from the others; without it DuckDB joins B and C first, with no window, and takes minutes.
SELECT a.account, a.ts AS match_start, c.ts AS match_end, a.amount AS a, b.amount AS b, c.amount AS c
FROM rare AS a
JOIN rare AS b ON b.account = a.account AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL '10500' SECOND
JOIN rare AS c ON c.account = a.account AND c.ts > b.ts AND c.ts <= a.ts + INTERVAL '10500' SECOND
  AND c.ts > a.ts AND c.ts <= b.ts + INTERVAL '10500' SECOND
WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C' AND c.amount > a.amount
