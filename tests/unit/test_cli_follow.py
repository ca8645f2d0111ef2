"""`motif run --follow` without Spark: options, folders, checkpoints, what is shown, and how it stops."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from test_cli import motif

from motif.cli import checkpoint, follow, follow_inputs, follow_screen, screen
from motif.cli.follow_counters import Counters
from motif.cli.follow_inputs import Folder, with_types
from motif.cli.follow_options import FileFormat
from motif.engine.stream.status import Status
from motif.errors import MotifError

SEQUENCE = "SELECT a.v AS x, b.v AS y FROM SEQ(A a; B b) WITHIN 5 s"
ROWS = """SELECT * FROM events MATCH_RECOGNIZE (
  ORDER BY ts MEASURES LAST(B.v) AS last PATTERN (A B+) WITHIN INTERVAL '1' HOUR DEFINE B AS v > PREV(v))"""
EVENTS = "ts,type,v\n2026-01-01 12:00:00,A,1\n2026-01-01 12:00:01,B,2\n"
RUN = ("run", SEQUENCE, "-t", "events=events", "--follow", "--host", "spark")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("events").mkdir()
    Path("events/1.csv").write_text(EVENTS, encoding="utf-8")
    return tmp_path


# -- options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*RUN[:-2],), "--follow needs --host spark"),
        ((*RUN[:-2],), "motif.Stream takes events one by one without Spark"),
        ((*RUN, "--report", "r.html"), "--report does not go with --follow"),
        ((*RUN, "--limit", "0"), "--limit 0 does not go with --follow"),
        ((*RUN, "-o", "out.csv"), "out.csv is the name of one file"),
        ((*RUN, "-o", "none/out"), "there is no folder none"),
        ((*RUN, "-o", "events/1.csv"), "events/1.csv is the name of one file"),
        ((*RUN, "--once", "--trigger", "2 s"), "--once and --trigger do not go together"),
        ((*RUN, "--trigger", "often"), "--trigger"),
        ((*RUN, "--lateness", "10"), "has no unit of time"),
        ((*RUN, "--emit", "match,lat"), "did you mean late?"),
        ((*RUN, "--emit", ","), "nothing would come out"),
        ((*RUN, "--format", "xml"), "xml"),
        ((*RUN, "--checkpoint", "events"), "events is not a checkpoint of motif run --follow: it holds 1.csv"),
        (("run", SEQUENCE, "-t", "e=events/1.csv", *RUN[4:]), "there is no folder to follow"),
        ((*RUN, "-t", "more=events/1.csv"), "events/1.csv (table more) is a file"),
        (("run", SEQUENCE.replace("SEQ", "SQE"), *RUN[2:]), "SQE"),
        (("run", ROWS.replace("(A B+)", "(A B+"), *RUN[2:]), "line"),
        (("run", ROWS, *RUN[2:], "--time", "ts"), "time= is for event queries"),
        (("run", "SELECT * FROM events WHERE (v > 1)", *RUN[2:]), "there is no MATCH_RECOGNIZE in the statement"),
        (
            ("run", ROWS.replace("events", "other"), "-t", "other=events/1.csv", *RUN[2:]),
            "no MATCH_RECOGNIZE of the statement reads a folder\n  hint: it can read events",
        ),
        (("run", SEQUENCE, "-t", "events=events/1.csv", "--on-error", "skip"), "--on-error is for --follow"),
        (("run", SEQUENCE, "-t", "events=events/1.csv", "--lateness", "1 s"), "--lateness is for --follow"),
        (("run", SEQUENCE, "-t", "events=events/1.csv", "--once"), "--once is for --follow"),
    ],
)
def test_mistakes_are_found_before_spark_is_started(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.setattr(follow, "spark_with", None)
    assert motif(*arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert "Traceback" not in err


# -- folders


def test_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv.gz", ".c.csv", "_d.csv", "notes.txt", "day=1/e.csv", "sub/f.csv", "half.csv.part"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n1\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    names = [str(path.relative_to(tmp_path)) for path in Folder("t", tmp_path).files()]
    assert names == ["a.csv.gz", "b.csv", "day=1/e.csv"]
    assert [path.name for path in Folder("t", tmp_path, FileFormat.CSV).files()] == ["a.csv.gz", "b.csv", "e.csv"]
    assert "notes.txt" in [path.name for path in Folder("t", tmp_path, FileFormat.JSON).files()]


def test_files_of_two_kinds(tmp_path: Path) -> None:
    for name in ("a.csv", "b.json"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    with pytest.raises(MotifError, match=r"holds csv and json files\n  hint: .*--format csv"):
        Folder("t", tmp_path).infer(None)


def test_a_json_array(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"x": 1}]', encoding="utf-8")
    with pytest.raises(MotifError, match=r"a.json is one JSON array\n  hint: .*one JSON object per line"):
        Folder("t", tmp_path).infer(None)


def test_headers_that_differ(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeffx,y\r\n1,2\n", encoding="utf-8")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2\n"))
    (tmp_path / "c.csv").write_text("y,x\n1,2\n", encoding="utf-8")
    with pytest.raises(MotifError, match=r"c.csv has other columns than .*a.csv: y,x, not x,y"):
        Folder("t", tmp_path).infer(None)


def test_news_of_files(tmp_path: Path) -> None:
    watched = Folder("t", tmp_path, None, FileFormat.PARQUET, columns={"day": "int", "A": "bigint", "b": "string"})
    for name, columns in (("1", {"a": [1], "b": ["x"], "more": [1]}), ("day=2/2", {"a": [1]})):
        (tmp_path / f"{name}.parquet").parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    (tmp_path / "3.csv").write_text("a\n", encoding="utf-8")
    (tmp_path / "4.parquet").write_text("not yet", encoding="utf-8")
    (tmp_path / "5.txt").write_text("a\n", encoding="utf-8")
    assert list(watched.news()) == [
        f"{tmp_path}/1.parquet has no column day: NULL in all of its events",
        f"{tmp_path}/3.csv is left out: this stream reads parquet files",
        f"{tmp_path}/day=2/2.parquet has no column b: NULL in all of its events",
    ]
    assert list(watched.news()) == []


def frame(**columns: str) -> Any:
    fields = [
        SimpleNamespace(name=name, dataType=SimpleNamespace(simpleString=lambda kind=kind: kind))
        for name, kind in columns.items()
    ]
    return SimpleNamespace(schema=SimpleNamespace(fields=fields), isEmpty=lambda: False)


class Reads:
    """Stands in for `session.read` and `session.readStream`: whatever is loaded has these columns."""

    def __init__(self, **columns: str) -> None:
        self.columns = columns

    def format(self, _: str) -> Reads:
        return self

    def schema(self, _: str) -> Reads:
        return self

    def options(self, **_: Any) -> Reads:
        return self

    def load(self, _: str) -> Any:
        return frame(**self.columns)


@pytest.mark.parametrize(
    ("columns", "what", "hint"),
    [
        ({"t": "timestamp_ntz", "v": "double", "s": "int"}, "v is double there, not bigint", "--columns 'v DOUBLE'"),
        ({"t": "timestamp_ntz", "s": "string"}, "it has no column v", "repair the file"),
        ({"t": "date", "v": "int", "s": "string", "w": "int"}, "the column w came with it", "repair the file"),
        ({"v": "int", "t": "date", "s": "int"}, "its columns stand in another order: v, t, s", "repair the file"),
        ({"t": "date", "v": "int", "s": "string"}, "a short row", "repair the file"),
    ],
)
def test_a_file_that_does_not_fit(columns: dict[str, str], what: str, hint: str) -> None:
    expected = {"t": "timestamp_ntz", "v": "bigint", "s": "string"}
    watched = Folder("trades", Path("in"), None, FileFormat.CSV, columns=expected)
    error = watched.misfit(SimpleNamespace(read=Reads(**columns)), Path("in/2.csv"), "a short row")
    assert error.message == f"in/2.csv does not fit the stream of trades: {what}"
    assert hint in (error.hint or "")


def test_a_value_that_does_not_fit() -> None:
    watched = Folder("trades", Path("in"), None, FileFormat.CSV, columns={"v": "bigint"})
    session = SimpleNamespace(read=Reads(v="string"))
    error = watched.misfit(session, Path("in/2.csv"), 'For input string: "x"')
    assert error.message.endswith('v is string there, not bigint (For input string: "x")')
    assert "--columns" not in (error.hint or "")
    error = watched.misfit(session, Path("in/2.csv"), "Malformed CSV record: 1,2")
    assert error.message.endswith("the stream of trades: Malformed CSV record: 1,2")


class Unreadable:
    """A session that refuses every schema."""

    def createDataFrame(self, _rows: list[Any], _text: str) -> Any:  # noqa: N802 - Spark's name
        raise ValueError("[PARSE_SYNTAX_ERROR] near 'DUBLE'\nand a long story")


def test_columns_that_spark_cannot_read() -> None:
    with pytest.raises(MotifError, match="--columns cannot be read: v DUBLE") as failed:
        with_types([], "v DUBLE", Unreadable())
    assert failed.value.message.endswith("\n  Spark says: [PARSE_SYNTAX_ERROR] near 'DUBLE'")
    assert "--columns 'price DOUBLE" in (failed.value.hint or "")


SPARK_TEXT = """An error occurred while calling o82.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
	at org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:70)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file \
