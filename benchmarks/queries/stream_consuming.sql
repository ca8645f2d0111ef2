SELECT s.device, COUNT(f) AS many
FROM SEQ(A f{3,}; B s)
WHERE [device]
WITHIN 10 min
CONSUMING ALL
