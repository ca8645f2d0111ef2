-- The classic exponential case of backtracking regular expressions.
SELECT *
FROM equal MATCH_RECOGNIZE (
  ORDER BY i
  MEASURES COUNT(*) AS n
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN ((A?){30} A{30})
  DEFINE A AS v = 1
)
