"""Split every DEFINE into what one row decides, what its neighbours decide, and what the match decides.

A condition is a conjunction. Parts that speak of the current row alone are left to the host, which computes one
boolean column per variable. Parts that also read rows at a fixed distance (PREV, NEXT) are computed column-wise on
the sorted rows, and so are values compared with constants: they cross in any case, to tell rows apart that tie, and
to compare them costs less than one more column that crosses. Only the rest runs inside the search. What is not left
to the host reads *host columns*: the largest pieces of an expression that speak of one row are hoisted, so any
function of the host works in them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from decimal import Decimal

from motif.errors import UnsupportedQuery
from motif.ir.expr import (
    COMPARISONS,
    Aggregate,
    At,
    Call,
    Column,
    End,
    Expr,
    Label,
    Literal,
    LiteralValue,
    MatchNumber,
    SubQuery,
    Verbatim,
    transform,
    walk,
)
from motif.ir.nested import is_among_rows
from motif.ir.query import RowQuery
from motif.ir.types import Kind, Type
from motif.plan.constants import constant, reads_nothing
from motif.plan.host_functions import Window, as_difference, window
from motif.plan.row_exprs import guarded, label_fold, may_fail, nothing, sought
from motif.plan.scalar import (
    FLOAT,
    NATIVE,
    STRICT,
    STRING,
    Ask,
    Base,
    Const,
    Fold,
    LabelAt,
    Lane,
    Op,
    Place,
    Read,
    Scalar,
    Trying,
    lane,
    scalars,
)
from motif.plan.source import Source

CURRENT = Place(Base.ROW)
MOST_GUARDS = 8
"""Conditions at most that are tested again around a column."""
EXACT_DIGITS = 15
"""Constants of so many digits become the same float, whichever way it is worked out."""


class HostColumns:
    """Row expressions the host computes before the matching; equal ones are one column."""

    def __init__(self) -> None:
        self.exprs: list[Expr] = []
        self.windowed = False
        """The host reads neighbours for some of them, so its order of equal rows must be kept."""
        self.asks: list[Expr] = []
        """Conditions over columns a0, a1, ... that the host decides while matches are searched."""
        self.absent: dict[int, Expr] = {}
        """What stands for a column where its row is missing, if that is not plainly NULL."""

    def index(self, expr: Expr) -> int:
        """The number of the column, added if it is new."""
        if expr not in self.exprs:
            self.exprs.append(expr)
        return self.exprs.index(expr)


@dataclass(frozen=True, slots=True)
class Condition:
    """The three parts of one variable's condition; no part means no restriction."""

    var: str
    row: Expr | None = None
    neighbours: tuple[Scalar, ...] = ()
    match: tuple[Scalar, ...] = ()
    texts: dict[str, list[Expr]] = field(default_factory=dict)
    """The conjuncts as written, by the part they went to; for `explain`."""
    origins: dict[Scalar, Expr] = field(default_factory=dict)
    """The same by what was made of them."""


def split_conditions(
    query: RowQuery, columns: HostColumns, ties: tuple[Expr, ...], source: Source, asked: Collection[Expr] = ()
) -> tuple[Condition, ...]:
    """One `Condition` per variable of the pattern, in the order of the variables.

    `asked`: what of them Motif can not decide, as was found out when types were known.
    """
    defines = {define.var: define.condition for define in query.defines}
    return tuple(
        _split(Lifter(query, columns, var, window(query, ties), source), source, defines.get(var), asked)
        for var in query.variables()
    )


def _split(lifter: Lifter, source: Source, condition: Expr | None, asked: Collection[Expr]) -> Condition:
    if condition is None:
        return Condition(lifter.var)
    row: list[Expr] = []
    neighbours: list[Scalar] = []
    match: list[Scalar] = []
    texts: dict[str, list[Expr]] = {"row": [], "values": [], "neighbours": [], "match": [], "host": []}
    origins: dict[Scalar, Expr] = {}
    for conjunct in _conjuncts(condition):
        known = lifter.own_label(conjunct)
        if comparison := _of_values(lifter, known, source):
            neighbours.append(comparison)
            lifter.guards += (known,)
            texts["values"].append(conjunct)
            continue
        if lifter.on_current_row(known):
            row.append(lifter.on_one_row(known, CURRENT))
            lifter.guards += (known,)
            texts["row"].append(conjunct)
            continue
        lifted = lifter.asked(known) if conjunct in asked else lifter.lifted(known)
        fixed = all(_is_fixed(part) for part in scalars(lifted))
        (neighbours if fixed else match).append(lifted)
        texts["host" if isinstance(lifted, Ask) else "neighbours" if fixed else "match"].append(conjunct)
        lifter.guards += (known,)
        origins[lifted] = conjunct
    return Condition(lifter.var, _all_of(row), tuple(neighbours), tuple(match), texts, origins)


