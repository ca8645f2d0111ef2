"""Sub-clauses of MATCH_RECOGNIZE: defaults, order, names, and messages."""

from __future__ import annotations

import pytest

from motif.errors import MotifError, QuerySyntaxError
from motif.ir.expr import At, Call, Column, Interval, Literal, Verbatim
from motif.ir.pattern import Repeat, Seq, Var
from motif.ir.query import Define, Key, MatchMode, Measure, Order, RowQuery, Rows, Skip, SkipTo, Subset, Within
from motif.lang.lexer import Dialect
from motif.lang.statement import parse_clause


def clause(body: str, dialect: Dialect = "duckdb") -> RowQuery:
    return parse_clause(f"MATCH_RECOGNIZE ({body})", dialect)


def error(body: str, dialect: Dialect = "duckdb") -> str:
    with pytest.raises(MotifError) as caught:
        clause(body, dialect)
    return str(caught.value)


def test_everything() -> None:
    found = clause("""
        PARTITION BY symbol, lower(market) AS m
        ORDER BY ts, seq DESC NULLS FIRST
        MEASURES A.price AS first_price, LAST(B.price) last_price, volume
        ALL ROWS PER MATCH OMIT EMPTY MATCHES
        INCREMENTAL MATCH
        AFTER MATCH SKIP TO FIRST b
        PATTERN (a B+)
        WITHIN INTERVAL '5' MINUTE
        SUBSET u = (A, B)
        DEFINE a AS price > 10, "B" AS price < PREV(price)
    """)
    price = At(Column("price"))
    assert found == RowQuery(
        pattern=Seq((Var("A"), Repeat(Var("B"), 1, None))),
        defines=(
            Define("A", Call(">", (price, Literal(10)))),
            Define("B", Call("<", (price, At(Column("price"), shift=-1)))),
        ),
        measures=(
            Measure(At(Column("price"), "A"), "first_price"),
            Measure(At(Column("price"), "B"), "last_price"),
            Measure(At(Column("volume")), "volume"),
        ),
        partition=(Key(Column("symbol"), "symbol"), Key(Call("lower", (Column("market"),)), "m")),
        order=(Order(Column("ts")), Order(Column("seq"), descending=True, nulls_first=True)),
        subsets=(Subset("U", ("A", "B")),),
        rows=Rows.ALL_OMIT_EMPTY,
        skip=Skip(SkipTo.FIRST, "B"),
        within=Within(Interval(300_000_000)),
        match_mode=MatchMode.INCREMENTAL,
    )


def test_defaults_of_the_standard() -> None:
    assert clause("PATTERN (A)") == RowQuery(Var("A"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("ONE ROW PER MATCH", Rows.ONE),
        ("ALL ROWS PER MATCH", Rows.ALL_SHOW_EMPTY),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", Rows.ALL_SHOW_EMPTY),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", Rows.ALL_OMIT_EMPTY),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", Rows.ALL_WITH_UNMATCHED),
    ],
)
def test_rows(text: str, rows: Rows) -> None:
    assert clause(f"{text} PATTERN (A)").rows is rows


@pytest.mark.parametrize(
    ("text", "skip"),
    [
        ("PAST LAST ROW", Skip(SkipTo.PAST_LAST)),
        ("TO NEXT ROW", Skip(SkipTo.NEXT)),
        ("TO FIRST A", Skip(SkipTo.FIRST, "A")),
        ("TO LAST u", Skip(SkipTo.LAST, "U")),
        ("TO A", Skip(SkipTo.LAST, "A")),
        ("TO first", Skip(SkipTo.LAST, "FIRST")),
    ],
)
def test_skip(text: str, skip: Skip) -> None:
    assert clause(f"AFTER MATCH SKIP {text} PATTERN (A first) SUBSET U = (A)").skip == skip


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("INTERVAL '5' MINUTE", Interval(300_000_000)),
        ("INTERVAL 5 MINUTES", Interval(300_000_000)),
        ("INTERVAL '1 hour 30 minutes'", Interval(5_400_000_000)),
        ("INTERVAL '0 00:05:00'", Interval(300_000_000)),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", Interval(93_784_500_000)),
        ("INTERVAL '1:30' MINUTE TO SECOND", Interval(90_000_000)),
        ("INTERVAL '0.000001' SECOND", Interval(1)),
        ("INTERVAL '2' WEEK", Interval(14 * 86_400_000_000)),
        ("INTERVAL '90s'", Interval(90_000_000)),
        ("10", 10),
        ("2.5", 2.5),
    ],
)
def test_within(text: str, bound: Interval | float) -> None:
    assert clause(f"PATTERN (A) WITHIN {text} DEFINE A AS x > 1").within == Within(bound)


