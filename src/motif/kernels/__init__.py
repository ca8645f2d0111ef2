"""The loops: arrays in, arrays out, nothing of the rest of Motif.

Every loop is ordinary Python. `build` runs it as it stands on lists for small inputs, or as machine code on
arrays for large ones: `native` compiles it with Numba, once, and loads it; `disk` keeps it.
"""
