SELECT k, i AS first_i, next_i AS last_i
FROM (
  SELECT k, i, v, marked, lead(i) OVER (PARTITION BY k ORDER BY i) AS next_i, lead(v) OVER (PARTITION BY k ORDER BY i) AS next_v
  FROM marks
) AS rows_and_next
WHERE marked AND next_v > v
