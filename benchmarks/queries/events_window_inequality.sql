SELECT a.id AS a, c.id AS c
FROM SEQ(A a; C c)
WHERE a.x > c.x
WITHIN 1 h
