-- Many begin, none ends.
SELECT *
FROM flags MATCH_RECOGNIZE (
  PARTITION BY k
  ORDER BY i
  MEASURES A.i AS first_i, C.i AS last_i
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B C)
  DEFINE A AS v = 3, B AS v = 4, C AS v = 6
)
