"""A physical plan is a value: frozen, comparable, picklable, JSON there and back; and it tells what has changed."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from planned_queries import ALL_EVENTS, ALL_ROWS, BY_KEY, CONSUMING, ROWS_BY_KEY, program_of

from motif.engine.execution import Execution
from motif.errors import MotifError
from motif.lang.statement import parse_clause
from motif.plan.events.planner import plan_events
from motif.plan.events.program import EventProgram, Stream
from motif.plan.events.steps import Estimates
from motif.plan.physical.choose import choose
from motif.plan.physical.costs import COMPILED, COSTS, HASTY, PLAIN
from motif.plan.physical.exact import why_not
from motif.plan.physical.facts import Asked, Code, Crossing, Facts, Host, Mode, Reader
from motif.plan.physical.plan import PhysicalPlan, Running, Strategy, changes
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.plan.source import HostRefusal
from motif.testing.event_generate import COLUMNS, random_event_query, random_stream
from motif.testing.fuzz import memory_source
from motif.testing.generate import random_clause, random_rows
from motif.testing.tables import to_arrow

QUERIES = 60
ASKED = Asked(
    rows='SELECT k AS c0 FROM "da\'ta"',
    sorted_rows="SELECT k AS c0 FROM data ORDER BY 1",
    filter="type IN ('A', 'ü')",
    result="c0 || '\\n'",
    crossing=(Crossing("k", "BIGINT"), Crossing('upper("c")', "VARCHAR")),
)


def random_facts(rng: random.Random, program: Program | EventProgram) -> Facts:
    """What may be known, on any host."""
    host = rng.choice(list(Host))
    mode = rng.choice(list(Mode))
    reader = Reader.PUSH if mode is not Mode.BATCH else rng.choice([Reader.MEMORY, Reader.ARROW, Reader.HOST])
    estimates = None
    if isinstance(program, EventProgram) and rng.random() < 0.5:
        events = (*program.query.events(), *program.query.negated())
        estimates = Estimates({event.var: rng.randrange(1, 1_000) for event in events})
    return Facts(
        host=host,
        mode=mode,
        cores=rng.choice([1, 2, 64]),
        asked=rng.choice([ASKED, Asked()]),
        reader=reader,
        files=rng.randrange(3),
        rows=rng.choice([None, 0, 1, 5_000, 250_000, 10**9]),
        bytes=rng.choice([None, 0, 1 << 20, 1 << 40]),
        memory=rng.choice([None, 1, 1 << 33]),
        largest_share=rng.choice([None, 0.1, 1.0]),
        code=rng.choice([None, *Code]),
        lead_steps=rng.choice([None, 0, 10**9]),
        functions=rng.choice([frozenset(), frozenset({"near"})]),
        estimates=estimates,
        buckets=rng.choice([1, 16]),
    )


def random_programs(rng: random.Random) -> Iterator[Program | EventProgram]:
    """One program of each language; none where a query is refused."""
    with contextlib.suppress(MotifError, HostRefusal):
        yield plan(parse_clause(random_clause(rng)), memory_source(to_arrow(random_rows(rng, 3))))
    query = random_event_query(rng)
    with contextlib.suppress(MotifError):
        yield plan_events(query, memory_source(to_arrow(random_stream(rng, query), COLUMNS)), Stream())


def reasons(one: PhysicalPlan) -> list[str]:
    """What is no part of what makes two plans equal."""
    return [one.read.why, one.arrange.why, one.match.why, one.match.loops_why, one.gather.why, *one.open]


def test_plans_of_random_queries_are_values() -> None:
    strategies, programs = set(), 0
    for seed in range(QUERIES):
        rng = random.Random(seed)
        for program in random_programs(rng):
            programs += 1
            for _ in range(8):
                facts, costs = random_facts(rng, program), rng.choice([COSTS, PLAIN, COMPILED, HASTY])
                made = choose(program, facts, costs)
                strategies.add(made.match.strategy)
                assert why_not(made.match.strategy, program, facts) is None, seed
                assert choose(program, facts, costs) == made, seed
                for again in (PhysicalPlan.from_json(made.to_json()), pickle.loads(pickle.dumps(made))):
                    assert again == made, seed
                    assert hash(again) == hash(made), seed
                    assert reasons(again) == reasons(made), seed
                    assert changes(made, again) == (), seed
                    assert again.to_json() == made.to_json(), seed
                assert [type(value) for value in (again.host, again.mode, again.match.loops)] == [Host, Mode, Running]
    assert programs > QUERIES
    assert strategies == set(Strategy)


def test_json_is_plain() -> None:
    counted = Facts(cores=2, estimates=Estimates({"a": 1, "b": 2}))
    kept: dict[str, Any] = json.loads(choose(program_of(BY_KEY), counted).to_json())
    assert kept["match"]["strategy"] == "partitions"
    assert kept["match"]["loops"] == "open"
    assert kept["match"]["why"] == "each core has whole partitions"
    assert kept["move"] is None
    assert kept["match"]["orders"][0]["variables"]


def test_nothing_of_a_plan_can_be_changed() -> None:
    made = choose(program_of(ROWS_BY_KEY), Facts(host=Host.SPARK, asked=ASKED))
    for part in (made, made.read, made.move, made.arrange, made.match, made.gather, made.finish):
        name = next(iter(type(part).__dataclass_fields__))
        with pytest.raises(FrozenInstanceError):
            setattr(part, name, None)
    with pytest.raises(FrozenInstanceError):
        COSTS.cores = 2  # type: ignore[misc]


def test_reasons_do_not_make_two_plans() -> None:
    program = program_of(ALL_ROWS)
    asked, chosen = (choose(program, Facts(cores=1), wanted=wanted) for wanted in (Strategy.SEQUENTIAL, None))
    assert chosen.match.strategy is Strategy.SEQUENTIAL
    assert asked.match.why != chosen.match.why
    assert asked.match == chosen.match
    assert hash(asked.match) == hash(chosen.match)
    assert replace(asked, open=("something",)) == asked


# -- what has changed


def test_what_is_learned_changes_a_plan() -> None:
    execution = Execution(program_of(ROWS_BY_KEY), Facts(cores=4))
    assert execution.changes == ()
    execution.learn(rows=1_000_000)
    assert [(change.what, change.before, change.after) for change in execution.changes] == [
        ("match.loops", "open", "compiled"),
        ("match.parts", "as many as pay", "6"),
    ]
    assert execution.changes[0].why == "1,000,000 rows; from 200,000 on it is compiled"
    execution.learn(rows=1_000)
    changed = {change.what: (change.before, change.after) for change in execution.changes}
    assert changed == {
        "match.strategy": ("partitions", "sequential"),
        "match.loops": ("open", "plain Python first"),
        "match.parts": ("as many as pay", "1"),
    }
    assert execution.planned == choose(execution.program, Facts(cores=4))


def test_a_strategy_that_was_asked_for_stays() -> None:
    execution = Execution.of(program_of(ALL_EVENTS), COSTS, Strategy.SHARED, cores=4)
    execution.learn(rows=10, lead_steps=0)
    assert execution.plan.match.strategy is Strategy.SHARED
    assert execution.plan.match.why == "asked for"


def test_counts_change_the_order_in_which_events_are_bound() -> None:
    execution = Execution.of(program_of("SELECT a.v AS v FROM SEQ(A a; B b)"), cores=1)
    execution.count(Estimates({"a": 1, "b": 1_000}))
    first = execution.ran
    assert [change.what for change in execution.changes] == ["match.orders"]
    execution.count(Estimates({"a": 1_000, "b": 1}))
    [change] = changes(first, execution.ran)
    assert (change.what, change.before, change.after) == ("match.orders", "a, b", "b, a")
    assert change.why == "candidates are counted: the rarest are bound first"


def test_too_many_rows_change_who_sorts() -> None:
    execution = Execution(program_of(CONSUMING), Facts(asked=ASKED, memory=1_000))
    execution.learn(bytes=1_001)
    changed = {change.what: change for change in execution.changes}
    assert (changed["read.sql"].before, changed["read.sql"].after) == (ASKED.rows, ASKED.sorted_rows)
    assert (changed["arrange.place"].before, changed["arrange.place"].after) == ("memory", "host")
    assert "sorted with the help of the disk" in changed["arrange.place"].why


def test_a_step_that_comes_in_is_a_change() -> None:
    program = program_of(BY_KEY)
    here, there = choose(program, Facts()), choose(program, Facts(host=Host.SPARK))
    assert {"host", "move"} <= {change.what for change in changes(here, there)}
