-- The shape `partitions` of DuckDB (#25255).
SELECT *
FROM flags MATCH_RECOGNIZE (
  PARTITION BY k
  ORDER BY i
  MEASURES A.i AS first_i, B.i AS last_i
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B)
  DEFINE A AS v = 0, B AS v = 1
)
