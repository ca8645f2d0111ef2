"""Outside engines that scan, sort and compute scalars around the matching: DuckDB in process, and Spark.

In: query text or data. Out: tables of the host's kind. All of them drive the same `Session`.
"""
