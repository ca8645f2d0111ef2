SELECT a.account, COUNT(b) AS many, SUM(b.amount) AS total
FROM SEQ(A a; B b+; C c)
WHERE [account] AND c.amount > a.amount AND b.amount > 1000
WITHIN 105 s
