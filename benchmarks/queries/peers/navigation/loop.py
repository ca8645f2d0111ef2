"""A row and the larger ones after it, as a loop by hand."""


def rises(values: list[int]) -> list[tuple[int, int]]:
    """First and last row of each match; the next begins after it."""
    found = []
    start, rows = 0, len(values)
    while start < rows:
        row = start + 1
        while row < rows and values[row] > values[start]:
            row += 1
        if row > start + 1:
            found.append((start, row - 1))
        start = row
    return found
