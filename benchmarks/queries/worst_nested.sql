-- A loop in a loop, and no way out.
SELECT *
FROM equal MATCH_RECOGNIZE (
  ORDER BY i
  MEASURES COUNT(*) AS n
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN ((A*)* B)
  DEFINE A AS v = 1, B AS v = 2
)
