"""What the documentation shows is run: README, tutorial, hosts, every example of the reference, every refusal.

Fences: ```python blocks of a page run in order in one namespace and an empty folder. `python spark` gets a Spark
session as `spark`. `python error` must raise, with exactly the text of the next ```text block, and `python prints` must
print it. ```console lines that
begin with `$ ` run, with query.sql holding the page's `query`. To write the messages of a real run into the pages:
`python tests/test_readme.py`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/tour.md",
    "docs/recipes.md",
    "docs/python.md",
    "docs/python-builder.md",
    "docs/event-language.md",
    "docs/streams.md",
    "docs/cli.md",
    "docs/hosts.md",
    "docs/types.md",
]
SPARK_PAGES = ["docs/tour.md", "docs/recipes.md", "docs/hosts.md", "docs/streams.md", "docs/sinks.md"]
REFERENCE = ROOT / "docs" / "match-recognize.md"
EVENT_REFERENCE = ROOT / "docs" / "event-language.md"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    kind: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    return [Block(m[1].strip(), m[2], text.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(text)]


def run_python(block: Block, page: str, names: dict[str, Any]) -> None:
    code = "\n" * (block.line - 1) + block.text
    exec(compile(code, page, "exec"), names)


def run_console(block: Block, names: dict[str, Any]) -> None:
    """Each `$ ` line, with the query of the page at hand as a file; the lines after it are what it prints."""
    if "query" in names:
        Path("query.sql").write_text(names["query"], encoding="utf-8")
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for line in block.text.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(shlex.split(line[2:]), capture_output=True, text=True, env=environment, check=False)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def message_of(block: Block, page: str, names: dict[str, Any]) -> str:
    """What a block that must fail says."""
    from motif.errors import MotifError

    with pytest.raises(MotifError) as caught:
        run_python(block, page, names)
    return str(caught.value)


def run_page(page: str, *, spark: Any = None) -> list[tuple[Block, str]]:
    """Run a page; the failing blocks with their messages."""
    names: dict[str, Any] = {"__name__": "page", "spark": spark}
    messages = []
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        if block.kind == "python" or (block.kind == "python spark" and spark is not None):
            run_python(block, page, names)
        elif block.kind == "python error":
            messages.append((block, message_of(block, page, names)))
        elif block.kind == "python prints":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                run_python(block, page, names)
            messages.append((block, printed.getvalue().rstrip("\n")))
        elif block.kind == "console":
            run_console(block, names)
    return messages


def messages_shown(page: str) -> list[str]:
    """The text blocks that follow blocks which fail or print."""
    found = blocks((ROOT / page).read_text(encoding="utf-8"))
    return [b.text.rstrip("\n") for a, b in itertools.pairwise(found) if a.kind in ("python error", "python prints")]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [message for _, message in run_page(page)] == messages_shown(page)


@pytest.mark.spark
@pytest.mark.parametrize("page", SPARK_PAGES)
def test_a_page_on_spark(page: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, spark=spark)
    spark.catalog.dropTempView("trades")


def test_every_spark_block_is_on_a_page_that_is_run() -> None:
    for page in ROOT.glob("docs/**/*.md"):
        if "```python spark" in page.read_text(encoding="utf-8"):
            assert str(page.relative_to(ROOT)) in SPARK_PAGES


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).is_file(), f"{page.relative_to(ROOT)}: {target}"


# The reference: a table named in the line above it is an input; a table after a query is its result.


def value(text: str) -> Any:
    if text == "NULL":
        return None
    if text.startswith("["):
        return [value(item.strip()) for item in text[1:-1].split(",") if item]
    if re.fullmatch(r"\d\d:\d\d", text):
        return dt.datetime.fromisoformat(f"2026-01-01 {text}")
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def table(lines: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.strip().splitlines()]
    return cells[0], [tuple(value(cell) for cell in row) for row in cells[2:]]


def reference_tables(text: str) -> dict[str, pa.Table]:
    tables = {}
    for m in re.finditer(r"^`(\w+)`:\n\n((?:^\|[^\n]*\|\n)+)", text, re.MULTILINE):
        header, rows = table(m[2])
        tables[m[1]] = pa.table({name: [row[i] for row in rows] for i, name in enumerate(header)})
    return tables


def reference_examples(text: str) -> list[tuple[int, str, str]]:
    found = re.finditer(r"^```sql\n(.*?)^```\n\n((?:^\|[^\n]*\|\n)+)", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in found]


REFERENCE_TEXT = REFERENCE.read_text(encoding="utf-8")
EXAMPLES = reference_examples(REFERENCE_TEXT)


def test_every_example_of_the_reference_has_a_result() -> None:
    assert len(EXAMPLES) == REFERENCE_TEXT.count("```sql")


@pytest.mark.parametrize(("query", "expected"), [e[1:] for e in EXAMPLES], ids=[f"line {e[0]}" for e in EXAMPLES])
def test_the_reference_is_right(query: str, expected: str) -> None:
    import motif

    tables = {name: t for name, t in reference_tables(REFERENCE_TEXT).items() if re.search(rf"\b{name}\b", query)}
    result = motif.sql(query, tables=tables)
    header, rows = table(expected)
    assert result.column_names == header
    assert sorted(map(repr, (tuple(row.values()) for row in result.to_pylist()))) == sorted(map(repr, rows))


EVENT_TEXT = EVENT_REFERENCE.read_text(encoding="utf-8")
EVENT_EXAMPLES = reference_examples(EVENT_TEXT)


def test_every_example_of_the_event_language_has_a_result() -> None:
    assert len(EVENT_EXAMPLES) == EVENT_TEXT.count("```sql") > 15


def shown(found: Any) -> Any:
    """A whole event is shown by its number."""
    return found["n"] if isinstance(found, dict) else found


@pytest.mark.parametrize(
    ("query", "expected"), [e[1:] for e in EVENT_EXAMPLES], ids=[f"line {e[0]}" for e in EVENT_EXAMPLES]
)
def test_the_event_language_is_as_described(query: str, expected: str) -> None:
    import motif

    result = motif.match(reference_tables(EVENT_TEXT)["events"], query)
    header, rows = table(expected)
    assert set(result.column_names) - set(header) <= {"event", "match_id", "match_start", "match_end"}
    assert [tuple(shown(row[name]) for name in header) for row in result.to_pylist()] == rows


# Tables of code: what is refused with which message and what works instead, and who decides a condition.

READINGS = pa.table(
    {
        "id": ["x", "x"],
        "t": [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)],
        "day": [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
        "due": [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
        "paid": [dt.date(2026, 1, 3), dt.date(2026, 1, 9)],
        "name": ["ann", "anna"],
        "price": [1.0, 2.0],
        "tags": [["a"], ["b"]],
        "wide": pa.array([1, 2], pa.decimal128(38, 2)),
    }
)
MEASURED = "SELECT * FROM readings MATCH_RECOGNIZE (PARTITION BY id ORDER BY t MEASURES "
STATEMENTS = {
    "condition of `B`": MEASURED + "A.t AS at_t PATTERN (A B) DEFINE B AS {})",
    "measure": MEASURED + "{} AS it PATTERN (A B))",
    "pattern": MEASURED + "A.t AS at_t {})",
    "statement": "{}",
}
EVENTS = pa.table(
    {
        "ts": [dt.datetime(2026, 1, 1, 12, minute) for minute in range(4)],
        "type": ["A", "B", "C", "B"],
        "name": ["ann", "anna", "bob", "bo"],
        "x": [1.0, 2.0, 3.0, 4.0],
        "wide": pa.array([1, 2, 3, 4], pa.decimal128(38, 2)),
    }
)
EVENT_STATEMENTS = {"event condition": "SELECT * FROM SEQ(A a; B b) WHERE {}", "event query": "{}"}


def near(one: Any, other: Any) -> bool:
    return one == other


def answer(kind: str, code: str) -> Any:
    import motif

    if kind in EVENT_STATEMENTS:
        return motif.match(EVENTS, EVENT_STATEMENTS[kind].format(code), functions={"near": near})
    return motif.sql(STATEMENTS[kind].format(code), tables={"readings": READINGS})


def code_lines(page: str) -> list[tuple[str, list[str]]]:
    """Lines of the tables whose first column is code, as the column's name and the cells."""
    found, kind = [], ""
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            kind = ""
        elif cells[0] in STATEMENTS or cells[0] in EVENT_STATEMENTS:
            kind = cells[0]
        elif kind and not set(cells[0]) <= set("-"):
            found.append((kind, cells))
    return found


