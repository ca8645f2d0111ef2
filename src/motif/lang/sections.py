"""Cutting the body of MATCH_RECOGNIZE ( ... ) into its sub-clauses.

Every keyword may also be a column, so a word only begins a sub-clause where no expression could go
on with it: at the start, or behind something that ends an item.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import Enum

from motif.errors import UnsupportedQuery
from motif.lang.cursor import Cursor, describe
from motif.lang.lexer import Kind, Token


class Part(Enum):
    """The sub-clauses, by how they begin."""

    PARTITION = "PARTITION BY"
    ORDER = "ORDER BY"
    MEASURES = "MEASURES"
    ROWS = "ONE ROW / ALL ROWS PER MATCH"
    MODE = "MAXIMAL / INCREMENTAL MATCH"
    SKIP = "AFTER MATCH SKIP"
    PATTERN = "PATTERN"
    WITHIN = "WITHIN"
    SUBSET = "SUBSET"
    DEFINE = "DEFINE"


@dataclass(frozen=True, slots=True)
class Section:
    """A sub-clause: its tokens are [start, end), what it says begins at `body`."""

    part: Part
    start: int
    body: int
    end: int


_TWO_WORDS = {
    ("PARTITION", "BY"): Part.PARTITION,
    ("ORDER", "BY"): Part.ORDER,
    ("ONE", "ROW"): Part.ROWS,
    ("ALL", "ROWS"): Part.ROWS,
    ("MAXIMAL", "MATCH"): Part.MODE,
    ("INCREMENTAL", "MATCH"): Part.MODE,
    ("AFTER", "MATCH"): Part.SKIP,
}
_ONE_WORD = {
    "MEASURES": Part.MEASURES,
    "PATTERN": Part.PATTERN,
    "WITHIN": Part.WITHIN,
    "SUBSET": Part.SUBSET,
    "DEFINE": Part.DEFINE,
}
_BEGINNINGS = {
    "ONE": "ONE ROW PER MATCH",
    "ALL": "ALL ROWS PER MATCH",
    "AFTER": "AFTER MATCH SKIP",
    **{words[0]: " ".join(words) for words in _TWO_WORDS if words[0] not in ("ONE", "ALL", "AFTER")},
    **{word: word for word in _ONE_WORD},
}
"""How sub-clauses begin, by their first words."""
_BODY_AFTER_WORDS = frozenset({Part.PARTITION, Part.ORDER})
_RANK = {
    Part.PARTITION: 0,
    Part.ORDER: 1,
    Part.MEASURES: 2,
    Part.ROWS: 3,
    Part.SKIP: 4,
    Part.PATTERN: 5,
    Part.WITHIN: 6,
    Part.SUBSET: 6,
    Part.DEFINE: 7,
}
_ORDER_HINT = (
    "the order is PARTITION BY, ORDER BY, MEASURES, ONE ROW / ALL ROWS PER MATCH, AFTER MATCH SKIP, "
    "PATTERN, WITHIN, SUBSET, DEFINE"
)
_NEVER_END_AN_ITEM = frozenset(
    """AND OR NOT CASE WHEN THEN ELSE BETWEEN IN LIKE ILIKE RLIKE SIMILAR IS AS BY
    DISTINCT ESCAPE INTERVAL RUNNING FINAL DIV COLLATE""".split()
)


def split_sections(cursor: Cursor) -> dict[Part, Section]:
    """The sub-clauses between the cursor and its end, checked for order and repetition."""
    starts = _find_starts(cursor)
    if not starts or starts[0][1] != cursor.pos:
        expected = "PARTITION BY, ORDER BY, MEASURES or PATTERN"
        cursor.fail_expected(f"{expected} at the start of MATCH_RECOGNIZE", _first_hint(cursor))
    ends = [start for _, start in starts[1:]] + [cursor.end]
    sections: dict[Part, Section] = {}
    for (part, start), end in zip(starts, ends, strict=True):
        if part in sections:
            cursor.fail(f"{part.value} is given twice", cursor.tokens[start].span, "keep one of them")
        sections[part] = Section(part, start, start + (2 if part in _BODY_AFTER_WORDS else 1), end)
    _check_order(cursor, list(sections.values()))
    return sections


def _find_starts(cursor: Cursor) -> list[tuple[Part, int]]:
    """Sub-clauses and where they begin, skipping whatever stands in brackets."""
    found: list[tuple[Part, int]] = []
    begin = index = cursor.pos
    while index < cursor.end:
        token = cursor.tokens[index]
        if token.kind is Kind.NAME and not token.quoted:
            _refuse_foreign_words(cursor, index)
            # Right behind the word that begins a sub-clause stands its first item.
            follows_start = bool(found) and found[-1][1] == index - 1
            follows_item = not follows_start and _ends_item(cursor.tokens[index - 1])
            part = _part_at(cursor, index, at_start=index == begin, follows_item=follows_item)
            if part is not None:
                found.append((part, index))
        index = cursor.tokens.closer.get(index, index) + 1
    return found


def _part_at(cursor: Cursor, index: int, *, at_start: bool, follows_item: bool) -> Part | None:
    word, following = cursor.tokens[index].text.upper(), cursor.tokens[index + 1]
    second = following.text.upper() if following.kind is Kind.NAME and not following.quoted else ""
    if part := _TWO_WORDS.get((word, second)):
        return part
    part = _ONE_WORD.get(word)
    if part is None or not (at_start or follows_item):
        return None
    if part is Part.PATTERN:
        return part if following.is_op("(") else None
    if part is Part.WITHIN and following.is_word("GROUP") and cursor.tokens[index + 2].is_op("("):
        return None  # of an aggregate
    # A column called `within` or `define` goes on with an operator, a comma or a new name.
    names_a_column = (following.kind is Kind.OP and following.text in ".,=<>!+*/%|:") or following.is_word("AS")
    return part if at_start or not names_a_column else None


def _ends_item(token: Token) -> bool:
    if token.kind is Kind.OP:
        return token.text in ")]}"
    return token.quoted or token.text.upper() not in _NEVER_END_AN_ITEM


def meant(token: Token) -> str | None:
    """The beginning of a sub-clause for which a word was probably meant."""
    word = token.text.upper()
    if token.kind is not Kind.NAME or token.quoted:
        return None
    if word not in _BEGINNINGS:
        alike = difflib.get_close_matches(word, _BEGINNINGS, n=1, cutoff=0.75)
        if not alike or len(word) < 4 or abs(len(word) - len(alike[0])) > 2:
            return None
        word = alike[0]
    return _BEGINNINGS[word]


def _refuse_foreign_words(cursor: Cursor, index: int) -> None:
    token, following = cursor.tokens[index], cursor.tokens[index + 1]
    if token.is_word("SEEK", "INITIAL") and following.is_word("PATTERN"):
        hint = "leave it out: matches are searched from every row that AFTER MATCH SKIP allows"
        cursor.fail(f"{token.text} belongs to WINDOW, not to MATCH_RECOGNIZE", token.span, hint, UnsupportedQuery)
    if token.is_word("ALL") and following.is_word("MATCHES"):
        hint = "write AFTER MATCH SKIP TO NEXT ROW for overlapping matches"
        cursor.fail("ALL MATCHES is not a clause here", token.span.to(following.span), hint)


def _first_hint(cursor: Cursor) -> str | None:
    if cursor.at_word("PATTERN"):
        return "write PATTERN (A B+)"
    if cursor.at_word("PARTITION", "ORDER"):
        return f"write {cursor.peek().text.upper()} BY"
    if words := meant(cursor.peek()):
        return f"did you mean {words}?"
    return f"{describe(cursor.peek())} is not a sub-clause" if not cursor.done else None


def _check_order(cursor: Cursor, sections: list[Section]) -> None:
    rank = 0
    previous = sections[0]
    for section in sections:
        if section.part is Part.MODE:
            # Before or after AFTER MATCH, as people write it.
            own = max(rank, _RANK[Part.ROWS])
            misplaced = rank > _RANK[Part.SKIP]
        else:
            own = _RANK[section.part]
            misplaced = own < rank
        if misplaced:
            span = cursor.tokens[section.start].span
            cursor.fail(f"{section.part.value} must come before {previous.part.value}", span, _ORDER_HINT)
        rank, previous = own, section