def test_order_is_liberal_where_nothing_is_lost() -> None:
    assert clause("MAXIMAL MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A)").match_mode is MatchMode.MAXIMAL
    assert clause("AFTER MATCH SKIP TO NEXT ROW INCREMENTAL MATCH PATTERN (A)").match_mode is MatchMode.INCREMENTAL
    assert clause("INCREMENTAL MATCH ALL ROWS PER MATCH PATTERN (A)").rows is Rows.ALL_SHOW_EMPTY
    assert clause("PATTERN (A B) SUBSET U = (A) WITHIN 5").within == Within(5)


def test_keywords_can_be_columns() -> None:
    found = clause("""
        PARTITION BY partition, measures ORDER BY order, define
        MEASURES pattern AS within, A.match AS one, final AS "ONE ROW", subset + after AS all
        PATTERN (A PATTERN define)
        DEFINE A AS within > pattern AND skip = to, pattern AS running, define AS measures > 1
    """)
    assert [key.name for key in found.partition] == ["partition", "measures"]
    assert [order.expr for order in found.order] == [Column("order"), Column("define")]
    assert [measure.name for measure in found.measures] == ["within", "one", "ONE ROW", "all"]
    assert [define.var for define in found.defines] == ["A", "PATTERN", "DEFINE"]


def test_names_of_partition_columns() -> None:
    found = clause("PARTITION BY a, b+1, s.f, c AS d PATTERN (A)")
    assert [key.name for key in found.partition] == ["a", "b+1", "s.f", "d"]
    assert found.partition[2].expr == Verbatim(("", ".f"), (Column("s"),))


def test_variables_are_folded_unless_quoted() -> None:
    found = clause('MEASURES "a".x AS p, a.x AS q, "A".x AS r PATTERN (a)')
    expected = [Verbatim(("", ".x"), (At(Column("a")),)), At(Column("x"), "A"), At(Column("x"), "A")]
    assert [measure.expr for measure in found.measures] == expected


def test_backticks_in_spark() -> None:
    assert clause("MEASURES `a b` AS `c d` PATTERN (`x` A)", "spark").measures == (Measure(At(Column("a b")), "c d"),)


def located(message: str, body: str, column: int, width: int, hint: str | None) -> str:
    """The text of an error in a one-line clause; columns count from the start of `body`."""
    column += len("MATCH_RECOGNIZE (")
    lines = [
        f"{message} (line 1, column {column})",
        "    |",
        f"  1 | MATCH_RECOGNIZE ({body})",
        f"    | {' ' * (column - 1)}{'^' * width}",
    ]
    return "\n".join(lines + ([f"  hint: {hint}"] if hint else []))


ORDER_HINT = (
    "the order is PARTITION BY, ORDER BY, MEASURES, ONE ROW / ALL ROWS PER MATCH, AFTER MATCH SKIP, "
    "PATTERN, WITHIN, SUBSET, DEFINE"
)
START = "PARTITION BY, ORDER BY, MEASURES or PATTERN at the start of MATCH_RECOGNIZE"


