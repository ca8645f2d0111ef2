"""What there is to know about a planned query, as text pieces; `text` and `page` arrange them.

Here are the pieces and those of MATCH_RECOGNIZE; `events` has those of event queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from motif.explanation.graph import Graph, graph_of, state_lines
from motif.ir.expr import Column, Expr, Interval, walk
from motif.ir.query import RowQuery, SkipTo
from motif.ir.render import Dialect, render_expr, render_pattern, render_query, row_sql
from motif.plan.automaton import compile_pattern
from motif.plan.physical.ran import Ran
from motif.plan.physical.text import Step
from motif.plan.program import Program

NO_TABLES = "conditions are split once the tables are known: name them (tables= or spark=, --table on the command line)"


@dataclass(frozen=True, slots=True)
class Part:
    """Conjuncts of a condition that are decided in the same way."""

    decided_by: str
    conjuncts: tuple[str, ...]
    sql: str | None = None
    """What the host is asked to compute, where it is the host that decides."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable and how its condition is decided; no parts: it takes anything."""

    name: str
    parts: tuple[Part, ...]
    otherwise: str = "any row"
    """What it takes where it has no condition."""


@dataclass(frozen=True, slots=True)
class WayFacts:
    """One way through an event pattern: the steps by which its events are found."""

    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class ClauseFacts:
    """One MATCH_RECOGNIZE clause, or one event query."""

    number: int
    pattern: str
    algebra: str
    facts: tuple[tuple[str, str], ...]
    """Partition, order, ties and so on: name and what is to say."""
    variables: tuple[Variable, ...]
    cost: str
    states: tuple[str, ...]
    """Lines about the automaton; none for an event query."""
    graph: Graph
    steps: tuple[Step, ...] = ()
    kind: str = "MATCH_RECOGNIZE"
    ways: tuple[WayFacts, ...] = ()
    ran: Ran | None = None
    """What it did, where it was run."""

    @property
    def written(self) -> str:
        """The pattern as it stands in the text."""
        return self.pattern if self.ways else f"PATTERN ({self.pattern})"


def text_facts(number: int, query: RowQuery, dialect: Dialect) -> ClauseFacts:
    """What the text alone tells."""
    machine = compile_pattern(query)
    names = query.variables()
    defines = {define.var: define.condition for define in query.defines}
    variables = [
        Variable(name, (Part("", (render_expr(defines[name], dialect),)),) if name in defines else ()) for name in names
    ]
    return ClauseFacts(
        number,
        render_pattern(query.pattern, dialect),
        render_query(query, dialect),
        tuple(_query_facts(query, dialect)),
        tuple(variables),
        NO_TABLES,
        tuple(state_lines(machine, names)),
        graph_of(machine, names),
    )


def program_facts(number: int, program: Program, steps: Sequence[Step]) -> ClauseFacts:
    """What the plan tells."""
    query, dialect = program.query, _dialect(program)
    facts = [*_query_facts(query, dialect), ("ties", _ties(program)), *_memory(program)]
    return ClauseFacts(
        number,
        render_pattern(query.pattern, dialect),
        render_query(query, dialect),
        tuple(facts),
        tuple(_variables(program)),
        _cost(program),
        tuple(state_lines(program.automaton, program.variables)),
        graph_of(program.automaton, program.variables),
        tuple(steps),
    )


def _dialect(program: Program) -> Dialect:
    return "spark" if program.dialect == "spark" else "duckdb"


def _query_facts(query: RowQuery, dialect: Dialect) -> list[tuple[str, str]]:
    keys = ", ".join(render_expr(key.expr, dialect) for key in query.partition)
    order = ", ".join(
        f"{render_expr(item.expr, dialect)}{' DESC' if item.descending else ''} "
        f"(NULLs {'first' if item.nulls_first else 'last'})"
        for item in query.order
    )
    facts = [
        ("result", str(query.rows).lower()),
        ("after a match", _skip(query)),
        ("partition", keys or "none: all rows are one partition"),
        ("order", order or "none: the tie columns alone order the rows"),
    ]
    if query.within is not None:
        facts.append(("within", _within(query.within.bound)))
    facts.append(("in a stream", _in_a_stream(query)))
    return facts


