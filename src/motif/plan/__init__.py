"""A query and a schema -> a checked `Program`.

In: the algebra, and a `Source` that answers for the host (column types, types of scalar expressions).
Out: flat arrays and column bindings; what the host must compute before and after the matching.
"""