def code_of(cell: str) -> list[str]:
    return re.findall("`([^`]+)`", cell)


REFUSED = code_lines("docs/refusals.md")
DECIDED = code_lines("docs/match-recognize.md")


@pytest.mark.parametrize(("kind", "cells"), REFUSED, ids=[cells[0] for _, cells in REFUSED])
def test_what_is_refused_has_its_message_and_a_way_round(kind: str, cells: list[str]) -> None:
    import motif

    refused, message, way_round = cells
    with pytest.raises(motif.MotifError if kind in EVENT_STATEMENTS else motif.UnsupportedQuery) as caught:
        answer(kind, code_of(refused)[0])
    assert caught.value.message == message
    for code in code_of(way_round):
        if not code.replace("_", "").isupper():  # a single keyword is only named
            answer(kind, code)


@pytest.mark.parametrize(("kind", "cells"), DECIDED, ids=[cells[0] for _, cells in DECIDED])
def test_who_decides_a_condition(kind: str, cells: list[str]) -> None:
    import motif

    plan = motif.explain(STATEMENTS[kind].format(code_of(cells[0])[0]), tables={"readings": READINGS})
    (variable,) = (variable for variable in plan.clauses[0].variables if variable.name == "B")
    assert [part.decided_by for part in variable.parts] == [cells[1]]


def test_the_tables_of_code_are_found() -> None:
    assert len(REFUSED) > 30
    assert len(DECIDED) > 5


def update() -> None:
    """Write the messages of real runs into the pages."""
    for page in PAGES:
        path = ROOT / page
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for block, message in run_page(page):
                text = path.read_text(encoding="utf-8")
                at = text.index("```text\n", text.index(block.text)) + len("```text\n")
                path.write_text(text[:at] + message + "\n" + text[text.index("```", at) :], encoding="utf-8")


if __name__ == "__main__":
    update()
