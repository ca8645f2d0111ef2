"""What a fresh interpreter runs: python benchmarks/cold.py motif|duckdb QUERY TABLE FILE

Prints the number of rows of the answer.
"""

import sys

contender, query, table, file = sys.argv[1:]
if contender == "motif":
    import motif

    answer = motif.sql(query, tables={table: file})
else:
    import duckdb

    connection = duckdb.connect(":memory:")
    connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{file}')")
    answer = connection.sql(query).to_arrow_table()
print(answer.num_rows)
