SELECT a.device, a.value
FROM SEQ(A a; NOT B b)
WHERE [device]
WITHIN 30 s
