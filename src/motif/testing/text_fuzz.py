"""Random hostile text: put into every place that takes text, it runs, opens, reads, writes and sets nothing.

Valid queries of both languages get pieces of attacks, odd ends of lines, comments, hints, quotes, escapes and Unicode
spliced into them. A secret lies beside them that no result and no message may ever show; the folder, the settings and
the catalogue are compared before and after. On Spark a text is judged without being run; where Spark's own picture of a
plan that passed shows anything that attacks ask for, it is run, and must not get it.
`python -m motif.testing.text_fuzz --cases 200000` runs a campaign in process; `--spark` one on Spark.
"""

from __future__ import annotations

import os
import random
import re
import secrets
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

import motif
from motif.errors import MotifError
from motif.hosts import duckdb_database
from motif.ir.expr import At, Call, Expr, Verbatim, transform, walk
from motif.ir.nested import sub_queries
from motif.ir.query import RowQuery
from motif.ir.render import render_row_sql
from motif.lang.statement import parse_clause, parse_statement
from motif.testing.fuzz import Tally, run_campaign

TEXTS = 500
"""Texts of one case: to look for what they have changed takes as long as a dozen of them."""
SECRET = secrets.token_hex(16)
ROWS = pa.table({"k": [1, 1, 2], "v": [1, 2, 3], "s": ["a", "b", "c"]})
EVENTS = pa.table({"type": ["A", "B"], "ts": pa.array([0, 1], pa.timestamp("s")), "s": ["a", "b"]})
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY v MEASURES upper(s) AS u, LAST(A.v) + 1 AS w
PATTERN (A B?) DEFINE B AS lower(B.s) <> 'z' AND B.v > A.v)"""
STATEMENTS = [
    "SELECT lower(s) AS x, v + 1 FROM t WHERE v < 9 ORDER BY v LIMIT 3",
    "WITH c AS (SELECT s, v FROM t) SELECT * FROM c JOIN t USING (s)",
    "SELECT (SELECT max(v) FROM t) AS m, count(*) FROM t GROUP BY k HAVING count(*) > 0",
    f"SELECT u FROM t {CLAUSE} WHERE w > 0",
    f"SELECT * FROM (SELECT * FROM t) AS x {CLAUSE}",
    f"WITH c AS (SELECT v FROM t) SELECT * FROM t {CLAUSE.replace('DEFINE', 'DEFINE A AS v IN (SELECT v FROM c),')}",
    "VALUES (1, 'a')",
]
EVENT_QUERIES = [
    "SELECT upper(a.s) AS x FROM SEQ(A a; B b) WHERE lower(a.s) = 'a' AND a.s < b.s WITHIN 2 days",
    "DEFINE E PATTERN SEQ(A a; B b) WHERE a.s <> b.s RETURN E(length(a.s) AS n)",
]
GLUE = [
    *("\r", "\r\n", "\n", "\v", "\f", "\x85", "\u2028", "\u2029", "\u00a0", "\ufeff", "\x1a", "\x00", "\\\n"),
    *(
        "--",
        "-- x\r",
        "--\r\n",
        "-- \\\n",
        "/*",
        "*/",
        "/**/",
        "/*/",
        "/* /* */",
        "/*! x */",
        "/*+",
        "/*+ A(t) */",
        "#",
    ),
    *(
        "/*+ A('*/', t) */",
        "/*+ A(`*/`) */",
        "'",
        "''",
        '"',
        '""',
        "`",
        "``",
        "$$",
        "$a$",
        "E'",
        "r'",
        'R"',
        "\\",
        "\\'",
    ),
    *('\\"', "\u2019", "\uff07", "\u02bc", "\\u0027", "\\047", "${env:HOME}", "{", "}", "{{", "(", ")", "[", "]", ";"),
    *(",", ".", "::", "=>", ":=", "->", "|>", "|", "?", ":x", "$1", "@", "\U0001f600", "\u0131", "\u017f", "--\u2028"),
]
ATTACKS = {
    "duckdb": [
        "; CREATE OR REPLACE MACRO memory.main.lower(a) AS 'x';",
        "; CREATE TABLE memory.main.left_behind (a INT);",
        "; SET threads = 1;",
        "; COPY (SELECT 1) TO '{folder}/written.csv';",
        " UNION ALL SELECT * FROM '{folder}/secret.csv' ",
        " UNION ALL SELECT * FROM read_csv('{folder}/secret.csv') ",
        ", (SELECT content FROM read_text('{folder}/secret.csv')) AS y ",
        ", (SELECT a FROM '.tmp/secret.csv') AS z ",
        ' FROM ".tmp/secret.csv" ',
        ", (FROM glob('*')) ",
        "WITH q AS (COPY (SELECT 1) TO '{folder}/written.csv') ",
        "WITH q AS (INSERT INTO t VALUES (1, 1, '1') RETURNING *) ",
        ", setseed(0.5) ",
        ", write_log('{folder}') ",
        ", current_setting('allowed_paths') ",
        ", getenv('HOME') ",
        " FROM register_external_resource_type('x') ",
        " FROM duckdb_settings() ",
        " FROM query('SELECT 1') ",
        " FROM (PIVOT t ON s USING sum(v)) ",
        " FROM enable_logging() ",
        ", json_serialize_plan('SELECT * FROM ''{folder}/secret.csv''') ",
    ],
    "spark": [
        " UNION ALL SELECT TRANSFORM(s) USING 'touch {folder}/written' AS (x STRING) FROM t ",
        " UNION ALL SELECT value, 1 FROM text.`{folder}/secret.csv` ",
        ", reflect('java.lang.System', 'setProperty', 'motif.attack', 'ran') ",
        ", \"reflect\"('java.lang.System', 'setProperty', 'motif.attack', 'ran') ",
        ", `java_method`('java.lang.System', 'setProperty', 'motif.attack', 'ran') ",
        " || try_reflect('java.lang.System', 'setProperty', 'motif.attack', 'ran') ",
        ", IDENTIFIER('reflect')('java.lang.System', 'setProperty', 'motif.attack', 'ran') ",
        " FROM LATERAL text.`{folder}/secret.csv` ",
        " FROM STREAM text.`{folder}` ",
        ", libsvm.`{folder}/secret.csv` ",
        " WITH (`path` = '{folder}/secret.csv') ",
        ", from_xml('<a/>', 'a int', map('rowValidationXSDPath', '{folder}/secret.csv')) ",
        ", from_protobuf(s, 'A', '{folder}/secret.csv') ",
        " INSERT OVERWRITE DIRECTORY '{folder}/written' USING csv SELECT 1 ",
        "; SET spark.sql.shuffle.partitions = 3;",
        " WINDOW w AS (PARTITION BY reflect('java.lang.System', 'setProperty', 'motif.attack', 'ran')) ",
        " BEGIN SELECT 1; END ",
    ],
}
_BOUNDARY = re.compile(r"\b|(?<=\W)")
_SHOWN = re.compile(r"Script|reflect|java_method|text|libsvm|Insert|Command|from_xml|from_protobuf|path=|options")


def hostile(rng: random.Random, text: str, dialect: str, folder: str) -> str:
    """The text with pieces of attacks put into it."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = _spliced(rng, text, _piece(rng, dialect).replace("{folder}", folder))
    return text


