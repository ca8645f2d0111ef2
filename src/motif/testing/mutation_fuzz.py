"""Queries with mistakes in them: whatever a text says, the answer is right or the error is one of ours.

`python -m motif.testing.mutation_fuzz --cases 50000` runs a campaign; a case is one text. Texts of random queries have
tokens dropped, swapped, doubled, or others of the query put in their place. A clause that is still one is answered as
the reference answers it; of an event query only `check` and `match` are held against each other. What is no query is a
`MotifError`, and `check` finds it without reading a row. Answers that the reference did not judge are counted apart.
"""

from __future__ import annotations

import random
import sys
import traceback
import warnings
from collections.abc import Callable

import pyarrow as pa

import motif
from motif.errors import LimitExceeded, MotifError, QueryDataError
from motif.ir.expr import Call, Literal, walk
from motif.ir.query import RowQuery
from motif.ir.render_event import render_events
from motif.lang.lexer import tokenize
from motif.lang.statement import parse_clause
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.fuzz import Tally, by_reference, run_campaign, same_answer
from motif.testing.generate import random_example
from motif.testing.tables import to_arrow

PARTITIONS = 4
TEXTS = 20
"""Mutated texts of one query."""
NOT_JUDGED = "answered, not judged by the reference"


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
        events = to_arrow(list(random_stream(rng, query)), COLUMNS)
        _try_all(rng, tally, seed, render_events(query), lambda text: _events(text, events))
    return tally


def mutated(rng: random.Random, text: str) -> str:
    """The text with one to three slips in it."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            tokens = list(tokenize(text).items)[:-1]
        except MotifError:
            return text
        if len(tokens) < 2:
            return text
        spans = [token.span for token in tokens]
        at = rng.randrange(len(tokens))
        alike = [token.span for token in tokens if token.kind is tokens[at].kind]  # often still a query
        one, other = (text[span.start : span.end] for span in (rng.choice(spans), rng.choice(alike)))
        span, here = spans[at], text[spans[at].start : spans[at].end]
        following = spans[min(at + 1, len(spans) - 1)]
        match rng.randrange(9):
            case 0:
                text = text[: span.start] + text[span.end :]
            case 1:
                text = text[: span.start] + f"{here} {here}" + text[span.end :]
            case 2:
                between = text[span.end : following.start]
                moved = text[following.start : following.end]
                text = text[: span.start] + moved + (between or " ") + here + text[following.end :]
            case 3:
                text = text[: span.start] + f"{here} {one}" + text[span.end :]
            case 4:
                text = text[: span.start] + one + text[span.end :]
            case _:
                text = text[: span.start] + other + text[span.end :]
    return text


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
    except (NotImplementedError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError, AssertionError):
        return NOT_JUDGED  # of a type or function that the reference does not know
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


def _events(text: str, events: pa.Table) -> str | None:
    """What is wrong with what `check` says of an event query."""
    found = [one for one in motif.check(text, data=events) if one.severity == "error"]
    try:
        motif.match(events, text)
    except MotifError as error:
        if found or _is_of_data(error):
            raise
        return f"check finds nothing, but: {error}"
    return f"check finds {found[0]}, but there is an answer" if found else NOT_JUDGED


def _is_of_data(error: MotifError) -> bool:
    """Told from the events themselves, which `check` does not read."""
    return isinstance(error, QueryDataError) or "is a class of the events" in error.message


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign of mutated texts."""
    return run_campaign(check_seed, TEXTS, arguments, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
