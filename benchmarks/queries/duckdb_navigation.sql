-- The shape `navigation` of DuckDB (#25255).
SELECT *
FROM flags MATCH_RECOGNIZE (
  ORDER BY i
  MEASURES A.i AS first_i, LAST(B.i) AS last_i
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B+)
  DEFINE B AS v > LAST(A.v)
)