def _piece(rng: random.Random, dialect: str) -> str:
    attack = rng.choice(ATTACKS[dialect])
    match rng.randrange(5):
        case 0:
            return rng.choice(GLUE)
        case 1:
            return attack
        case 2:
            return rng.choice(GLUE) + attack + rng.choice(GLUE)
        case 3:
            return f"--{rng.choice(('', ' x'))}{rng.choice(GLUE)}{attack}{rng.choice(GLUE)}"
        case _:
            quote = rng.choice(GLUE)
            return quote + rng.choice(GLUE) + attack + rng.choice(GLUE) + quote


def _spliced(rng: random.Random, text: str, piece: str) -> str:
    anywhere = rng.random() < 0.3
    places = range(len(text) + 1) if anywhere else [found.start() for found in _BOUNDARY.finditer(text)]
    start = rng.choice(places)
    end = start + (rng.randrange(6) if rng.random() < 0.2 else 0)
    return text[:start] + piece + text[end:]


def doors(rng: random.Random) -> tuple[str, Callable[[str], Any]]:
    """A valid text, and one of the places that take such a text."""
    match rng.randrange(6):
        case 0 | 1 | 2:
            return rng.choice(STATEMENTS), lambda text: motif.sql(text, tables={"t": ROWS}).to_pylist()
        case 3:
            return CLAUSE, lambda text: motif.match(ROWS, text).to_pylist()
        case 4:
            return rng.choice(EVENT_QUERIES), lambda text: motif.match(EVENTS, text).to_pylist()
        case _:
            return rng.choice(STATEMENTS), lambda text: motif.check(text, tables={"t": ROWS})


