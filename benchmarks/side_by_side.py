"""Motif beside what people use today: who is first, by how much, and who says nothing.

A race is one question at one size. Motif runs in it twice, in process and on Spark: in process it is compared with
everyone, on Spark with plain Spark and with Flink.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from definitions import Workload, load
from figures import Figure, markdown, short, size, summarize
from results import has_figures

from motif.plan.physical.costs import COSTS

Row = dict[str, Any]
IN_PROCESS = ("motif", "match")
ON_SPARK = ("spark motif", "spark match")
FROM_ROWS = ("spark motif rows",)
"""Motif on Spark where Spark reads, which it otherwise does not where a table is small and of local files."""
OWN = (*IN_PROCESS, *ON_SPARK, *FROM_ROWS)
FLOORS = ("duckdb", "spark sort", "spark read", "spark files", "flink-scan")
"""They match nothing: what the host costs alone."""
HOST_FLOORS: dict[Sequence[str], tuple[str, ...]] = {
    IN_PROCESS: ("duckdb",),
    ON_SPARK: ("spark sort", "spark read", "spark files"),
    FROM_ROWS: ("spark sort", "spark read"),
}
HOST_ALONE = {
    "duckdb": "DuckDB's own sort and hand-over take",
    "spark sort": "Spark's own sort and hand-over take",
    "spark read": "To read the rows in Spark and hand them over takes",
    "spark files": "To read the columns in one task takes",
}
DISTRIBUTED = ("spark plain", "flink", "flink-plain")
RANKS = ((IN_PROCESS, "in process"), (ON_SPARK, "on Spark"), (FROM_ROWS, "on Spark from rows that Spark reads"))
PLAIN_LOOP = f"""\
A loop is compiled at once from {COSTS.compile_rows:,} rows on, and from {COSTS.ready_rows:,} rows on if that was done
before. Other loops begin as plain Python, and go over to machine code after {COSTS.plain_steps:,} steps, or after
{COSTS.kept_plain_steps:,} if their code is on disk."""
TINY = 100_000
"""Tables with fewer rows say how long an answer takes at the least, and nothing of the rest."""
FLINK_TARGETS = {IN_PROCESS: 50, ON_SPARK: 12, FROM_ROWS: 12}
"""How many times as fast as Flink Motif should be."""


@dataclass(frozen=True, slots=True)
class Race:
    """Everyone's figures of one workload at one size, and the reasons of those who have none."""

    workload: Workload
    rows: int
    keys: int
    figures: dict[str, Figure]
    reasons: dict[str, str]

    def motif(self, names: Sequence[str]) -> Figure | None:
        """Motif's own figure, in process or on Spark."""
        return next((self.figures[name] for name in names if name in self.figures), None)

    def rivals(self, names: Sequence[str]) -> list[Figure]:
        """Those it is compared with."""
        asked = [figure for name, figure in self.figures.items() if name not in OWN + FLOORS]
        return asked if names == IN_PROCESS else [figure for figure in asked if figure.contender in DISTRIBUTED]

    def ratio(self, contender: str) -> float | None:
        """How many times as long as Motif it takes; lines of Spark are compared with Motif on Spark."""
        mine = self.motif(ON_SPARK if contender.startswith("spark ") else IN_PROCESS)
        theirs = self.figures.get(contender)
        if mine is None or theirs is None or contender in IN_PROCESS + ON_SPARK:
            return None
        return theirs.wall / mine.wall

    @property
    def size(self) -> str:
        """In words."""
        return size(next(iter(self.figures.values())))

    @property
    def title(self) -> str:
        """Name and size."""
        return f"{self.workload.name}, {self.size}"


def races(rows: Iterable[Row]) -> list[Race]:
    """All of them, in the order of the definitions."""
    workloads = load()
    rows = [row for row in rows if workloads[row["workload"]].peers]
    figures = summarize(row for row in rows if has_figures(row))
    found: dict[tuple[str, int, int], Race] = {}
    for figure in figures:
        key = (figure.workload.name, figure.rows, figure.keys)
        found.setdefault(key, Race(figure.workload, figure.rows, figure.keys, {}, {})).figures[figure.contender] = (
            figure
        )
    for row in rows:
        race = found.get((row["workload"], int(row["rows"]), int(row["keys"])))
        if race is not None and not has_figures(row):
            race.reasons[row["contender"]] = f"refused: {row['refused']}" if row.get("refused") else row["left_out"]
    return list(found.values())


def by_workload(found: Sequence[Race]) -> dict[str, list[Race]]:
    """The sizes of each question, the largest last."""
    sizes: dict[str, list[Race]] = {}
    for race in found:
        sizes.setdefault(race.workload.name, []).append(race)
    return sizes


def largest(found: Sequence[Race]) -> list[Race]:
    """The largest size of each question."""
    return [sizes[-1] for sizes in by_workload(found).values()]


# -- the page


