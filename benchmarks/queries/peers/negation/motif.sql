SELECT a.account, a.amount AS a, c.amount AS c
FROM SEQ(A a; NOT B b; C c)
WHERE [account] AND c.amount > a.amount
WITHIN 105 s