# -- in process


@contextmanager
def _elsewhere() -> Iterator[Path]:
    """A folder to be in, with secrets."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="motif-text-") as name:
        folder = Path(name)
        for secret in (folder / "secret.csv", folder / ".tmp" / "secret.csv"):
            secret.parent.mkdir(exist_ok=True)
            secret.write_text(f"a\n{SECRET}\n", encoding="utf-8")
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


_STATE = (
    "SELECT name, value FROM duckdb_settings()",
    "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal",
    "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal",
    "SELECT type_name FROM duckdb_types() WHERE NOT internal",
    "SELECT sequence_name FROM duckdb_sequences()",
    "SELECT name FROM duckdb_variables()",
    "FROM duckdb_external_resources()",
    "FROM duckdb_external_resource_types()",
    "FROM duckdb_logs",
)


def _state(folder: Path) -> tuple[Any, ...]:
    """All that a text could have left behind."""
    instance = next(iter(duckdb_database._INSTANCES.values()))
    files = sorted(str(path) for path in folder.rglob("*"))
    return files, *(sorted(map(repr, instance.execute(sql).fetchall())) for sql in _STATE)


def check_seed(seed: int, *, compiled: bool = False) -> Tally:  # noqa: ARG001 - of other campaigns
    """Some hundred texts, and what they have changed."""
    rng, tally = random.Random(seed), Tally(queries=1)
    with _elsewhere() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a class that no event has
        texts = list(_texts(rng, folder))
        before = _begun(folder)
        for number, (text, run) in enumerate(texts):
            tally.cases += 1
            shown, is_refused = _shown(text, run)
            tally.matched += not is_refused
            tally.errors += is_refused
            if SECRET in shown:
                tally.differences.append(f"seed {seed}, text {number} shows the secret: {text!r}")
        if before != _state(folder):
            tally.differences.append(f"seed {seed} has changed what was there: {_culprit(folder, texts)}")
    return tally


Door = Callable[[str], Any]


def _texts(rng: random.Random, folder: Path) -> Iterator[tuple[str, Door]]:
    for _ in range(TEXTS):
        valid, run = doors(rng)
        yield hostile(rng, valid, "duckdb", str(folder)), run


def _begun(folder: Path) -> tuple[Any, ...]:
    """All that a text could change, in a database that has just been opened, beside secrets alone."""
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "secret.csv":
            path.unlink()
    duckdb_database._INSTANCES.clear()
    motif.sql("SELECT lower('A') AS x FROM t", tables={"t": ROWS})
    return _state(folder)


def _shown(text: str, run: Door) -> tuple[str, bool]:
    """What the text brings to light, and whether it is refused."""
    try:
        return str(run(text)), False
    except MotifError as error:
        return str(error), True


def _culprit(folder: Path, texts: Sequence[tuple[str, Door]]) -> str:
    """The first text after which something is not as before; they are run once more, one by one."""
    before = _begun(folder)
    for text, run in texts:
        _shown(text, run)
        now = _state(folder)
        if now != before:
            changed = [(old, new) for old, new in zip(before, now, strict=True) if old != new]
            return f"{text!r} changed {changed}"
    return "no text does so again"


# -- on Spark


def texts_for_spark(text: str, *, is_clause: bool) -> list[tuple[str, bool]]:
    """What Spark gets of a text, and whether each is a query; nothing if it is refused before."""
    if is_clause:
        return [(sql, False) for sql in _expressions(parse_clause(text, "spark"))]
    statement = parse_statement(text, "spark")
    inputs = [f"{clause.ctes_sql} SELECT * FROM {clause.input_sql}" for clause in statement.clauses]
    nested = [node.text for clause in statement.clauses for node in sub_queries(clause.query)]
    return [(sql, True) for sql in (*inputs, *nested, statement.outer_sql)] + [
        (sql, False) for clause in statement.clauses for sql in _expressions(clause.query)
    ]


def _expressions(query: RowQuery) -> Iterator[str]:
    for expr in [item.expr for item in query.measures] + [item.condition for item in query.defines]:
        for node in walk(expr):
            if isinstance(node, Call | Verbatim):
                with suppress(ValueError):  # what reads several rows is no row expression
                    yield render_row_sql(transform(node, _column), lambda name: f"`{name}`", "spark")


def _column(node: Expr) -> Expr | None:
    return node.arg if isinstance(node, At) else None


class SparkWorld:
    """A session with canaries."""

    def __init__(self, session: Any, folder: Path) -> None:
        self.session = session
        self.folder = folder
        (folder / "secret.csv").write_text(f"{SECRET}\n", encoding="utf-8")
        session.createDataFrame(ROWS.to_pylist()).createOrReplaceTempView("t")
        self.settings = self._settings()
        self.run = 0

    def _settings(self) -> list[Any]:
        return sorted(map(tuple, self.session.sql("SET").collect()))

    def check(self, seed: int) -> Tally:
        """One text: judged, and run if it passed and still shows what attacks ask for."""
        rng, tally = random.Random(seed), Tally(queries=1, cases=1)
        refused: tuple[type[Exception], ...] = (MotifError, *_refusals())
        is_clause = rng.random() < 0.3
        text = hostile(rng, CLAUSE if is_clause else rng.choice(STATEMENTS), "spark", str(self.folder))
        try:
            for sql, is_query in texts_for_spark(text, is_clause=is_clause):
                self._judged(sql, is_query=is_query)
            tally.matched += 1
        except refused:
            tally.errors += 1
        except AssertionError as found:
            tally.differences.append(f"seed {seed}: {found}: {text!r}")
        return tally

    def _judged(self, sql: str, *, is_query: bool) -> None:
        from motif.hosts.spark import safety

        safety.check(self.session, sql.replace("__motif_0", "t"), is_query=is_query)
        parser = self.session._jsparkSession.sessionState().sqlParser()
        plan = parser.parsePlan(sql) if is_query else parser.parseExpression(sql)
        if _SHOWN.search(plan.treeString()):
            self.run += 1
            self._runs_nothing(sql if is_query else f"SELECT {sql} FROM t")

    def _runs_nothing(self, sql: str) -> None:
        from motif.hosts.spark.settings import quiet

        shown = ""
        with suppress(*_refusals()), quiet():
            shown = str(self.session.sql(sql.replace("__motif_0", "t")).limit(20).collect())
        assert SECRET not in shown, "shows the secret"
        assert self.session._jvm.java.lang.System.getProperty("motif.attack") is None, "has run code"
        assert not list(self.folder.glob("written*")), "has written"

    def changed(self) -> list[str]:
        """What the session has that it had not."""
        return [] if self.settings == self._settings() else ["the settings of the session have changed"]


@cache
def _refusals() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def on_spark(session: Any, first: int, count: int) -> Tally:
    """Judge texts with one session after the other."""
    with tempfile.TemporaryDirectory(prefix="motif-text-") as folder:
        world, total = SparkWorld(session, Path(folder)), Tally()
        for seed in range(first, first + count):
            total.add(world.check(seed))
        total.differences += world.changed()
        total.too_long = world.run
    return total


def _on_spark(arguments: list[str]) -> int:
    from motif.hosts.spark.local import local_session

    options = dict(pairwise(arguments))
    began = time.monotonic()
    session = local_session("text", cores=1, **{"spark.sql.shuffle.partitions": "1"})
    total = on_spark(session, int(options.get("--seed", 1)), int(options.get("--cases", 20_000)))
    session.stop()
    sys.stdout.write(
        f"{total.cases:,} texts on Spark: {total.matched:,} passed, {total.errors:,} refused, "
        f"{total.too_long:,} plans were run to see what they do; {len(total.differences)} got through; "
        f"{time.monotonic() - began:.0f} s\n"
    )
    sys.stdout.writelines(f"{difference}\n" for difference in total.differences)
    return 1 if total.differences else 0


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign, in process or with `--spark`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "--spark" in given:
        given.remove("--spark")
        return _on_spark(given)
    return run_campaign(check_seed, TEXTS, given, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
