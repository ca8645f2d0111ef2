-- Bookings of an owner that overlap or touch, as one.
SELECT *
FROM ranges MATCH_RECOGNIZE (
  PARTITION BY owner
  ORDER BY begins
  MEASURES FIRST(begins) AS began, MAX(ends) AS ended, COUNT(*) AS bookings
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A* B)
  DEFINE A AS MAX(A.ends) >= NEXT(A.begins)
)
