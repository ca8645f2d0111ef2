"""The page: one file, nothing loaded from elsewhere, no data that could be taken for markup or script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from motif.explanation import ClauseFacts, drawing
from motif.explanation.drawing import PALETTE, color_of
from motif.lang.lexer import Kind, Token, tokenize
from motif.report.sample import Counts

_KEYWORDS = frozenset(
    """SELECT FROM WHERE WITH AS ORDER PARTITION BY MEASURES ONE ALL ROW ROWS PER MATCH AFTER SKIP PAST TO NEXT PATTERN
    DEFINE SUBSET WITHIN AND OR NOT NULL IS IN BETWEEN LIKE CASE WHEN THEN ELSE END GROUP HAVING LIMIT JOIN ON USING
    UNION DISTINCT DESC ASC NULLS RUNNING FINAL MATCH_RECOGNIZE INTERVAL SHOW OMIT EMPTY MATCHES UNMATCHED TRUE
    FALSE PERMUTE""".split()
)


@dataclass(frozen=True, slots=True)
class ClausePart:
    """What the page says of one clause."""

    facts: ClauseFacts | None
    """None of a result, whose query is not known."""
    counts: Counts
    data: dict[str, Any]


def render(title: str, query: str, clauses: Sequence[ClausePart]) -> str:
    """The whole page."""
    script = f'"use strict";\n(() => {{\n{_resource("charts.js")}{_resource("clause.js")}}})();\n'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    data = {"palette": PALETTE, "clauses": [clause.data for clause in clauses]}
    sections = "".join(_clause(clause, number, len(clauses)) for number, clause in enumerate(clauses))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{_resource("page.css")}</style>
</head>
<body>
<main>
<header><h1>{escape(title)}</h1></header>
{_query(query)}
{sections or "<p>The statement has no MATCH_RECOGNIZE clause: there is nothing to draw.</p>"}
<noscript><p>The charts are drawn by a script inside this page; it is switched off.</p></noscript>
</main>
<div id="tip" class="tip" role="status" hidden></div>
<script type="application/json" id="data">{_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def _resource(name: str) -> str:
    return files("motif.report").joinpath(name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode("utf-8", "replace").decode("utf-8")


def _clause(clause: ClausePart, number: int, total: int) -> str:
    rows = clause.data["rows"]
    keys = f"Arrow keys move along the {rows}, plus and minus zoom, Home shows all."
    return f"""<section class="clause" data-clause="{number}">
{_heading(clause, number, total)}
<div class="tiles">{"".join(_tile(name, value) for name, value in tiles(clause.counts, rows))}</div>
{_legend(clause.data["variables"])}
<div class="pair">
<figure><figcaption>Matches over time</figcaption><div class="chart starts"></div></figure>
<figure><figcaption>{rows.capitalize()} per match</figcaption><div class="chart lengths"></div></figure>
</div>
<figure class="line">
<figcaption><span class="what"></span>{_controls(number)}</figcaption>
<div class="chart rows" tabindex="0" role="application" aria-label="{rows.capitalize()} in order. {keys}"></div>
<div class="chart overview"></div>
</figure>
<figure>
<figcaption><span>Matches</span>{_table_controls(number)}</figcaption>
<div class="scroll matches" tabindex="0" aria-label="Table of matches"></div>
</figure>
{_pattern(clause)}
</section>"""


def _query(query: str) -> str:
    if not query:
        return ""
    return f'<details class="query" open><summary>Query</summary><pre>{highlighted(query)}</pre></details>'


def _heading(clause: ClausePart, number: int, total: int) -> str:
    if clause.facts is None:
        return "<h2>Matches</h2>"
    heading = f"Pattern {number + 1} of {total}" if total > 1 else "Pattern"
    return f"<h2>{heading} <code>{escape(clause.facts.pattern)}</code></h2>"


def _pattern(clause: ClausePart) -> str:
    """A drawing of the pattern, and of a row pattern how its automaton is read."""
    facts = clause.facts
    if facts is None:
        return ""
    cost = facts.cost[:1].upper() + facts.cost[1:]
    note = f'<p class="note">Solid: tried first. Dashed: tried next. {escape(cost)}.</p>' if facts.states else ""
    return f"""<figure>
<figcaption>{"Automaton" if facts.states else "Pattern"}</figcaption>
<div class="scroll">{drawing.svg([facts.graph])}</div>
{note}
</figure>"""


def tiles(counts: Counts, rows: str = "rows") -> Iterator[tuple[str, str]]:
    """The figures at the top."""
    yield rows, f"{counts.rows:,}"
    if counts.keys is not None:
        yield "keys", f"{counts.keys:,}"
    yield "matches", f"{counts.matches:,}"
    if counts.median_length is not None:
        yield f"median {rows} per match", f"{counts.median_length:g}"
    if counts.keys is not None:
        yield "keys with a match", _share(counts.keys_matched, counts.keys)
    if counts.rows_matched is not None:
        yield f"{rows} in a match", _share(counts.rows_matched, counts.rows)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%".replace(".0%", "%") if whole else "0%"


def _tile(name: str, value: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'


def _legend(variables: Sequence[str]) -> str:
    items = "".join(
        f'<li><i style="background:{color_of(number)}"></i>{escape(name)}</li>' for number, name in enumerate(variables)
    )
    return f'<ul class="legend" aria-label="Colours of the variables">{items}</ul>'


def _controls(number: int) -> str:
    return f"""<span class="controls">
<label for="panel-{number}" class="keys">show</label><select id="panel-{number}" class="panel"></select>
<button type="button" data-do="scale" aria-pressed="false" title="Evenly spaced rows, or true time">by row</button>
<button type="button" data-do="in" aria-label="zoom in">+</button>
<button type="button" data-do="out" aria-label="zoom out">&minus;</button>
<button type="button" data-do="all">all</button></span>"""


def _table_controls(number: int) -> str:
    return f"""<span class="controls">
<label><input type="radio" name="which-{number}" value="key" checked> shown above</label>
<label><input type="radio" name="which-{number}" value="first"> first of all</label></span>"""


def highlighted(query: str) -> str:
    """The query with its keywords, strings, numbers and comments marked."""
    parts = []
    position = 0
    for token in tokenize(query).items:
        gap = query[position : token.span.start]
        parts.append(f'<span class="c">{escape(gap)}</span>' if gap.strip() else escape(gap))
        text = escape(query[token.span.start : token.span.end])
        kind = _class(token)
        parts.append(f'<span class="{kind}">{text}</span>' if kind else text)
        position = token.span.end
    return "".join(parts)


def _class(token: Token) -> str:
    if token.kind is Kind.NAME and not token.quoted and token.text.upper() in _KEYWORDS:
        return "k"
    return {Kind.STRING: "s", Kind.NUMBER: "n"}.get(token.kind, "")
