"""How one way through a pattern is joined: the order of its elements, the tests at each, and what follows from them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from inspect import signature

from motif.engine.events.rows import EventRows, Plan, PlanKey
from motif.engine.events.zones import BLOCK
from motif.kernels import join
from motif.kernels.known import Known
from motif.plan.events.codegen import JoinCode, generate_tests
from motif.plan.events.steps import Steps, choose_steps
from motif.plan.events.ways import Element, Role, Way

MOST_PLANS = 16
"""Of a program that are kept, for events that are alike."""


def planned(rows: EventRows, number: int, driver: int | None = None, *, choose: bool = True) -> Plan:
    """The plan for a way; made once for the events of a run, or of many."""
    is_small = driver is not None and rows.count <= BLOCK
    key = (number, driver, choose, is_small)
    if key not in rows.plans:
        rows.plans[key] = _kept(rows, key)
    return rows.plans[key]


def _kept(rows: EventRows, key: PlanKey) -> Plan:
    """The plan that was made for the same estimates, if it is among the last ones."""
    kept: dict[Hashable, Plan] = rows.program.joins
    known = (key, rows.estimates.key)
    plan = kept.get(known)
    if plan is None:
        kept[known] = plan = _made(rows, *key)
        for oldest in list(kept)[:-MOST_PLANS]:
            kept.pop(oldest, None)
    return plan


def _made(rows: EventRows, number: int, driver: int | None, choose: bool, is_small: bool) -> Plan:
    program, way = rows.program, rows.program.ways[number]
    steps = choose_steps(program.query, way, program.conditions, rows.estimates, driver)
    if not choose:
        steps = Steps(steps.way, steps.elements, steps.lookups, steps.zones)
    if is_small:  # a step of a stream: no block of candidates could be passed over
        steps = replace(steps, zones=(None,) * len(steps.zones))
    code = generate_tests(program.query, steps, program.conditions, rows.ticks, intervals=rows.intervals)
    static = _static(rows, way, steps, code)
    return Plan(steps, code, static, _known(rows, way, steps, code, static))


def _static(rows: EventRows, way: Way, steps: Steps, code: JoinCode) -> list[list[int]]:
    """The arguments of the loop from `kind` to `distinct`."""
    place, _ = rows.result_columns
    depth = len(steps.elements)
    elements = [way.elements[number] for number in steps.elements]
    sources = [-1 if lookup is None else steps.level(lookup.element) for lookup in steps.lookups]
    gap_low, gap_high = [-2 * join.FAR] * (depth * depth), [2 * join.FAR] * (depth * depth)
    for level, other, low, high in code.gaps:
        at = level * depth + other
        gap_low[at], gap_high[at] = max(gap_low[at], low), min(gap_high[at], high)
    order = _order(way, steps)
    return [
        _kinds(way, steps),
        order,
        gap_low,
        gap_high,
        sources,
        [0 if e.repeat is None else e.repeat.low for e in elements],
        [join.FAR if e.repeat is None or e.repeat.high is None else e.repeat.high for e in elements],
        [-1 if e.role is Role.ABSENT else place[e.var] for e in elements],
        [-1 if level == steps.chosen and steps.late_first else 1 for level in range(depth)],
        _distinct(rows, elements, order),
    ]


def _known(rows: EventRows, way: Way, steps: Steps, code: JoinCode, static: list[list[int]]) -> Known:
    """What tells shapes of queries apart and leaves much of the loop out; more would only have to be compiled anew."""
    names = list(signature(join.join).parameters)[1 : 1 + len(static)]
    given = dict(zip(names, static, strict=True))
    known = {f"{name}[]": given[name] for name in ("kind", "source", "step", "distinct")}
    known |= {"what": given["kind"], "intervals": [int(rows.intervals)]}
    if not code.gaps:
        known["gapped"] = [0]
    if all(element.role is not Role.LIST for element in way.elements):
        known["n"] = [0]
    if not rows.program.query.consuming:
        known |= {"consuming": [0], "fixed[]": [-1]}
        if steps.chosen < 0:
            known["chosen"] = [steps.chosen]
    return tuple((name, tuple(sorted(set(values)))) for name, values in known.items())


def _kinds(way: Way, steps: Steps) -> list[int]:
    kinds = []
    for number in steps.elements:
        element = way.elements[number]
        match element.role:
            case Role.SINGLE:
                kinds.append(join.SINGLE)
            case Role.ABSENT:
                kinds.append(join.ABSENT)
            case Role.LIST if element.each:
                kinds.append(join.EACH)
            case Role.LIST:
                kinds.append(join.PREFIX if way.is_split(number) else join.WHOLE)
    return kinds


def _order(way: Way, steps: Steps) -> list[int]:
    before, elements = way.before, steps.elements
    return [-1 if other in before[own] else 1 if own in before[other] else 0 for own in elements for other in elements]


def _distinct(rows: EventRows, elements: list[Element], order: list[int]) -> list[int]:
    """1 where an element of an earlier level may want the same event; 2 if only those of single events matter."""
    variables = rows.program.variables
    flags = []
    for level, element in enumerate(elements):
        rivals = [
            other
            for other in range(level)
            if order[level * len(elements) + other] == 0 and elements[other].role is not Role.ABSENT
        ]
        if element.role is Role.ABSENT:
            flags.append(2 if element.var in variables else 0)
        else:
            flags.append(int(bool(rivals)))
    return flags