file:///tmp/my%20files/2.csv.  SQLSTATE: KD001
	at org.apache.spark.X(Y.scala:1)
Caused by: org.apache.spark.SparkRuntimeException: [MALFORMED_CSV_RECORD] Malformed CSV record: ABC,9 SQLSTATE: KD000
"""


def test_what_spark_says_of_a_file() -> None:
    assert follow_inputs.failed_file(SPARK_TEXT) == Path("/tmp/my files/2.csv")
    assert follow_inputs.cause_of(SPARK_TEXT) == "Malformed CSV record: ABC,9"
    assert follow_inputs.failed_file("java.lang.OutOfMemoryError: Java heap space") is None
    assert follow_inputs.cause_of("java.lang.OutOfMemoryError: Java heap space") == "Java heap space"


# -- checkpoints


def identity(query: str = "SELECT 1\nFROM a", **options: Any) -> checkpoint.Identity:
    return checkpoint.Identity(query, {"a": "/in/a"}, {"lateness": "0 s", "emit": None, **options})


def begun(folder: Path, of: checkpoint.Identity) -> None:
    with checkpoint.opened(folder, of) as home:
        home.begin({"a": {"format": "csv", "columns": {"v": "bigint"}}})
        home.count({"0:1:3": {"events": 2}})
        (home.spark / "offsets").mkdir(parents=True)
        (home.spark / "offsets" / "0").touch()


def test_a_checkpoint_is_found_again(tmp_path: Path) -> None:
    place = checkpoint.default_folder(tmp_path / "a", identity())
    assert place.parent == tmp_path / ".motif"
    assert place == checkpoint.default_folder(tmp_path / "a", identity())
    assert place != checkpoint.default_folder(tmp_path / "a", identity(emit="late"))
    with checkpoint.opened(place, identity()) as home:
        assert (home.columns, home.counters) == ({}, {})
    begun(place, identity())
    with checkpoint.opened(place, identity()) as home:
        assert home.columns["a"]["columns"] == {"v": "bigint"}
        assert home.counters == {"0:1:3": {"events": 2}}


def test_a_checkpoint_of_another_query(tmp_path: Path) -> None:
    begun(tmp_path / "c", identity())
    other = checkpoint.Identity("SELECT 1\n  FROM b", {"b": "/in/b"}, {"lateness": "5 s", "emit": None})
    with pytest.raises(MotifError) as refused, checkpoint.opened(tmp_path / "c", other):
        pass
    assert refused.value.message.endswith(
        "belongs to another command: line 2 of the query was `FROM a` and is `FROM b`; "
        "the table a was /in/a and is not given; the table b was not given and is /in/b; --lateness was 0 s and is 5 s"
    )
    assert "another --checkpoint (or delete this one)" in (refused.value.hint or "")


def test_a_checkpoint_that_never_began_binds_nobody(tmp_path: Path) -> None:
    place = checkpoint.default_folder(tmp_path / "a", identity())
    with checkpoint.opened(place, identity()) as home:
        home.begin({"a": {}})
    assert not place.parent.exists()
    (tmp_path / "c").mkdir()
    with checkpoint.opened(tmp_path / "c", identity()) as home:
        home.begin({"a": {}})
    with checkpoint.opened(tmp_path / "c", identity("SELECT 2")) as home:
        assert home.columns == {}


def test_a_checkpoint_in_use(tmp_path: Path) -> None:
    with (
        checkpoint.opened(tmp_path / "c", identity()),
        pytest.raises(MotifError, match="another motif run --follow is using the checkpoint"),
        checkpoint.opened(tmp_path / "c", identity()),
    ):
        pass


def test_a_damaged_checkpoint(tmp_path: Path) -> None:
    begun(tmp_path / "c", identity())
    (tmp_path / "c" / "motif.json").write_text('{"format', encoding="utf-8")
    with (
        pytest.raises(MotifError, match=r"made by another version of Motif, or motif\.json in it is damaged"),
        checkpoint.opened(tmp_path / "c", identity()),
    ):
        pass


def test_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(MotifError, match=r"cannot make the checkpoint .*\n  hint: .*--checkpoint FOLDER"),
        checkpoint.opened(tmp_path / "file" / "c", identity()),
    ):
        pass


# -- counters


def report(**counters: int) -> str:
    names = "events matches timed_out late without_time failed limited live waiting state_bytes".split()
    return json.dumps({**dict.fromkeys(names, 0), "watermark": 1_000_000, "latest": 3_000_000, **counters})


def progress(batch: int, *parts: str | None, chain: str = "x") -> dict[str, Any]:
    return {
        "batchId": batch,
        "numInputRows": 1,
        "durationMs": {"addBatch": 1, "triggerExecution": 1500},
        "observedMetrics": {f"motif:{chain}:1": list(parts), "mine": [1]},
    }


def test_counters_are_of_all_runs() -> None:
    counters = Counters({})
    assert counters.status == Status()
    assert not counters.read(SimpleNamespace(lastProgress=None))
    first, second = progress(0, report(events=3, matches=1), None), progress(1, None, report(events=4))
    assert counters.read(SimpleNamespace(lastProgress=second, recentProgress=[first, second]))
    assert not counters.read(SimpleNamespace(lastProgress=second, recentProgress=[]))
    assert (counters.batches, counters.seconds) == (2, 1.5)
    later = Counters(json.loads(json.dumps(counters.reports)))
    third = progress(2, report(events=5, matches=2), None, chain="y")
    assert later.read(SimpleNamespace(lastProgress=third, recentProgress=[third]))
    assert (later.status.events, later.status.matches, later.status.lag_seconds) == (9, 2, 2.0)


def test_counters_of_a_stack_and_of_several_clauses() -> None:
    both = progress(0, report(events=8, matches=5, live=1), chain="x")
    both["observedMetrics"] |= {
        "motif:x:2": {"b0": report(events=5, matches=2, live=3)},
        "motif:y:1": [report(events=1, matches=1)],
    }
    counters = Counters({"0:1:9": {"events": 2}})
    counters.read(SimpleNamespace(lastProgress=both))
    found = counters.status
    assert (found.events, found.matches, found.live) == (11, 3, 4)


def test_a_look_at_folders_is_not_a_batch() -> None:
    idle = progress(0) | {"durationMs": {"latestOffset": 1}, "observedMetrics": {}}
    counters = Counters({})
    assert not counters.read(SimpleNamespace(lastProgress=idle))
    assert counters.read(SimpleNamespace(lastProgress=progress(0, report(events=1))))
    assert counters.status.events == 1


# -- what is shown


def test_the_line_of_counters() -> None:
    status = Status(events=1200, matches=7, late=2, live=35, state_bytes=12_340, lag_seconds=75)
    line = "events 1,200 · matches 7 · late 2 · live 35 · state 12.3 kB · lag 1 min 15 s · batch 0.4 s"
    assert follow_screen.status_line(status, 0.4, with_timeouts=False) == line
    more = follow_screen.status_line(Status(failed=1, lag_seconds=7300), 0, with_timeouts=True)
    assert (
        more
        == "events 0 · matches 0 · late 0 · timed out 0 · failed 1 · live 0 · state 0 B · lag 2 h 1 min · batch 0.0 s"
    )
    assert follow_screen.totals(Status(events=1, matches=1)) == "1 event, 1 match"
    assert follow_screen.totals(Status(events=2, late=1, limited=3)) == "2 events, 0 matches, 1 late, 3 over a limit"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal would show, without colours."""
    shown = io.StringIO()

    def console(*, stderr: bool = False) -> Console:
        return Console(file=shown, force_terminal=True, no_color=True, width=100, markup=False, highlight=False)

    monkeypatch.setattr(screen, "console", console)
    return shown


