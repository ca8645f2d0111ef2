SELECT a.account, a.amount AS a, b.amount AS b, c.amount AS c
FROM SEQ(A a; B b; C c)
WHERE [account] AND c.amount > a.amount
WITHIN 105 s
