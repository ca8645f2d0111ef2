SELECT i AS first_i, next_i AS last_i
FROM (SELECT i, v, lead(i) OVER (ORDER BY i) AS next_i, lead(v) OVER (ORDER BY i) AS next_v FROM flags) AS rows_and_next
WHERE v = 0 AND next_v = 1
