SELECT a.ts, c.ts
FROM events a JOIN events c USING (account)
WHERE a.type = 'A' AND c.type = 'C' AND a.ts < c.ts AND c.ts <= a.ts + INTERVAL 105 SECONDS AND c.amount > a.amount
  AND EXISTS (
    SELECT 1 FROM events b
    WHERE b.account = a.account AND b.type = 'B' AND a.ts < b.ts AND b.ts < c.ts AND b.amount > 1000
  )
