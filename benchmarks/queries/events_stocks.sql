SELECT a.price AS first, f.price AS last
FROM SEQ(S0000 a; S0001 b; S0002 c; S0003 d; S0004 e; S0005 f)
WHERE a.change < b.change AND b.change < c.change AND c.change < d.change AND d.change < e.change AND e.change < f.change
WITHIN 10 min
