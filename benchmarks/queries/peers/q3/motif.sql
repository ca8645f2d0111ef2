-- Q3 of paper 004: all trades are one sequence, matches from every row.
SELECT *
FROM trades MATCH_RECOGNIZE (
  ORDER BY ts
  MEASURES MATCH_NUMBER() AS matchno, A.ts AS start_ts, LAST(D.ts) AS end_ts, MIN(B.price) AS bottom_price, COUNT(*) AS length
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B+ C* D+)
  DEFINE
    B AS B.price < A.price AND B.price <= PREV(B.price),
    C AS C.price > B.price AND C.price >= PREV(C.price) AND C.price <= A.price,
    D AS D.price > PREV(D.price) AND D.price > A.price
)
