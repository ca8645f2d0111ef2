"""The test kit: a reference matcher, random queries and rows, and the shared cases."""
