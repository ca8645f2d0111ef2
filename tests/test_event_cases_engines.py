"""Every shared case of the event language on the engine, plain and compiled.

`unit/test_event_reference.py` holds the same cases against the reference matcher, so all of them agree.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from motif.errors import MotifError
from motif.lang.snoop import parse_events
from motif.plan.events.program import Stream
from motif.plan.physical.costs import COMPILED, PLAIN, Costs
from motif.testing.event_cases import FUNCTIONS, EventCase, LabelledMatch, load_event_cases
from motif.testing.event_engines import Engine
from motif.testing.event_reference import fire_events, in_result_order

CASES = load_event_cases(Path(__file__).parent / "event_cases")
every_case = pytest.mark.parametrize("case", [case for case in CASES if case.refused is None], ids=str)


def engine(case: EventCase) -> Engine:
    functions = {name: FUNCTIONS[name] for name in case.functions}
    stream = Stream(order_by=case.order_by, start=case.start)
    return Engine(parse_events(case.query), case.events, case.columns, stream=stream, functions=functions)


def answer(case: EventCase, costs: Costs) -> list[LabelledMatch]:
    return case.labelled(one.shown for one in engine(case).result(costs))


@every_case
def test_as_plain_python(case: EventCase) -> None:
    """The expected matches stand in the order they fire; a result has them in another."""
    query = parse_events(case.query)
    functions = {name: FUNCTIONS[name] for name in case.functions}
    fired = fire_events(query, case.events, ("ts", "type", case.start), functions)
    assert case.labelled(one.match for one in fired) == list(case.expected)
    if not query.consuming:
        fired.sort(key=lambda one: one.rank)
    found = engine(case).result()
    known = {repr(one.shown): one for one in found}
    assert found == in_result_order(known[repr(one.match)] for one in fired)


@every_case
@pytest.mark.usefixtures("kernel_cache")
def test_compiled(case: EventCase) -> None:
    assert answer(case, COMPILED) == answer(case, PLAIN)


@pytest.mark.parametrize("case", [case for case in CASES if case.refused is not None], ids=str)
def test_refused(case: EventCase) -> None:
    with pytest.raises(MotifError):
        answer(case, PLAIN)


def test_the_readme_lists_files_and_traps() -> None:
    folder = Path(__file__).parent / "event_cases"
    lines = [line.split("|")[1:3] for line in (folder / "README.md").read_text().splitlines() if line.startswith("| ")]
    listed = {first.strip(" `"): second for first, second in lines}
    assert {path.stem for path in folder.glob("*.toml")} <= listed.keys()
    for case in CASES:
        for trap in case.traps:
            assert case.name in listed[trap], f"{case.name} is a case of trap {trap}"
