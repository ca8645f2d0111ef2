"""An explanation as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from motif.explanation.facts import ClauseFacts, Variable
from motif.explanation.measured import change_lines, measures
from motif.plan.physical.ran import Counted, Total
from motif.plan.physical.text import Step

_WIDTH = 110


def clause_text(clause: ClauseFacts, total: int, host: str | None, whole: Total | None = None) -> str:
    """All of one clause or event query; `whole`: the run that it is a part of."""
    which = f" {clause.number} of {total}" if total > 1 else ""
    title = f"{clause.kind}{which}" + (f" on {host}" if host else "")
    sections = [
        f"{title}\n{'=' * len(title)}",
        _facts((("pattern", clause.pattern), *clause.facts)),
        _section("Conditions", [*_variables(clause.variables), "", *_wrapped(clause.cost)]),
    ]
    if clause.states:
        sections.append(_section(f"Automaton: {clause.graph.states:,} states", list(clause.states)))
    sections += [_section(way.title, steps_text(way.steps)) for way in clause.ways]
    if clause.steps:
        sections.append(_section("Work", steps_text(clause.steps, whole)))
    if changes := change_lines(clause.ran):
        sections.append(_section("Decided again", [line for one in changes for line in _wrapped(one)]))
    sections.append(_section("Algebra", clause.algebra.splitlines()))
    return "\n\n".join(sections)


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([title, "-" * len(title), *lines])


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False) or [""]


def _facts(facts: tuple[tuple[str, str], ...]) -> str:
    width = max(len(name) for name, _ in facts) + 2
    lines = []
    for name, text in facts:
        first, *rest = textwrap.wrap(text, _WIDTH - width, break_long_words=False) or [""]
        lines += [f"{name:<{width}}{first}", *(" " * width + line for line in rest)]
    return "\n".join(lines)


def _variables(variables: tuple[Variable, ...]) -> list[str]:
    width = max((len(variable.name) for variable in variables), default=0) + 2
    by = max((len(part.decided_by) for v in variables for part in v.parts), default=0)
    lines = []
    for variable in variables:
        name = variable.name
        if not variable.parts:
            lines.append(f"{name:<{width}}{variable.otherwise}")
        for part in variable.parts:
            decided = f"{part.decided_by + ':':<{by + 2}}" if part.decided_by else ""
            lines.append(f"{name:<{width}}{decided}{' AND '.join(part.conjuncts)}")
            if part.sql is not None:
                lines += _wrapped(f"computed from the row as {part.sql}", " " * (width + len(decided)))
            name = ""
    return lines


def steps_text(steps: tuple[Step, ...], whole: Total | None = None) -> list[str]:
    """The steps, numbered."""
    lines = []
    for number, step in enumerate(steps, 1):
        lines.append(f"{number}. {step.title}")
        lines += [f"     {line}" for line in _wrapped(step.code)] if step.code else []
        for note in step.notes:
            lines += _wrapped(note, "   ") if not note.startswith(" ") else [f"   {note}"]
        lines += measured_lines(step.counted, whole)
    return lines


def measured_lines(counted: Sequence[Counted], whole: Total | None) -> list[str]:
    """What was counted, a line for each kind of work, with its share of the time."""
    width = max((len(one.work) for one in counted), default=0)
    return [f" > {one.work:<{width}} {one.share:>4.0%}  {one.text}" for one in measures(counted, whole)]
