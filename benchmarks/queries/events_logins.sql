SELECT s.user, COUNT(f) AS failures, FIRST(f.ip) AS ip
FROM SEQ(Login f{5,}; Login s)
WHERE [user] AND f.ok = false AND s.ok = true
WITHIN 10 min
CONSUMING ALL
