SELECT a.ts AS first, c.ts AS last
FROM events a
JOIN events b ON b.type = 'B' AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL 1 HOUR
JOIN events c ON c.type = 'C' AND c.ts > b.ts AND c.ts <= a.ts + INTERVAL 1 HOUR
WHERE a.type = 'A' AND (a.id + b.id + c.ref) % 1000 = 0
