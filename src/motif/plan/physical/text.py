"""A physical plan for people: its steps in order, each with what an engine is given and why it is done that way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from motif.plan.physical.facts import Crossing, Host, Mode, Reader
from motif.plan.physical.plan import Ask, Asking, PhysicalPlan, Place, Route, Running, Strategy
from motif.plan.physical.ran import Counted, Work

NO_COLUMN = "no column crosses, only rows"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the work, in order; `code` is what an engine is given."""

    title: str
    code: str = ""
    notes: tuple[str, ...] = ()
    works: tuple[Work, ...] = ()
    """What a run counts of it."""
    counted: tuple[Counted, ...] = ()
    """What a run has counted."""


def work(plan: PhysicalPlan) -> tuple[Step, ...]:
    """The steps of a plan."""
    return tuple(_steps(plan))


def _steps(plan: PhysicalPlan) -> Iterator[Step]:
    if plan.read.filter:
        yield Step(f"{plan.host} filters", plan.read.filter)
    yield Step(_reads(plan), plan.read.sql, (*_read_notes(plan), *crossing_notes(plan.read.crossing)), (Work.READ,))
    if plan.move is not None:
        yield from _moves(plan)
    if plan.ask is not None and plan.ask.asking is not Asking.FOUND:
        yield _asked(plan.host, plan.ask)
    yield _match(plan)
    if plan.ask is not None and plan.ask.asking is Asking.FOUND:
        yield _asked(plan.host, plan.ask)
    if plan.host is Host.SPARK and plan.mode is not Mode.BATCH:
        yield Step("Motif unpacks the matches, inside mapInArrow")
    if plan.finish is not None:
        title = "Spark selects the result" if plan.host is Host.SPARK else "DuckDB computes the outputs"
        yield Step(title, plan.finish.sql, works=(Work.FINISH,))


def _reads(plan: PhysicalPlan) -> str:
    match plan.read.reader:
        case Reader.MEMORY:
            return "Columns are taken as they are"
        case Reader.ARROW if plan.host is Host.SPARK:
            return "One task reads"
        case Reader.ARROW:
            return "Arrow reads the file"
        case Reader.PUSH:
            return "Rows are pushed"
        case Reader.HOST if plan.host is Host.SPARK:
            return "Spark selects"
        case Reader.HOST if plan.arrange.place is Place.HOST:
            return "DuckDB reads and sorts"
        case Reader.HOST:
            return "DuckDB reads"


def _read_notes(plan: PhysicalPlan) -> Iterator[str]:
    if plan.read.reader is Reader.ARROW and plan.host is Host.SPARK:
        files = "1 Parquet file" if plan.read.files == 1 else f"{plan.read.files} Parquet files"
        yield f"{files}, by itself: Spark hands no row over and exchanges none"


def crossing_notes(crossing: Sequence[Crossing]) -> tuple[str, ...]:
    """What crosses from the host to Motif."""
    lines = [f"  c{number}: {column.sql}, {column.type}" for number, column in enumerate(crossing)]
    return ("crosses as Arrow:", *lines) if lines else (NO_COLUMN,)


def _moves(plan: PhysicalPlan) -> Iterator[Step]:
    move = plan.move
    assert move is not None
    if move.route is Route.BY_BUCKET:
        keys = ", ".join(move.keys)
        if keys:
            how = (
                f"by buckets of keys ({keys}), {move.buckets} of them (buckets=): each is matched by one task at a time"
            )
        else:
            how = f"in sequence, by one task: {move.why}"
        yield Step("Motif packs rows, inside mapInArrow", "", (how,))
        yield Step("Spark exchanges", "", ("repartition by bucket",))
        return
    if plan.read.reader is Reader.ARROW:
        return
    match move.route:
        case Route.BY_KEY:
            note = f"repartition by {', '.join(move.keys)}: {move.why}"
        case Route.BY_SLICE:
            seconds = (move.slice_microseconds or 0) / 1_000_000
            note = f"repartition by slice of time, {seconds:,g} seconds each: {move.why}"
        case Route.TO_ONE:
            note = f"one partition: {move.why}, so one task does all the work"
        case _:
            note = f"nothing: {move.why}"
    yield Step("Spark exchanges", "", (note,))


def _asked(host: Host, ask: Ask) -> Step:
    count = "1 condition" if ask.conditions == 1 else f"{ask.conditions} conditions"
    notes = [f"{count} over several rows, {ask.asking}: {ask.why}"]
    match ask.asking:
        case Asking.ROUNDS:
            notes += [
                "when the query is made, not when its rows are asked for: each round is a job over all rows",
                "until no value is new, about the logarithm of the length of a match; then once more, for the matches",
            ]
        case Asking.JOBS:
            notes.append("when the query is made, not when its rows are asked for: each is a job over all events")
        case _:
            pass
    if ask.most is not None:
        notes.append(f"the driver holds the values, up to host_questions={ask.most:,} for each condition")
    return Step(f"{host} is asked about conditions", "", tuple(notes))


def _match(plan: PhysicalPlan) -> Step:
    notes = [_sorted(plan), f"strategy {plan.match.strategy}{_parts(plan)}: {plan.match.why}", _loops(plan)]
    if plan.match.leaves_out:
        notes.append("events of partitions that lack what every match must have are left out before they are sorted")
    notes.append(_out(plan))
    notes += plan.open
    own = (Work.LEAVE_OUT, Work.ARRANGE, Work.MATCH, Work.GATHER)
    works = own if plan.finish is not None else (*own, Work.FINISH)
    return Step(_title(plan), "", tuple(note for note in notes if note), works)


def _title(plan: PhysicalPlan) -> str:
    what = "joins events" if plan.match.of_events else "matches rows"
    if plan.host is Host.DUCKDB:
        return f"Motif {what}"
    inside = "mapInArrow" if plan.mode is Mode.BATCH else "transformWithState"
    return f"Motif {what}, inside {inside}"


def _sorted(plan: PhysicalPlan) -> str:
    arrange = plan.arrange
    match arrange.place:
        case Place.ARRIVAL if plan.host is Host.SPARK:
            return "once per bucket and batch; what is kept is in Spark's state"
        case Place.ARRIVAL:
            return arrange.why
        case Place.HOST:
            return f"rows come in order: {arrange.why}"
        case Place.WORKER:
            size = (arrange.most_bytes or 0) >> 20
            return f"sorted in the worker, up to {size:,} MiB per task in memory, more with the help of its disk"
        case Place.MEMORY if arrange.most_bytes is not None:
            return f"up to {arrange.most_bytes >> 20:,} MiB are sorted in memory; DuckDB sorts what is more"
        case Place.MEMORY:
            return "sorted in memory"


def _parts(plan: PhysicalPlan) -> str:
    match = plan.match
    if match.strategy is Strategy.SEQUENTIAL or plan.host is Host.SPARK:
        return ""
    return ", as many parts as pay" if match.parts is None else f", {match.parts} part{'s' * (match.parts > 1)}"


def _loops(plan: PhysicalPlan) -> str:
    if plan.match.loops is Running.OPEN:
        return f"loops: {plan.match.loops_why}"
    return f"loops: {plan.match.loops} ({plan.match.loops_why})"


def _out(plan: PhysicalPlan) -> str:
    gather = plan.gather
    columns = f"{gather.columns} column{'s' * (gather.columns != 1)} of picked values and aggregates per output row"
    return f"{columns}; order: {gather.order} ({gather.why})"
