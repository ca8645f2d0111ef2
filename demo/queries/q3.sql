-- Q3: tick shapes (down, back up, above the start) in the tape of all trades, from every row.
SELECT *
FROM trades MATCH_RECOGNIZE (
  ORDER BY ts
  MEASURES
    MATCH_NUMBER()   AS matchno,
    A.symbol         AS first_symbol,
    LAST(D.symbol)   AS last_symbol,
    A.ts             AS start_ts,
    LAST(D.ts)       AS end_ts,
    A.price          AS start_price,
    MIN(B.price)     AS bottom_price,
    LAST(D.price)    AS end_price,
    COUNT(*)         AS length
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B+ C* D+)
  DEFINE -- A is not defined: it matches any row
    B AS B.price < A.price AND B.price <= PREV(B.price),
    C AS C.price > B.price AND C.price >= PREV(C.price) AND C.price <= A.price,
    D AS D.price > PREV(D.price) AND D.price > A.price
)
