"""Likely slips: told once, at the line that called, with their place; errors where one is strict."""

from __future__ import annotations

import datetime as dt
import random
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import motif
from motif import slips
from motif.cli.app import app
from motif.lang.snoop import event_slips, parse_events
from motif.plan.events import slips as event_plan_slips
from motif.testing.event_generate import random_event_query, random_stream
from motif.testing.event_reference import match_events

START = dt.datetime(2026, 1, 1, 12)
EVENTS = pa.table(
    {
        "ts": [START + dt.timedelta(minutes=n) for n in range(6)],
        "type": ["A", "B", "C", "A", "B", "C"],
        "x": [1, 2, 3, 4, 5, 6],
    }
)
ENDLESS = "SELECT COUNT(b) AS n\nFROM SEQ(A a; B b+; C c)\nPICK EACH b"


@pytest.fixture(autouse=True)
def nothing_told() -> None:
    slips._TOLD.clear()


def test_a_warning_has_place_and_hint() -> None:
    with pytest.warns(motif.MotifWarning) as caught:
        motif.match(EVENTS, ENDLESS)
    [one] = caught
    assert one.filename == __file__
    slip = one.message
    assert isinstance(slip, motif.MotifWarning)
    assert isinstance(slip, UserWarning)
    found = slip.diagnostic()
    assert (found.severity, found.line, found.column, found.hint) == (
        "warning",
        3,
        6,
        "give b an upper bound, such as b{1,3}, or PICK ALL b",
    )
    assert "  3 | PICK EACH b\n    |      ^^^^^^\n" in str(slip)


def test_a_warning_is_not_repeated() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            motif.match(EVENTS, ENDLESS)
        motif.match(EVENTS, ENDLESS)
    assert len(caught) == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        motif.match(EVENTS, ENDLESS)
        motif.match(EVENTS, ENDLESS + " ")
    assert len(caught) == 1, "another query is another slip"


def test_filters_of_python_hold() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(motif.MotifWarning):
                motif.match(EVENTS, ENDLESS)
        warnings.simplefilter("ignore")
        motif.match(EVENTS, ENDLESS)
    for _ in range(2):
        with pytest.warns(motif.MotifWarning):
            motif.match(EVENTS, ENDLESS)


def test_strict_makes_it_an_error_every_time() -> None:
    for _ in range(2):
        with pytest.raises(motif.MotifError, match="PICK EACH b forms every list") as caught:
            motif.match(EVENTS, ENDLESS, strict=True)
        assert (caught.value.line, caught.value.column) == (3, 6)
    with pytest.raises(motif.MotifError, match="PICK EACH b"):
        motif.Stream(ENDLESS + " WITHIN 1 h", EVENTS.schema, strict=True)
    [found] = motif.check(ENDLESS, data=EVENTS, strict=True)
    assert found.severity == "error"
    with pytest.warns(motif.MotifWarning):
        motif.match(EVENTS, ENDLESS)


def test_what_was_told_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slips, "MOST_TOLD", 3)
    with warnings.catch_warnings(record=True):
        for number in range(10):
            motif.match(EVENTS, ENDLESS + " " * number)
    assert len(slips._TOLD) == 3


