"""What `motif.explain` says, and the pictures it draws."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pyarrow as pa
import pytest

import motif
from motif.explanation import drawing
from motif.explanation.graph import MOST_STATES, Graph, Shape, graph_of, mermaid, state_lines
from motif.lang.statement import parse_clause
from motif.plan.automaton import compile_pattern

TRADES = pa.table({"symbol": ["a", "a"], "ts": [1, 2], "price": [2.0, 1.0], "volume": [5, 6]})
QUERY = """
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES FIRST(A.ts) AS t, LAST(B.price) + 1 AS p, SUM(volume) AS v
  PATTERN (A B+)
  WITHIN 10
  DEFINE A AS price > 1 AND LN(price) < 9, B AS price < 5 AND price < PREV(price) AND price < A.price)
"""


def graph(pattern: str) -> Graph:
    query = parse_clause(f"MATCH_RECOGNIZE (ORDER BY t PATTERN ({pattern}))")
    return graph_of(compile_pattern(query), query.variables())


def test_explain_stays_a_function() -> None:
    motif.explain(QUERY, tables={"trades": TRADES})
    assert callable(motif.explain)
    motif.explain(QUERY, tables={"trades": TRADES})


def test_says_how_each_condition_is_decided() -> None:
    text = str(motif.explain(QUERY, tables={"trades": TRADES}))
    assert '(ln("price") < 9)' in " ".join(text.split())
    assert "its values:     price > 1" in text
    assert "its neighbours: price < PREV(price)" in text
    assert "the match:      price < A.price" in text
    assert "depends on the match (B): long searches remember dead ends" in text


def test_says_ties_and_why() -> None:
    text = str(motif.explain(QUERY, tables={"trades": TRADES}))
    assert "broken by price (conditions read it), then volume (only outputs read it)" in " ".join(text.split())


def test_shows_the_host_queries_and_what_crosses() -> None:
    text = str(motif.explain(QUERY, tables={"trades": TRADES}))
    for expected in (
        "DuckDB reads",
        "FROM trades\n",
        'c0: "symbol", string',
        "FROM matches",
        "FROM __motif_0",
    ):
        assert expected in text
    assert "span at most 10, inclusive" in text
    assert "from 200,000 rows on" in text


def test_says_what_cores_share() -> None:
    keyless = QUERY.replace("PARTITION BY symbol ", "")
    numbered = keyless.replace("price > 1 ", "price > 1 AND MATCH_NUMBER() < 9 ")
    for query, expected in (
        (QUERY, "strategy partitions, as many parts as pay: each core has whole partitions"),
        (keyless, "strategy pieces, as many parts as pay: each core searches a piece of the one sequence"),
        (numbered, "strategy sequential: one core does all the work; conditions read the number of the match"),
    ):
        assert expected in " ".join(str(motif.explain(query, tables={"trades": TRADES})).split())


def test_row_only_is_linear() -> None:
    text = str(motif.explain(QUERY.replace("AND price < A.price", ""), tables={"trades": TRADES}))
    assert "linear time" in text
    assert "match_steps" not in text


def test_without_tables_only_the_text_is_explained() -> None:
    plan = motif.explain(QUERY)
    assert plan.host is None
    assert "conditions are split once the tables are known" in str(plan)
    assert "A B+" in str(plan)
    assert plan.svg.startswith("<svg")


def test_several_clauses() -> None:
    inner = QUERY.strip()
    query = f"SELECT * FROM ({inner}) MATCH_RECOGNIZE (ORDER BY t MEASURES X.v AS w PATTERN (X Y) DEFINE Y AS v > X.v)"
    plan = motif.explain(query, tables={"trades": TRADES})
    assert [clause.pattern for clause in plan.clauses] == ["A B+", "X Y"]
    assert "MATCH_RECOGNIZE 2 of 2 on DuckDB" in str(plan)
    assert plan.mermaid.count("subgraph") == 2


def test_errors_are_ours() -> None:
    with pytest.raises(motif.QueryBindError, match="unknown column"):
        motif.explain(QUERY.replace("SUM(volume)", "SUM(volum)"), tables={"trades": TRADES})
    with pytest.raises(motif.MotifError):
        motif.explain("SELECT * FROM trades MATCH_RECOGNIZE (", tables={"trades": TRADES})
    with pytest.raises(motif.MotifError):
        motif.explain(f"SELECT nothing_of_that_name FROM ({QUERY})", tables={"trades": TRADES})


def test_html_is_self_contained_and_escaped() -> None:
    table = TRADES.rename_columns(["symbol", "ts", "price", "<script>"])
    query = QUERY.replace("SUM(volume)", 'SUM("<script>")')
    plan = motif.explain(query, tables={"trades": table})
    assert "<script>" not in plan._repr_html_()
    assert "<script>" not in plan.html
    assert "http" not in plan.html.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_a_statement_without_a_clause() -> None:
    plan = motif.explain("SELECT 1 AS x")
    assert "nothing for Motif to do" in str(plan)


@pytest.mark.parametrize(
    "pattern",
    ["A", "()", "() | A", "A B+ C* D+", "(A | B)+ C", "A (B C? | D E F | G)* H", "^ A B*? C $", "PERMUTE(A, B, C)",
     "A (B+ C){2,4} {- D+ -}", "((A | B | C) D)* E?", "(A B?)+ (C | D E*)+?", "(A* | B*)*", "(A? B?)*"],
)  # fmt: skip
def test_drawings_are_sound(pattern: str) -> None:
    drawn = graph(pattern)
    places = [(node.column, node.lane) for node in drawn.nodes]
    assert len(set(places)) == len(places), "two nodes in one place"
    for edge in drawn.edges:
        source, target = drawn.nodes[edge.source], drawn.nodes[edge.target]
        assert edge.is_back == (target.column <= source.column)
    states = [state for node in drawn.nodes for state in node.states]
    assert sorted(states) == list(range(drawn.states))
    ET.fromstring(drawing.svg([drawn]))


def test_loops_are_drawn_once() -> None:
    assert [node.label for node in graph("A B+ C").nodes if node.shape is Shape.VARIABLE] == ["A", "B", "C"]


def test_alternatives_stand_below() -> None:
    lanes = {node.label: node.lane for node in graph("(A | B) C").nodes}
    assert (lanes["A"], lanes["B"], lanes["C"]) == (0, 1, 0)


def test_big_automata_are_cut_and_say_so() -> None:
    query = parse_clause("MATCH_RECOGNIZE (ORDER BY t PATTERN (A{500} B))")
    machine = compile_pattern(query)
    lines = state_lines(machine, query.variables())
    assert len(lines) == MOST_STATES + 1
    assert lines[-1].endswith("442 more states, not shown")
    drawn = graph("A{500} B")
    assert drawn.left_out == len(machine) - MOST_STATES
    assert "states are not shown" in drawing.svg([drawn])
    assert "states are not shown" in mermaid([drawn])


def test_mermaid() -> None:
    text = mermaid([graph("A B?")])
    assert text.startswith("flowchart LR\n")
    assert '("A")' in text
    assert "-.->" in text


def test_mermaid_escapes_names() -> None:
    label = '"a""]; click b"'
    text = mermaid([graph(label)])
    assert '"]' not in text
    assert "click b" in text


@pytest.mark.spark
def test_spark_plan(spark) -> None:
    spark.createDataFrame(TRADES).createOrReplaceTempView("trades")
    text = str(motif.explain(QUERY, spark=spark))
    assert "MATCH_RECOGNIZE on Spark" in text
    assert "repartition by c0" in text
    assert "mapInArrow" in text
    unkeyed = str(motif.explain(QUERY.replace("PARTITION BY symbol", ""), spark=spark))
    assert "one partition: there is no PARTITION BY, so one task does all the work" in unkeyed


def test_a_plan_in_a_notebook_follows_its_theme() -> None:
    shown = motif.explain("MATCH_RECOGNIZE (ORDER BY t PATTERN (A B) DEFINE B AS v > 1)")._repr_html_()
    style = "".join(re.findall(r"<style>(.*?)</style>", shown, re.DOTALL))
    assert "prefers-color-scheme" not in style  # that is the theme of the system, not of the notebook
    assert "stroke: currentColor" in style
    assert not re.search(r"[; {]color: #", style)
    assert "text-align: left !important" in style
