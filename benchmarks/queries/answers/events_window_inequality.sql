SELECT a.ts, c.ts
FROM events a JOIN events c ON a.ts < c.ts AND a.x > c.x
WHERE a.type = 'A' AND c.type = 'C' AND c.ts <= a.ts + INTERVAL 1 HOUR
