-- A session window; it rounds time to milliseconds.
SELECT visitor, MIN(ts_us) AS began, MAX(ts_us) AS ended, COUNT(*) AS pages
FROM SESSION(TABLE visits PARTITION BY visitor, DESCRIPTOR(ts), INTERVAL '30' MINUTE)
GROUP BY visitor, window_start, window_end