def plain(text: str) -> list[str]:
    import re

    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*\w", "", text).splitlines() if line.strip()]


def test_rows_stand_below_each_other(terminal: io.StringIO) -> None:
    shown = follow_screen.Screen(2, with_timeouts=False)
    shown.matches(pa.table({"name": ["a", "b"], "n": [1, 22]}))
    shown.matches(pa.table({"name": ["c"], "n": [3]}))
    shown.matches(pa.table({"name": pa.array([], pa.string()), "n": pa.array([], pa.int64())}))
    shown.matches(pa.table({"name": ["longer", "d", "e"], "n": [4, 5, 6]}))
    assert plain(terminal.getvalue()) == [
        "name    n",
        "─────────",
        "a       1",
        "b      22",
        "c       3",
        "name      n",
        "───────────",
        "longer    4",
        "d         5",
        "1 more of this batch not shown (--limit shows more, --output writes all)",
    ]
    assert shown.rows == 6


def test_whole_events_are_numbered_on(terminal: io.StringIO) -> None:
    shown = follow_screen.Screen(5, with_timeouts=False)
    for number in (1, 2):
        shown.matches(pa.table({"a": [{"v": number}], "x": [None]}))
    assert plain(terminal.getvalue()) == ["1.", "  a   v 1", "  x   NULL", "2.", "  a   v 2", "  x   NULL"]


