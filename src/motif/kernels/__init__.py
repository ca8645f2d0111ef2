"""The loops: arrays in, arrays out, nothing of the rest of Motif.

Every loop is ordinary Python. `build` runs it as it stands on lists for small inputs, or compiles it
with Numba on arrays for large ones.
"""
