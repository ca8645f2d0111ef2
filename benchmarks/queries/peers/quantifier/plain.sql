-- Low and high rows form islands in turn. From the first low island on, three make a match and the fourth is left out.
WITH marked AS (
  SELECT k, i, v, v >= 12 AS high, lag(v >= 12) OVER (ORDER BY i) AS high_before FROM flags
), islands AS (
  SELECT *, sum(CASE WHEN high = high_before THEN 0 WHEN high AND high_before IS NULL THEN 0 ELSE 1 END)
    OVER (ORDER BY i) - 1 AS island
  FROM marked
), bounded AS (
  SELECT *, max(island) OVER () AS last_island FROM islands
)
SELECT k, i, v, floor(island / 4) + 1 AS matchno, CASE WHEN high THEN 'B' ELSE 'A' END AS label
FROM bounded
WHERE island >= 0 AND island % 4 < 3 AND island - island % 4 + 2 <= last_island
