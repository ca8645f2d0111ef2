"""Values and conditions built with Python operators: `f.amount > 2 * s.amount`.

A `Value` holds an expression of the algebra. Variables without a name of their own are held by a key (`keys`) that
becomes a name when the whole pattern is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NoReturn

from motif.errors import MotifError
from motif.ir.expr import Aggregate, At, Call, Column, End, Expr, Interval, Literal, Mode, Verbatim, transform, walk
from motif.ir.render import PLAIN_NAME, Renderer, double_quotes
from motif.ir.render_event import EventRenderer
from motif.lang.builder.arguments import is_whole
from motif.lang.builder.keys import shown

_TYPE = re.compile(r"[A-Za-z_][A-Za-z_0-9 ]*(\(\d+(, ?\d+)?\))?(\[\])?")


class NoSuchMethod(MotifError, AttributeError):
    """A method that values do not have."""


class Value:
    """An expression over events or rows; a condition is a value that is true or false."""

    __slots__ = ("_node",)
    _node: Expr

    def __init__(self, node: Expr) -> None:
        object.__setattr__(self, "_node", node)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise MotifError("a value can not be changed", hint="operators and methods return new ones")

    def __repr__(self) -> str:
        return f"<{_ReprRenderer('duckdb').expr(self._node)}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = f'a field of a struct is x.field("{name}"), a function is fn.{name}(x)'
        raise NoSuchMethod(f"a value has no method {name}", hint=hint)

    __hash__ = object.__hash__

    # -- operators ------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return self._compare("<>", other)

    def __lt__(self, other: object) -> Value:
        return self._compare("<", other)

    def __le__(self, other: object) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Value:
        return self._compare(">=", other)

    def _compare(self, operator: str, other: object) -> Value:
        if other is None:
            hint = "use .is_null() or .is_not_null()"
            raise MotifError("a comparison with None is never true", hint=hint)
        return self._call(operator, other)

    def __add__(self, other: object) -> Value:
        return self._call("+", other)

    def __radd__(self, other: object) -> Value:
        return value(other)._call("+", self)

    def __sub__(self, other: object) -> Value:
        return self._call("-", other)

    def __rsub__(self, other: object) -> Value:
        return value(other)._call("-", self)

    def __mul__(self, other: object) -> Value:
        return self._call("*", other)

    def __rmul__(self, other: object) -> Value:
        return value(other)._call("*", self)

    def __truediv__(self, other: object) -> Value:
        return self._call("/", other)

    def __rtruediv__(self, other: object) -> Value:
        return value(other)._call("/", self)

    def __mod__(self, other: object) -> Value:
        return self._call("%", other)

    def __rmod__(self, other: object) -> Value:
        return value(other)._call("%", self)

    def __neg__(self) -> Value:
        return self._call("neg")

    def __and__(self, other: object) -> Value:
        return self._call("and", other)

    def __rand__(self, other: object) -> Value:
        return value(other)._call("and", self)

    def __or__(self, other: object) -> Value:
        return self._call("or", other)

    def __ror__(self, other: object) -> Value:
        return value(other)._call("or", self)

    def __invert__(self) -> Value:
        return self._call("not")

    def _call(self, name: str, *others: object) -> Value:
        return Value(Call(name, (self._node, *(value(other)._node for other in others))))

    def __bool__(self) -> NoReturn:
        hint = "write & | ~ instead of and, or, not; write .between(1, 5) instead of 1 < x < 5"
        raise MotifError(f"{self!r} has no truth before there are events", hint=hint)

    def __contains__(self, other: object) -> NoReturn:
        raise MotifError("`in` can not build a condition", hint="write x.is_in([1, 2])")

    def __iter__(self) -> NoReturn:
        raise MotifError(f"{self!r} can not be looped over", hint="it is one expression, not a list of values")

    # -- predicates and functions -----------------------------------------------------------------

    def is_in(self, values: Iterable[object]) -> Value:
        """`x IN (1, 2)`."""
        items = [values] if isinstance(values, str | Value) else list(values)
        if not items:
            raise MotifError("is_in of no values is never true", hint="give at least one value")
        return self._call("in", *items)

    def between(self, low: object, high: object) -> Value:
        """`x BETWEEN low AND high`, both included."""
        return self._call("between", low, high)

    def like(self, pattern: str) -> Value:
        """`x LIKE pattern`, with % and _ as wildcards."""
        return self._call("like", pattern)

    def is_null(self) -> Value:
        """`x IS NULL`."""
        return self._call("is null")

    def is_not_null(self) -> Value:
        """`x IS NOT NULL`."""
        return self._call("is not null")

    def concat(self, other: object) -> Value:
        """`x || other`."""
        return self._call("||", other)

    def cast(self, type_name: str) -> Value:
        """`CAST(x AS type_name)`."""
        if not _TYPE.fullmatch(type_name):
            raise MotifError(f"{type_name!r} is not the name of a type", hint='write cast("DOUBLE")')
        return Value(Verbatim(("CAST(", f" AS {type_name})"), (self._node,)))

    def field(self, name: str) -> Value:
        """A field of a struct: `x.name`."""
        text = name if PLAIN_NAME.fullmatch(name) else double_quotes(name)
        return Value(Verbatim(("", f".{text}"), (self._node,)))

    # -- which rows ---------------------------------------------------------------------------------

    def first(self, offset: int = 0) -> Value:
        """Read at the first event (or row) of its variable, or at the one `offset` later."""
        arg, var = self._row_expression("first")
        return Value(At(arg, var, End.FIRST, _offset(offset)))

    def last(self, offset: int = 0) -> Value:
        """Read at the last event (or row) of its variable, or at the one `offset` earlier."""
        arg, var = self._row_expression("last")
        return Value(At(arg, var, End.LAST, _offset(offset)))

    def prev(self, steps: int = 1) -> Value:
        """Read one event of the variable (in row patterns: one row) before."""
        return self._step("prev", -_offset(steps))

    def next(self, steps: int = 1) -> Value:
        """Read one row later; in row patterns only."""
        return self._step("next", _offset(steps))

    def _step(self, name: str, shift: int) -> Value:
        if isinstance(self._node, At) and self._node.shift == 0:
            return Value(replace(self._node, shift=shift))
        arg, var = self._row_expression(name)
        return Value(At(arg, var, shift=shift))

    def sum(self) -> Value:
        """SUM over the events of its variable."""
        return self._aggregate("sum")

    def avg(self) -> Value:
        """AVG over the events of its variable."""
        return self._aggregate("avg")

    def min(self) -> Value:
        """MIN over the events of its variable."""
        return self._aggregate("min")

    def max(self) -> Value:
        """MAX over the events of its variable."""
        return self._aggregate("max")

    def count(self, *, distinct: bool = False) -> Value:
        """COUNT over the events of its variable; NULLs are not counted."""
        return self._aggregate("count", distinct)

    def array(self, *, distinct: bool = False) -> Value:
        """All values as a list: ARRAY_AGG."""
        return self._aggregate("array_agg", distinct)

    def _aggregate(self, name: str, distinct: bool = False) -> Value:
        arg, var = self._row_expression(name)
        return Value(Aggregate(name, arg, var, distinct))

    def final(self) -> Value:
        """FINAL, of a first, last or aggregate in a row pattern: over the whole match."""
        return self._with_mode(Mode.FINAL)

    def running(self) -> Value:
        """RUNNING, of a first, last or aggregate in a row pattern: up to the current row."""
        return self._with_mode(Mode.RUNNING)

    def _with_mode(self, mode: Mode) -> Value:
        if not isinstance(self._node, At | Aggregate):
            raise MotifError(f"{mode} is for first, last and aggregates", hint=f"write x.last().{mode.lower()}()")
        return Value(replace(self._node, mode=mode))

    def _row_expression(self, function: str) -> tuple[Expr, str | None]:
        """This expression with its references taken out, and the one variable they were of."""
        names: dict[str | None, None] = {}

        def bare(node: Expr) -> Expr | None:
            if isinstance(node, At) and node == At(node.arg, node.var):
                names[node.var] = None
                return node.arg
            if isinstance(node, At | Aggregate):
                hint = "combine the results outside: a.x.sum() + a.y.sum()"
                raise MotifError(f"{function}() of something that is first, last or an aggregate already", hint=hint)
            return None

        arg = transform(self._node, bare)
        if len(names) > 1:
            both = " and ".join(shown(name) if name is not None else "any row" for name in list(names)[:2])
            raise MotifError(f"{function}() reads one variable, not {both}", hint="use it once for each variable")
        if not names:
            raise MotifError(f"{function}() of a constant", hint="use it on an attribute: a.x.sum()")
        return arg, next(iter(names))

    # -- order ------------------------------------------------------------------------------------

    def desc(self, *, nulls_first: bool = False) -> Ordering:
        """For order_by: largest first."""
        return Ordering(self, True, nulls_first)

    def asc(self, *, nulls_first: bool = False) -> Ordering:
        """For order_by: smallest first."""
        return Ordering(self, False, nulls_first)


class Ordering:
    """A value and a direction, for order_by."""

    __slots__ = ("descending", "nulls_first", "value")

    def __init__(self, of: Value, descending: bool, nulls_first: bool) -> None:
        self.value = of
        self.descending = descending
        self.nulls_first = nulls_first

    def __repr__(self) -> str:
        return f"<{repr(self.value)[1:-1]} {'DESC' if self.descending else 'ASC'}>"


class _ReprRenderer(EventRenderer):
    """Variables that have no name yet are shown by what they are of."""

    __slots__ = ()

    def var(self, name: str) -> str:
        return EventRenderer.var(self, shown(name))

    def _at(self, at: At) -> str:
        return Renderer._at(self, at)


def node_of(of: Value) -> Expr:
    """The expression of a value."""
    return of._node


def value(of: Any) -> Value:
    """A constant of Python as a value; values stay as they are."""
    if isinstance(of, Value):
        return of
    if getattr(of, "shape", None) == ():
        of = of.item()  # a scalar of NumPy
    match of:
        case float() if not math.isfinite(of):
            raise MotifError(f"{of} has no literal", hint='write value("NaN").cast("DOUBLE")')
        case None | bool() | int() | float() | Decimal() | str():
            return Value(Literal(of))
        case timedelta():
            return Value(Literal(Interval(of // timedelta(microseconds=1))))
        case datetime() if of.tzinfo is None:
            return Value(Verbatim((f"TIMESTAMP '{of.isoformat(' ')}'",), ()))
        case datetime():
            return Value(Verbatim((f"TIMESTAMPTZ '{of.isoformat(' ')}'",), ()))
        case date():
            return Value(Verbatim((f"DATE '{of.isoformat()}'",), ()))
    hint = "use numbers, strings, True, False, None, dates, times and timedelta, or attributes such as a.x"
    raise MotifError(f"{type(of).__name__} {of!r} can not stand in a condition", hint=hint)


def _offset(number: int) -> int:
    if not is_whole(number):
        raise MotifError(f"an offset is a whole number from 0 on, not {number!r}", hint="write x.last(1) or x.prev(2)")
    return number


def rename(expr: Expr, names: Mapping[str, str]) -> Expr:
    """Keys of variables become names; one that is not part of the pattern is refused."""

    def visit(node: Expr) -> Expr | None:
        if isinstance(node, At | Aggregate) and node.var is not None:
            return replace(node, var=name_of(node.var, names))
        return None

    return transform(expr, visit)


def name_of(key: str, names: Mapping[str, str]) -> str:
    """The name behind a key; what is no key is a name already."""
    if key in names or not key.startswith("\0"):
        return names.get(key, key)
    hint = "use the object that stands in the pattern: seq(a := ev(...), b := ev(...)).where(a.x == b.x)"
    raise MotifError(f"a variable over {shown(key)} is named that is not part of the pattern", hint=hint)


def names_a_variable(expr: Expr) -> bool:
    """Whether anything is read from events or rows."""
    return any(isinstance(node, At | Aggregate | Column) for node in walk(expr))
