-- The same with a condition that depends on the match: dead ends hold only for the rows it reads.
SELECT *
FROM equal MATCH_RECOGNIZE (
  ORDER BY i
  MEASURES COUNT(*) AS n
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A+ B+)
  DEFINE A AS v = 1, B AS v > LAST(A.v)
)
