"""Sessions, funnels and sequences against plain loops over random events."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import motif
from motif import MotifError, col

START = dt.datetime(2026, 3, 1)
STEPS = ["view", "cart", "pay"]


def minutes(count: float) -> dt.timedelta:
    return dt.timedelta(minutes=count)


def events_of(seed: int, count: int = 60) -> list[dict[str, Any]]:
    """Events with ties in time, several users, classes that are no step, and values that are NULL."""
    draw = random.Random(seed)
    return [
        {
            "id": number,
            "ts": START + minutes(draw.randrange(0, 120)),
            "type": draw.choice([*STEPS, "help", None]),
            "user": draw.choice(["ann", "bob", "cy"]),
            "device": draw.choice([1, 2]),
        }
        for number in range(count)
    ]


def table_of(events: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(events)


def by_key(events: list[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    keyed: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for event in events:
        keyed.setdefault(tuple(event[name] for name in names), []).append(event)
    return {key: keyed[key] for key in sorted(keyed)}


# -- sessions -----------------------------------------------------------------------------------------


def sessions_by_hand(times: list[dt.datetime], gap: dt.timedelta, longest: dt.timedelta | None) -> list[list[Any]]:
    found: list[list[dt.datetime]] = []
    for time in sorted(times):
        fits = found and time - found[-1][-1] <= gap and (longest is None or time - found[-1][0] <= longest)
        if fits:
            found[-1].append(time)
        else:
            found.append([time])
    return found


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("longest", [None, minutes(9)])
def test_sessions_are_cut_where_a_gap_is_longer(seed: int, longest: dt.timedelta | None) -> None:
    events = events_of(seed)
    expected = [
        {
            "user": user,
            "device": device,
            "session": number,
            "session_start": s[0],
            "session_end": s[-1],
            "events": len(s),
        }
        for (user, device), own in by_key(events, "user", "device").items()
        for number, s in enumerate(sessions_by_hand([e["ts"] for e in own], minutes(4), longest), 1)
    ]
    found = motif.sessionize(table_of(events), by=["user", "device"], gap="4 min", longest=longest)
    assert found.to_pylist() == expected


def test_every_row_with_the_number_of_its_session() -> None:
    events = [{"at": at, "user": "ann", "note": f"n{at}"} for at in (1, 2, 10, 11, 30)]
    found = motif.sessionize(table_of(events), by="user", gap=5, per="row", time="at")
    assert found.select(["at", "session", "note"]).to_pylist() == [
        {"at": 1, "session": 1, "note": "n1"},
        {"at": 2, "session": 1, "note": "n2"},
        {"at": 10, "session": 2, "note": "n10"},
        {"at": 11, "session": 2, "note": "n11"},
        {"at": 30, "session": 3, "note": "n30"},
    ]


# -- funnels ------------------------------------------------------------------------------------------


def tries_by_hand(own: list[dict[str, Any]], within: dt.timedelta | None) -> list[list[dict[str, Any]]]:
    """From each event of the first step on, the earliest event of each next one."""
    tries = []
    for begin, first in enumerate(own):
        if first["type"] != STEPS[0]:
            continue
        path, place = [first], begin
        for step in STEPS[1:]:
            later = (at for at in range(place + 1, len(own)) if own[at]["type"] == step)
            place = next(later, len(own))
            if place == len(own) or (within is not None and own[place]["ts"] - first["ts"] > within):
                break
            path.append(own[place])
        tries.append(path)
    return tries


def in_order(own: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By time, equal ones by the columns that the conditions read: NULL last."""
    return sorted(own, key=lambda e: (e["ts"], e["type"] is None, e["type"] or ""))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("within", [None, minutes(30)])
def test_a_funnel_follows_every_try(seed: int, within: dt.timedelta | None) -> None:
    events = events_of(seed)
    tries = {user: tries_by_hand(in_order(own), within) for (user,), own in by_key(events, "user").items()}
    reached = {user: max(map(len, found)) for user, found in tries.items() if found}
    counts = [sum(furthest >= number for furthest in reached.values()) for number in (1, 2, 3)]
    found = motif.funnel(table_of(events), by="user", steps=STEPS, within=within)
    assert found.select(["step", "name", "reached"]).to_pylist() == [
        {"step": number, "name": name, "reached": count}
        for number, name, count in zip((1, 2, 3), STEPS, counts, strict=True)
    ]
    assert found.column("rate").to_pylist() == [count / counts[0] for count in counts]
    before = [None, *counts[:-1]]
    assert found.column("rate_from_previous").to_pylist() == [
        count / last if last else None for count, last in zip(counts, before, strict=True)
    ]
    each = motif.funnel(table_of(events), by="user", steps=STEPS, within=within, per="try")
    assert [(row["user"], row["reached"], *(row[step] for step in STEPS)) for row in each.to_pylist()] == [
        (user, len(path), *(path[number]["ts"] if number < len(path) else None for number in range(3)))
        for user, paths in tries.items()
        for path in paths
    ]