@pytest.mark.parametrize(
    ("body", "message", "column", "width", "hint"),
    [
        ("ORDER BY ts", "PATTERN ( ... ) is missing", 12, 1, "add PATTERN (A B+)"),
        ("ORDER BY ts PATERN (A)", "PATTERN ( ... ) is missing", 13, 6, "did you mean PATTERN?"),
        ("ORDR BY ts PATTERN (A)", f"expected {START}, found ORDR", 1, 4, "did you mean ORDER BY?"),
        (
            "ORDER BY ts MEASURE a PATTERN (A)",
            "MEASURE does not fit here, in ORDER BY",
            13,
            7,
            "did you mean MEASURES?",
        ),
        (
            "ORDER BY ts ONE ROWS PER MATCH PATTERN (A)",
            "ONE does not fit here, in ORDER BY",
            13,
            3,
            "did you mean ONE ROW PER MATCH?",
        ),
        (
            "ALL ROWS PER MATCH AFTR MATCH PATTERN (A)",
            "AFTR does not fit here, in ONE ROW / ALL ROWS PER MATCH",
            20,
            4,
            "did you mean AFTER MATCH SKIP?",
        ),
        ("PATTERN (A) WITHN 5", "WITHN does not fit here, in PATTERN", 13, 5, "did you mean WITHIN?"),
        ("PATTERN (A) WITHIN 5 DEFIN A AS x", "DEFIN does not fit here, in WITHIN", 22, 5, "did you mean DEFINE?"),
        (
            "ORDER BY ts pattern_id PATTERN (A)",
            "pattern_id does not fit here, in ORDER BY",
            13,
            10,
            "is a comma missing before pattern_id?",
        ),
        ("ORDER BY ts PATTERN A", "expected ( after PATTERN", 21, 1, "write PATTERN (A B+)"),
        ("PARTITION s PATTERN (A)", f"expected {START}, found PARTITION", 1, 9, "write PARTITION BY"),
        ("", f"expected {START}, found )", 1, 1, None),
        ("PATTERN (A) PATTERN (A)", "PATTERN is given twice", 13, 7, "keep one of them"),
        ("PATTERN (A) MEASURES x AS y", "MEASURES must come before PATTERN", 13, 8, ORDER_HINT),
        ("PATTERN (A) MAXIMAL MATCH", "MAXIMAL / INCREMENTAL MATCH must come before PATTERN", 13, 7, ORDER_HINT),
        (
            "ALL MATCHES PATTERN (A)",
            "ALL MATCHES is not a clause here",
            1,
            11,
            "write AFTER MATCH SKIP TO NEXT ROW for overlapping matches",
        ),
        (
            "SEEK PATTERN (A)",
            "SEEK belongs to WINDOW, not to MATCH_RECOGNIZE",
            1,
            4,
            "leave it out: matches are searched from every row that AFTER MATCH SKIP allows",
        ),
        ("AFTER MATCH SKIP TO NEXT PATTERN (A)", "expected ROW after NEXT, found PATTERN", 26, 7, "write TO NEXT ROW"),
        ("AFTER MATCH SKIP PAST ROW PATTERN (A)", "expected LAST after PAST, found ROW", 23, 3, "write PAST LAST ROW"),
        (
            "AFTER MATCH SKIP TO Q PATTERN (A)",
            "AFTER MATCH SKIP goes to Q, which is not a variable of the pattern",
            1,
            21,
            "known here: A",
        ),
        (
            "ALL ROWS PER MATCH SHOW PATTERN (A)",
            "SHOW does not fit here, in ONE ROW / ALL ROWS PER MATCH",
            20,
            4,
            "write SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS",
        ),
        (
            "ONE ROW PER MATCH OMIT EMPTY MATCHES PATTERN (A)",
            "OMIT belongs to ALL ROWS PER MATCH",
            19,
            4,
            "leave it out: ONE ROW PER MATCH gives a row for empty matches, too",
        ),
        (
            "MEASURES FINAL x AS y PATTERN (A)",
            "AS does not fit here, in MEASURES",
            18,
            2,
            "write FINAL LAST(x)",
        ),
        (
            "PATTERN (A) WITHIN 5 MINUTE",
            "expected the next sub-clause, found MINUTE",
            22,
            6,
            "write WITHIN INTERVAL 5 MINUTE",
        ),
        (
            "PATTERN (A) WITHIN INTERVAL '1' MONTH",
            "WITHIN needs a fixed length of time, and a month has none",
            20,
            18,
            "count in days: INTERVAL '30' DAY",
        ),
        ("PATTERN (A) WITHIN INTERVAL '-1' DAY", "WITHIN can not be negative", 20, 17, "leave the minus out"),
        (
            "PATTERN (A) WITHIN INTERVAL 'soon'",
            "this INTERVAL can not be read",
            20,
            15,
            "write INTERVAL '5' MINUTE or INTERVAL '1 hour 30 minutes'",
        ),
        ("PATTERN (A B) DEFINE A AS x B AS y", "B does not fit here, in DEFINE", 29, 1, "is a comma missing before B?"),
        ("PATTERN (A) DEFINE A x > 1", "expected AS after A in DEFINE, found x", 22, 1, "write A AS condition"),
        ("PATTERN (A) DEFINE A AS", "expected a condition after A AS, found )", 24, 1, None),
        ("PATTERN (A) DEFINE A AS x,", "expected an item of DEFINE, found )", 27, 1, "is there a comma too many?"),
        (
            "PATTERN (A) DEFINE A AS x, A AS y",
            "A is defined twice",
            28,
            6,
            "join both conditions with AND or OR",
        ),
        ("PATTERN (UP DN) DEFINE UPP AS x", "UPP is defined but not used in PATTERN", 24, 8, "did you mean UP?"),
        (
            "PATTERN (A B) SUBSET A = (B)",
            "SUBSET A has the name of a pattern variable",
            22,
            7,
            "give the SUBSET another name",
        ),
        ("PATTERN (A) SUBSET U = (A), U = (A)", "SUBSET U is given twice", 29, 7, "keep one of them"),
        (
            "PATTERN (A B) SUBSET U = (A, C)",
            "C in SUBSET U is not a variable of the pattern",
            22,
            10,
            "known here: A, B",
        ),
        (
            "PATTERN (A) SUBSET U = (A) DEFINE U AS x",
            "U is a SUBSET and can not be defined",
            35,
            6,
            "define the variables it is made of",
        ),
        (
            "PATTERN (A) SUBSET U (A)",
            "expected = after the name of the SUBSET, found (",
            22,
            1,
            "write SUBSET U = (A, B)",
        ),
        ("MEASURES x + 1 PATTERN (A)", "this measure has no name", 10, 5, "write x + 1 AS name"),
        ("MEASURES LAST(x) PATTERN (A)", "this measure has no name", 10, 7, "write LAST(x) AS name"),
        ("MEASURES x AS PATTERN (A)", "expected a name after AS, found PATTERN", 15, 7, None),
        ("MEASURES x AS m, y AS M PATTERN (A)", "two measures are called M", 18, 6, "rename one of them"),
        (
            "PARTITION BY s MEASURES x AS S PATTERN (A)",
            "the measure S has the name of a partition column",
            25,
            6,
            "partition columns are in the result anyway; rename the measure",
        ),
        (
            "PARTITION BY s, S PATTERN (A)",
            "PARTITION BY has S twice",
            17,
            1,
            "keep one of them, or rename it with AS",
        ),
        (
            "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -})",
            "{- -} can not be combined with WITH UNMATCHED ROWS",
            51,
            7,
            "use SHOW EMPTY MATCHES, or filter on CLASSIFIER() outside",
        ),
        (
            "PARTITION BY A.x PATTERN (A)",
            "A is a variable of the pattern, but PARTITION BY is read before there is a match",
            14,
            1,
            "name the column alone",
        ),
        (
            "ORDER BY LAST(x) PATTERN (A)",
            "LAST reads a match, but ORDER BY is read before there is any",
            10,
            4,
            "ORDER BY takes columns of the input",
        ),
    ],
)
def test_messages(body: str, message: str, column: int, width: int, hint: str | None) -> None:
    assert error(body) == located(message, body, column, width, hint)


def test_double_quotes_in_spark() -> None:
    assert "quote names" not in error('MEASURES x + AS "y" PATTERN (A)', "spark")
    assert "a name is quoted with `" in error('MEASURES x AS "y" PATTERN (A)', "spark")


def test_nothing_but_our_errors() -> None:
    with pytest.raises(QuerySyntaxError):
        clause("PATTERN (A) DEFINE A AS " + "f(" * 150 + ")" * 150 + " +")