def ranking(found: Sequence[Race]) -> str:
    """In how many questions Motif is first."""
    if not found:
        return "Nothing has been measured side by side yet: `make bench`."
    lines = []
    for names, where in RANKS:
        asked = _asked(found, names)
        first = [race for race in asked if not _faster(race, names)]
        lines.append(f"- **Motif {where}** is first in {len(first)} of {len(asked)} questions at their largest size.")
    return "\n".join(lines)


def _asked(found: Sequence[Race], names: Sequence[str]) -> list[Race]:
    return [race for race in largest(found) if race.motif(names) and race.rivals(names)]


def _faster(race: Race, names: Sequence[str]) -> list[Figure]:
    """Rivals that are faster than Motif, the fastest first."""
    mine = race.motif(names)
    rivals = [figure for figure in race.rivals(names) if mine is not None and figure.wall < mine.wall]
    return sorted(rivals, key=lambda figure: figure.wall)


def standings(found: Sequence[Race]) -> str:
    """A line for each rival and way to run Motif: how often Motif is ahead, and by how much."""
    lines = []
    for names, where in RANKS:
        times: dict[str, list[tuple[float, str]]] = {}
        for race in _asked(found, names):
            mine = race.motif(names)
            for rival in race.rivals(names) if mine else ():
                name = race.workload.name.removeprefix("peers/")
                times.setdefault(rival.contender, []).append((rival.wall / mine.wall, name))  # type: ignore[union-attr]
        lines += [(where, name, *_standing(ratios)) for name, ratios in sorted(times.items())]
    head = ("Motif", "compared with", "ahead in", "takes, times Motif (median)", "least", "most")
    return markdown(head, lines)


