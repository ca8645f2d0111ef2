DEFINE Fraud
SELECT * FROM SEQ(E1; E2; E3)
WHERE FILTER
    [accountID, receiver]
    E1.amount < 100 AND E2.amount < 100
    E3.amount > 250
WITHIN 72 hours
RETURN Fraud(E1.accountID AS account, E3.amount AS amount)
CONSUMING E1, E2, E3