def test_a_pipe_gets_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with follow_screen.Screen(1, with_timeouts=False) as shown:
        shown.busy("starting")
        shown.matches(pa.table({"name": ["a\x1b", "b"], "events": [[{"v": 1}], []]}))
        shown.status(Status(), 0.0)
        shown.note("a note")
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [
        {"name": "a\x1b", "events": [{"v": 1}]},
        {"name": "b", "events": []},
    ]
    assert "\x1b" not in out
    assert err == "a note\n"


# -- Ctrl-C


def test_once_is_a_wish_and_twice_an_order() -> None:
    with pytest.raises(KeyboardInterrupt), follow.Interrupts():
        os.kill(os.getpid(), signal.SIGINT)
    with follow.Interrupts() as interrupts:
        interrupts.is_patient = True
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.heard == 1
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


class Query:
    """Stands in for a running query: each look at it runs a batch."""

    def __init__(self, batches: Callable[[Any, int], None], todo: list[Any], at_batch: Callable[[int], None]) -> None:
        self.batches, self.todo, self.at_batch = batches, list(todo), at_batch
        self.number, self.failure, self.lastProgress = 0, None, None
        self.recentProgress: list[Any] = []
        self.status = {"isTriggerActive": True}
        self.is_stopped = False

    @property
    def isActive(self) -> bool:  # noqa: N802
        if not self.todo or self.failure is not None:
            return False
        table = self.todo.pop(0)
        self.at_batch(self.number)
        try:
            self.batches(SimpleNamespace(toArrow=lambda: table), self.number)
        except Exception as error:  # noqa: BLE001
            self.failure = RuntimeError(f"[STREAM_FAILED] {error}")
            return False
        self.lastProgress = progress(self.number, report(events=10 * (self.number + 1), matches=self.number + 1))
        self.recentProgress.append(self.lastProgress)
        self.number += 1
        return True

    def exception(self) -> Any:
        return self.failure

    def stop(self) -> None:
        self.is_stopped = True