def _standing(ratios: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    least, most = (f"{times_text(ratio)} ({name})" for ratio, name in (min(ratios), max(ratios)))
    ahead = sum(ratio > 1 for ratio, _ in ratios)
    return f"{ahead} of {len(ratios)}", times_text(median(ratio for ratio, _ in ratios)), least, most


def losses(found: Sequence[Race]) -> str:
    """Every question that someone else answers faster at some size, the worst first; tiny tables in a sentence."""
    lost = []
    for sizes in by_workload([race for race in found if race.rows >= TINY]).values():
        for names, where in RANKS:
            beaten = [(race, mine) for race in sizes if (mine := race.motif(names)) and _faster(race, names)]
            if beaten:
                each = "; ".join(f"at {race.size} {_ahead(race, mine, names)}" for race, mine in beaten)
                race, mine = beaten[-1]
                winner = _faster(race, names)[0]
                why = _why(race, mine, winner)
                lost.append((mine.wall / winner.wall, f"- {race.workload.name}, {where}: {each}. {why}"))
    lines = [line for _, line in sorted(lost, key=lambda pair: -pair[0])] or ["- nowhere"]
    return "\n".join((*lines, "", PLAIN_LOOP, "", *_tiny(found)))


def _ahead(race: Race, mine: Figure, names: Sequence[str]) -> str:
    """Those that are faster, and how many times."""
    return ", ".join(f"{figure.contender} {times_text(mine.wall / figure.wall)}" for figure in _faster(race, names))


def _tiny(found: Sequence[Race]) -> Iterator[str]:
    """What small tables show: how long an answer takes at the least."""
    small = [race for race in found if race.rows < TINY]
    gaps = [
        (mine.wall, min(figure.wall for figure in race.rivals(IN_PROCESS)))
        for race in small
        if (mine := race.motif(IN_PROCESS)) and race.rivals(IN_PROCESS)
    ]
    if gaps:
        ahead = sum(mine < best for mine, best in gaps)
        own, others = (median(values) for values in zip(*gaps, strict=True))
        yield (
            f"Below {TINY:,} rows there is little to match: Motif in process is first in {ahead} of {len(gaps)}, its "
            f"median is {own * 1e3:.0f} ms, that of the best of the others {others * 1e3:.0f} ms."
        )


def _floor(race: Race, names: Sequence[str]) -> Figure | None:
    """The least that the host costs."""
    floors = [race.figures[name] for name in HOST_FLOORS[names] if name in race.figures]
    return min(floors, key=lambda figure: figure.wall, default=None)


def _why(race: Race, mine: Figure, winner: Figure) -> str:
    """Where the time goes, as far as the floor tells."""
    floor = _floor(race, next(names for names, _ in RANKS if mine.contender in names))
    text = race.workload.why
    if floor is not None:
        share = f"{HOST_ALONE[floor.contender]} {seconds(floor.wall)} s"
        then = f", longer than {winner.contender} in all" if floor.wall > winner.wall else ""
        text = f"{text} {share}{then}; Motif takes {seconds(mine.wall)} s.".strip()
    return text


def flink(found: Sequence[Race]) -> str:
    """The targets of the design: how many times as fast as Flink's MATCH_RECOGNIZE."""
    lines = []
    for race in largest([race for race in found if "flink" in race.figures]):
        for names, target in FLINK_TARGETS.items():
            if mine := race.motif(names):
                ratio = race.figures["flink"].wall / mine.wall
                met = "yes" if ratio >= target else "NO"
                floor = _floor(race, names)
                alone = times_text(race.figures["flink"].wall / floor.wall) if floor else ""
                lines.append((race.title, mine.contender, times_text(ratio), f">= {target}x", met, alone))
    table = markdown(("question", "Motif", "times as fast as Flink", "target", "met", "the host alone"), lines)
    return table if lines else ""


# -- tables


def questions(found: Sequence[Race]) -> str:
    """A table for each question: contenders down, sizes across."""
    return "\n\n".join(_question(sizes) for sizes in by_workload(found).values())


def _question(sizes: Sequence[Race]) -> str:
    workload = sizes[0].workload
    names = [name for name in workload.contenders if any(name in race.figures for race in sizes)]
    head = ("contender", *(race.size for race in sizes))
    lines = [(_label(name), *(_cell(race, name) for race in sizes)) for name in names]
    silent = {name: reason for race in sizes for name, reason in race.reasons.items() if name not in names}
    notes = [f"- {name}: {_clean(reason)}" for name, reason in silent.items()]
    notes += [f"- {name} cannot say it: {reason}" for name, reason in workload.cannot.items()]
    dates = sorted({figure.date for race in sizes for figure in race.figures.values()})
    title = f"### {workload.name}\n\n{workload.question} *({', '.join(dates)})*"
    return "\n\n".join(filter(None, (title, markdown(head, lines), "\n".join(notes))))


def _label(name: str) -> str:
    return f"**{name}**" if name in OWN else f"*{name}* (floor)" if name in FLOORS else name


def _cell(race: Race, name: str) -> str:
    if name not in race.figures:
        return _clean(race.reasons.get(name, ""))
    ratio = race.ratio(name)
    return seconds(race.figures[name].wall) + ("" if ratio is None else f" ({times_text(ratio)})")


def _clean(text: str) -> str:
    """On one line, in a table."""
    return " ".join(text.replace("|", "/").split())


def seconds(value: float) -> str:
    """Three digits that count."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.1 else f"{value:.3f}"


def times_text(ratio: float) -> str:
    """A ratio."""
    return f"{ratio:,.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 2 else f"{ratio:.2f}x"


def growth(found: Sequence[Race]) -> str:
    """Microseconds a row at each number of rows, for the questions that reach ten times as many or more."""
    lines = []
    for name, sizes in by_workload(found).items():
        grown = [race for race in sizes if race.rows >= 100_000]
        if not grown or grown[-1].rows < 10 * grown[0].rows or len({race.keys for race in grown}) > 1:
            continue
        for contender in _those_at(grown):
            cells = [_per_row(race, contender) for race in grown]
            lines.append(
                (name, contender, "; ".join(f"{short(r.rows)}: {c}" for r, c in zip(grown, cells, strict=True) if c))
            )
    return markdown(("question", "contender", "microseconds a row"), lines) if lines else ""


def keys_growth(found: Sequence[Race]) -> str:
    """Seconds at each number of keys."""
    lines = []
    for name, sizes in by_workload(found).items():
        rows = max(race.rows for race in sizes)
        grown = [race for race in sizes if race.rows == rows]
        if len(grown) < 2:
            continue
        for contender in _those_at(grown):
            cells = ((race, _cell(race, contender)) for race in grown)
            lines.append((name, contender, "; ".join(f"{short(race.keys)}: {cell}" for race, cell in cells if cell)))
    return markdown(("question", "contender", "seconds (times Motif) by number of keys"), lines) if lines else ""


def _those_at(sizes: Sequence[Race]) -> list[str]:
    return [name for name in sizes[0].workload.contenders if any(name in race.figures for race in sizes)]


def _per_row(race: Race, contender: str) -> str:
    figure = race.figures.get(contender)
    return "" if figure is None else f"{figure.wall / race.rows * 1e6:.3g}"


def starts(found: Sequence[Race]) -> str:
    """Seconds from a fresh process to being ready and to the first answer; medians over the questions."""
    known: dict[str, list[Figure]] = {}
    for race in found:
        for figure in race.figures.values():
            if figure.start is not None and figure.first is not None:
                known.setdefault(figure.contender, []).append(figure)
    lines = [
        (name, *(f"{median(values):.1f}" for values in _columns(figures)), str(len(figures)))
        for name, figures in known.items()
    ]
    return markdown(("contender", "ready after, s", "first answer after, s", "processes"), lines)


def _columns(figures: Sequence[Figure]) -> Iterator[list[float]]:
    yield [figure.start or 0.0 for figure in figures]
    yield [figure.first or 0.0 for figure in figures]


def memory(found: Sequence[Race]) -> str:
    """Peaks in MB at the largest size of each question, all processes of a contender together."""
    names = [*dict.fromkeys(name for race in largest(found) for name in race.figures)]
    lines = [
        (race.title, *(f"{race.figures[name].whole_peak:,.0f}" if name in race.figures else "" for name in names))
        for race in largest(found)
    ]
    return markdown(("question", *names), lines)
