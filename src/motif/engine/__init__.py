"""Sorted Arrow rows -> matches.

In: a `Program` and batches of the columns it names, in its order. Out: the leaves of the output columns, as Arrow.
`Session` is the one matcher that every host drives.
"""
