-- Every row is an A, none a B: each start sees all rows for nothing (trinodb/trino#18036).
SELECT *
FROM equal MATCH_RECOGNIZE (
  ORDER BY i
  MEASURES COUNT(*) AS n
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A+ B+)
  DEFINE A AS v = 1, B AS v = 2
)
