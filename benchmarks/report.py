"""Pages from the kept results: python benchmarks/report.py [--check | --prune]

`benchmarks/REPORT.md` is one page; `docs/benchmarks.md` has everything else, with its pictures beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaigns import Campaign, key_of, read_all
from definitions import HERE, load
from figures import FIGURE_HEAD, VERDICT_HEAD, Figure, figure_cells, markdown, summarize, verdict_cells, verdicts
from plots import FOLDER, pictures
from results import KEPT, has_figures, prune, shown
from side_by_side import (
    flink,
    growth,
    keys_growth,
    losses,
    memory,
    questions,
    races,
    ranking,
    standings,
    starts,
)

Row = dict[str, Any]
REPORT = HERE / "REPORT.md"
PAGE = HERE.parent / "docs" / "benchmarks.md"
MADE = "Made by `make bench-report` from the measurements in `benchmarks/results`; do not edit."
SHORT = f"""# What Motif costs, measured

{MADE} Read ratios, not seconds, and no difference below about a fifth.

{{ranking}}

{{plots}}

{{standings}}

## Where Motif is not first

How many times as fast the others are; below 1.2x is noise.

{{losses}}

## Run it

```text
make bench QUICK=1            the short form; ONLY=peers/q2 for some questions only
make bench-envs bench         all of it, with Apache Flink: hours
make bench-compare BASE=main  old and new code in turns, what became faster or slower
make bench-report             this page and its pictures
```

## Read on

- [What is unfair, and to whom](BIAS.md)
- [All figures](../docs/benchmarks.md): every question and size, targets, memory, starting, the host alone
- [Definitions](definitions): each question, its sizes and its number of matches, as data
"""
LONG = f"""# Benchmarks

{MADE} Of each question, size and contender it is the newest measurement.

{{ranking}}

{{standings}}

