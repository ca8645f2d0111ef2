"""Every shared case of the event language on the engine, plain and compiled.

`unit/test_event_reference.py` holds the same cases against the reference matcher, so all of them agree.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from motif.errors import MotifError
from motif.lang.snoop import parse_events
from motif.plan.events.program import Stream
from motif.testing.event_cases import FUNCTIONS, EventCase, LabelledMatch, load_event_cases
from motif.testing.event_engines import Engine
from motif.testing.event_reference import fire_events, in_result_order

CASES = load_event_cases(Path(__file__).parent / "event_cases")
every_case = pytest.mark.parametrize("case", [case for case in CASES if case.refused is None], ids=str)


def engine(case: EventCase) -> Engine:
    functions = {name: FUNCTIONS[name] for name in case.functions}
    stream = Stream(order_by=case.order_by, start=case.start)
    return Engine(parse_events(case.query), case.events, case.columns, stream=stream, functions=functions)


def answer(case: EventCase, *, compiled: bool) -> list[LabelledMatch]:
    return case.labelled(one.shown for one in engine(case).result(compiled=compiled))


@every_case
def test_as_plain_python(case: EventCase) -> None:
    """The expected matches stand in the order they fire; a result has them in another."""
    query = parse_events(case.query)
    functions = {name: FUNCTIONS[name] for name in case.functions}
    fired = fire_events(query, case.events, ("ts", "type", case.start), functions)
    assert case.labelled(one.match for one in fired) == list(case.expected)
    if not query.consuming:
        fired.sort(key=lambda one: one.rank)
    found = engine(case).result(compiled=False)
    known = {repr(one.shown): one for one in found}
    assert found == in_result_order(known[repr(one.match)] for one in fired)


@every_case
@pytest.mark.usefixtures("kernel_cache")
def test_compiled(case: EventCase) -> None:
    assert answer(case, compiled=True) == answer(case, compiled=False)


@pytest.mark.parametrize("case", [case for case in CASES if case.refused is not None], ids=str)
def test_refused(case: EventCase) -> None:
    with pytest.raises(MotifError):
        answer(case, compiled=False)
