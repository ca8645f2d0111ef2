WITH pauses AS (
  SELECT visitor, ts,
    CASE WHEN ts <= lag(ts) OVER (PARTITION BY visitor ORDER BY ts) + INTERVAL '30' MINUTE THEN 0 ELSE 1 END AS is_first
  FROM visits
), numbered AS (
  SELECT visitor, ts, sum(is_first) OVER (PARTITION BY visitor ORDER BY ts) AS session FROM pauses
)
SELECT visitor, min(ts) AS began, max(ts) AS ended, count(*) AS pages
FROM numbered
GROUP BY visitor, session