def _of_values(lifter: Lifter, expr: Expr, source: Source) -> Scalar | None:
    """A column of the row compared with a constant, where Motif's values are the host's."""
    if not (isinstance(expr, Call) and expr.name in COMPARISONS and lifter.on_current_row(expr)):
        return None
    args = [lifter.row_expr(arg) for arg in expr.args]
    match args:
        case [Column(name=name), Literal(value=value)] | [Literal(value=value), Column(name=name)]:
            constant = _among(value, source.schema[name], is_left=isinstance(value, str) and source.leaves_texts(name))
        case _:
            return None
    if constant is None:
        return None
    sides = [Const(constant) if isinstance(arg, Literal) else Read(lifter.columns.index(arg), CURRENT) for arg in args]
    return Op(expr.name, tuple(sides), span=expr.span)


def _among(value: LiteralValue, kind: Type, *, is_left: bool) -> int | float | str | None:
    """A constant among the values of a column; None where the host may take it for another one, or is faster.

    `is_left`: the host leaves texts of the column to us.
    """
    match value:
        case str() if kind == STRING and is_left:
            return value
        case bool():
            return None
        case int() if kind.kind is Kind.INTEGER and lane(kind) is Lane.INT:
            return value if -(2**63) <= value < 2**63 else None
        case int() | Decimal() if kind == FLOAT and len(Decimal(value).as_tuple().digits) <= EXACT_DIGITS:
            return float(value)
        case float() if kind == FLOAT:
            return value
        case _:
            return None


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.name == "and":
        return [part for arg in expr.args for part in _conjuncts(arg)]
    return [expr]


