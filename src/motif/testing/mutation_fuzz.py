"""Queries with mistakes in them: whatever a text says, the answer is right or the error is one of ours.

`python -m motif.testing.mutation_fuzz --cases 50000` runs a campaign; a case is one text. Texts of random queries have
tokens dropped, swapped, doubled, or others of the query put in their place. What is still a query is answered as the
reference answers it; of an event query `check` and `match` are held against each other, too. What is no query is a
`MotifError`, and `check` finds it without reading a row. Answers that the reference did not judge are counted apart.
"""

from __future__ import annotations

import random
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import motif
from motif.errors import LimitExceeded, MotifError, QueryDataError
from motif.ir.expr import Call, Column, Expr, Literal, walk
from motif.ir.query import RowQuery
from motif.ir.render_event import render_events
from motif.lang.lexer import Token, tokenize
from motif.lang.snoop import parse_events
from motif.lang.statement import parse_clause
from motif.testing.cases import same_value
from motif.testing.event_engines import FACTS, Engine
from motif.testing.event_fuzz import as_listed, by_values, events_by_reference
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.event_reference import Listed, selected
from motif.testing.fuzz import Tally, by_reference, run_campaign, same_answer
from motif.testing.generate import random_example
from motif.testing.tables import to_arrow

PARTITIONS = 4
TEXTS = 20
"""Mutated texts of one query."""
NOT_JUDGED = "answered, not judged by the reference"
UNKNOWN = (NotImplementedError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError, AssertionError)
"""What the reference raises over a type or a function that it does not know."""


