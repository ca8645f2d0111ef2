WITH
  a AS (SELECT ts, change, price FROM ticks WHERE symbol = 'S0000'),
  b AS (SELECT ts, change, price FROM ticks WHERE symbol = 'S0001'),
  c AS (SELECT ts, change, price FROM ticks WHERE symbol = 'S0002'),
  d AS (SELECT ts, change, price FROM ticks WHERE symbol = 'S0003'),
  e AS (SELECT ts, change, price FROM ticks WHERE symbol = 'S0004'),
  f AS (SELECT ts, change, price FROM ticks WHERE symbol = 'S0005')
SELECT a.ts AS match_start, f.ts AS match_end, a.price AS first, f.price AS last
FROM a
JOIN b ON a.ts < b.ts AND a.change < b.change AND b.ts <= a.ts + INTERVAL '10' MINUTE
JOIN c ON b.ts < c.ts AND b.change < c.change AND c.ts <= a.ts + INTERVAL '10' MINUTE
JOIN d ON c.ts < d.ts AND c.change < d.change AND d.ts <= a.ts + INTERVAL '10' MINUTE
JOIN e ON d.ts < e.ts AND d.change < e.change AND e.ts <= a.ts + INTERVAL '10' MINUTE
JOIN f ON e.ts < f.ts AND e.change < f.change AND f.ts <= a.ts + INTERVAL '10' MINUTE
