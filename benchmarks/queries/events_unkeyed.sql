SELECT a.id AS a, b.id AS b, c.id AS c
FROM SEQ(A a; B b; C c)
WHERE (a.id + b.id + c.ref) % 1000 = 0
WITHIN 1 h