def test_a_step_that_no_event_can_be_is_told() -> None:
    with pytest.warns(motif.MotifWarning, match="no row meets this condition of STEP_2") as caught:
        found = motif.funnel(table_of(events_of(1)), by="user", steps=["view", "Cart"])
    assert found["reached"].to_pylist()[1] == 0
    assert "did you mean cart?" in [one.message.hint for one in caught if isinstance(one.message, motif.MotifWarning)]


def test_a_funnel_that_nobody_begins_has_all_its_steps() -> None:
    found = motif.funnel(table_of(events_of(1)), by="user", steps=["nothing", "cart"])
    assert found.column("reached").to_pylist() == [0, 0]
    assert found.column("rate").to_pylist() == [None, None]


def test_steps_may_be_conditions_with_names_of_any_kind() -> None:
    steps = {"saw it's {price}": col.type == "view", "PUT \\ in": "cart"}
    found = motif.funnel(table_of(events_of(3)), by="user", steps=steps)
    assert found.column("name").to_pylist() == list(steps)
    assert motif.funnel(table_of(events_of(3)), by="user", steps=steps, per="try").column_names == [
        "user",
        "reached",
        *steps,
    ]


# -- sequences ----------------------------------------------------------------------------------------


def test_a_sequence_is_the_event_query_it_prints() -> None:
    table = table_of(events_of(5))
    query = motif.sequences(by=["user", "device"], of=["view", motif.no(motif.ev("help")), "pay"], within="20 min")
    assert str(query) == "SELECT *\nFROM SEQ(view e1; NOT help help1; pay e3)\nWHERE [user, device]\nWITHIN 20 min"
    found = motif.sequences(
        table, by=["user", "device"], of=["view", motif.no(motif.ev("help")), "pay"], within=minutes(20)
    )
    assert found.num_rows > 0
    assert found.equals(motif.match(table, str(query)))


def test_sequences_without_a_key_and_with_other_columns() -> None:
    table = table_of(events_of(6)).rename_columns(["id", "at", "kind", "user", "device"])
    found = motif.sequences(table, of=["view", "cart"], within="1 min", time="at", type="kind")
    text = "SELECT * FROM SEQ(view e1; cart e2) WITHIN 1 min"
    assert found.equals(motif.match(table, text, time="at", type="kind"))


# -- all of them --------------------------------------------------------------------------------------


def test_the_result_is_the_kind_of_table_that_the_data_is() -> None:
    table = table_of(events_of(7))
    for data, kind in ((table, pa.Table), (table.to_pandas(), pd.DataFrame), (pl.from_arrow(table), pl.DataFrame)):
        assert isinstance(motif.sessionize(data, by="user", gap="5 min"), kind)
        assert isinstance(motif.funnel(data, by="user", steps=STEPS), kind)
        assert isinstance(motif.sequences(data, by="user", of=STEPS, within="1 h"), kind)


def test_without_data_the_query_itself_comes_back() -> None:
    table = table_of(events_of(8))
    sessions = motif.sessionize(by="user", gap="5 min")
    assert motif.match(table, sessions).equals(motif.sessionize(table, by="user", gap="5 min"))
    tries = motif.funnel(by="user", steps=STEPS, per="try")
    assert motif.match(table, tries).equals(motif.funnel(table, by="user", steps=STEPS, per="try"))
    statement = motif.funnel(by="user", steps=STEPS, within="1 h")
    counted = motif.sql(statement, tables={"events": table})
    assert counted.equals(motif.funnel(table, by="user", steps=STEPS, within="1 h"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: motif.sessionize(by="user", gap="soon"), "soon"),
        (lambda: motif.sessionize(by=3, gap="5 min"), "by= cannot be 3\n  hint: name a column, or several"),
        (
            lambda: motif.sessionize(by="user", gap="5 min", per="rows"),
            "per= does not know 'rows'\n  hint: did you mean",
        ),
        (lambda: motif.funnel(by="user", steps=["view"]), "a funnel has two steps or more"),
        (lambda: motif.funnel(by="user", steps="view"), "steps= cannot be 'view'"),
        (lambda: motif.funnel(by="user", steps=[col.x > 1, "pay"]), "needs a name"),
        (lambda: motif.funnel(by="user", steps={"a": 1, "b": "pay"}), "1 is not a step"),
        (lambda: motif.funnel(by="user", steps=["view", "View"]), "two columns of the result would be called View"),
        (lambda: motif.funnel(by="user", steps=["view", "user"]), "two columns of the result would be called user"),
        (lambda: motif.sequences(by="user", of="view"), "of= cannot be 'view'"),
        (lambda: motif.sequences(by="user", of=["view", 3]), "3 is not a part of a pattern"),
        (lambda: motif.sequences(by="user", of=["view"], within=3), "within= cannot be 3"),
    ],
)
def test_mistakes_are_told(call: Any, message: str) -> None:
    with pytest.raises(MotifError) as caught:
        call()
    assert message in str(caught.value)
