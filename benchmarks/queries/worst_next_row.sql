-- Matches of one row that look far ahead, from every row.
SELECT *
FROM equal MATCH_RECOGNIZE (
  ORDER BY i
  MEASURES COUNT(*) AS n
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A (B* C)?)
  DEFINE A AS v = 1, B AS v = 1, C AS v = 2
)
