"""Types of expressions over values of different rows: what may be combined with what, and how."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal

from motif.errors import MotifError, QueryBindError, Span, UnsupportedQuery
from motif.ir.expr import Interval
from motif.ir.types import Kind, Type
from motif.plan.scalar import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    INTERVAL,
    NARROW,
    NULL,
    STRING,
    TIMESTAMP,
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
    exact,
    lane,
    scale,
)

_ASKED = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL, Kind.BOOLEAN})


@dataclass(frozen=True, slots=True)
class Typer:
    """Gives types to scalars; knows the host's column types and how it subtracts dates."""

    columns: tuple[Type, ...]
    dialect: str
    source: str
    where: str = "DEFINE"
    """What messages call the place of the expression."""

    def typed(self, node: Scalar) -> Scalar:
        """The same expression with types and conversions."""
        match node:
            case Read(column=column, absent=absent):
                kind = self.columns[column]
                return replace(node, type=kind, absent=None if absent is None else replace(absent, type=kind))
            case Const(value=value):
                return replace(node, type=literal_type(value)) if node.type == NULL else node
            case Fold(name="avg"):
                total = self.typed(replace(node, name="sum"))
                count = self.typed(replace(node, name="count"))
                return Op("/", (to_float(total), to_float(count)), FLOAT)
            case Fold():
                return replace(node, type=self.fold_type(node))
            case Ask(args=args):
                return replace(node, args=tuple(map(self.asked, args)))
            case LabelAt() | Trying():
                return node
            case Op():
                return self.operator(node)

    def asked(self, arg: Scalar) -> Scalar:
        """What the host is asked about: rows as they are, and numbers."""
        typed = self.typed(arg)
        if isinstance(arg, Read | LabelAt) or (typed.type.kind in _ASKED and lane(typed.type) is not Lane.CODE):
            return typed
        span = arg.span if isinstance(arg, Fold) else None
        raise self.refused(
            Op("", (), span=span), f"an aggregate of type {typed.type} inside of a function", "compare it by itself"
        )

    def fold_type(self, node: Fold) -> Type:
        """COUNT is an integer, SUM as wide as it can be, MIN and MAX as their argument."""
        if node.distinct and node.column is not None and self.columns[node.column].kind is Kind.OTHER:
            kind = self.columns[node.column]
            problem, hint = f"DISTINCT of values of type {kind}", "take what tells them apart: a number, string or time"
            raise self.refused(Op("", (), span=node.span), problem, hint)
        if node.name == "count" or node.column is None:
            return INTEGER
        kind = self.columns[node.column]
        if node.name == "sum":
            self.number(Read(node.column, Place(Base.ROW), type=kind), Op(node.name.upper(), (), span=node.span))
        if node.name == "sum" and kind.kind is Kind.DECIMAL:
            return replace(kind, precision=NARROW) if lane(kind) is Lane.INT else kind
        return INTEGER if node.name == "sum" and kind.kind is Kind.INTEGER else kind

    def operator(self, node: Op) -> Scalar:
        """Types of an operator, by family."""
        args = tuple(self.typed(arg) for arg in node.args)
        node = replace(node, args=args)
        match node.name:
            case "and" | "or" | "not" | "is true" | "is false":
                return self.logic(node)
            case "is null" | "is not null":
                return replace(node, type=BOOLEAN)
            case "between":
                low = Op(">=", (node.args[0], node.args[1]), span=node.span)
                high = Op("<=", (node.args[0], node.args[2]), span=node.span)
                return Op("and", (self.comparison(low), self.comparison(high)), BOOLEAN)
            case "in":
                return self.any_of(node)
            case "nullif":
                agreed, kind = self.agree(node.args, node)
                return replace(node, args=agreed, type=kind)
            case "case":
                return self.case(node)
            case "coalesce" | "greatest" | "least":
                agreed, kind = self.agree(node.args, node)
                return replace(node, args=agreed, type=kind)
            case "neg" | "abs":
                return replace(node, type=self.number(node.args[0], node).type)
            case "+" | "-" | "*" | "/" | "%":
                return self.arithmetic(node)
            case _:
                return self.comparison(node)

    def logic(self, node: Op) -> Op:
        for arg in node.args:
            if arg.type.kind not in (Kind.BOOLEAN, Kind.NULL):
                raise self.error(node, f"{node.name.upper()} needs conditions, not {arg.type}")
        return replace(node, type=BOOLEAN)

    def comparison(self, node: Op) -> Op:
        agreed, kind = self.agree(node.args, node)
        unordered = kind.kind is Kind.OTHER or not all(arg.type.ordered for arg in agreed)
        if unordered and node.name not in ("=", "<>", "is distinct from", "is not distinct from"):
            what = f"values of type {kind}" if kind.kind is Kind.OTHER else "values of an enumeration"
            raise self.error(
                node, f"{what} of different rows have no order here", "CAST them to VARCHAR or a number", kind
            )
        return replace(node, args=agreed, type=BOOLEAN)

    def any_of(self, node: Op) -> Op:
        tests = tuple(self.comparison(Op("=", (node.args[0], item), span=node.span)) for item in node.args[1:])
        return tests[0] if len(tests) == 1 else Op("or", tests, BOOLEAN)

    def case(self, node: Op) -> Op:
        results = node.args[1::2] + node.args[-1:]
        agreed, kind = self.agree(results, node)
        conditions = node.args[0:-1:2]
        pairs = [part for pair in zip(conditions, agreed[:-1], strict=True) for part in pair]
        return replace(node, args=(*pairs, agreed[-1]), type=kind)

    def arithmetic(self, node: Op) -> Op:
        left, right = node.args
        kinds = (left.type.kind, right.type.kind)
        if Kind.INTERVAL in kinds or any(k in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ, Kind.TIME) for k in kinds):
            return self.time_arithmetic(node)
        left, right = self.number(left, node), self.number(right, node)
        if node.name == "/" or Kind.FLOAT in kinds:
            return replace(node, args=(to_float(left), to_float(right)), type=FLOAT)
        if node.name == "*":
            digits = scale(left.type) + scale(right.type)
            return replace(node, args=(left, right), type=exact(digits))
        agreed, kind = self.agree((left, right), node)
        return replace(node, args=agreed, type=kind)

    def number(self, node: Scalar, parent: Op) -> Scalar:
        if node.type.kind is Kind.NULL:
            return node
        if node.type.kind not in (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL, Kind.INTERVAL):
            raise self.error(parent, f"{parent.name} needs numbers, not {node.type}", "CAST the value to a number")
        if lane(node.type) is Lane.CODE:
            raise self.refused(
                parent,
                f"arithmetic on {node.type} between different rows",
                "CAST it to DOUBLE, BIGINT or DECIMAL(18, s) first",
            )
        return node

    def time_arithmetic(self, node: Op) -> Op:
        """Differences of times, and times moved by intervals."""
        self.check_days(node)
        left, right = (days_to_us(arg) if self.as_moments(node) else arg for arg in node.args)
        moments = (Kind.TIMESTAMP, Kind.TIMESTAMP_TZ, Kind.TIME, Kind.INTERVAL)
        match (left.type.kind, node.name, right.type.kind):
            case (Kind.DATE, "-", Kind.DATE):
                return replace(node, type=INTEGER)
            case (Kind.DATE, "+" | "-", Kind.INTEGER):
                return replace(node, type=left.type)
            case (a, "-", b) if a is b and a in moments:
                agreed, kind = self.agree((left, right), node)
                return replace(node, args=agreed, type=replace(INTERVAL, scale=scale(kind)))
            case (a, "+" | "-", Kind.INTERVAL) | (Kind.INTERVAL, "+", a) if a in moments:
                whole = left.type if left.type.kind is a else right.type
                digits = max(scale(left.type), scale(right.type))
                args = tuple(rescaled(arg, replace(arg.type, scale=digits)) for arg in (left, right))
                return replace(node, args=args, type=replace(whole, scale=digits))
            case _:
                raise self.error(node, f"no {node.name} between {left.type} and {right.type}")

    def check_days(self, node: Op) -> None:
        """Days of the calendar are the host's business: with a zone not all have 24 hours."""
        constants = [arg.value for arg in node.args if isinstance(arg, Const)]
        has_days = any(isinstance(value, Interval) and value.days for value in constants)
        if has_days and Kind.TIMESTAMP_TZ in [arg.type.kind for arg in node.args]:
            what = "a time with a zone, of several rows, moved by days"
            raise self.refused(node, what, "move the time of each row by itself, or count in hours: INTERVAL '24' HOUR")

    def as_moments(self, node: Op) -> bool:
        """Dates count in days among themselves (not in Spark, whose difference is an interval), else as times."""
        kinds = [other.type.kind for other in node.args]
        return Kind.INTERVAL in kinds or (self.dialect == "spark" and kinds == [Kind.DATE, Kind.DATE])

    def agree(self, args: tuple[Scalar, ...], parent: Op) -> tuple[tuple[Scalar, ...], Type]:
        """Bring arguments to one type, or say why that cannot be done."""
        kind = NULL
        for arg in args:
            kind = self.common(kind, arg, parent)
        return tuple(self.convert(arg, kind, parent) for arg in args), kind

    def common(self, kind: Type, arg: Scalar, parent: Op) -> Type:
        new = arg.type
        pair = {kind.kind, new.kind}
        if kind == new or new.kind is Kind.NULL:
            return kind
        if kind.kind is Kind.NULL:
            return new
        if pair <= {Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT}:
            return self.common_number(kind, new, parent)
        if kind.kind is new.kind:
            return kind if scale(kind) >= scale(new) else new
        if pair == {Kind.DATE, Kind.TIMESTAMP}:
            return kind if kind.kind is Kind.TIMESTAMP else new
        if Kind.STRING in pair and pair & {Kind.DATE, Kind.TIMESTAMP}:
            return kind if new.kind is Kind.STRING else new
        raise self.clash(parent, kind, new)

    def common_number(self, kind: Type, new: Type, parent: Op) -> Type:
        if Kind.FLOAT in (kind.kind, new.kind):
            wide = new if kind.kind is Kind.FLOAT else kind
            if lane(wide) is Lane.CODE:
                raise self.refused(parent, f"{wide} next to a float", "CAST it to DOUBLE first")
            return FLOAT
        if Lane.CODE in (lane(kind), lane(new)):
            raise self.refused(parent, f"{kind} next to {new}", "CAST both to DOUBLE or DECIMAL(18, s) first")
        digits = max(scale(kind), scale(new))
        return exact(digits)

    def convert(self, arg: Scalar, kind: Type, parent: Op) -> Scalar:
        if arg.type == kind or arg.type.kind is Kind.NULL:
            return arg
        if kind.kind is Kind.FLOAT:
            return to_float(arg)
        if kind.kind is Kind.TIMESTAMP and arg.type.kind is Kind.DATE:
            return rescaled(days_to_us(arg), kind)
        if arg.type.kind is kind.kind or kind.kind in (Kind.DECIMAL, Kind.INTEGER):
            return rescaled(arg, kind)
        if isinstance(arg, Const) and isinstance(arg.value, str) and kind.kind in (Kind.DATE, Kind.TIMESTAMP):
            return self.time_literal(arg.value, kind, parent)
        raise self.clash(parent, arg.type, kind)

    def time_literal(self, text: str, kind: Type, parent: Op) -> Const:
        try:
            moment = dt.datetime.fromisoformat(text)
        except ValueError:
            hint = "write it as 2026-01-31 or 2026-01-31 12:00:00"
            raise self.error(parent, f"'{text[:40]}' is not a {kind}", hint) from None
        return Const(moment.date() if kind.kind is Kind.DATE else moment, kind)

    def clash(self, node: Op, left: Type, right: Type) -> MotifError:
        other = left if left.kind is Kind.OTHER else right
        hint = "CAST one side to the type of the other"
        if Kind.INTERVAL in (left.kind, right.kind):
            hint = "write a length of time as INTERVAL '5' MINUTE"
        return self.error(node, f"cannot compare or combine {left} with {right}", hint, other)

    def error(self, node: Op, message: str, hint: str | None = None, kind: Type = NULL) -> MotifError:
        """`kind`: of values that only the host may know what to do with."""
        error = UnsupportedQuery if kind.kind is Kind.OTHER else QueryBindError
        return error(message, source=self.source, span=node.span, hint=hint)

    def refused(self, node: Op, what: str, hint: str) -> MotifError:
        return UnsupportedQuery(f"not supported in {self.where}: {what}", source=self.source, span=node.span, hint=hint)


