"""Spark as the host: exchange by key, one pass of the engine in the Python workers, scalars before and after.

Only public PySpark calls, so classic and Connect sessions work alike.
"""
