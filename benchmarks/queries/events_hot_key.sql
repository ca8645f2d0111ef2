SELECT a.ts AS tick, b.ts AS alarm, a.value
FROM SEQ(Tick a; Alarm b)
WHERE [device] AND a.value > b.value
WITHIN 6 h
