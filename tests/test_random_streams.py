"""20,000 random query x stream pairs, both languages: a stream gives what a batch over the same events gives.

The seeds are fixed, so a failure here is one to debug, not one to run again; `python -m motif.testing.stream_fuzz`
draws others.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif.engine.events.merge import PARTITION
from motif.engine.events.rows import EventRows
from motif.engine.events.run import match_part
from motif.engine.execution import Execution
from motif.engine.order import arrange
from motif.ir.event import EventQuery
from motif.ir.expr import Call, Expr, walk
from motif.plan.dag import BASE
from motif.plan.events.program import EventProgram
from motif.plan.physical.costs import PLAIN
from motif.testing import change_fuzz
from motif.testing.event_generate import COLUMNS as EVENT_COLUMNS
from motif.testing.event_generate import random_stream
from motif.testing.event_reference import Listed
from motif.testing.fuzz import campaign
from motif.testing.generate import random_rows
from motif.testing.stream_fuzz import FUNCTIONS, HALF_STEPS, ID, PIECES, Case, check_seed
from motif.testing.stream_order import Line, fault_of_events, fault_of_rows
from motif.testing.tables import to_arrow

pytestmark = pytest.mark.random

FIRST, CHUNKS, QUERIES = 9_000, 10, 65
PAIRS = 20_000
COMPILED_EVERY = 155


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.usefixtures("kernel_cache")
def test_a_stream_gives_what_a_batch_gives(chunk: int) -> None:
    """65 queries over 40 streams each, fewer where rows come one by one: all plain, four of the file compiled too."""
    tally = campaign(FIRST + chunk * QUERIES, QUERIES, compiled_every=COMPILED_EVERY, check=check_seed)
    assert not tally.differences, "\n\n".join(tally.differences)
    assert tally.cases >= PAIRS // CHUNKS
    assert tally.matched >= 0.6 * tally.queries
    assert tally.refused + tally.too_long <= 0.06 * tally.queries
    assert min(tally.features[kind] for kind in ("row patterns", "event patterns")) >= QUERIES // 4


@pytest.mark.filterwarnings("ignore:PICK EACH")
def test_motif_stream_gives_what_motif_match_gives() -> None:
    """50 queries through the public door: rows one by one or a few at a time, as mappings or tables."""
    matched = 0
    for seed in range(50):
        rng = random.Random(f"public {seed}")
        case = Case(rng)
        case.draw()
        if isinstance(case.query, EventQuery):
            case.query = replace(case.query, conditions=tuple(c for c in case.query.conditions if not _calls(c)))
            table = to_arrow(random_stream(rng, case.query), EVENT_COLUMNS)
        else:
            table = to_arrow(random_rows(rng, rng.choice((1, 3))))
        time = "day" if "ORDER BY day" in case.text else "ts"
        timed = table.filter(table[time].is_valid())
        try:
            expected = motif.match(timed, case.query)
            stream = motif.Stream(case.query, table.schema, lateness=dt.timedelta(microseconds=case.lateness))
        except (motif.UnsupportedQuery, motif.QueryDataError):
            continue
        except motif.QueryBindError as error:
            if "alone is any event, but" in error.message:  # a variable that has the name of a class
                continue
            raise
        found = [stream.push(piece) for piece in _arriving(rng, table, time, case.lateness)]
        found.append(stream.close())
        assert all(step.schema == expected.schema for step in found), case.text
        fault = _fault(stream, table, expected, found)
        assert fault is None, f"seed {seed}\n{case.text}\n{fault}"
        assert (stream.status.late, stream.status.without_time) == (0, len(table) - len(timed))
        matched += bool(expected.num_rows)
    assert matched >= 20


def _fault(stream: motif.Stream, table: pa.Table, expected: pa.Table, found: list[pa.Table]) -> str | None:
    """What is wrong with the steps of a stream over a table, of which `expected` is the answer."""
    link = stream.links[0]
    program = link.planned.program
    if not isinstance(program, EventProgram):
        keys = len(program.query.partition)
        batch, *steps = (
            [Line(repr([*row.values()][:keys]), repr(row)) for row in answer.to_pylist()]
            for answer in (expected, *found)
        )
        return fault_of_rows(batch, steps)
    partition: dict[int, int] = {}
    if program.keys:
        link.show(BASE, table.filter(table["ts"].is_valid()), stream.schemas)
        part = match_part(EventRows(program, arrange(link.rows(), link.planned.layout), Execution.of(program, PLAIN)))
        partition = dict(zip(*(part.column(name).to_pylist() for name in (ID, PARTITION)), strict=True))
    whole, *pieces = (
        [
            Listed(row["match_end"], (partition.get(row["match_id"]),), row["match_id"], repr(row))
            for row in answer.to_pylist()
        ]
        for answer in (expected, *found)
    )
    return fault_of_events(whole, pieces, in_time=False)


def _calls(condition: Expr) -> bool:
    return any(isinstance(node, Call) and node.name in FUNCTIONS for node in walk(condition))


def _arriving(rng: random.Random, table: pa.Table, time: str, lateness: int) -> Iterator[Any]:
    """Pieces of a table, out of order within the bound."""
    moments = table[time].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    keys = [(0 if moment is None else moment + rng.randint(0, lateness), rng.random()) for moment in moments]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    position = 0
    while position < len(order):
        size = rng.choice((1, 1, 1, 2, 3))
        piece = table.take(pa.array(order[position : position + size]))
        yield piece.to_pylist() if rng.random() < 0.5 else piece
        position += size


def test_a_changed_query_goes_on_as_if_it_had_always_been_there() -> None:
    """Or it is refused by name."""
    tally = campaign(500, 60, check=change_fuzz.check_seed)
    assert not tally.differences, "\n\n".join(tally.differences)
    assert tally.cases >= 60
    assert tally.matched >= 20
    assert any(name.startswith("refused: events that were only the last") for name in tally.features)


def test_the_cases_have_every_construct() -> None:
    """A construct, or a manner of arrival, that the seeds do not draw would go untested without anybody noticing."""
    seen, drawn = (_features(seeds) for seeds in (range(FIRST, FIRST + CHUNKS * QUERIES), range(3_000)))
    common = {name for name, count in drawn.items() if count >= 60}
    assert common <= seen.keys(), common - seen.keys()
    assert len(common) >= 150
    manners = {*PIECES, "not saved", "saved now and then", "saved after every push"}
    manners |= {f"late by {steps / 2:g} steps" for steps in HALF_STEPS}
    kinds = {"row patterns", "event patterns", "function of 1 event", "function of 2 events"}
    assert manners | kinds <= seen.keys()


def _features(seeds: range) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        case = Case(random.Random(seed))
        case.draw()
        found.update(case.features)
    return found
