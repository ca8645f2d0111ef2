-- Marked rows that a larger value follows.
SELECT *
FROM marks MATCH_RECOGNIZE (
  PARTITION BY k
  ORDER BY i
  MEASURES A.i AS first_i, B.i AS last_i
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B)
  DEFINE A AS marked, B AS B.v > A.v
)