class Stream:
    """Stands in for the streaming DataFrame of matches and its writer."""

    def __init__(self, todo: list[Any], at_batch: Callable[[int], None] = lambda _: None) -> None:
        self.todo, self.at_batch, self.asked = todo, at_batch, {}
        self.writeStream = self
        self.query: Query | None = None

    def foreachBatch(self, function: Any) -> Stream:  # noqa: N802
        self.function = function
        return self

    def trigger(self, **when: Any) -> Stream:
        self.asked |= when
        return self

    def option(self, name: str, value: str) -> Stream:
        self.asked[name] = value
        return self

    def start(self) -> Query:
        offsets = Path(self.asked["checkpointLocation"]) / "offsets"
        offsets.mkdir(parents=True, exist_ok=True)
        (offsets / "0").touch()
        self.query = Query(self.function, self.todo, self.at_batch)
        return self.query


@pytest.fixture
def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Stream], dict[str, Any]]:
    """Let `motif run --follow` meet a Spark that is none; what it asked of `motif.match`."""
    session = SimpleNamespace(read=Reads(ts="timestamp_ntz", type="string", v="int"))
    session.readStream = session.read

    @contextlib.contextmanager
    def spark_with(tables: Any, **settings: str) -> Iterator[Any]:
        yield session

    def use(stream: Stream) -> dict[str, Any]:
        asked: dict[str, Any] = {}

        def match(data: Any, query: str, **options: Any) -> Stream:
            asked.update(options, data=data, query=query)
            return stream

        monkeypatch.setattr(follow.motif, "match", match)
        return asked

    monkeypatch.setattr(follow, "spark_with", spark_with)
    monkeypatch.setattr(follow, "LOOK_S", 0.0)
    return use


