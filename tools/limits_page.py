"""Writes docs/limits.md from motif/limits.py, so that the page can not go stale.

python tools/limits_page.py           # write
python tools/limits_page.py --check   # 1 where the page differs
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "motif" / "limits.py"
PAGE = ROOT / "docs" / "limits.md"

HEAD = """\
# Limits

<!-- written by tools/limits_page.py from motif/limits.py; do not edit -->

A limit that is reached raises `LimitExceeded` with the limit's name. Nothing is ever cut short silently.
A query cannot change a limit; whoever runs the program can:

```python
from dataclasses import replace

import motif.limits

motif.limits.LIMITS = replace(motif.limits.LIMITS, match_steps=500_000_000)
```

| limit | default | what it bounds |
|---|---:|---|
"""

TAIL = """
## Memory and disk

What Motif holds is counted before it is made: matches while they are found, and what the result will take of them. A
query that would need more ends with `LimitExceeded` instead of taking all memory of the machine. What it counts is an
estimate. On Spark, memory is what Spark gives its executors.

```python
motif.limits.LIMITS = replace(
    motif.limits.LIMITS,
    result_rows=10_000_000,
    memory_bytes=2_000_000_000,
    spill_bytes=20_000_000_000,
    temp_folder="/var/tmp",
)
```
"""

MEANING = {
    "query_chars": "Characters of a query's text.",
    "query_tokens": "Words, numbers, strings and signs of a query's text.",
    "name_parts": "Names with points between them, such as `catalog.schema.table`.",
    "csv_columns": "Columns of a CSV file in process.",
    "nesting_depth": "Depth of parentheses and nested expressions.",
    "pattern_variables": "Distinct variables in one pattern.",
    "quantifier_bound": "Numbers in a quantifier such as `{n,m}`.",
    "pattern_states": "States of the automaton that a pattern becomes; bounds of nested quantifiers multiply.",
    "permute_items": "Items of one `PERMUTE`.",
    "navigation_offset": "Offsets of `PREV`, `NEXT`, `FIRST` and `LAST`.",
    "literal_digits": "Digits of a number in the text.",
    "identifier_chars": "Characters of one name.",
}
"""For limits whose field has no docstring of its own."""


def limits() -> list[tuple[str, int | None, str]]:
    """Name, default and meaning of every field of `Limits`, in the order of the source."""
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    body = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Limits").body
    rows = []
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            name = node.target.id
            rows.append((name, ast.literal_eval(node.value), _docstring(following) or MEANING[name]))
    return rows


def _docstring(node: ast.stmt | None) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return None


def page() -> str:
    """The whole page."""
    return (
        HEAD + "".join(f"| `{name}` | {_shown(default)} | {meaning} |\n" for name, default, meaning in limits()) + TAIL
    )


def _shown(default: int | None) -> str:
    return "by the machine" if default is None else f"{default:,}"


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    if "--check" not in arguments:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    print("docs/limits.md is out of date: run python tools/limits_page.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
