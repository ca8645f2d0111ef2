"""Card fraud as a loop by hand over the transfers of one account to one receiver."""

WINDOW_US = 72 * 3_600_000_000


def frauds(moments: list[int], amounts: list[int]) -> list[tuple[int, int]]:
    """A large transfer takes the two earliest small ones in the window that are left: its first and last row."""
    small: list[int] = []
    found = []
    for row, (now, amount) in enumerate(zip(moments, amounts, strict=True)):
        while small and moments[small[0]] < now - WINDOW_US:
            small.pop(0)
        if amount > 250 and len(small) >= 2:
            found.append((small[0], row))
            del small[:2]
        elif amount < 100:
            small.append(row)
    return found
