-- PREV is not there; LAST(B.price, 1) is the B before, and the row before the first C is the last B.
SELECT *
FROM trades MATCH_RECOGNIZE (
  ORDER BY ts, ts_us
  MEASURES A.ts_us AS start_us, LAST(D.ts_us) AS end_us, MIN(B.price) AS bottom_price
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B+ C* D+)
  DEFINE
    B AS B.price < A.price AND (LAST(B.price, 1) IS NULL OR B.price <= LAST(B.price, 1)),
    C AS C.price > LAST(B.price) AND (LAST(C.price, 1) IS NULL OR C.price >= LAST(C.price, 1)) AND C.price <= A.price,
    D AS D.price > A.price AND (LAST(D.price, 1) IS NULL OR D.price > LAST(D.price, 1))
)
