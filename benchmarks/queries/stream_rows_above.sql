MATCH_RECOGNIZE (
  PARTITION BY device
  ORDER BY ts
  MEASURES A.value AS low, LAST(B.value) AS high, COUNT(*) AS many
  PATTERN (A B+ C) WITHIN INTERVAL '30' SECOND
  DEFINE A AS type = 'A', B AS value > A.value, C AS type = 'B' AND value <= A.value
)
