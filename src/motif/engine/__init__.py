"""Sorted Arrow rows -> matches.

In: a `Program` and batches of the columns it names, in its order. Out: the leaves of the output columns, as Arrow.
Every host drives it: `Session` for row patterns and `match_events` for event patterns over tables, `StreamSession` for
both over streams.
"""
