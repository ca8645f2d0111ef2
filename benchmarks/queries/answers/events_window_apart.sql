SELECT a.ts, c.ts
FROM events a JOIN events c ON a.id = c.ref JOIN events b ON a.ts < b.ts AND b.ts < c.ts
WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C' AND c.ts <= a.ts + INTERVAL 1 HOUR
