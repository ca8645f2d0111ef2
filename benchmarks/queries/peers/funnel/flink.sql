SELECT *
FROM visits MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY ts, ts_us
  MEASURES V.ts_us AS viewed, C.ts_us AS carted, P.ts_us AS bought
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (V X* C Y* P) WITHIN INTERVAL '30' MINUTE
  DEFINE
    V AS V.page = 'view',
    X AS X.page <> 'cart',
    C AS C.page = 'cart',
    Y AS Y.page <> 'purchase',
    P AS P.page = 'purchase'
)
