WITH reached AS (
  SELECT owner, begins, ends,
    max(ends) OVER (PARTITION BY owner ORDER BY begins ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ends_before
  FROM ranges
), numbered AS (
  SELECT owner, begins, ends,
    sum(CASE WHEN begins <= ends_before THEN 0 ELSE 1 END) OVER (PARTITION BY owner ORDER BY begins) AS island
  FROM reached
)
SELECT owner, min(begins) AS began, max(ends) AS ended, count(*) AS bookings
FROM numbered
GROUP BY owner, island
