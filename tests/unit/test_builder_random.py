"""Random queries by way of the builder: data to Python objects to text and back."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from random_events import random_event_query

from motif.ir import event as ir
from motif.ir import pattern as row_ir
from motif.ir.query import MatchMode, RowQuery, Rows, SkipTo
from motif.ir.render import render_query
from motif.lang.builder import (
    EventPattern,
    EventVar,
    RowPattern,
    Value,
    all_of,
    any_of,
    at_end,
    at_start,
    ev,
    exclude,
    no,
    one_of,
    permute,
    row,
    rows,
    seq,
    subset,
    tseq,
)
from motif.lang.builder.event_parts import Negated, Picked
from motif.lang.builder.row_parts import RowPart
from motif.lang.snoop import parse_events
from motif.lang.statement import parse_clause
from motif.testing.generate import random_clause


def built(query: ir.EventQuery) -> EventPattern:
    """The same query by way of the builder."""

    def part(pattern: ir.Pattern) -> EventVar | Negated | EventPattern:
        match pattern:
            case ir.Event(var=var, type=type_, repeat=repeat):
                event = ev(type_, var)
                return event if repeat is None else event.times(repeat.low, repeat.high)
            case ir.Not(event=event):
                return no(ev(event.type, event.var))
            case ir.Sequence(items=items):
                return seq(*map(part, items))
            case ir.Conjunction(items=items):
                return all_of(*map(part, items))
            case ir.Disjunction(items=items):
                return one_of(*map(part, items))
            case ir.AnyOf(count=count, items=items):
                return any_of(count, *map(part, items))
            case ir.TimedSequence():
                low, high = timedelta(microseconds=pattern.low), timedelta(microseconds=pattern.high)
                return tseq(part(pattern.first), part(pattern.second), low, high)

    whole_pattern = part(query.pattern)
    assert isinstance(whole_pattern, EventPattern)
    whole_pattern = whole_pattern.where(*map(Value, query.conditions)).by(*(attribute.name for attribute in query.same))
    whole_pattern = whole_pattern.pick(*map(Picked, query.picks))
    whole_pattern = whole_pattern.consuming(*(ev(None, var) for var in query.consuming))
    if isinstance(query.within, ir.Duration):
        whole_pattern = whole_pattern.within(timedelta(microseconds=query.within.microseconds))
    if isinstance(query.within, ir.EventCount):
        whole_pattern = whole_pattern.within(events=query.within.count)
    if query.items is not None:
        whole_pattern = whole_pattern.select(**{item.name: Value(item.expr) for item in query.items})
    if query.name is not None:
        whole_pattern = whole_pattern.returning(query.name, **{item.name: Value(item.expr) for item in query.returned})
    return whole_pattern if query.input is None else whole_pattern.source(query.input)


@pytest.mark.parametrize("block", range(5))
def test_random_event_queries(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        query = random_event_query(random.Random(seed))
        if isinstance(query.pattern, ir.Event):
            continue
        again = built(query)
        assert again.query == query, f"seed {seed}"
        assert parse_events(str(again)) == query


def built_rows(query: RowQuery) -> RowPattern:
    """The same clause by way of the builder."""

    def part(pattern: row_ir.Pattern) -> RowPart:
        match pattern:
            case row_ir.Var(name=name):
                return row(name)
            case row_ir.Seq(items=items):
                return rows(*map(part, items))
            case row_ir.Choice(items=items):
                choice = part(items[0])
                for item in items[1:]:
                    choice = choice | part(item)
                return choice
            case row_ir.Repeat():
                loop = part(pattern.body).times(pattern.low, pattern.high)
                return loop if pattern.greedy else loop.reluctant()
            case row_ir.Permute(items=items):
                return permute(*map(part, items))
            case row_ir.Exclude(body=body):
                return exclude(part(body))
            case row_ir.Anchor(at_start=start):
                return at_start if start else at_end
            case row_ir.Empty():
                return RowPart(pattern, {})

    whole_pattern = rows(part(query.pattern))
    whole_pattern = whole_pattern.define({row(define.var): Value(define.condition) for define in query.defines})
    whole_pattern = whole_pattern.measures(**{measure.name: Value(measure.expr) for measure in query.measures})
    whole_pattern = whole_pattern.partition_by(**{key.name: Value(key.expr) for key in query.partition})
    ordered = (Value(order.expr) for order in query.order)
    whole_pattern = whole_pattern.order_by(
        *(
            key.desc(nulls_first=order.nulls_first) if order.descending else key.asc(nulls_first=order.nulls_first)
            for key, order in zip(ordered, query.order, strict=True)
        )
    )
    whole_pattern = whole_pattern.subsets(*(subset(each.name, *map(row, each.members)) for each in query.subsets))
    return with_options(whole_pattern, query)


def with_options(pattern: RowPattern, query: RowQuery) -> RowPattern:
    """Rows, skip, mode and WITHIN of the query."""
    if query.rows is not Rows.ONE:
        pattern = pattern.all_rows(
            empty=query.rows is not Rows.ALL_OMIT_EMPTY, unmatched=query.rows is Rows.ALL_WITH_UNMATCHED
        )
    if query.skip.to is SkipTo.NEXT:
        pattern = pattern.skip_to_next()
    if query.skip.var is not None:
        skip = pattern.skip_to_first if query.skip.to is SkipTo.FIRST else pattern.skip_to_last
        pattern = skip(row(query.skip.var))
    if query.match_mode is MatchMode.INCREMENTAL:
        pattern = pattern.incremental()
    if query.within is not None:
        bound = query.within.bound
        pattern = pattern.within(
            bound if isinstance(bound, int | float) else timedelta(microseconds=bound.microseconds)
        )
    return pattern


@pytest.mark.parametrize("block", range(5))
def test_random_row_patterns(block: int) -> None:
    for seed in range(block * 60, block * 60 + 60):
        query = parse_clause(random_clause(random.Random(seed)))
        assert parse_clause(render_query(query)) == query
        again = built_rows(query)
        assert again.query == query, f"seed {seed}\n{again}"
        assert parse_clause(str(again)) == again.query
