"""The algebra back to text.

`render_query`, `render_pattern` and `render_expr` write what `lang` reads: parsing the text gives an
equal node. `render_row_sql` writes a row expression for a host, with nothing left to precedence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias, assert_never

from motif.ir import literals
from motif.ir.expr import (
    Aggregate,
    At,
    Call,
    Column,
    End,
    Expr,
    HostAggregate,
    Interval,
    Label,
    Literal,
    MatchNumber,
    SubQuery,
    Verbatim,
)
from motif.ir.pattern import Anchor, Choice, Empty, Exclude, Pattern, Permute, Repeat, Seq, Var
from motif.ir.query import MatchMode, Order, RowQuery, Skip, SkipTo, Within

Dialect: TypeAlias = OneOf["duckdb", "spark"]
Quote: TypeAlias = Callable[[str], str]

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYWORDS = frozenset(
    """ALL AND ANY ARRAY AS ASC AT BETWEEN BY CASE CAST COLLATE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER
    DATE DEFINE DESC DISTINCT DIV ELSE END ESCAPE FALSE FINAL FIRST FROM GLOB GROUP HAVING ILIKE IN INCREMENTAL INITIAL
    INTERVAL IS ISNULL JOIN LAMBDA LAST LIKE LIMIT LOCALTIME LOCALTIMESTAMP MAP MATCH_RECOGNIZE MAXIMAL MEASURES NEXT
    NOT NOTNULL NULL NULLS ON ONE OR ORDER PARTITION PAST PATTERN PERMUTE REGEXP RLIKE RUNNING SEEK SELECT SIMILAR
    SOME SUBSET TABLE THEN TIME TIMESTAMP TO TRUE UNION USING VALUES WHEN WHERE WITH WITHIN AFTER OVER FILTER IGNORE
    RESPECT""".split()
)
_OR, AND, _NOT, _IS, _COMPARISON, _PREDICATE, _CONCAT, _SUM, _PRODUCT, _UNARY, _ATOM = range(1, 12)
_BINARY = {
    "or": _OR,
    "and": AND,
    "||": _CONCAT,
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "%": _PRODUCT,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _COMPARISON),
}
_POSTFIX = frozenset({"is null", "is not null", "is true", "is false"})
_NULLS = re.compile(r"(.*?)((?:\s(?:IGNORE|RESPECT)\s+NULLS)?)$", re.IGNORECASE | re.DOTALL)
"""A call, and what it does with NULLs: FILTER stands between."""
_QUOTES = ("'", '"', "`", "_")
_DISTINCT = frozenset({"is distinct from", "is not distinct from"})


def double_quotes(name: str) -> str:
    """`"name"`, as the standard and DuckDB quote."""
    return '"' + name.replace('"', '""') + '"'


def backticks(name: str) -> str:
    """`` `name` ``, as Spark quotes."""
    return "`" + name.replace("`", "``") + "`"


def render_query(query: RowQuery, dialect: Dialect = "duckdb") -> str:
    """The whole clause: `MATCH_RECOGNIZE ( ... )`."""
    variables = frozenset(query.variables()) | {subset.name for subset in query.subsets}
    return Renderer(dialect, variables).query(query)


def render_pattern(pattern: Pattern, dialect: Dialect = "duckdb") -> str:
    """What stands between the brackets of PATTERN ( ... )."""
    return Renderer(dialect).pattern(pattern)


def render_expr(expr: Expr, dialect: Dialect = "duckdb") -> str:
    """An expression as it would stand in MEASURES."""
    return Renderer(dialect).expr(expr)


@dataclass(frozen=True, slots=True)
class Renderer:
    """Writes the row language; a subclass overrides what another language writes differently."""

    dialect: Dialect
    variables: frozenset[str] | None = None
    """Variables and subsets of the clause, where they are known."""

    # -- names ----------------------------------------------------------------------------------

    def quoted(self, name: str) -> str:
        return backticks(name) if self.dialect == "spark" else double_quotes(name)

    def name(self, name: str) -> str:
        """A column or measure: quoted where the bare word could be taken for something else."""
        plain = PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS
        return name if plain else self.quoted(name)

    def var(self, name: str) -> str:
        """A variable: bare words are folded to upper case when read."""
        return self.name(name) if name == name.upper() else self.quoted(name)

    # -- the clause -----------------------------------------------------------------------------

    def query(self, query: RowQuery) -> str:
        lines = [
            self._list("PARTITION BY", (self._aliased(key.expr, key.name) for key in query.partition)),
            self._list("ORDER BY", (self._order(order) for order in query.order)),
            self._list("MEASURES", (f"{self.expr(m.expr)} AS {self.name(m.name)}" for m in query.measures)),
            str(query.rows),
            str(query.match_mode) if query.match_mode is not MatchMode.MAXIMAL else "",
            self._skip(query.skip),
            f"PATTERN ({self.pattern(query.pattern)})",
            self._within(query.within),
            self._list("SUBSET", (f"{self.var(s.name)} = ({self._vars(s.members)})" for s in query.subsets)),
            self._list("DEFINE", (f"{self.var(d.var)} AS {self.expr(d.condition)}" for d in query.defines)),
        ]
        body = "\n".join(f"  {line}" for line in lines if line)
        return f"MATCH_RECOGNIZE (\n{body}\n)"

    def _list(self, word: str, items: Iterable[str]) -> str:
        joined = ",\n    ".join(items)
        return f"{word} {joined}" if joined else ""

    def _aliased(self, expr: Expr, name: str) -> str:
        text = self.expr(expr)
        return text if isinstance(expr, Column) and expr.name == name else f"{text} AS {self.name(name)}"

    def _order(self, order: Order) -> str:
        direction = " DESC" if order.descending else ""
        return f"{self.expr(order.expr)}{direction}{' NULLS FIRST' if order.nulls_first else ''}"

    def _skip(self, skip: Skip) -> str:
        if skip.to is SkipTo.PAST_LAST:
            return ""
        return f"AFTER MATCH SKIP {skip.to}" + (f" {self.var(skip.var)}" if skip.var is not None else "")

    def _within(self, within: Within | None) -> str:
        if within is None:
            return ""
        bound = within.bound
        return f"WITHIN {literals.interval(bound, self.dialect) if isinstance(bound, Interval) else repr(bound)}"

    def _vars(self, names: Iterable[str]) -> str:
        return ", ".join(self.var(name) for name in names)

    # -- patterns -------------------------------------------------------------------------------

    def pattern(self, pattern: Pattern) -> str:
        match pattern:
            case Var(name=name):
                return self.var(name)
            case Seq(items=items):
                return " ".join(self._part(item, Seq, Choice) for item in items)
            case Choice(items=items):
                return " | ".join(self._part(item, Choice) for item in items)
            case Repeat(body=body):
                return self._part(body, Seq, Choice, Repeat) + _quantifier(pattern)
            case Permute(items=items):
                return f"PERMUTE({', '.join(self.pattern(item) for item in items)})"
            case Exclude(body=body):
                return f"{{- {self.pattern(body)} -}}"
            case Anchor(at_start=at_start):
                return "^" if at_start else "$"
            case Empty():
                return "()"
            case _:
                assert_never(pattern)

    def _part(self, pattern: Pattern, *grouped: type[Pattern]) -> str:
        text = self.pattern(pattern)
        return f"({text})" if isinstance(pattern, grouped) else text

    # -- expressions ----------------------------------------------------------------------------

    def expr(self, expr: Expr) -> str:
        return self._expr(expr, None)[0]

    def _expr(self, expr: Expr, var: str | None) -> tuple[str, int]:
        """Text and how tightly its outermost operator binds; `var` qualifies the columns in it."""
        match expr:
            case Literal(value=value):
                text = literals.literal(value, self.dialect)
                return text, _UNARY if text.startswith("-") else _ATOM
            case Column(name=name):
                return (f"{self.var(var)}." if var is not None else "") + self.name(name), _ATOM
            case Label():
                return f"CLASSIFIER({self.var(var) if var is not None else ''})", _ATOM
            case MatchNumber():
                return "MATCH_NUMBER()", _ATOM
            case SubQuery():
                return expr.sql(), _ATOM
            case At():
                return self._at(expr), _ATOM
            case Aggregate():
                return self._aggregate(expr), _ATOM
            case HostAggregate():
                return self._host_aggregate(expr), _ATOM
            case Verbatim():
                return self._verbatim(expr, var), _ATOM if _is_closed(expr) else 0
            case Call():
                return self._call(expr, var)
            case _:
                assert_never(expr)

    def _operand(self, expr: Expr, var: str | None, power: int) -> str:
        text, own = self._expr(expr, var)
        return text if own >= power else f"({text})"

    def _verbatim(self, expr: Verbatim, var: str | None) -> str:
        text = expr.parts[0]
        for arg, part in zip(expr.args, expr.parts[1:], strict=True):
            inner, power = self._expr(arg, var)
            if part.lstrip().startswith(".") and isinstance(arg, At) and isinstance(arg.arg, Column):
                inner = self._field_owner(arg.arg.name) if arg == At(arg.arg) else inner
            bare = power >= _ATOM and not _would_stick(text, inner, part)
            text += (inner if bare else f"({inner})") + part
        return text

    def _field_owner(self, name: str) -> str:
        """The `s` of `s.field`: a column that must not be read as a variable. Quoted names are not folded."""
        could_be_variable = name == name.upper() if self.variables is None else name in self.variables
        return f"({self.quoted(name)})" if could_be_variable else self.quoted(name)

    def _at(self, at: At) -> str:
        arg = self._expr(at.arg, at.var)[0]
        if at == At(at.arg, at.var) and isinstance(at.arg, Column | Label):
            return arg
        text = arg
        if at.shift == 0 or at.end is not End.LAST or at.index or at.mode is not None:
            mode = f"{at.mode} " if at.mode is not None else ""
            text = f"{mode}{at.end}({arg}{f', {at.index}' if at.index else ''})"
        if at.shift == 0:
            return text
        steps = f", {abs(at.shift)}" if abs(at.shift) != 1 else ""
        return f"{'PREV' if at.shift < 0 else 'NEXT'}({text}{steps})"

    def _aggregate(self, aggregate: Aggregate) -> str:
        if aggregate.arg is None:
            arg = "*" if aggregate.var is None else f"{self.var(aggregate.var)}.*"
        else:
            arg = self._expr(aggregate.arg, aggregate.var)[0]
        mode = f"{aggregate.mode} " if aggregate.mode is not None else ""
        return f"{mode}{aggregate.name.upper()}({'DISTINCT ' if aggregate.distinct else ''}{arg})"

    def _host_aggregate(self, aggregate: HostAggregate) -> str:
        mode = f"{aggregate.mode} " if aggregate.mode is not None else ""
        text = f"{mode}{self._expr(aggregate.call, aggregate.var)[0]}"
        if aggregate.filter is None:
            return text
        return f"{text} FILTER (WHERE {self._expr(aggregate.filter, aggregate.var)[0]})"

    def _call(self, call: Call, var: str | None) -> tuple[str, int]:
        name, args = call.name, call.args
        if name in _BINARY:
            return self._binary(call, var, _BINARY[name])
        if name in _POSTFIX:
            return f"{self._operand(args[0], var, _CONCAT)} {name.upper()}", _IS
        if name in _DISTINCT:
            left, right = (self._operand(arg, var, _CONCAT) for arg in args)
            return f"{left} {name.upper()} {right}", _IS
        if name == "not":
            return f"NOT {self._operand(args[0], var, _NOT)}", _NOT
        if name == "neg":
            # `-1` is one literal, `-(1)` is minus of a literal.
            literal = isinstance(args[0], Literal)
            return f"-{self._operand(args[0], var, _ATOM + literal)}", _UNARY
        return self._predicate(call, var)

    def _binary(self, call: Call, var: str | None, power: int) -> tuple[str, int]:
        """Hosts disagree on || against + and on IN against =, so these always get brackets."""
        left_power, right_power = power, power + 1
        if power == _COMPARISON:
            left_power = right_power = _CONCAT
        if power == _CONCAT:
            right_power = _PRODUCT
            left_power = _CONCAT if isinstance(call.args[0], Call) and call.args[0].name == "||" else _PRODUCT
        left = self._operand(call.args[0], var, left_power)
        right = self._operand(call.args[1], var, right_power)
        return f"{left} {call.name.upper()} {right}", power

    def _predicate(self, call: Call, var: str | None) -> tuple[str, int]:
        args = call.args
        match call.name:
            case "between":
                value, low, high = (self._operand(arg, var, _CONCAT) for arg in args)
                return f"{value} BETWEEN {low} AND {high}", _PREDICATE
            case "in":
                value = self._operand(args[0], var, _CONCAT)
                return f"{value} IN ({', '.join(self._expr(arg, var)[0] for arg in args[1:])})", _PREDICATE
            case "like":
                value, pattern = (self._operand(arg, var, _CONCAT) for arg in args)
                return f"{value} LIKE {pattern}", _PREDICATE
            case "case":
                return _case([self._expr(arg, var)[0] for arg in args]), _ATOM
            case name:
                function = name if PLAIN_NAME.fullmatch(name) else self.quoted(name)
                return f"{function}({', '.join(self._expr(arg, var)[0] for arg in args)})", _ATOM


def _quantifier(repeat: Repeat) -> str:
    low, high = repeat.low, repeat.high
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    if short is None:
        short = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
    return short if repeat.greedy else f"{short}?"


def _is_closed(expr: Verbatim) -> bool:
    """Whether no operator beside it could take a part of it away: a call, a literal, `x::t`, `x[1]`, `x.f`."""
    if expr.parts[0]:
        return not expr.parts[0].startswith("~")
    return expr.parts[1].lstrip().startswith(("::", "[", "."))


def _would_stick(before: str, text: str, after: str) -> bool:
    """Whether two words would become one without a bracket between them."""
    ends = (before[-1:], text[:1]), (text[-1:], after[:1])
    return any((left.isalnum() or left in _QUOTES) and (right.isalnum() or right in _QUOTES) for left, right in ends)


def _case(parts: list[str]) -> str:
    pairs = zip(parts[:-1:2], parts[1::2], strict=True)
    whens = " ".join(f"WHEN {condition} THEN {result}" for condition, result in pairs)
    return f"CASE {whens} ELSE {parts[-1]} END"


def row_sql(expr: Expr, dialect: Dialect) -> str:
    """A row expression as SQL of a host, with names in its quotes."""
    return render_row_sql(expr, backticks if dialect == "spark" else double_quotes, dialect)


def render_row_sql(expr: Expr, quote: Quote = double_quotes, dialect: Dialect = "duckdb") -> str:
    """A row expression as SQL of a host; every operator stands in brackets.

    Expects no `At`, `Aggregate` of ours, `Label` or `MatchNumber`: these must have become columns before.
    """
    match expr:
        case Literal(value=value):
            text = literals.literal(value, dialect)
            return f"({text})" if text.startswith("-") else text
        case Column(name=name):
            return quote(name)
        case Verbatim(parts=(_, words, _), args=(left, SubQuery(gives_rows=True) as query)) if dialect == "spark":
            assert words == " IN ", "others are refused"
            return _among_rows_of_spark(render_row_sql(left, quote, dialect), query)
        case Verbatim(parts=parts, args=args):
            text = parts[0]
            for arg, part in zip(args, parts[1:], strict=True):
                text += _argument_sql(arg, text, part, quote, dialect) + part
            return f"({text})"
        case SubQuery():
            return f"({expr.sql()})" if expr.exists else expr.sql()
        case Call(name=name, args=args):
            return _call_sql(name, [render_row_sql(arg, quote, dialect) for arg in args], quote)
        case HostAggregate(call=call, filter=condition):
            text = render_row_sql(call, quote, dialect)
            if condition is None:
                return text
            text, nulls = _NULLS.match(text[1:-1] if isinstance(call, Verbatim) else text).groups()  # type: ignore[union-attr]
            return f"({text} FILTER (WHERE {render_row_sql(condition, quote, dialect)}){nulls})"
        case At() | Aggregate() | Label() | MatchNumber():
            message = f"{type(expr).__name__} is not part of a row expression"
            raise ValueError(message)
        case _:
            assert_never(expr)


def _argument_sql(arg: Expr, before: str, after: str, quote: Quote, dialect: Dialect) -> str:
    # `(s).a` is a field of a column in every host, `s.a` may be a column of a table s. Literals stay
    # as they are: Spark's ESCAPE, for one, takes no brackets.
    text = render_row_sql(arg, quote, dialect)
    bare = isinstance(arg, Literal) and not _would_stick(before, text, after)
    return text if bare or text.startswith("(") else f"({text})"


def _among_rows_of_spark(value: str, query: SubQuery) -> str:
    """Outside of WHERE Spark says FALSE where IN of a sub-query is NULL."""
    table = f"({query.text}) AS q(c0)"
    nothing, unknown = f"(SELECT count(*) FROM {table}) = 0", f"(SELECT count_if(c0 IS NULL) FROM {table}) > 0"
    null = f"NOT {nothing} AND ({value} IS NULL OR {unknown})"
    return f"(CASE WHEN {value} IN ({query.text}) THEN TRUE WHEN {null} THEN NULL ELSE FALSE END)"


def _call_sql(name: str, args: list[str], quote: Quote) -> str:
    if name in _BINARY or name in _DISTINCT or name == "like":
        return f"({args[0]} {name.upper()} {args[1]})"
    if name in _POSTFIX:
        return f"({args[0]} {name.upper()})"
    match name:
        case "not":
            return f"(NOT {args[0]})"
        case "neg":
            return f"(- {args[0]})"
        case "between":
            return f"({args[0]} BETWEEN {args[1]} AND {args[2]})"
        case "in":
            return f"({args[0]} IN ({', '.join(args[1:])}))"
        case "case":
            return f"({_case(args)})"
    function = name if PLAIN_NAME.fullmatch(name) else quote(name)
    return f"{function}({', '.join(args)})"
