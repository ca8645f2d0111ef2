"""What `motif.explain` says of event queries."""

from __future__ import annotations

import datetime as dt
import xml.etree.ElementTree as ET
from typing import Any

import pyarrow as pa
import pytest

import motif
from motif.explanation import drawing
from motif.explanation.event_graph import graph_of_events
from motif.explanation.graph import MOST_STATES, Shape
from motif.lang.snoop import parse_events

EVENTS = pa.table(
    {
        "ts": [dt.datetime(2026, 1, 1, 12, minute) for minute in range(6)],
        "type": ["A", "A", "A", "B", "B", "C"],
        "user": ["ann", "ann", "bob", "ann", "bob", "ann"],
        "x": [1, 2, 3, 4, 5, 6],
        "n": [6, 5, 4, 3, 2, 1],
    }
)


def words(query: Any, **options: Any) -> str:
    """The explanation on one line."""
    return " ".join(str(motif.explain(query, **options)).split())


@pytest.mark.parametrize("data", [None, EVENTS])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM SEQ(A a; B b) WHERE [user]", "partition user, written as [user] "),
        (
            "SELECT * FROM SEQ(A a; B b; C c) WHERE a.user = b.user AND b.user = c.user",
            "partition user, found from a.user = b.user AND b.user = c.user ",
        ),
        ("SELECT * FROM SEQ(A a; B b)", "partition none: no [attribute] is written"),
        ("SELECT * FROM SEQ(A a; B b) WHERE a.user = b.user WITHIN 3 EVENTS", "WITHIN n EVENTS counts the events"),
        ("SELECT * FROM SEQ(A a; B b)", "decided at its last event"),
        ("SELECT * FROM SEQ(A a; B b)", "in a stream a match comes out when its last event arrives, in whatever order"),
        ("SELECT * FROM SEQ(A a; B b)", "may begin or continue a match is kept for ever: give a WITHIN"),
        ("SELECT * FROM SEQ(A a; B b) WITHIN 5 min", "in whatever order events come; events are kept for 5 min"),
        (
            "SELECT * FROM SEQ(A a; B b) PICK LAST b WITHIN 5 min",
            "in a stream a match comes out when the watermark reaches its deadline; events are kept for 10 min",
        ),
        ("SELECT * FROM SEQ(A a; B b) WITHIN 5 min CONSUMING a", "out when the watermark reaches its last event"),
        ("SELECT * FROM SEQ(A a; B b) WITHIN 7 EVENTS", "the last 7 events of each partition are kept"),
        ("SELECT * FROM A a PICK LAST a WITHIN 5 min", "every event is kept for ever, since PICK chooses among all"),
        ("SELECT * FROM SEQ(A a; NOT B b) WITHIN 10 min", "10 min after its first event: no b may come until then"),
        ("SELECT * FROM SEQ(A a; B b+) WITHIN 1 h", "1 h after its first event: b collects events until then"),
        ("SELECT * FROM SEQ(A a; B b) PICK LAST b", "the end of the input: a later b may still come"),
        ("SELECT * FROM SEQ(A a; B b) WITHIN 1 h", "parallel shared: cores share the events that are bound first"),
        ("SELECT * FROM SEQ(A a; B b)", "parallel shared: cores share the events that are bound first"),
        (
            "SELECT * FROM SEQ(A a; B b) WITHIN 1 h CONSUMING a",
            "sequential: one core does all the work; CONSUMING makes every match depend",
        ),
        ("SELECT * FROM SEQ(A a; B b) WHERE [user]", "parallel partitions: each core has whole partitions"),
        ("SELECT * FROM SEQ(A a; B b; C c) WHERE a.x = b.x", "by an index on a.x = b.x, then by time: "),
        ("SELECT * FROM SEQ(A a; B b) WHERE a.x < b.x WITHIN 5 min", "are passed over test a.x < b.x"),
        (
            "SELECT * FROM SEQ(A a; B b) WHERE a.x < b.x",
            "blocks of candidates in which none has a.x < b.x are passed over",
        ),
        ("SELECT * FROM SEQ(A a; NOT B b) WHERE b.user = a.user WITHIN 1 h", "user, found from b.user = a.user"),
        ("SELECT * FROM SEQ(A a; NOT B b) WHERE b.x = a.n WITHIN 1 h", "n of a, x of b, found from b.x = a.n"),
        ("SELECT * FROM SEQ(A a; NOT B b; C c) WHERE b.x > a.x", "no b look for one between a and c; "),
        ("SELECT * FROM SEQ(A a; NOT B b; C c) WHERE b.x > a.x", "only one with b.x > a.x counts"),
        ("SELECT * FROM SEQ(A a; B b{2,3}; C c)", "collect b, 2 to 3 walk its candidates between a and c"),
        ("SELECT * FROM SEQ(A a; B b+; C c) WHERE b.x > a.x", "take those with b.x > a.x"),
        ("SELECT * FROM SEQ(A a; B b+; C c) WHERE SUM(b.x) > a.x", "then test SUM(b.x) > a.x"),
        ("SELECT * FROM SEQ(A a; B b) PICK LAST a", "the one with the latest a; chosen while joining"),
        ("SELECT * FROM SEQ(A a; B b) PICK FIRST a", "earliest first, and only the first that fits is kept: FIRST a"),
        ("SELECT * FROM SEQ(A a; B b+; C c) PICK LAST a", "latest a; chosen once all matches are there"),
        ("SELECT * FROM SEQ(A a; B b) CONSUMING a", "bind b every event that can be b"),
        ("SELECT * FROM TSEQ(A a, B b; 1, 3)", "test b begins 1 s to 3 s after a has ended"),
        ("SELECT * FROM SEQ(A a; OR(B b, C c))", "Way 2 of 2: a c"),
        ("DEFINE F SELECT a.x FROM SEQ(A a; B b)", "name F: its matches are events of this class"),
        ("SELECT * FROM SEQ(A a; B b+; C c) PICK EACH b", "note PICK EACH b forms every list"),
    ],
)
def test_says(query: str, expected: str, data: Any) -> None:
    assert expected in words(query, data=data)


