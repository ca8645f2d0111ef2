SELECT a.ts, b.ts
FROM events a JOIN events b ON a.device = b.device AND a.ts < b.ts AND a.value > b.value
WHERE a.type = 'Tick' AND b.type = 'Alarm' AND b.ts <= a.ts + INTERVAL 6 HOURS
