-- Running numbers of Bs on each A and C: what lies between them is a difference.
WITH counted AS (
  SELECT account, ts, type, amount,
    sum(CASE WHEN type = 'B' AND amount > 1000 THEN 1 ELSE 0 END) OVER (PARTITION BY account ORDER BY ts) AS many,
    sum(CASE WHEN type = 'B' AND amount > 1000 THEN amount ELSE 0 END) OVER (PARTITION BY account ORDER BY ts) AS total
  FROM busy
)
SELECT a.account, a.ts AS match_start, c.ts AS match_end, c.many - a.many AS many, c.total - a.total AS total
FROM counted AS a
JOIN counted AS c ON c.account = a.account AND c.ts > a.ts AND c.ts <= a.ts + INTERVAL '105' SECOND
WHERE a.type = 'A' AND c.type = 'C' AND c.amount > a.amount AND c.many > a.many
