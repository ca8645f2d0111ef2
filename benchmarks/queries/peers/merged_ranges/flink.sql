SELECT *
FROM ranges MATCH_RECOGNIZE (
  PARTITION BY owner
  ORDER BY begins, begins_us
  MEASURES FIRST(A.begins_us) AS began, MAX(A.ends_us) AS ended
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A* B)
  DEFINE A AS MAX(A.ends_us) >= NEXT(A.begins_us)
)