def test_says_that_the_order_depends_on_counts_and_reads_no_event() -> None:
    text = words("SELECT * FROM SEQ(A a; B b; C c)", data=EVENTS)
    assert "candidates are counted when the query runs, and the rarest are bound first" in text
    broken = EVENTS.append_column("y", pa.array(["no number"] * EVENTS.num_rows))
    with pytest.raises(motif.MotifError):
        motif.match(broken, "SELECT * FROM SEQ(A a; B b) WHERE CAST(a.y AS INTEGER) = 1")
    motif.explain("SELECT * FROM SEQ(A a; B b) WHERE CAST(a.y AS INTEGER) = 1", data=broken)


def test_conditions_are_tested_early() -> None:
    """Without one between a and c, b is bound between them."""
    text = words("SELECT * FROM SEQ(A a; A b; A c) WHERE a.x < b.x AND b.x < c.x", data=EVENTS)
    assert text.index("bind c") < text.index("bind b") < text.index("bind a")


def test_shows_what_the_host_does() -> None:
    text = words("SELECT a.x + b.x AS y FROM SEQ(A a; B b) WHERE a.x > 1", data=EVENTS)
    for expected in ("computed from the row as", "Columns are taken as they are", "crosses as Arrow", "FROM matches"):
        assert expected in text


def test_functions() -> None:
    @motif.vectorized("arrow")
    def same(a: Any, b: Any) -> Any:
        return a

    query = "SELECT * FROM SEQ(A a; B b) WHERE same(a.x, b.x) AND big(a.x) PICK LAST a CONSUMING a"
    for data in (None, EVENTS):
        text = words(query, data=data, functions={"same": same, "big": bool})
        assert "same( ) your function, called with Arrow arrays, of matches that pass all other conditions" in text
        assert "big( ) your function, called with the values of one candidate at a time, of candidate events" in text
        assert "a the event: class A" in text
        assert "your function: big(a.x)" in text
        assert "call your functions test same(a.x, b.x)" in text
        assert "each may decide" not in text


def test_a_stack() -> None:
    stack = ["DEFINE P SELECT a.user FROM SEQ(A a; B b) WHERE [user]", "SELECT * FROM SEQ(P p; C c) WITHIN 1 h"]
    plan = motif.explain(stack, data=EVENTS)
    assert [clause.kind for clause in plan.clauses] == ["Event query"] * 2
    assert "Event query 2 of 2 on DuckDB" in str(plan)
    assert "parallel shared: cores share the events that are bound first" in " ".join(str(plan).split())
    assert plan.mermaid.count("subgraph") == 2
    assert str(motif.explain("; ".join(stack), data=EVENTS)) == str(plan)


