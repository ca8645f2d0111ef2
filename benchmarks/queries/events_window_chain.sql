SELECT a.id AS a, b.id AS b, c.id AS c
FROM SEQ(A a; B b; C c)
WHERE a.id = b.ref AND b.id = c.ref
WITHIN 1 h
