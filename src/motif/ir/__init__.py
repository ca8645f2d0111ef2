"""The pattern algebra: the one language that front ends write and every other part reads.

In: nothing but positions in text. Out: frozen nodes, compared by meaning (spans do not count).
"""