def check_seed(seed: int, *, compiled: bool = False) -> Tally:  # noqa: ARG001 - what is compiled is the same text
    """Mutations of one random query of each language over a few rows."""
    rng = random.Random(seed)
    tally = Tally(queries=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clause, rows = random_example(rng, PARTITIONS)
        table = to_arrow(rows)
        _try_all(rng, tally, seed, clause, lambda text: _rows(text, rows, table))
        query = random_event_query(rng)
        events = list(random_stream(rng, query))
        seen = to_arrow(events, COLUMNS)
        _try_all(rng, tally, seed, render_events(query), lambda text: _events(text, events, seen))
    return tally


FAMILIES = tuple(
    tuple(family.split())
    for family in (
        *("FIRST LAST", "PREV NEXT", "MIN MAX SUM AVG COUNT", "AND OR", "ASC DESC", "RUNNING FINAL", "UPPER LOWER"),
        *("LEAST GREATEST COALESCE NULLIF", "TRUE FALSE", "ONE ALL", "SHOW OMIT", "MAXIMAL INCREMENTAL", "SEQ ALL OR"),
        *("FIRST LAST EACH ALL", "v t g", "w d", "ts day", "x y k", "A B C D", "A B C D U V", "a b c d e", "m n"),
        *("< > =", "+ - *", "* + ?", "0 1 2 3 4 5 6", "MINUTE SECOND DAY", "s min EVENTS"),
    )
)
"""Words and signs of which one may stand where another does."""


def mutated(rng: random.Random, text: str) -> str:
    """The text with one to three slips in it; about half of them put something else of its kind in place of a word."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            tokens = list(tokenize(text).items)[:-1]
        except MotifError:
            return text
        if len(tokens) < 2:
            return text
        text = _turned(rng, text, tokens) if rng.random() < 0.5 else _slipped(rng, text, tokens)
    return text


def _turned(rng: random.Random, text: str, tokens: Sequence[Token]) -> str:
    """Another of its family in place of one token: what comes out is a query more often than not."""
    known = [(token, family) for token in tokens for family in FAMILIES if token.text in family]
    if not known:
        return text
    token, family = rng.choice(known)
    other = rng.choice([word for word in family if word != token.text])
    return text[: token.span.start] + other + text[token.span.end :]


def _slipped(rng: random.Random, text: str, tokens: Sequence[Token]) -> str:
    spans = [token.span for token in tokens]
    at = rng.randrange(len(tokens))
    alike = [token.span for token in tokens if token.kind is tokens[at].kind]  # often still a query
    one, other = (text[span.start : span.end] for span in (rng.choice(spans), rng.choice(alike)))
    span, here = spans[at], text[spans[at].start : spans[at].end]
    following = spans[min(at + 1, len(spans) - 1)]
    match rng.randrange(9):
        case 0:
            return text[: span.start] + text[span.end :]
        case 1:
            return text[: span.start] + f"{here} {here}" + text[span.end :]
        case 2:
            between, moved = text[span.end : following.start], text[following.start : following.end]
            return text[: span.start] + moved + (between or " ") + here + text[following.end :]
        case 3:
            return text[: span.start] + f"{here} {one}" + text[span.end :]
        case 4:
            return text[: span.start] + one + text[span.end :]
        case _:
            return text[: span.start] + other + text[span.end :]


def _try_all(rng: random.Random, tally: Tally, seed: int, text: str, answer: Callable[[str], str | None]) -> None:
    for _ in range(TEXTS // 2):
        slipped = mutated(rng, text)
        tally.cases += 1
        try:
            problem = answer(slipped)
        except LimitExceeded:
            tally.too_long += 1
        except MotifError:
            tally.errors += 1
        except Exception:  # noqa: BLE001 - whatever is not ours is a finding
            tally.differences.append(f"seed {seed}: not one of our errors\n{slipped}\n{traceback.format_exc(limit=-6)}")
        else:
            if problem is None:
                tally.matched += 1
            elif problem == NOT_JUDGED:
                tally.features[NOT_JUDGED] += 1
            else:
                tally.differences.append(f"seed {seed}: {problem}\n{slipped}")


def _rows(text: str, rows: list[dict[str, object]], table: pa.Table) -> str | None:
    """What is wrong with the answer to a clause."""
    query = parse_clause(text)
    got: list[dict[str, object]] | str
    try:
        got = motif.match(table, text).to_pylist()
    except QueryDataError as error:
        got = type(error).__name__
    try:
        expected = by_reference(query, rows, table)
    except UNKNOWN:
        return NOT_JUDGED
    if isinstance(expected, str) or isinstance(got, str) or _divides_by_values(query):
        return NOT_JUDGED  # which rows are computed at all is the host's business
    folded, found = ([_plain(row) for row in answer] for answer in (expected, got))
    return None if same_answer(folded, found) else f"differs from the reference: {expected[:3]} and {got[:3]}"


def _plain(row: dict[str, object]) -> dict[str, object]:
    """Names as they are folded, and TRUE as 1, which hosts make of it beside a number."""
    return {name.casefold(): int(value) if isinstance(value, bool) else value for name, value in row.items()}


def _divides_by_values(query: RowQuery) -> bool:
    """By zero, perhaps: of one row that is the host's business, and of several it is Motif's."""
    exprs = [*(define.condition for define in query.defines), *(measure.expr for measure in query.measures)]
    exprs += [*(key.expr for key in query.partition), *(item.expr for item in query.order)]
    divisors = (node.args[1] for e in exprs for node in walk(e) if isinstance(node, Call) and node.name in ("/", "%"))
    return any(not isinstance(divisor, Literal) for divisor in divisors)


def _events(text: str, rows: list[dict[str, object]], events: pa.Table) -> str | None:
    """What is wrong with what `check` says of an event query, and with its answer."""
    found = [one for one in motif.check(text, data=events) if one.severity == "error"]
    try:
        answer = motif.match(events, text).to_pylist()
    except MotifError as error:
        if found or _is_of_data(error):
            raise
        return f"check finds nothing, but: {error}"
    if found:
        return f"check finds {found[0]}, but there is an answer"
    try:
        return _judged(text, rows, answer)
    except UNKNOWN:
        return NOT_JUDGED


def _judged(text: str, rows: list[dict[str, object]], answer: list[dict[str, object]]) -> str | None:
    """What the reference has to say of the answer: which matches there are, their order, and their items."""
    query = parse_events(text)
    engine = Engine(query, rows, COLUMNS)
    read = [name for name in COLUMNS if Column(name) in engine.program.columns]
    keys = [engine.program.columns[key] for key in engine.program.keys]
    if query.items is None:
        shown = [_whole(row, read, keys) for row in answer]
    else:
        matches = engine.result()
        if [one.match_id for one in matches] != [row["match_id"] for row in answer]:
            return f"the engine alone finds other matches: {matches[:3]} and {answer[:3]}"
        for one, row in zip(matches, answer, strict=True):
            items = selected(query, rows, one.shown)
            if not same_value(items, tuple(row.values())[FACTS:]):
                return f"an item differs from the reference: {items} and {row}"
        shown = [one._replace(shown=by_values([one.shown], rows, read)[0]) for one in matches]
    wanted = as_listed(events_by_reference(query, rows, read), shown, read, keys)
    return None if wanted == shown else f"differs from the reference: {wanted[:3]} and {shown[:3]}"


def _whole(row: Mapping[str, Any], read: list[str], keys: list[Expr]) -> Listed:
    """A match with all its events, as `as_listed` makes it of what the reference gives."""
    number, _, end, *bound = row.values()
    events = [event for one in bound if one is not None for event in (one if isinstance(one, list) else [one])]
    shown = tuple(
        tuple(_values(event, read) for event in one) or None
        if isinstance(one, list)
        else None
        if one is None
        else _values(one, read)
        for one in bound
    )
    return Listed(end, tuple(events[0][key.name] for key in keys if isinstance(key, Column)), number, shown)


def _values(event: Mapping[str, Any], read: list[str]) -> tuple[Any, ...]:
    return tuple(event[name] for name in read)


def _is_of_data(error: MotifError) -> bool:
    """Told from the events themselves, which `check` does not read."""
    return isinstance(error, QueryDataError) or "is a class of the events" in error.message


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign of mutated texts."""
    return run_campaign(check_seed, TEXTS, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
