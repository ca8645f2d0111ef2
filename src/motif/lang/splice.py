"""Text put together from pieces of the query, and the way back from it.

The host sees spliced text; when it complains about an offset there, the user must be shown the place
in the text that was written.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice


@dataclass(frozen=True, slots=True)
class Piece:
    """Text from `start` on came from `source_start`; as it was (`verbatim`) or standing in for it."""

    start: int
    source_start: int
    verbatim: bool


@dataclass(frozen=True, slots=True)
class Spliced:
    """Text for the host with its origin."""

    text: str = ""
    pieces: tuple[Piece, ...] = ()

    def source_offset(self, offset: int) -> int:
        """Where the character at `offset` stands in the query (for a placeholder: what it replaces)."""
        if not self.pieces:
            return 0
        offset = min(max(offset, 0), len(self.text))
        piece = self.pieces[max(bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1, 0)]
        return piece.source_start + (offset - piece.start if piece.verbatim else 0)

    def parts(self) -> Iterator[tuple[str, bool]]:
        """The text piece by piece, and whether each stands in for something else."""
        pieces = self.pieces or (Piece(0, 0, verbatim=True),)
        ends = [piece.start for piece in pieces[1:]] + [len(self.text)]
        for piece, end in zip(pieces, ends, strict=True):
            yield self.text[piece.start : end], not piece.verbatim


@dataclass(frozen=True, slots=True)
class Replacement:
    """Source text [start, end) that the host must not see, and the name it sees instead."""

    start: int
    end: int
    name: str


@dataclass
class Splicer:
    """Builds one `Spliced` from ranges of the source."""

    source: str
    replacements: list[Replacement]
    """By start; of two that start together the longer first."""
    text: list[str] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    length: int = 0

    def add_text(self, text: str, source_start: int) -> None:
        """Text of our own, in the name of a place in the source."""
        self._add(text, source_start, verbatim=False)

    def add_source(self, start: int, end: int) -> None:
        """A range of the source, with the replacements in it made."""
        first = bisect_left(self.replacements, start, key=lambda item: item.start)
        for replacement in islice(self.replacements, first, None):
            if replacement.start >= end:
                break
            # One that lies inside of another has its start behind us by now.
            if replacement.start >= start and replacement.end <= end:
                self._add(self.source[start : replacement.start], start, verbatim=True)
                self._add(replacement.name, replacement.start, verbatim=False)
                start = replacement.end
        self._add(self.source[start:end], start, verbatim=True)

    def _add(self, text: str, source_start: int, *, verbatim: bool) -> None:
        if text:
            self.pieces.append(Piece(self.length, source_start, verbatim))
            self.text.append(text)
            self.length += len(text)

    def build(self) -> Spliced:
        """Everything added so far."""
        return Spliced("".join(self.text), tuple(self.pieces))
