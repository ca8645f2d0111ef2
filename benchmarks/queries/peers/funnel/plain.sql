-- Read from the end: what comes next is what came before.
WITH purchases AS (
  SELECT visitor, ts, page, min(CASE WHEN page = 'purchase' THEN ts END)
    OVER (PARTITION BY visitor ORDER BY ts DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bought
  FROM visits
), carts AS (
  SELECT visitor, ts, page,
    min(CASE WHEN page = 'cart' THEN ts END)
      OVER (PARTITION BY visitor ORDER BY ts DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS carted,
    min(CASE WHEN page = 'cart' THEN bought END)
      OVER (PARTITION BY visitor ORDER BY ts DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bought
  FROM purchases
)
SELECT visitor, ts AS viewed, carted, bought
FROM carts
WHERE page = 'view' AND bought <= ts + INTERVAL '30' MINUTE
