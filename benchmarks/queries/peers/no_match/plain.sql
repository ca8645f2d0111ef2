SELECT i AS first_i, last_i
FROM (
  SELECT i, v, lead(v) OVER (PARTITION BY k ORDER BY i) AS v_1, lead(v, 2) OVER (PARTITION BY k ORDER BY i) AS v_2,
    lead(i, 2) OVER (PARTITION BY k ORDER BY i) AS last_i
  FROM flags
) AS rows_and_next
WHERE v = 3 AND v_1 = 4 AND v_2 = 6
