"""An explanation as HTML: for notebooks, and for `motif explain --format html`. Nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from motif.explanation.drawing import color_of, svg
from motif.explanation.facts import ClauseFacts, Variable
from motif.explanation.measured import change_lines, measures, total_text
from motif.plan.physical.ran import Counted, Total
from motif.plan.physical.text import Step

STYLE = """
.motif-plan { font: 14px/1.5 ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif; max-width: 1100px; }
.motif-plan h3 { margin: 1.2em 0 .4em; font-size: 16px; }
.motif-plan h4 { margin: 1.2em 0 .3em; font-size: 13px; opacity: .75; }
.motif-plan table { border-collapse: collapse; }
.motif-plan td, .motif-plan th { padding: 2px 16px 2px 0; vertical-align: top; font-weight: 400; }
.motif-plan td, .motif-plan th { text-align: left !important; } /* notebooks set all tables to the right */
.motif-plan th { opacity: .7; white-space: nowrap; }
.motif-plan code, .motif-plan pre { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.motif-plan pre { white-space: pre-wrap; margin: .2em 0; }
.motif-plan .wide { overflow-x: auto; }
.motif-plan .ran { display: grid; grid-template-columns: 6em 12em auto; column-gap: 12px; align-items: center; }
.motif-plan .ran .track { height: 9px; box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 25%, transparent); }
.motif-plan .ran .bar { display: block; height: 9px; min-width: 1px; background: currentColor; opacity: .6; }
.motif-plan .var { font-weight: 600; border-left: 4px solid; padding-left: 6px; }
"""


def fragment(clauses: Iterable[ClauseFacts], host: str | None, outer: Step | None, total: Total | None = None) -> str:
    """A `<div>` with everything in it; `total`: what the run of it all was."""
    body = "".join(_clause(clause, host, total) for clause in clauses)
    last = f"<h3>{escape(outer.title)}</h3>{_code(outer.code)}" if outer is not None else ""
    if total is not None:
        last += f"{_measured(total.around, total)}<p>All of it took {escape(total_text(total))}.</p>"
    return f'<div class="motif-plan"><style>{STYLE}</style>{body}{last}</div>'


def page(content: str) -> str:
    """A whole page around a fragment."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>Motif: explain</title></head><body>{content}</body></html>\n"
    )


def _clause(clause: ClauseFacts, host: str | None, total: Total | None) -> str:
    title = f"{clause.kind} {clause.number}" + (f" on {host}" if host else "")
    sections = [
        f"<h3>{escape(title)}</h3><code>{escape(clause.written)}</code>",
        f'<div class="wide">{svg([clause.graph])}</div>',
        _table((name, escape(text)) for name, text in clause.facts),
        f"<h4>Conditions</h4>{_conditions(clause.variables)}<p>{escape(clause.cost)}</p>",
    ]
    sections += [_steps(way.title, way.steps) for way in clause.ways[:1]]
    sections += [_folded(way.title, way.steps) for way in clause.ways[1:]]
    if clause.steps:
        sections.append(_steps("Work", clause.steps, total))
    if changes := change_lines(clause.ran):
        sections.append(f"<h4>Decided again</h4><pre>{escape(chr(10).join(changes))}</pre>")
    if clause.states:
        states = escape("\n".join(clause.states))
        sections.append(f"<details><summary>{clause.graph.states:,} states</summary><pre>{states}</pre></details>")
    sections.append(f"<details><summary>algebra</summary>{_code(clause.algebra)}</details>")
    return "".join(sections)


def _steps(title: str, steps: Iterable[Step], total: Total | None = None) -> str:
    return f"<h4>{escape(title)}</h4><ol>{''.join(_step(step, total) for step in steps)}</ol>"


def _folded(title: str, steps: Iterable[Step]) -> str:
    items = "".join(_step(step) for step in steps)
    return f"<details><summary>{escape(title)}</summary><ol>{items}</ol></details>"


def _table(rows: Iterable[tuple[str, str]]) -> str:
    return "<table>" + "".join(f"<tr><th>{escape(name)}</th><td>{text}</td></tr>" for name, text in rows) + "</table>"


def _conditions(variables: tuple[Variable, ...]) -> str:
    rows = []
    for number, variable in enumerate(variables):
        name = f'<td><span class="var" style="border-color:{color_of(number)}">{escape(variable.name)}</span></td>'
        parts = [(part.decided_by, " AND ".join(part.conjuncts)) for part in variable.parts]
        for decided_by, text in parts or [(variable.otherwise, "")]:
            rows.append(f"<tr>{name}<th>{escape(decided_by)}</th><td><code>{escape(text)}</code></td></tr>")
            name = "<td></td>"
    return f"<table>{''.join(rows)}</table>"


def _step(step: Step, total: Total | None = None) -> str:
    notes, counted = escape("\n".join(step.notes)), _measured(step.counted, total)
    return f"<li>{escape(step.title)}{_code(step.code) if step.code else ''}<pre>{notes}</pre>{counted}</li>"


def _measured(counted: Sequence[Counted], total: Total | None) -> str:
    """A bar for each kind of work: its share of the time, beside what was counted."""
    return "".join(
        f'<div class="ran"><span>{escape(one.work)}</span><span class="track" role="img" '
        f'aria-label="{one.share:.0%} of the time"><span class="bar" style="width:{one.share:.1%}"></span></span>'
        f"<span>{one.share:.0%}: {escape(one.text)}</span></div>"
        for one in measures(counted, total)
    )


def _code(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"