def literal_type(value: object) -> Type:
    """The type of a constant."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return INTEGER
        case float():
            return FLOAT
        case Decimal():
            exponent = value.as_tuple().exponent
            return Type(Kind.DECIMAL, precision=NARROW, scale=max(0, -int(exponent)))
        case Interval():
            return INTERVAL
        case _:
            return STRING


def to_float(node: Scalar) -> Scalar:
    """A number as a float."""
    return node if node.type.kind in (Kind.FLOAT, Kind.NULL) else Op("to_float", (node,), FLOAT)


def rescaled(node: Scalar, kind: Type) -> Scalar:
    """A scaled integer with more digits after the point."""
    return node if scale(node.type) == scale(kind) else Op("rescale", (node,), kind)


def days_to_us(node: Scalar) -> Scalar:
    """A date as a timestamp."""
    return Op("days_to_us", (node,), TIMESTAMP) if node.type.kind is Kind.DATE else node


def not_a_condition(said: str, kind: Type, text: str, span: Span | None) -> QueryBindError:
    """Something else stands where a condition must."""
    example = {Kind.STRING: "= 'x' or ", Kind.INTEGER: "<> 0 or ", Kind.FLOAT: "<> 0 or ", Kind.DECIMAL: "<> 0 or "}
    hint = f"compare it with something, for example {example.get(kind.kind, '')}IS NOT NULL"
    return QueryBindError(f"{said} of type {kind}", source=text, span=span, hint=hint)
