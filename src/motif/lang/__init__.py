"""Query text becomes the pattern algebra.

In: SQL text with MATCH_RECOGNIZE clauses, as a person wrote it. Out: `RowQuery` nodes whose spans
point into that text, and the SQL around them, verbatim, for the host. Entry: `lang.statement`.
"""