[What is unfair, and to whom](#what-is-unfair-and-to-whom) stands at the end of this page. Read ratios, not seconds, and
no difference below about a fifth.

{{facts}}

## Where Motif is not first

How many times as fast the others are; below 1.2x is noise.

{{losses}}

## Flink's MATCH_RECOGNIZE

Flink by its own clock, with its start-up left out.

{{flink}}

## Side by side with what people use today

Seconds, and in brackets how many times as long as Motif it takes: Motif in process, and for lines of Spark, Motif on
Spark. Below 1 the contender is faster than Motif. *Floors* match nothing: `duckdb` and `spark sort` read, sort and hand
over the same columns, `spark read` has them read and handed over by one task, in `spark files` a task reads them by
itself, `flink-scan` reads them; what Motif takes beyond that is matching and its answer. `spark motif rows` is Motif
on Spark where it reads no file by itself. All give the same number of matches.

{{plots}}

{{questions}}

## How it grows with rows

{{growth}}

## How it grows with keys

{{keys}}

## Starting

From a fresh process to being ready (imports, a session, a JVM, the question planned), and to the first answer, which
for Motif may include compiling. Medians over all questions and sizes. Spark and Flink are started once for several
contenders: the first one has the figure.

{{starts}}

## Memory

Peaks in MB at the largest size, all processes of a contender together, a JVM and what it has not given back included.

{{memory}}

## Targets: {{met}} of {{count}} met

{{verdicts}}

*growth* is the exponent fitted to CPU seconds over rows (1 is linear), *growth by window* over the events in a window;
*peak spread* the highest peak of memory over the lowest, across all sizes; *memory ratio* the peak of memory, less what
imports take, over the same of the floor, which only holds what DuckDB handed over; *M rows/CPU s* the rate per core.
Of streams: *median ms* and *p99 ms* are from an event, or a file of them, being there to its matches being out; *state
growth* and *time growth* compare the last quarter of a stream with its second one, by the median of the bytes that are
kept and of the time of a batch; *final state mb* is what is kept once time has passed every window.

## What Motif costs on top of its host

A *floor* is what the host does without Motif: DuckDB sorting the same columns and handing them over as Arrow, or Spark
exchanging and sorting them and handing them to a function that does nothing; of a stream, an operator with state that
only counts, or the same query over the table. Ratios are over the floor of the same line, measured in turns with it.

{{asked}}

{{figures}}

## What is unfair, and to whom

{{bias}}
"""
IN_SHORT = ("rows", "events")
"""The pictures of the one page."""


def pages() -> dict[Path, str]:
    """Every file that is made of the results, and what it should hold."""
    workloads = load()
    rows = shown(workloads.values())
    if not rows:
        raise SystemExit("no results are kept; run benchmarks/run.py first")
    found = races(rows)
    judged = verdicts(summarize(row for row in rows if has_figures(row)))
    bound = [verdict for verdict in judged if str(verdict.target) != "none"]
    drawn = pictures(found)
    own = [figure for figure in summarize(row for row in rows if has_figures(row)) if not figure.workload.peers]
    both = {"ranking": ranking(found), "standings": standings(found), "losses": losses(found)}
    title = (HERE / "BIAS.md").read_text(encoding="utf-8")
    short = SHORT.format(**both, plots=_images(drawn, IN_SHORT, "../docs/benchmarks"))
    long = LONG.format(
        **both,
        facts=_facts(rows),
        flink=flink(found) or "It has not been measured.",
        plots=_images(drawn, drawn, "benchmarks"),
        questions=questions(found),
        growth=growth(found) or "No question has been measured at such sizes.",
        keys=keys_growth(found) or "No question has been measured at such sizes.",
        starts=starts(found),
        memory=memory(found),
        met=sum(verdict.met for verdict in bound),
        count=len(bound),
        verdicts=markdown(VERDICT_HEAD, map(verdict_cells, judged)),
        asked="\n".join(f"- **{name}**: {work.question}" for name, work in workloads.items() if not work.peers),
        figures=markdown((*FIGURE_HEAD, "date"), map(_dated, own)),
        bias=title.partition("\n\n")[2].rstrip(),
    )
    svgs = {FOLDER / f"{name}.svg": text for name, (_, text) in drawn.items()}
    return {REPORT: short, PAGE: long, **svgs}


def _images(drawn: dict[str, tuple[str, str]], names: Sequence[str] | dict[str, Any], folder: str) -> str:
    return "\n\n".join(f"![{drawn[name][0]}]({folder}/{name}.svg)" for name in names if name in drawn)


def write_report() -> list[Path]:
    """The pages and their pictures."""
    made = pages()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in {*FOLDER.glob("*.svg")} - made.keys():
        old.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return [*made]


def complaints() -> list[str]:
    """What is kept without being shown, or shown without being kept."""
    workloads = load()
    used = {(row["commit"], row["from"], key_of(row)) for row in shown(workloads.values())}
    said = [f"{campaign.name} is not of a commit" for campaign in read_all(KEPT) if not campaign.is_clean]
    for campaign in read_all(KEPT):
        facts = campaign.facts
        lost = sum((facts["commit"], facts["from"], key_of(row)) not in used for row in campaign.rows)
        if lost:
            said.append(f"{campaign.name} has {lost} lines that no page shows: python benchmarks/report.py --prune")
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            said.append(f"{path.relative_to(HERE.parent)} is not what the results say: make bench-report")
    return said


def _facts(rows: Sequence[Row]) -> str:
    """A line for each campaign, the latest first."""
    counts: dict[str, int] = {}
    campaigns = {campaign.name: campaign for campaign in read_all(KEPT)}
    for row in rows:
        counts[Campaign(row, ()).name] = counts.get(Campaign(row, ()).name, 0) + 1
    lines = [_line(campaign, counts[name]) for name, campaign in campaigns.items() if name in counts]
    return "\n".join(reversed(lines))


def _line(campaign: Campaign, count: int) -> str:
    names = {"duckdb": "DuckDB", "polars": "Polars", "pandas": "pandas", "pyspark": "PySpark", "flink": "Flink"}
    names |= {"pyarrow": "pyarrow", "numpy": "NumPy", "numba": "Numba", "java": "Java"}
    facts = campaign.facts
    versions = ", ".join(f"{label} {facts[name]}" for name, label in names.items() if facts.get(name))
    when = " to ".join(dict.fromkeys((facts["from"], facts["to"])))
    return (
        f"- {when}: {count:,} measurements of the {facts['form']} form, Motif {facts['commit'].replace(' ', ' and ')} "
        f"(source {facts['source']}), {facts['cores']} cores ({facts['cpu']}), {facts['memory_gb']} GB, "
        f"Linux {facts['kernel']}; Python {facts['python']}, {versions}; load {facts['load']}."
    )


def _dated(figure: Figure) -> tuple[str, ...]:
    return (*figure_cells(figure), figure.date)


def main() -> int:
    """Write, or say what is not as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where pages and results differ")
    parser.add_argument("--prune", action="store_true", help="take out of the results what no page shows")
    arguments = parser.parse_args()
    if arguments.check:
        print("\n".join(said := complaints()), file=sys.stderr, end="\n" * bool(said))
        return 1 if said else 0
    if arguments.prune:
        print("\n".join(prune(load().values())))
    print("wrote", *(path.relative_to(HERE.parent) for path in write_report()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