def rows(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def test_matches_come_and_the_same_command_goes_on(
    stand_in: Callable[[Stream], dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    stream = Stream([rows(1), rows(), rows(2, 3)])
    asked = stand_in(stream)
    assert (
        motif(*RUN, "--once", "--lateness", "10 s", "--emit", "match, late", "--type", "type", "--on-error", "skip")
        == 0
    )
    out, err = capsys.readouterr()
    assert out == '{"x":1}\n{"x":2}\n{"x":3}\n'
    assert "following events as events (csv: ts timestamp_ntz, type string, v bigint)\ncheckpoint: .motif/" in err
    assert err.endswith("done: 30 events, 3 matches\nthe same command goes on from here\n")
    assert (asked["lateness"], asked["emit"], asked["type"]) == ("10 s", ("match", "late"), "type")
    assert asked["on_error"] == "skip"
    assert stream.asked["availableNow"] is True
    stand_in(Stream([rows(4)]))
    assert motif(*RUN, "--once", "--lateness", "10 s", "--emit", "match, late", "--type", "type") == 0
    out, err = capsys.readouterr()
    assert out == '{"x":4}\n'
    assert "going on after 30 events, 3 matches\n" in err


def test_ctrl_c_stops_after_the_batch(
    stand_in: Callable[[Stream], dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(number: int) -> None:
        if number == 1:
            os.kill(os.getpid(), signal.SIGINT)

    stream = Stream([rows(1), rows(2), rows(3)], interrupt)
    stand_in(stream)
    assert motif(*RUN) == 0
    out, err = capsys.readouterr()
    assert out == '{"x":1}\n'
    assert "stopped: 10 events, 1 match\n" in err
    assert "the same command goes on from here" in err
    assert stream.query is not None
    assert stream.query.is_stopped
    assert stream.asked["processingTime"] == "1000 milliseconds"


def test_ctrl_c_twice_is_130(stand_in: Callable[[Stream], dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    stand_in(Stream([rows(1), rows(2)], interrupt))
    assert motif(*RUN) == 130
    assert capsys.readouterr().err.endswith("stopped\n")


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (MotifError("the folder is full", hint="empty it"), "error: the folder is full\n  hint: empty it\n"),
        (
            RuntimeError("Traceback\nmotif.errors.LimitExceeded: too much\n  hint: less\n\n\tat org.X\n"),
            "error: too much\n  hint: less\n",
        ),
        (
            MotifError("function f failed: ValueError: no"),
            "error: function f failed: ValueError: no\n  hint: --on-error skip leaves such events out\n",
        ),
        (
            RuntimeError("Traceback\nmotif.errors.QueryDataError: function f failed: ValueError: no\n\n\tat org.X\n"),
            "error: function f failed: ValueError: no\n  hint: --on-error skip leaves such events out\n",
        ),
        (
            RuntimeError("x\nCaused by: java.io.IOException: No space left on device\n\tat y"),
            "error: the stream failed: No space left on device\n  hint: the same command goes on from the last batch",
        ),
    ],
)
def test_errors_in_the_stream(
    stand_in: Callable[[Stream], dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    failure: Exception,
    message: str,
) -> None:
    def fail(number: int) -> None:
        if number == 1:
            stream.function._take = broken

    def broken(*_: object) -> None:
        raise failure

    stream = Stream([rows(1), rows(2)], fail)
    stand_in(stream)
    assert motif(*RUN) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "\tat" not in err
    assert "Traceback" not in err


def test_nobody_reads_any_more(
    stand_in: Callable[[Stream], dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError

    let_go: list[str] = []
    monkeypatch.setattr(follow_screen.Screen, "matches", gone)
    monkeypatch.setattr(follow, "_let_go_of_output", lambda: let_go.append("yes"))
    stand_in(Stream([rows(1)]))
    assert motif(*RUN) == 0
    assert let_go == ["yes"]
    assert capsys.readouterr().err.endswith("the same command goes on from here\n")


def test_a_changed_query_in_the_same_checkpoint(
    stand_in: Callable[[Stream], dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(Stream([rows(1)]))
    assert motif(*RUN, "--checkpoint", "mine") == 0
    other = SEQUENCE.replace("5 s", "6 s")
    assert motif("run", other, *RUN[2:], "--checkpoint", "mine") == 2
    err = capsys.readouterr().err
    assert f"line 1 of the query was `{SEQUENCE}` and is `{other}`" in err
    assert motif("run", other, *RUN[2:]) == 0


def test_an_empty_folder(
    stand_in: Callable[[Stream], dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(Stream([rows(1)]))
    Path("events/1.csv").unlink()
    assert motif(*RUN, "--once") == 0
    assert capsys.readouterr().err == "there is no file with a row in events yet; nothing to do\n"

    def arrive(_: float) -> None:
        Path("events/1.csv").write_text(EVENTS, encoding="utf-8")

    monkeypatch.setattr(follow.time, "sleep", arrive)
    assert motif(*RUN) == 0
    out, err = capsys.readouterr()
    assert "waiting for the first file with a row in events\n" in err
    assert out == '{"x":1}\n'


def test_ctrl_c_while_there_is_no_file(
    stand_in: Callable[[Stream], dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(Stream([]))
    Path("events/1.csv").unlink()
    monkeypatch.setattr(follow.time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGINT))
    assert motif(*RUN) == 0
    assert capsys.readouterr().err.endswith("stopped; nothing was read yet\n")
