SELECT *
FROM visits MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY ts, ts_us
  MEASURES A.ts_us AS began, LAST(B.ts_us) AS ended, COUNT(*) AS pages
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B*)
  DEFINE B AS B.ts_us <= LAST(B.ts_us, 1) + 1800000000 OR (LAST(B.ts_us, 1) IS NULL AND B.ts_us <= A.ts_us + 1800000000)
)
