"""What a host that is out of reach has said of a condition, and what it is still to be asked.

Where matches are searched away from the host, as in Spark's workers, a search is told what is known. What it asks
beyond that is handed back, and put to the host before the next search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from motif.engine.alike import alike, distinct
from motif.errors import QueryDataError
from motif.ir.expr import Expr

MOST_QUESTIONS = 1 << 18
"""Questions that are collected before they are put to the host."""
FALSE, TRUE, NULL, FAILED = 0, 1, -1, 2
TRUTH = "truth"


@dataclass(frozen=True, slots=True)
class Told:
    """Called as a host that is there would be: with a condition, and values of its columns a0, a1, ..."""

    known: pa.Table
    """Those values, and what the host made of them."""
    hopes: int | None
    """How often a search from a row may take the condition to hold; None where nothing can be asked any more."""
    asked: list[pa.Table] = field(default_factory=list)
    """Values that nothing is known of."""

    def ask(self, arguments: Sequence[pa.Array]) -> None:
        """Note what is to be asked."""
        if self.hopes is None:
            raise QueryDataError(
                "Spark was asked about other rows than there are now",
                hint="the table gives other rows each time it is read: write it to a file, and match that",
            )
        if sum(table.num_rows for table in self.asked) <= MOST_QUESTIONS:
            rows = pa.Table.from_arrays(arguments, names=[f"a{number}" for number in range(len(arguments))])
            self.asked.append(rows.take(distinct(arguments)))

    def __call__(self, expr: Expr, arguments: Sequence[pa.Array]) -> list[bool]:  # noqa: ARG002 - it is known
        """What was said of each row of arguments; of what is asked later the condition is not true."""
        found = self.said(arguments)
        if None in found:
            unknown = pa.array([answer is None for answer in found])
            self.ask([argument.filter(unknown) for argument in arguments])
        return [answer == TRUE for answer in found]

    def said(self, arguments: Sequence[pa.Array]) -> list[int | None]:
        """What was said of each row of arguments, None where that is nothing."""
        numbers = [
            alike([known.combine_chunks(), now])
            for known, now in zip(self.known.columns[: len(arguments)], arguments, strict=True)
        ]
        known = zip(*(known.tolist() for known, _ in numbers), strict=True)
        said = dict(zip(known, self.known.column(TRUTH).to_pylist(), strict=True))
        return [said.get(key) for key in zip(*(now.tolist() for _, now in numbers), strict=True)]

    def questions(self) -> pa.Table | None:
        """All that is to be asked, each once."""
        if not self.asked:
            return None
        rows = pa.concat_tables(self.asked).combine_chunks()
        return rows.take(distinct([column.combine_chunks() for column in rows.columns]))
