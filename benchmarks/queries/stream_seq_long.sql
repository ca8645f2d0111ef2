SELECT a.device, a.value AS a, b.value AS b
FROM SEQ(A a; B b)
WHERE [device] AND b.value > a.value + 500
WITHIN 30 min
