-- PREV is not there; LAST(B.price, 1) is the B before.
SELECT *
FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts, ts_us
  MEASURES A.ts_us AS start_us, D.ts_us AS end_us, LAST(B.price) AS bottom_price
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST D
  PATTERN (A B+ D)
  DEFINE
    B AS B.price < LAST(B.price, 1) OR (LAST(B.price, 1) IS NULL AND B.price < A.price),
    D AS D.price > LAST(B.price)
)
