SELECT a.ts, c.ts
FROM events a JOIN events b USING (account) JOIN events c USING (account)
WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C' AND a.ts < b.ts AND b.ts < c.ts
  AND b.ts <= a.ts + INTERVAL 10500 SECONDS AND c.ts <= a.ts + INTERVAL 10500 SECONDS AND c.amount > a.amount
