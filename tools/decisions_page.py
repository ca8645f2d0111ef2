"""Writes docs/adr/README.md from the decisions, and says where their status is wrong.

python tools/decisions_page.py           # write
python tools/decisions_page.py --check   # 1 where the page differs, or a status is missing or one-sided
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "adr"
HEAD = """\
# Decisions

<!-- written by tools/decisions_page.py from the decisions; do not edit -->

Why things are as they are. [Decision 1](0001-record-decisions.md) says how decisions are recorded.

| | decision | status |
|---:|---|---|
"""
TITLE = re.compile(r"# (\d+)\. (.+)")
STATUS = re.compile(r"\*\*Status:\*\* (.+)")
LINK = re.compile(r"\[(\d+)\]\((\d{4})-[^)]+\.md\)")
WORDS = (
    "Proposed",
    "Accepted",
    "Superseded by {}",
    "in part superseded by {}",
    "supersedes {}",
    "supersedes in part {}",
)
"""What the parts of a status say; links to other decisions stand for {}."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A page, and what its head says."""

    file: str
    number: int
    title: str
    status: str

    def linked(self, word: str) -> set[tuple[int, bool]]:
        """Decisions that a part of the status names, and whether in part."""
        parts = [part for part in self.status.split("; ") if word in part.lower()]
        return {(int(number), "in part" in part) for part in parts for number, _ in LINK.findall(part)}


def read(path: Path) -> Decision:
    """Its head."""
    lines = path.read_text(encoding="utf-8").splitlines()
    title, status = (TITLE.fullmatch(lines[0]), STATUS.fullmatch(lines[2])) if len(lines) > 2 else (None, None)
    number, name = (int(title[1]), title[2]) if title else (0, "")
    return Decision(path.name, number, name, status[1] if status else "")


def decisions(folder: Path) -> list[Decision]:
    """All, by number."""
    return [read(path) for path in sorted(folder.glob("[0-9]*.md"))]


def complaints(found: Sequence[Decision]) -> list[str]:
    """Heads that are not as they should be, and decisions of which only one says that it supersedes the other."""
    said = []
    by_number = {decision.number: decision for decision in found}
    for decision in found:
        if decision.number != int(decision.file[:4]) or not decision.title:
            said.append(f'{decision.file}: the first line is "# NUMBER. TITLE", with the number of the file')
        if not _is_known(decision.status):
            said.append(f'{decision.file}: the third line is "**Status:** Accepted", or another of {", ".join(WORDS)}')
        for mine, theirs in (("superseded by", "supersedes"), ("supersedes", "superseded by")):
            for number, in_part in decision.linked(mine):
                other = by_number.get(number)
                if other is None or (decision.number, in_part) not in other.linked(theirs):
                    said.append(f"{decision.file}: {mine} {number}, which does not say so")
    return said


def _is_known(status: str) -> bool:
    """Whether each part is one of the words, and each link goes to the page of its number."""
    if any(int(number) != int(file) for number, file in LINK.findall(status)):
        return False
    parts = [re.sub(r"\{\}(?:(?:, | and )\{\})*", "{}", LINK.sub("{}", part)) for part in status.split("; ")]
    return parts[0] in WORDS[:3] and all(part in WORDS[3:] for part in parts[1:])


def page(found: Sequence[Decision]) -> str:
    """The text of the page."""
    return HEAD + "".join(f"| {one.number} | [{one.title}]({one.file}) | {one.status} |\n" for one in found)


def main(arguments: Sequence[str]) -> int:
    """Write or compare the page."""
    found = decisions(FOLDER)
    said = complaints(found)
    path = FOLDER / "README.md"
    if "--check" not in arguments:
        path.write_text(page(found), encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != page(found):
        said.append("docs/adr/README.md is not what the decisions say: run tools/decisions_page.py")
    print("\n".join(said), file=sys.stderr, end="\n" * bool(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
