-- A fall and the first rise after it; the row that rose may begin the next one.
SELECT *
FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts
  MEASURES A.ts AS start_ts, D.ts AS end_ts, LAST(B.price) AS bottom_price
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST D
  PATTERN (A B+ D)
  DEFINE B AS B.price < PREV(B.price), D AS D.price > PREV(D.price)
)