def _all_of(parts: list[Expr]) -> Expr | None:
    if not parts:
        return None
    while len(parts) > 1:  # in pairs, so that a long condition does not become a deep one
        parts = [Call("and", (*parts[i : i + 2],)) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def with_absent(node: Scalar, columns: HostColumns, source: Source) -> Scalar:
    """The same with the host's word on what a function makes of a row that is not there."""
    match node:
        case Read(column=column, absent=Const()):
            value = source.on_nulls([columns.absent[column]])[0]
            return replace(node, absent=Const(value))  # type: ignore[arg-type]
        case Op(args=args):
            return replace(node, args=tuple(with_absent(arg, columns, source) for arg in args))
        case _:
            return node


def _is_fixed(node: Scalar) -> bool:
    """Reads only rows at a fixed distance from the current one."""
    match node:
        case Read(place=place):
            return place.base is Base.ROW
        case Fold() | LabelAt() | Trying() | Ask():
            return False
        case _:
            return True


class Lifter:
    """Turns an expression into scalars over host columns, for the condition of one variable."""

    where = "DEFINE"
    what = "rows"
    guards: tuple[Expr, ...] = ()
    """Conditions without which what is lifted does not matter."""

    def __init__(self, query: RowQuery, columns: HostColumns, var: str, over: Window, source: Source) -> None:
        self.query = query
        self.columns = columns
        self.var = var
        self.window = over
        self.source: Source | None = source
        self.dialect = source.dialect

    def own_label(self, expr: Expr) -> Expr:
        """CLASSIFIER() of the row under test is the variable being tested."""

        def known(node: Expr) -> Expr | None:
            if isinstance(node, At) and isinstance(node.arg, Label) and self.place(node).is_current:
                return Literal(self.var, node.span)
            return None

        return transform(expr, known)

    def place(self, at: At) -> Place:
        """Where an `At` reads; the row under test is already the last of its variable."""
        members = self.query.members(at.var)
        if at.end is End.LAST and at.index == 0 and self.var in members:
            return Place(Base.ROW, shift=at.shift)
        if at.var is None:
            return Place(Base.MATCH, end=at.end, index=at.index, shift=at.shift)
        return Place(Base.SET, members, at.end, at.index, at.shift)

    def on_current_row(self, expr: Expr) -> bool:
        """Nothing but the row under test decides it."""
        return self.single_place(expr) in (CURRENT, None) and not self.needs_match(expr)

    def needs_match(self, expr: Expr) -> bool:
        return any(isinstance(node, Aggregate | MatchNumber | Label) for node in walk(expr))

    def places(self, expr: Expr) -> set[Place]:
        return {self.place(node) for node in walk(expr) if isinstance(node, At)}

    def single_place(self, expr: Expr) -> Place | None:
        """The one place everything in `expr` is read at; None for constants; a Place no row has for several."""
        places = self.places(expr)
        if not places:
            return None
        return places.pop() if len(places) == 1 else Place(Base.MATCH, index=-1)

    def row_expr(self, expr: Expr) -> Expr:
        """The expression as the host sees it, on one row."""
        return transform(expr, lambda node: node.arg if isinstance(node, At) else None)

    def on_one_row(self, expr: Expr, place: Place) -> Expr:
        """The same, but what may fail is computed only where the conditions before it hold of the row."""
        row = self.row_expr(expr)
        if not may_fail(row, self.dialect):
            return row
        known = [guard for guard in self.guards if not self.needs_match(guard) and self.single_place(guard) == place]
        before = [self.row_expr(guard) for guard in known[-MOST_GUARDS:]]
        # Hosts join what a sub-query gives: they compute what it is compared with for all rows, whatever is around.
        row = transform(row, lambda node: sought(node, before, self.dialect) if is_among_rows(node) else None)
        return guarded(row, before)

    def branches(self, case: Call) -> Scalar:
        """CASE: a result is computed where its condition is true, and those before it are not."""
        around, args = self.guards, list[Scalar]()
        try:
            for condition, result in zip(case.args[:-1:2], case.args[1::2], strict=True):
                args.append(self.lift(condition))
                before, self.guards = self.guards, (*self.guards, condition)
                args.append(self.lift(result))
                self.guards = (*before, Call("not", (Call("is true", (condition,)),)))
            args.append(self.lift(case.args[-1]))
        finally:
            self.guards = around
        return Op(case.name, tuple(args), span=case.span)

    def lifted(self, condition: Expr) -> Scalar:
        """A condition for Motif, or else for the host."""
        columns, windowed = len(self.columns.exprs), self.columns.windowed
        try:
            return self.lift(condition)
        except UnsupportedQuery:
            if not self.may_ask(condition):
                raise
            del self.columns.exprs[columns:]
            self.columns.windowed = windowed
            self.columns.absent = {n: expr for n, expr in self.columns.absent.items() if n < columns}
        return self.asked(condition)

    def may_ask(self, condition: Expr) -> bool:
        """Whether the host can be asked about a condition: it is there, and can be given all that decides it."""
        nodes = [node for node in walk(condition) if isinstance(node, Aggregate)]
        known = all(node.name != "array_agg" for node in nodes)
        if self.source is None:
            return known
        return known and self.source.answers is not None and self.source.is_steady(condition)

    def asked(self, condition: Expr) -> Scalar:
        """A whole condition that the host decides: of neighbours with the columns, of others while it is searched."""
        if not self.needs_match(condition) and self.is_near(condition):
            self.columns.windowed = True
            return Read(self.columns.index(self.window.over(condition)), CURRENT)
        args: list[Scalar] = []

        def argument(node: Expr) -> Expr | None:
            match node:
                case At(arg=Label()):
                    found: Scalar = LabelAt(self.place(node))
                case At():
                    found = Read(self.columns.index(node.arg), self.place(node))
                case Aggregate():
                    found = self.fold(node)
                case MatchNumber():
                    found = Trying()
                case SubQuery():
                    found = Read(self.columns.index(node), CURRENT)
                case Verbatim() if is_among_rows(node):
                    found = self.among_rows(node)
                case _:
                    return None
            if found not in args:
                args.append(found)
            return Column(f"a{args.index(found)}", node.span)

        self.columns.asks.append(transform(transform(condition, self.counted_labels), argument))
        return Ask(len(self.columns.asks) - 1, tuple(args))

    def counted_labels(self, node: Expr) -> Expr | None:
        """Aggregates of CLASSIFIER() as counts of rows."""
        if isinstance(node, Aggregate) and isinstance(node.arg, Label) and node.name in ("count", "min", "max"):
            return label_fold(node, self.query.members(node.var))
        return None

    def lift(self, expr: Expr) -> Scalar:
        """Hoist what one row decides, keep native operators, refuse the rest."""
        if reads_nothing(expr) and (known := self.constant(expr)) is not None:
            return known
        if not self.needs_match(expr):
            place = self.single_place(expr) or CURRENT
            if place.index >= 0 and (isinstance(expr, At) or place.is_current or self.is_strict(expr)):
                return Read(self.columns.index(self.on_one_row(expr, place)), place)
        match expr:
            case At(arg=Label()):
                return LabelAt(self.place(expr))
            case Aggregate():
                return self.fold(expr)
            case MatchNumber():
                return Trying()
            case Call(name="case"):
                return self.branches(expr)
            case Verbatim() if is_among_rows(expr):
                return self.among_rows(expr)
            case Call(name=name, args=args, span=span) if name in NATIVE:
                return Op(name, tuple(self.lift(arg) for arg in args), span=span)
            case Call() | Verbatim() if not self.needs_match(expr) and self.is_near(expr):
                self.columns.windowed = True
                return Read(self.columns.index(self.window.over(expr)), CURRENT)
            case Call() | Verbatim() if not self.needs_match(expr) and len(self.places(expr)) == 1:
                column = self.columns.index(self.on_one_row(expr, self.places(expr).pop()))
                self.columns.absent[column] = self.row_expr(transform(expr, nothing))
                return Read(column, self.places(expr).pop(), absent=Const(None))
            case Call() if difference := as_difference(expr, self.dialect):
                return self.lift(difference)
            case _:
                raise self.refused(expr)

    def among_rows(self, expr: Verbatim) -> Scalar:
        """A value compared with what a sub-query gives: the host does so for each row, and once for no row."""
        if self.needs_match(expr) or len(self.places(expr)) != 1:
            raise UnsupportedQuery(
                f"not supported in {self.where}: a sub-query beside values of different {self.what}",
                source=self.query.source,
                span=expr.span,
                hint="compare values of one row with it, or filter on a measure outside",
            )
        place = self.places(expr).pop()
        found = Read(self.columns.index(self.on_one_row(expr, place)), place)
        absent = Read(self.columns.index(self.row_expr(transform(expr, nothing))), CURRENT)
        there = Op("is null", (Read(self.columns.index(Literal(True)), place),))
        return Op("case", (there, absent, found), span=expr.span)

    def constant(self, expr: Expr) -> Const | None:
        """The value of an expression that reads no row; None if only the host can hold it."""
        return constant(expr, self.source, self.query.source) if self.source is not None else Const(None)

    def is_near(self, expr: Expr) -> bool:
        """Reads rows at a fixed distance only, several of them."""
        places = self.places(expr)
        return len(places) > 1 and all(place.base is Base.ROW for place in places)

    def is_strict(self, expr: Expr) -> bool:
        """NULL wherever one of its columns is: then a missing row gives NULL too."""
        return all(
            isinstance(node, At | Literal)
            or (isinstance(node, Call) and node.name in STRICT)
            or (isinstance(node, Verbatim) and not node.args)
            for node in walk(self.outline(expr))
        )

    def outline(self, expr: Expr) -> Expr:
        """The expression without the insides of its navigations, which are NULL as a whole."""
        return transform(expr, lambda node: replace(node, arg=Literal(None)) if isinstance(node, At) else None)

    def fold(self, node: Aggregate) -> Scalar:
        if (counted := self.counted_labels(node)) is not None:
            return self.lift(counted)
        if node.arg is not None and any(isinstance(part, Label | MatchNumber) for part in walk(node.arg)):
            raise self.refused(node)
        column = None if node.arg is None else self.columns.index(node.arg)
        distinct = node.distinct and node.name not in ("min", "max")
        return Fold(node.name, column, self.query.members(node.var), distinct=distinct, span=node.span)

    def elsewhere(self) -> str:
        """Where such a condition is answered, if it is not here."""
        in_stream = self.dialect == "spark" and self.source is not None and self.source.answers is None
        return "; of a table, not a stream, Spark is asked about such conditions" if in_stream else ""

    def refused(self, expr: Expr) -> UnsupportedQuery:
        name = expr.name.upper() if isinstance(expr, Call | Aggregate) else "this expression"
        return UnsupportedQuery(
            f"not supported in {self.where}: {name} on values of different {self.what}",
            source=self.query.source,
            span=expr.span,
            hint="across rows Motif computes + - * / %, comparisons, IN, BETWEEN, AND OR NOT, IS NULL, CASE, COALESCE, "
            "NULLIF, ABS, GREATEST, LEAST and DATE_DIFF; apply other functions to one row at a time or to rows at a "
            "fixed distance (PREV, NEXT), or filter on a measure outside" + self.elsewhere(),
        )
