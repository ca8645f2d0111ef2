"""Spark as the host: exchange by key, one pass of the engine in the Python workers, scalars before and after.

Public PySpark calls, so that classic and Connect sessions work alike; what only a classic one tells, such as sizes of
tables, is of use but never needed.
"""
