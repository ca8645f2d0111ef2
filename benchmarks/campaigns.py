"""Campaigns: measurements of one Motif on one machine, a file each, with machine and versions once at its head.

    # commit: 0a34564
    # cores: 2
    workload,rows,keys,repeat,contender,wall_s,...
    peers/q1,1000,100,1,motif,0.004,...

Lines are measurements; a campaign may be made by several runs, and the newest line of a question, size and contender
takes the place of older ones.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Key = tuple[str, int, int, str]
GROWS = ("commit", "from", "to", "load")
"""What may differ between the runs of a campaign; all other facts are the same for each of them."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """What was measured, and with what."""

    facts: Mapping[str, str]
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """That of its file."""
        form = "-short" if self.facts["form"] == "short" else ""
        return f"{self.facts['from'][:10]}-{self.facts['commit'].split()[0]}{form}.csv"

    @property
    def is_clean(self) -> bool:
        """Whether it is of a commit: nothing was changed beside it, neither before nor while it ran."""
        return "dirty" not in self.facts["commit"] and " " not in self.facts["source"]

    def same(self, other: Campaign) -> bool:
        """Whether both measured the same Motif on the same machine with the same versions."""
        return _lasting(self.facts) == _lasting(other.facts)

    def then(self, later: Campaign) -> Campaign:
        """Both together; what was measured again is taken from the later one."""
        again = {key_of(row) for row in later.rows}
        rows = (*(row for row in self.rows if key_of(row) not in again), *later.rows)
        return Campaign(_grown(self.facts, later.facts), rows)

    def only(self, rows: Iterable[Row]) -> Campaign:
        """Some of its lines."""
        return replace(self, rows=tuple(rows))


def key_of(row: Row) -> Key:
    """Which question, at which size, and who answered."""
    return row["workload"], int(row["rows"]), int(row["keys"]), row["contender"]


def read(path: Path) -> Campaign:
    """From its file; every line is that of the table, every fact a text."""
    with path.open(newline="", encoding="utf-8") as file:
        facts: dict[str, str] = {}
        for line in file:
            if not line.startswith("# "):
                names = next(csv.reader([line]))
                break
            name, _, value = line[2:].rstrip("\n").partition(": ")
            facts[name] = value
        else:
            raise ValueError(f"{path} has no table")
        return Campaign(facts, tuple(csv.DictReader(file, names)))


def read_all(folder: Path) -> list[Campaign]:
    """Those of a folder, the oldest first."""
    return sorted((read(path) for path in folder.glob("*.csv")), key=lambda campaign: campaign.facts["to"])


def write(campaign: Campaign, folder: Path) -> Path:
    """To its file: columns that no line has are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / campaign.name
    names = dict.fromkeys(name for row in campaign.rows for name in row)
    used = [name for name in names if any(row.get(name) not in ("", None) for row in campaign.rows)]
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {name}: {value}\n" for name, value in campaign.facts.items())
        writer = csv.DictWriter(file, used, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in campaign.rows:
            writer.writerow({name: round(v, 6) if isinstance(v, float) else v for name, v in row.items()})
    return path


def join(campaign: Campaign, folder: Path) -> Path:
    """To the file of the campaign of which it is another run, or to one of its own."""
    for earlier in read_all(folder):
        if earlier.same(campaign):
            path = folder / earlier.name
            assert write(earlier.then(campaign), folder) == path
            return path
    if (folder / campaign.name).exists():
        raise FileExistsError(f"{campaign.name} is of another machine or other versions: commit it, or move it away")
    return write(campaign, folder)


def _lasting(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if name not in GROWS}


def _grown(facts: Mapping[str, str], later: Mapping[str, str]) -> dict[str, str]:
    loads = sorted((load for fact in (facts, later) for load in fact["load"].split(" to ")), key=float)
    return {
        **facts,
        "commit": " ".join(dict.fromkeys((*facts["commit"].split(), *later["commit"].split()))),
        "to": later["to"],
        "load": " to ".join(dict.fromkeys((loads[0], loads[-1]))),
    }
