"""Brute force as a loop by hand over the logins of one user."""

WINDOW_US = 600_000_000


def breaches(moments: list[int], oks: list[bool]) -> list[tuple[int, int]]:
    """A success takes all failures in the window that are left, if there are five: their first row and its own."""
    failures: list[int] = []
    found = []
    for row, (now, ok) in enumerate(zip(moments, oks, strict=True)):
        while failures and moments[failures[0]] < now - WINDOW_US:
            failures.pop(0)
        if not ok:
            failures.append(row)
        elif len(failures) >= 5:
            found.append((failures[0], row))
            failures.clear()
    return found