def test_built_patterns_and_mappings() -> None:
    built = motif.seq(motif.ev("A", "a"), motif.ev("B", "b")).by("user")
    assert str(motif.explain(built, data={"events": EVENTS})).startswith("Event query on DuckDB")
    rows = motif.rows(motif.row("A", motif.col.x > 1)).order_by("ts")
    assert str(motif.explain(rows)).startswith("MATCH_RECOGNIZE\n")


def test_mistakes_come_first() -> None:
    with pytest.raises(motif.QueryBindError, match="unknown column y"):
        motif.explain("SELECT a.y FROM SEQ(A a; B b)", data=EVENTS)
    with pytest.raises(motif.MotifError, match="spark= is for SQL"):
        motif.explain("SELECT * FROM SEQ(A a; B b)", spark=object())
    with pytest.raises(motif.MotifError, match="this is an SQL statement"):
        motif.explain("SELECT 1 AS x", data=EVENTS)


@pytest.mark.parametrize(
    "pattern",
    ["A a", "A a+", "SEQ(A a; B b)", "SEQ(A a; NOT X x; B b{2,})", "ALL(A a, SEQ(B b; C c), D d)",
     "SEQ(OR(A a, SEQ(B b; NOT Y y; C c), D d); ANY(2, E e, SEQ(F f; G g+; H h), I i); J j)",
     "TSEQ(ALL(A a, B b), TSEQ(C c, D d; 1, 2); 1 h, 2 h)", "OR(A a, B b)", "ALL(OR(A a, B b), ANY(1, C c, D d))"],
)  # fmt: skip
def test_drawings_are_sound(pattern: str) -> None:
    query = parse_events(f"SELECT * FROM SEQ({pattern}; Z z) WITHIN 1 h")
    drawn = graph_of_events(query)
    places = [(node.column, node.lane) for node in drawn.nodes]
    assert len(set(places)) == len(places), "two nodes in one place"
    for edge in drawn.edges:
        source, target = drawn.nodes[edge.source], drawn.nodes[edge.target]
        assert edge.is_back == (target.column <= source.column)
    shown = [node.variable for node in drawn.nodes if node.shape is Shape.VARIABLE]
    assert sorted(shown) == list(range(len(query.events()) + len(query.negated())))
    ET.fromstring(drawing.svg([drawn]))


def test_big_patterns_are_cut() -> None:
    parts = "; ".join(f"v{number}" for number in range(100))
    drawn = graph_of_events(parse_events(f"SELECT * FROM SEQ({parts})"))
    assert len(drawn.nodes) == MOST_STATES + 1
    assert "not shown" in drawing.svg([drawn])


def test_many_ways_are_cut() -> None:
    parts = ", ".join(f"v{number}" for number in range(30))
    assert "and 18 more ways" in str(motif.explain(f"SELECT * FROM OR({parts})"))


def test_html_is_escaped() -> None:
    table = EVENTS.rename_columns(["ts", "type", "user", "<script>", "n"])
    plan = motif.explain('SELECT a."<script>" AS x FROM SEQ(A a; B b)', data=table)
    assert "<script>" not in plan._repr_html_()


@pytest.mark.spark
def test_on_spark(spark: Any) -> None:
    frame = spark.createDataFrame(EVENTS)
    keyed = words("SELECT * FROM SEQ(A a; B b) WHERE [user] AND a.x > 0", data=frame)
    assert "Event query on Spark" in keyed
    assert "repartition by c0" in keyed
    assert "Spark filters" in keyed
    sliced = words("SELECT * FROM SEQ(A a; B b) WITHIN 1 h", data={"events": frame})
    assert "strategy slices: each task has slices of time" in sliced
    assert "repartition by slice of time, 28,800 seconds each" in sliced
    one = words(["DEFINE P SELECT a.x FROM SEQ(A a; B b)", "SELECT * FROM SEQ(P p; C c)"], data=frame)
    assert "one partition: there is no key, and without WITHIN" in one
