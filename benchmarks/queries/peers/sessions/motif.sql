-- Pages of a visitor with no pause over half an hour.
SELECT *
FROM visits MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY ts
  MEASURES FIRST(ts) AS began, LAST(ts) AS ended, COUNT(*) AS pages
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B*)
  DEFINE B AS B.ts <= PREV(B.ts) + INTERVAL '30' MINUTE
)
