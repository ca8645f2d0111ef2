SELECT a.ts, c.ts
FROM events a JOIN events b ON a.id = b.ref JOIN events c ON b.id = c.ref
WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C' AND a.ts < b.ts AND b.ts < c.ts AND c.ts <= a.ts + INTERVAL 1 HOUR
