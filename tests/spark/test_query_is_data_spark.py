"""Query text on Spark runs nothing, opens nothing, sets nothing: judged on the plan that Spark's own parser gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import motif
from motif.errors import MotifError, QueryBindError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SECRET = "nobody may read this"
RUN = "reflect('java.lang.System', 'setProperty', 'motif.attack', 'ran')"
EVENTS = "SELECT {item} AS x FROM SEQ(A a; B b) WHERE {condition}"


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    spark.createDataFrame([(1, "a"), (2, "b")], "v int, s string").createOrReplaceTempView("t")
    (tmp_path / "secret.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    yield spark
    assert spark._jvm is not None
    assert spark._jvm.java.lang.System.getProperty("motif.attack") is None
    assert not (tmp_path / "marker").exists()


def outcome(query: str, session: SparkSession) -> Any:
    """Rows of a query, or why there are none."""
    try:
        return motif.sql(query, spark=session).collect()
    except MotifError as error:
        return error


ATTACKS = [
    "SELECT s FROM t -- \rUNION ALL SELECT TRANSFORM(s) USING 'touch {folder}/marker' AS (x STRING) FROM t\n -- x",
    "SELECT s /* \r */ FROM t -- \r UNION ALL SELECT value FROM text.`{file}` --",
    "SELECT s FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS lower(s -- \r) = {run} OR lower('a'\n) = 'a')",
    "SELECT s FROM t MATCH_RECOGNIZE (MEASURES upper(s -- \r) || {run} || upper('a'\n) AS s PATTERN (A))",
    "SELECT /*+ BROADCAST('*/', t) */ {run} FROM t --",
    "SELECT /*+ BROADCAST(`*/`, t) */ {run} FROM t --",
    "SELECT {run}",
    "SELECT try_{run}",
    "SELECT `reflect`('java.lang.System', 'setProperty', 'motif.attack', 'ran')",
    "SELECT \"reflect\"('java.lang.System', 'setProperty', 'motif.attack', 'ran')",
    "SELECT builtin.{run}",
    "SELECT system.builtin.{run}",
    "VALUES ({run})",
    "SELECT * FROM VALUES ({run}) AS x(a)",
    "SELECT sum(v) OVER w FROM t WINDOW w AS (PARTITION BY {run})",
    "SELECT * FROM t UNPIVOT ((a, b) FOR n IN ((v, s)))  WHERE {run} = ''",
    "SELECT * FROM t LATERAL VIEW explode(array({run})) x AS y",
    "SELECT * FROM t ORDER BY {run}",
    "SELECT CASE WHEN v > 0 THEN {run} END FROM t",
    "SELECT transform(array(s), x -> {run}) FROM t",
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'setProperty', 'motif.attack', 'ran')",
    "SELECT * FROM IDENTIFIER('text.`{file}`')",
    "SELECT TRANSFORM(s) USING 'cat {file}' AS (x STRING) FROM t",
    "FROM t MAP s USING 'cat {file}' AS (x STRING)",
    "SELECT * FROM text.`{file}`",
    "SELECT * FROM LATERAL text.`{file}`",
    "SELECT * FROM STREAM text.`{folder}`",
    "SELECT * FROM STREAM(text.`{folder}`)",
    "SELECT * FROM t, libsvm.`{file}`",
    "SELECT * FROM (t JOIN text.`{file}`)",
    "SELECT (SELECT max(value) FROM text.`{file}`) FROM t",
    "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM text.`{file}`)",
    "SELECT * FROM t, LATERAL (SELECT * FROM text.`{file}`)",
    "WITH c AS (SELECT * FROM text.`{file}`) SELECT * FROM c",
    "TABLE text.`{file}`",
    "SELECT * FROM `org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`{file}`",
    "SELECT * FROM text.`{file}` MATCH_RECOGNIZE (PATTERN (A))",
    "SELECT * FROM LATERAL text.`{file}` x MATCH_RECOGNIZE (PATTERN (A))",
    "SELECT * FROM t WITH (`path` = '{file}')",
    "SELECT from_xml('<a>1</a>', 'a int', map('rowValidationXSDPath', '{file}'))",
    "SELECT schema_of_xml('<a>1</a>', map('rowValidationXSDPath', '{file}'))",
    "SELECT from_protobuf(CAST(s AS BINARY), 'A', '{file}') FROM t",
    "SELECT * FROM python_worker_logs()",
    "FROM t INSERT OVERWRITE DIRECTORY '{folder}/marker' USING csv SELECT *",
    "WITH x AS (SELECT 1) INSERT OVERWRITE DIRECTORY '{folder}/marker' USING csv SELECT * FROM x",
    "SET spark.sql.shuffle.partitions = 3",
    "BEGIN SELECT 1; END",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "DECLARE x INT",
    "CACHE TABLE t",
]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("quotes", ["strings", "names"])
def test_attacks(attack: str, quotes: str, session: SparkSession, tmp_path: Path) -> None:
    query = attack.replace("{run}", RUN).replace("{file}", str(tmp_path / "secret.txt"))
    query = query.replace("{folder}", str(tmp_path))
    session.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", str(quotes == "names").lower())
    try:
        found = outcome(query, session)
    finally:
        session.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")
    assert isinstance(found, MotifError), found
    assert SECRET not in str(found)


@pytest.mark.parametrize("attack", [RUN, "from_protobuf(a.s, 'A', '/tmp/x')", "IDENTIFIER('reflect')('a')"])
def test_event_queries_are_judged_as_well(attack: str, session: SparkSession) -> None:
    events = session.sql(
        "SELECT * FROM VALUES ('A', TIMESTAMP '2026-01-01 00:00:00', 'a'), ('B', TIMESTAMP '2026-01-02 00:00:00', 'b')"
        " AS events(type, ts, s)"
    )

    def ask(item: str, condition: str) -> DataFrame:
        return motif.match(events, EVENTS.format(item=item, condition=condition))

    assert [row.x for row in ask("lower(a.s)", "upper(a.s) = 'A'").collect()] == ["a"]
    for item, condition in ((f"{attack} || a.s", "a.s = 'a'"), ("a.s", f"{attack} = a.s")):
        with pytest.raises(MotifError):
            ask(item, condition)


def test_names_of_fields_are_names(session: SparkSession) -> None:
    """Events that lack a column of another input have NULL there, of its type, whatever its parts are called."""
    name = f"x:int>)) IS NULL OR {RUN} IS NULL OR isnull(CAST(NULL AS struct<y".replace("'", "\\'")
    many = session.sql(f"SELECT TIMESTAMP '2026-01-01' AS ts, named_struct('a b', 1, '{name}', 2) AS v")
    few = session.sql("SELECT TIMESTAMP '2026-01-01 00:00:01' AS ts, 5 AS k")
    queries = ["SELECT b.k FROM B SEQ(B b; NOT B c) WITHIN 1 s RETURN P", "SELECT p.k FROM SEQ(A a; P p) WITHIN 5 s"]
    assert [row.k for row in motif.match({"A": many, "B": few}, queries, time="ts").collect()] == [5]


def test_names_with_points_are_tables_or_nothing(session: SparkSession) -> None:
    session.sql("SELECT 1 AS v").createOrReplaceGlobalTempView("everywhere")
    assert outcome("SELECT v FROM global_temp.everywhere", session)[0].v == 1
    error = outcome("SELECT v FROM nowhere.t", session)
    assert isinstance(error, QueryBindError)
    assert error.message == "there is no table or view nowhere.t"
    assert error.column == 23


VALID = [
    "SELECT /*+ BROADCAST(t) */ v FROM t",
    "SELECT sum(v) OVER w FROM t WINDOW w AS (PARTITION BY s)",
    "SELECT * FROM VALUES (1, 'a') AS x(a, b)",
    "SELECT * FROM t LATERAL VIEW explode(array(1, 2)) e AS y",
    "SELECT * FROM t UNPIVOT (x FOR n IN (v))",
    "SELECT s, sum(v) FROM t GROUP BY GROUPING SETS ((s), ()) HAVING sum(v) > 0 ORDER BY 1 LIMIT 3",
    "FROM t |> WHERE v > 1 |> SELECT v",
    "SELECT * FROM t PIVOT (sum(v) FOR s IN ('a', 'b'))",
    "SELECT 'with (' AS x FROM t",
    "SELECT from_xml('<a>1</a>', 'a int'), v IN (SELECT v FROM t), EXISTS (SELECT 1), s RLIKE 'a', v::string FROM t",
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES upper(s) AS u PATTERN (A) DEFINE A AS lower(s) = 'a')",
]


@pytest.mark.parametrize("query", VALID)
def test_what_is_harmless_works(query: str, session: SparkSession) -> None:
    assert not isinstance(found := outcome(query, session), MotifError), found


def test_text_of_the_user_reaches_spark_by_one_door() -> None:
    """`selectExpr` and `sql` take text: what comes from the user goes through `safety`, these are texts of our own."""
    import motif.hosts.spark

    own = {"batch.py": 2, "events.py": 3, "stream_archive.py": 1, "stream_watermark.py": 1, "worker.py": 1}
    texts = {path.name: path.read_text("utf-8") for path in Path(motif.hosts.spark.__path__[0]).glob("*.py")}
    texts.pop("safety.py")
    found = {name: len(re.findall(r"\.(?:selectExpr|sql|expr)\(", text)) for name, text in texts.items()}
    assert {name: count for name, count in found.items() if count} == own
    assert not any("self.frame.filter(" in text for text in texts.values())
