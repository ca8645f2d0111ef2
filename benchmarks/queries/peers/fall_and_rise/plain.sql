-- The turn is where a row that rose follows one that fell; the fall began at the last row that fell first.
WITH before AS (
  SELECT symbol, ts, price,
    lag(price) OVER (PARTITION BY symbol ORDER BY ts) AS price_1,
    lag(price, 2) OVER (PARTITION BY symbol ORDER BY ts) AS price_2,
    lag(ts) OVER (PARTITION BY symbol ORDER BY ts) AS ts_1
  FROM trades
), falls AS (
  SELECT *, max(CASE WHEN price < price_1 AND (price_2 IS NULL OR price_1 >= price_2) THEN ts_1 END)
    OVER (PARTITION BY symbol ORDER BY ts) AS start_ts
  FROM before
)
SELECT symbol, start_ts, ts AS end_ts, price_1 AS bottom_price
FROM falls
WHERE price > price_1 AND price_1 < price_2