def _in_a_stream(query: RowQuery) -> str:
    """When a match comes out there, and for how long rows are kept."""
    out = "a match comes out when rows that may come cannot change it"
    if query.within is None:
        return f"{out}; without WITHIN a search that waits for a row keeps its rows until that comes"
    return f"{out}, at the latest when the watermark passes WITHIN; rows are kept until then"


def _skip(query: RowQuery) -> str:
    match query.skip.to:
        case SkipTo.PAST_LAST:
            return "go on behind its last row (no overlap)"
        case SkipTo.NEXT:
            return "go on at the row after its first (matches may overlap)"
        case to:
            return f"go on at the {'first' if to is SkipTo.FIRST else 'last'} row of {query.skip.var}"


def _within(bound: Interval | float) -> str:
    size = f"{bound.microseconds / 1_000_000:,g} seconds" if isinstance(bound, Interval) else f"{bound:,}"
    return f"first to last row span at most {size}, inclusive, on the first ORDER BY item"


def _ties(program: Program) -> str:
    """Which columns break ties; keys and ORDER BY columns are equal among tied rows, so they are not named."""
    query = program.query
    breakers = [node.name for expr in program.ties for node in walk(expr) if isinstance(node, Column)]
    decided = _columns(define.condition for define in query.defines)
    by_conditions = [name for name in breakers if name in decided]
    by_outputs = [name for name in breakers if name not in decided]
    parts = []
    if by_conditions:
        parts.append(f"{', '.join(by_conditions)} (conditions read {_them(by_conditions)})")
    if by_outputs:
        parts.append(f"{', '.join(by_outputs)} (only outputs read {_them(by_outputs)})")
    if not parts:
        return "none needed: the query reads no other column, so it cannot tell tied rows apart"
    numbered = "; the host numbers the rows, since it reads neighbours itself" if program.windowed else ""
    return f"broken by {', then '.join(parts)}, so that every host gives the same matches{numbered}"


def _them(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _columns(exprs: Iterable[Expr]) -> set[str]:
    return {node.name for expr in exprs for node in walk(expr) if isinstance(node, Column)}


def _variables(program: Program) -> list[Variable]:
    dialect = _dialect(program)
    variables = []
    for condition in program.conditions:
        written = {kind: tuple(render_expr(e, dialect) for e in exprs) for kind, exprs in condition.texts.items()}
        sql = None if condition.row is None else row_sql(condition.row, dialect)
        parts = [
            Part("the row", written.get("row", ()), sql),
            Part("its values", written.get("values", ())),
            Part("its neighbours", written.get("neighbours", ())),
            Part("the match", written.get("match", ())),
            Part("the host, asked while matches are searched (slow)", written.get("host", ())),
        ]
        variables.append(Variable(condition.var, tuple(part for part in parts if part.conjuncts)))
    return variables


def _cost(program: Program) -> str:
    if program.is_row_only:
        return "linear time: no condition depends on the match, and dead ends are remembered"
    names = ", ".join(v for v, parts in zip(program.variables, program.dependent, strict=True) if parts)
    return (
        f"depends on the match ({names}): long searches remember dead ends by what conditions can still read; "
        f"step budget match_steps={program.limits.match_steps:,} per start row, then LimitExceeded"
    )


def _memory(program: Program) -> list[tuple[str, str]]:
    splits = sum(slot >= 0 for slot in program.memory.slots)
    facts = []
    if program.lookback or program.lookahead:
        facts.append(("reach", f"up to {program.lookback} before and {program.lookahead} after the rows of a match"))
    memory = "rows from the start of the open search on are kept"
    if splits:
        where = f"{splits} split{'' if splits == 1 else 's'}"
        memory += f"; dead ends are remembered at {where} (up to memo_bytes={program.limits.memo_bytes:,})"
    facts.append(("memory", memory))
    return facts
