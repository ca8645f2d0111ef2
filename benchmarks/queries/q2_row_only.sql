-- The shape of Q2 with conditions on neighbouring rows only.
SELECT *
FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts
  MEASURES MATCH_NUMBER() AS matchno, A.ts AS start_ts, LAST(D.ts) AS end_ts, MIN(B.price) AS bottom_price, COUNT(*) AS length
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B+ C* D+)
  DEFINE
    B AS price < PREV(price),
    C AS price = PREV(price),
    D AS price > PREV(price)
)
