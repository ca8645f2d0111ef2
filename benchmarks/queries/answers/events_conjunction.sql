SELECT least(a.ts, b.ts, c.ts), greatest(a.ts, b.ts, c.ts)
FROM events a JOIN events b USING (account) JOIN events c USING (account)
WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C'
  AND greatest(a.ts, b.ts) <= least(a.ts, b.ts) + INTERVAL 40 SECONDS
  AND greatest(a.ts, b.ts, c.ts) <= least(a.ts, b.ts, c.ts) + INTERVAL 40 SECONDS