def test_the_command_line_tells_and_refuses(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pa.parquet.write_table(EVENTS, path)
    run = CliRunner().invoke(app, ["run", ENDLESS, "-t", f"events={path}"])
    assert run.exit_code == 0
    assert "warning: PICK EACH b forms every list" in run.stderr
    assert run.stderr.count("PICK EACH b forms") == 1
    strict = CliRunner().invoke(app, ["run", ENDLESS, "-t", f"events={path}", "--strict"])
    assert strict.exit_code == 2
    assert "error: PICK EACH b forms every list" in strict.stderr
    for tables in ([], ["-t", f"events={path}"]):
        check = CliRunner().invoke(app, ["check", ENDLESS, *tables])
        assert check.exit_code == 0
        assert check.stdout.startswith("warning: PICK EACH b forms every list")
        assert "no mistakes found" in check.stdout
        assert CliRunner().invoke(app, ["check", ENDLESS, *tables, "--strict"]).exit_code == 2


# -- what the events tell

SHOP = pa.table(
    {
        "ts": [START + dt.timedelta(minutes=n) for n in range(12)],
        "action": ["view", "cart", "view", "purchase"] * 3,
        "user": ["ann"] * 4 + ["bob"] * 4 + ["ann"] * 4,
        "x": list(range(12)),
    }
)


def told_by(query: str, data: object = SHOP, **options: object) -> list[motif.MotifWarning]:
    """Slips of a query that is run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motif.match(data, query, **{"type": "action", **options} if "SEQ" in query else options)  # type: ignore[arg-type]
    return [one.message for one in caught if isinstance(one.message, motif.MotifWarning)]


@pytest.mark.parametrize("bare", ["view", "View", "VIEW"])
def test_a_bare_name_that_is_a_class_is_an_error(bare: str) -> None:
    with pytest.raises(motif.QueryBindError, match=f"{bare} alone is any event, but 'view' is a class") as caught:
        motif.match(SHOP, f"SELECT * FROM SEQ(cart c; {bare}) WHERE [user]", type="action")
    assert caught.value.hint == f"write view {bare}; if any event is meant, give it another name"
    assert caught.value.column == 27


def test_a_bare_name_of_not_that_is_a_class_is_an_error() -> None:
    with pytest.raises(motif.QueryBindError, match="purchase alone is any event"):
        motif.match(SHOP, "SELECT * FROM SEQ(view v; NOT purchase; cart c) WHERE [user]", type="action")


def test_bare_names_only_are_told_where_events_have_a_class() -> None:
    query = "SELECT * FROM SEQ(one; other) WHERE [user] WITHIN 2 min"
    [slip] = told_by(query)
    assert slip.message == "one and other can be any event: no class of column action is named"
    assert (slip.line, slip.column) == (1, 15)
    for fine in (
        "SELECT * FROM SEQ(one; cart other) WHERE [user] WITHIN 2 min",
        "SELECT * FROM SEQ(one; other) WHERE one.action = 'view' WITHIN 2 min",
        "SELECT * FROM SEQ(one; other) WHERE [action] WITHIN 2 min",
    ):
        assert told_by(fine) == []
    assert told_by(query, SHOP.drop_columns(["action"])) == []
    assert [found.severity for found in motif.check(query, data=SHOP, type="action")] == ["warning"]
    assert [found.severity for found in motif.check(query, type="action")] == ["warning"]
    assert motif.check(query) == []


@pytest.mark.parametrize(
    ("pattern", "column"),
    [
        ("view v; Cart c", 27),
        ("view v; OR(Cart c, cart d)", 30),
        ("view v; NOT Cart c; cart d", 31),
        ("Cart c*; cart d", 19),
    ],
)
def test_a_class_that_no_event_has(pattern: str, column: int) -> None:
    query = f"SELECT * FROM SEQ({pattern}) WITHIN 1 h"
    [slip] = told_by(query)
    assert slip.message == ("no event has the class 'Cart'; there are 'view' (6 events), 'cart' (3) and 'purchase' (3)")
    assert (slip.column, slip.hint) == (column, "did you mean cart?")
    with pytest.raises(motif.MotifError, match="no event has the class 'Cart'"):
        motif.match(SHOP, query, type="action", strict=True)


def test_classes_of_inputs_and_of_matches_may_have_no_event() -> None:
    two = {"views": SHOP.drop_columns(["action"]), "carts": SHOP.drop_columns(["action"]).slice(0, 0)}
    assert told_by("SELECT * FROM SEQ(views v; carts c) WITHIN 1 h", two, type=None) == []
    stack = "DEFINE Big SELECT * FROM SEQ(view v; cart c) WITHIN 0 s; SELECT * FROM SEQ(Big b; cart d) WITHIN 1 h"
    assert told_by(stack) == []
    wrong = told_by("SELECT * FROM SEQ(view v; carts c) WITHIN 1 h", two, type=None)
    assert [(slip.message, slip.hint) for slip in wrong] == [
        ("no event has the class 'view'; there are 'views' (12 events)", "did you mean views?")
    ]
    assert told_by("SELECT * FROM SEQ(view v; Cart c) WITHIN 1 h", SHOP.slice(0, 0)) == [], "there is nothing at all"


@pytest.mark.parametrize(
    ("condition", "message", "hint"),
    [
        ("c.x > 99", "no event of the class 'cart' meets this condition of c", "x is between 1 and 9"),
        ("c.user = 'Ann'", "no event of the class 'cart' meets this condition of c", "did you mean ann?"),
        (
            "c.user IN ('eve')",
            "no event of the class 'cart' meets this condition of c",
            "user is 'ann' (2) and 'bob' (1)",
        ),
        ("c.x > 5 AND c.user = 'bob'", "no event of the class 'cart' meets all conditions of c together", None),
    ],
)
def test_a_condition_that_no_event_meets(condition: str, message: str, hint: str | None) -> None:
    [slip] = told_by(f"SELECT * FROM SEQ(view v; cart c) WHERE {condition}")
    assert slip.message.startswith(message)
    assert slip.hint == hint
    assert slip.column is not None
    assert told_by(f"SELECT * FROM SEQ(view v; cart c*; cart d) WHERE {condition}") == [], "there are matches"


def test_a_condition_that_no_row_meets() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES B.x AS x PATTERN (A B) DEFINE A AS action = 'View', B AS {})"
    slips_found = told_by(clause.format("x > 99 AND B.user = 'ann' AND x > PREV(x)"))
    assert [(slip.message, slip.hint) for slip in slips_found] == [
        ("no row meets this condition of A", "did you mean view?"),
        ("no row meets this condition of B", "x is between 0 and 11"),
    ]
    statement = f"SELECT * FROM shop {clause.format('x < 0')}"
    with pytest.warns(motif.MotifWarning, match="no row meets this condition of B") as caught:
        motif.sql(statement, tables={"shop": SHOP})
    assert caught[-1].message.line == 1
    with pytest.raises(motif.MotifError, match="no row meets this condition of A"):
        motif.sql(statement, tables={"shop": SHOP}, strict=True)
    for fine in ("x > PREV(x) + 99", "x > A.x + 99"):
        assert told_by(clause.replace("View", "view").format(fine)) == [], "this depends on the other rows"


def test_a_join_of_all_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_plan_slips, "MANY_PAIRS", 18)
    [slip] = told_by("SELECT * FROM SEQ(view v; cart c)")
    assert slip.message.endswith("each of 6 events v is joined with each of 3 events c")
    assert (slip.column, slip.hint) == (19, "add WITHIN 1 h, or WHERE [attribute] for what they have in common")
    for fine in (
        "SELECT * FROM SEQ(view v; cart c) WITHIN 1 h",
        "SELECT * FROM SEQ(view v; cart c) WHERE [user]",
        "SELECT * FROM SEQ(view v; cart c) WHERE v.x + 1 = c.x",
        "SELECT * FROM SEQ(view v; cart c) PICK LAST v",
        "SELECT * FROM SEQ(view v; cart c) CONSUMING ALL",
        "SELECT * FROM SEQ(cart c; purchase p)",
    ):
        assert told_by(fine) == []


OVERLAPPING = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS from_x {} PATTERN ({}) DEFINE A AS x >= 0)"
MODES = {
    "ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW": True,
    "ALL ROWS PER MATCH": False,
    "AFTER MATCH SKIP TO NEXT ROW": False,
    "ONE ROW PER MATCH INCREMENTAL MATCH": False,
    "ONE ROW PER MATCH INCREMENTAL MATCH AFTER MATCH SKIP TO NEXT ROW": True,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("pattern", "is_told"),
    [
        ("A B*", True),
        ("A B+ A", True),
        ("A B*?", False),
        ("A B{0,3}", False),
        ("B A*", False),
    ],
)
def test_matches_from_every_row_to_the_end(mode: str, pattern: str, is_told: bool) -> None:
    clause = OVERLAPPING.format(mode, pattern)
    due = ["from every row this takes all rows that follow"] * (is_told and MODES[mode])
    assert told_by(clause.replace("DEFINE", "WITHIN INTERVAL '1' HOUR DEFINE")) == []
    assert [slip.message.partition(",")[0] for slip in told_by(clause)] == due
    assert [slip.message.partition(",")[0] for slip in motif.check(clause, data=SHOP)] == due
    statement = f"SELECT * FROM shop {clause}"
    assert [slip.message.partition(",")[0] for slip in motif.check(statement, tables={"shop": SHOP})] == due
    longer = pa.concat_tables(
        [SHOP, SHOP.set_column(0, "ts", pa.array([START + dt.timedelta(days=1)] * 12, SHOP.schema.field("ts").type))]
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motif.Stream(clause, SHOP.schema)
    assert [one.message.message.partition(",")[0] for one in caught] == due  # type: ignore[union-attr]
    if due:  # it is true: twice the rows are more than three times the result
        assert motif.match(longer, clause).num_rows > 3 * motif.match(SHOP, clause).num_rows


def test_the_command_line_tells_of_squares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.parquet"
    pa.parquet.write_table(SHOP, path)
    monkeypatch.setattr(event_plan_slips, "MANY_PAIRS", 18)
    clause = OVERLAPPING.format("ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW", "A B*")
    for query, told in (
        ("SELECT * FROM SEQ(view v; cart c)", "each of 6 events v is joined with each of 3"),
        (f"SELECT * FROM shop {clause}", "from every row this takes all rows that follow"),
    ):
        options = ["-t", f"shop={path}", *(["--type", "action"] if "SEQ" in query else [])]
        run = CliRunner().invoke(app, ["run", query, *options])
        assert (run.exit_code, told in run.stderr) == (0, True), run.stderr
        assert told in CliRunner().invoke(app, ["check", query, *options, "--rows"]).stdout
        assert CliRunner().invoke(app, ["run", query, *options, "--strict"]).exit_code == 2


# -- families, drawn at random

CLASSES = ("view", "add to cart", "Purchase", "log_in", "refund", "été")


def misspelt(rng: random.Random, name: str) -> str:
    """A class as someone may write it who has not looked."""
    at = rng.randrange(1, len(name))
    ways = [name.upper(), name.title(), name.lower(), f"{name}s", f"{name} ", name[:at] + name[at + 1 :]]
    ways += [name.replace(" ", "_").replace("_", " ", 1), name[:at] + name[at] + name[at:]]
    return rng.choice([way for way in ways if way not in CLASSES] or [f"{name}s"])


def quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


@pytest.mark.parametrize("seed", range(40))
def test_misspelt_classes_in_both_languages(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    names = rng.sample(CLASSES, 3)
    kinds = [*names, *rng.choices(names, k=17)]
    events = pa.table({"ts": [START + dt.timedelta(seconds=n) for n in range(20)], "kind": kinds, "x": list(range(20))})
    data: object = events
    if seed % 2:
        data = tmp_path / "events.parquet"
        pa.parquet.write_table(events, data)
    right, wrong = names[0], misspelt(rng, names[0])
    pattern = rng.choice(["SEQ({} a; {} b)", "SEQ({} a; NOT {} n; {} b)", "ALL({} a, {} b)", "SEQ({} c; {} a+; {} b)"])
    for first, found in ((right, []), (wrong, [f"no event has the class {wrong!r}"])):
        classes = [quoted(first), quoted(names[1]), quoted(names[2])]
        rng.shuffle(classes)
        query = f"SELECT a.x FROM {pattern.format(*classes)} WITHIN 1 h"
        if quoted(first) not in query:
            continue
        slips_found = told_by(query, data, type="kind")
        assert [slip.message.partition(";")[0] for slip in slips_found] == found, query
        for slip in slips_found:
            assert slip.span is not None
            assert quoted(wrong) in query[slip.span.start : slip.span.end]
            assert right in str(slip.hint), (wrong, slip.hint)
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A) DEFINE A AS kind = {})"
    assert told_by(clause.format(quoted(right)), data) == []
    [slip] = told_by(clause.format(quoted(wrong)), data)
    assert slip.message == "no row meets this condition of A"
    assert right in str(slip.hint)


def test_what_is_said_to_match_nothing_matches_nothing() -> None:
    """Conditions on events before the first one of a list, by the reference matcher."""
    told_of = 0
    for seed in range(3000):
        rng = random.Random(seed)
        query = random_event_query(rng)
        if any("nothing can match" in slip.message for slip in event_slips(query)):
            told_of += 1
            assert match_events(query, random_stream(rng, query)) == [], seed
    assert told_of > 20
    for text, lines in {
        "SELECT * FROM SEQ(A a{2,5}; B b) WHERE b.x > FIRST(a.x, 1)": "FIRST(a.x, 1)",
        "SELECT * FROM SEQ(A a+; B b) WHERE a.x > PREV(a.x) AND b.x > 1": "PREV(a.x)",
        "SELECT * FROM SEQ(A a; B b) WHERE b.x > LAST(a.x, 1)": "LAST(a.x, 1)",
    }.items():
        [slip] = event_slips(parse_events(text))
        assert slip.span is not None
        assert text[slip.span.start : slip.span.end] == lines
        assert slip.message.endswith("and nothing can match")
    for fine in (
        "SELECT * FROM SEQ(A a+; B b) WHERE PREV(a.x) IS NULL OR a.x > PREV(a.x)",
        "SELECT * FROM SEQ(A a+; B b) WHERE a.x > coalesce(PREV(a.x), 0)",
        "SELECT * FROM SEQ(A a{2,}; B b) WHERE SUM(a.x) > FIRST(a.x, 1)",
    ):
        assert list(event_slips(parse_events(fine))) == []


# -- ways round on the page of refusals that must ask the same


def test_a_list_that_must_be_empty_is_a_leading_not() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        times = sorted(rng.choices(range(40), k=rng.randint(1, 25)))
        events = [(START + dt.timedelta(minutes=t), rng.choice("AB"), rng.randint(0, 2)) for t in times]
        events = sorted(set(events))
        data = pa.table({name: [event[i] for event in events] for i, name in enumerate(("ts", "type", "x"))})
        same, window = rng.random() < 0.5, rng.choice([0, 3, 10])
        condition = "AND a.x = b.x" if same else ""
        query = f"SELECT b.ts, b.x FROM SEQ(A a*; B b) WHERE COUNT(a) = 0 {condition} WITHIN {window} min"
        found = motif.match(data, query, order_by="type").select(["ts", "x"]).to_pylist()
        due = [
            {"ts": at, "x": x}
            for at, kind, x in events
            if kind == "B"
            and not any(
                k == "A" and (not same or y == x) and at - dt.timedelta(minutes=window) <= t <= at for t, k, y in events
            )
        ]
        assert sorted(found, key=str) == sorted(due, key=str), (seed, query)


def test_two_ends_that_differ_are_more_than_one_value() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        rows = [(START + dt.timedelta(minutes=t), rng.choice("ABBC"), rng.choice([None, 0, 0, 1])) for t in range(20)]
        data = pa.table({name: [row[i] for row in rows] for i, name in enumerate(("ts", "type", "x"))})
        items = "SELECT a.ts AS a, c.ts AS c, COUNT(DISTINCT b.x) AS n FROM SEQ(A a; B b+; C c)"
        due = [row for row in motif.match(data, items).select(["a", "c", "n"]).to_pylist() if row["n"] > 1]
        found = motif.match(data, f"{items} WHERE MIN(b.x) < MAX(b.x)").select(["a", "c", "n"]).to_pylist()
        assert found == due


# -- check, with and without rows

WITH_ROWS = {
    "SELECT * FROM SEQ(view v; Cart c)": ["no event has the class 'Cart'"],
    "SELECT * FROM SEQ(view v; NOT carts n; cart c)": ["no event has the class 'carts'"],
    "SELECT * FROM SEQ(view v; cart c) WHERE c.x > 99": ["no event of the class 'cart' meets this condition of c"],
    "SELECT * FROM SEQ(view; cart c)": ["view alone is any event, but 'view' is a class of the events"],
    "SELECT * FROM SEQ(view v; cart c) WHERE c.x > 5": [],
}


@pytest.mark.parametrize("query", WITH_ROWS)
def test_check_reads_rows_only_when_asked_to(query: str) -> None:
    assert motif.check(query, data=SHOP, type="action") == []
    found = motif.check(query, data=SHOP, type="action", rows=True)
    assert [one.message.partition(";")[0] for one in found] == WITH_ROWS[query]


def test_check_of_a_statement_reads_rows_only_when_asked_to() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A B?) DEFINE A AS x > 1, B AS action = 'View')"
    statement = f"SELECT * FROM shop {clause}"
    assert motif.check(statement, tables={"shop": SHOP}) == []
    [found] = motif.check(statement, tables={"shop": SHOP}, rows=True)
    assert (found.severity, found.message, found.hint) == (
        "warning",
        "no row meets this condition of B",
        "did you mean view?",
    )
    with pytest.raises(motif.MotifError, match="rows= reads the rows of tables"):
        motif.check(statement, rows=True)


def test_the_command_line_reads_rows_when_asked_to(tmp_path: Path) -> None:
    path = tmp_path / "shop.parquet"
    pa.parquet.write_table(SHOP, path)
    command = ["check", "SELECT * FROM SEQ(view v; Cart c)", "-t", f"shop={path}", "--type", "action"]
    assert "warning" not in CliRunner().invoke(app, command).stdout
    assert "warning: no event has the class 'Cart'" in CliRunner().invoke(app, [*command, "--rows"]).stdout
    assert CliRunner().invoke(app, [*command, "--rows", "--strict"]).exit_code == 2
    run = CliRunner().invoke(app, ["run", *command[1:]])
    assert (run.exit_code, "warning: no event has the class 'Cart'" in run.stderr) == (0, True)


# -- streams


def closed(stream: motif.Stream) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stream.close()
    assert all(one.filename == __file__ for one in caught)
    return [one.message.message for one in caught]  # type: ignore[union-attr]


def test_a_stream_tells_of_its_classes_when_it_is_closed(tmp_path: Path) -> None:
    query = "SELECT v.x FROM SEQ(view v; NOT Cart n; purchase p) WHERE [user] WITHIN 1 h"
    stream = motif.Stream(query, SHOP.schema, type="action", strict=True)
    for row in SHOP.to_pylist()[:3]:
        stream.push(row)
    stream.save(tmp_path / "saved")
    stream = motif.Stream.load(tmp_path / "saved")
    stream.push(SHOP.slice(3))
    message = "no event has the class 'Cart'; there are 'cart', 'purchase' and 'view'"
    assert closed(stream) == [message]
    again = motif.Stream(query.replace("Cart", "cart"), SHOP.schema, type="action")
    again.push(SHOP)
    assert closed(again) == []
    assert closed(motif.Stream(query, SHOP.schema, type="action")) == [], "nothing has come at all"


def test_a_stream_tells_of_bare_names_when_it_is_made() -> None:
    query = "SELECT one.x FROM SEQ(one; other) WHERE [user] WITHIN 1 h"
    with pytest.warns(motif.MotifWarning, match="one and other can be any event") as caught:
        motif.Stream(query, SHOP.schema, type="action")
    assert [one.filename for one in caught] == [__file__]
    with pytest.raises(motif.MotifError, match="one and other can be any event"):
        motif.Stream(query, SHOP.schema, type="action", strict=True)


# -- dates in CSV files


@pytest.mark.parametrize("seed", range(12))
def test_dates_that_can_be_read_in_two_ways(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    days = [dt.date(2026, rng.randint(1, 12), rng.randint(1, 28)) for _ in range(rng.randint(1, 6))]
    form = rng.choice(["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m-%d-%Y", "%Y-%m-%d", "%Y/%m/%d"])
    clock = rng.choice(["", " 10:00:00"])
    path = tmp_path / "data.csv"
    path.write_text("day,x\n" + "".join(f"{day.strftime(form)}{clock},1\n" for day in days))
    table = motif.sql("SELECT * FROM data", tables={"data": path}, strict=False)
    is_read = pa.types.is_temporal(table.schema.field("day").type)
    either = is_read and not form.startswith("%Y") and all(day.day <= 12 for day in days)
    is_told = either and any(day.day != day.month for day in days)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motif.sql("SELECT * FROM data", tables={"data": path})
    assert [one.message.message.partition(" of ")[0] for one in caught] == ["dates in column day"] * is_told  # type: ignore[union-attr]
    if is_told:
        with pytest.raises(motif.MotifError, match="can be read in two ways"):
            motif.sql("SELECT * FROM data", tables={"data": path}, strict=True)
        [found] = motif.check("SELECT * FROM data", tables={"data": path})
        assert found.severity == "warning"


@pytest.mark.parametrize("seed", range(60))
def test_texts_that_stand_for_times(seed: int) -> None:
    """Told where their order is another one than that of the times, and never where it is not."""
    rng = random.Random(seed)
    form = rng.choice(["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%Y-%m-%d", "%Y/%m/%d", "%d %b %Y", "%d-%B-%Y"])
    form += rng.choice(["", " %H:%M", " %H:%M:%S", "T%H:%M"])
    start = dt.datetime(2025, 1, 1)
    times = sorted(start + dt.timedelta(minutes=rng.randrange(600_000)) for _ in range(rng.randint(1, 9)))
    texts = [time.strftime(form) for time in times]
    for data in (pa.table({"day": texts}), pa.table({"day": texts}).to_pandas()):
        told = told_by("MATCH_RECOGNIZE (ORDER BY day MEASURES A.day AS day PATTERN (A))", data)
        assert bool(told) == (not form.startswith("%Y"))
        for slip in told:
            assert slip.message.startswith(f"day is a text such as '{texts[0]}', and texts do not sort")
            ways = [way.partition("'")[2].partition("'")[0] for way in str(slip.hint).split(";")]
            assert any(texts == [dt.datetime.strptime(t, way).strftime(form) for t in texts] for way in ways)
            is_either = all(time.day <= 12 for time in times) and form[:5] in ("%d/%m", "%m/%d", "%d.%m")
            assert len(ways) == 1 + is_either


@pytest.mark.parametrize("texts", [["1", "2"], ["a1/b2"], ["3/4"], ["10/20/30 of x"], ["2026-03-01", "n/a"], [None]])
def test_texts_that_are_no_times(texts: list[str | None]) -> None:
    table = pa.table({"day": pa.array(texts, pa.string())})
    assert told_by("MATCH_RECOGNIZE (ORDER BY day MEASURES A.day AS day PATTERN (A))", table) == []


def test_texts_that_stand_for_times_are_told_where_they_are_named(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(pa.table({"ts": ["03/01/2026 09:00", "01/02/2026 10:00"], "type": ["A", "B"]}), path)
    statement = "SELECT * FROM data\nMATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS at_ts PATTERN (A))"
    with pytest.warns(motif.MotifWarning, match="ts is a text such as") as caught:
        motif.sql(statement, tables={"data": path})
    assert (caught[0].message.line, caught[0].message.column) == (2, 27)
    with pytest.raises(motif.MotifError, match="ts is a text such as"):
        motif.sql(statement, tables={"data": path}, strict=True)
    assert motif.check(statement, tables={"data": path}) == []
    [found] = motif.check(statement, tables={"data": path}, rows=True)
    assert found.hint == (
        "write ORDER BY strptime(ts, '%d/%m/%Y %H:%M'); strptime(ts, '%m/%d/%Y %H:%M') if the month comes first"
    )
    with pytest.raises(motif.QueryBindError, match="not a time") as refused:
        motif.match(path, "SELECT * FROM SEQ(A a; B b)")
    assert "strptime(ts, '%d/%m/%Y')" in str(refused.value.hint)
    fixed = statement.replace("ORDER BY ts", "ORDER BY strptime(ts, '%d/%m/%Y %H:%M')")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found_times = motif.sql(fixed, tables={"data": path}).column("at_ts").to_pylist()
    assert found_times == ["03/01/2026 09:00", "01/02/2026 10:00"]


def test_a_date_that_can_be_read_in_two_ways_is_shown_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("ts,x\n05/05/2026 10:00:00,1\n03/01/2026 10:00:00,2\n")
    with pytest.warns(motif.MotifWarning, match="03/01/2026 10:00:00 is read day first, as 3 January 2026") as caught:
        motif.match(path, "SELECT a.x FROM SEQ(a; b)")
    option, _, form = str(caught[0].message.hint).removeprefix("say which it is: ").partition(",")[0].partition("=")  # type: ignore[union-attr]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert motif.match(motif.files(path, **{option: form}), "SELECT a.x FROM SEQ(a; b)").num_rows == 1
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A) DEFINE A AS x > 1)"
    with pytest.warns(motif.MotifWarning, match="can be read in two ways"):
        motif.match(path, clause)
