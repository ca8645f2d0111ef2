-- Each view, the first cart after it and the first purchase after that, in half an hour.
SELECT *
FROM visits MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY ts
  MEASURES V.ts AS viewed, C.ts AS carted, P.ts AS bought
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
