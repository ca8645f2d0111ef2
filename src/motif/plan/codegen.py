"""Match-dependent conditions -> code of the conditions; `markers` puts it into the matching loop.

Names in the text are counters and literals are read from arrays, so nothing of a query's text gets in, and
queries of the same shape give the same text. Truth is generated twice, as `true` and as `false` of an
expression: with NULLs these are not each other's opposite.

Names: c3/z3 values and NULL flags of host column 3, p0/n0 positions and count of tracked set 0, t0/u0 running
totals and counts of fold 0, y0 the rows where values were before, ki/kf integer and float literals, lc codes of labels.
"""

from __future__ import annotations

from dataclasses import dataclass

from motif.ir.expr import COMPARISONS, End
from motif.ir.types import Kind
from motif.plan.scalar import DAY, Ask, Base, Const, Fold, LabelAt, Lane, Op, Place, Read, Scalar, Trying, lane, scale

MOST_NESTED = 32
"""Parts of a CASE from which its branches are written one after the other, not in each other."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What the generated statements read, in the order of the `env` argument."""

    ints: tuple[Const, ...] = ()
    floats: tuple[float, ...] = ()
    sets: tuple[tuple[str, ...], ...] = ()
    folds: tuple[Fold, ...] = ()
    columns: tuple[int, ...] = ()
    links: tuple[int, ...] = ()
    """Columns of which it is read where a value was before."""
    asks: int = 0
    """How many conditions the host is asked for."""
    signature: int = 0
    """How many integers tell apart the histories that conditions can tell apart; 0 if too many."""


@dataclass(frozen=True, slots=True)
class Value:
    """Code of a value, and of whether it is NULL."""

    code: str
    null: str


class Generator:
    """Code of conditions; collects what it reads on the way."""

    def __init__(self, members: tuple[str, ...]) -> None:
        self.everything = members
        self.ints: list[Const] = []
        self.floats: list[float] = []
        self.sets: list[tuple[str, ...]] = []
        self.folds: list[Fold] = []
        self.columns: list[int] = []
        self.links: list[int] = []
        self.asks = 0
        self.lines: list[str] = []
        self.reads: dict[Scalar, Value] = {}

    # -- things read from env, numbered by first use

    def set_number(self, members: tuple[str, ...]) -> int:
        if members not in self.sets:
            self.sets.append(members)
        return self.sets.index(members)

    def fold_number(self, fold: Fold) -> int:
        if fold not in self.folds:
            self.folds.append(fold)
            if fold.column is not None:
                self.column(fold.column)
                if fold.distinct and fold.column not in self.links:
                    self.links.append(fold.column)
        return self.folds.index(fold)

    def column(self, number: int) -> int:
        if number not in self.columns:
            self.columns.append(number)
        return self.columns.index(number)

    def constant(self, node: Const) -> str:
        if lane(node.type) is Lane.FLOAT:
            self.floats.append(float(node.value))  # type: ignore[arg-type]
            return f"kf[{len(self.floats) - 1}]"
        self.ints.append(node)
        return f"ki[{len(self.ints) - 1}]"

    def environment(self) -> Environment:
        return Environment(
            tuple(self.ints),
            tuple(self.floats),
            tuple(self.sets),
            tuple(self.folds),
            tuple(self.columns),
            tuple(self.links),
            asks=self.asks,
        )

    # -- one condition

    def condition(self, parts: tuple[Scalar, ...]) -> list[str]:
        """Statements that set `ok`; the host is asked last, and only where all else holds."""
        self.lines, self.reads = [], {}
        tests = [self.true(part) for part in parts if not isinstance(part, Ask)]
        lines = [*self.lines, f"ok = {' and '.join(tests) or 'True'}"]
        for part in parts:
            if isinstance(part, Ask):
                lines += ["if ok:", *(f"    {line}" for line in self.asked(part))]
        return lines

    def asked(self, node: Ask) -> list[str]:
        """Statements that set `ok` to what the host says."""
        self.lines, self.reads, self.asks = [], {}, max(self.asks, node.number + 1)
        question = ["start"]
        for arg in node.args:
            if isinstance(arg, Read):
                question.append(self.position(arg.place))
            else:
                value = self.value(arg)
                question += [value.code, value.null]
        return [*self.lines, f"ok = ask[{node.number}]({', '.join(question)}) == 1"]

    def position(self, place: Place) -> str:
        """The row at a place, mostly in a local; -1 where there is none."""
        if place.base is Base.ROW and not place.shift:
            return "row"
        name = f"q{len(self.lines)}"
        match place.base:
            case Base.ROW:
                code = "row"
            case Base.MATCH if place.end is End.FIRST:
                code = f"start + {place.index} if start + {place.index} <= row else -1"
            case Base.MATCH:
                code = f"row - {place.index} if row - {place.index} >= start else -1"
            case _:
                k = self.set_number(place.members)
                index = f"{place.index}" if place.end is End.FIRST else f"n{k} - {place.index + 1}"
                code = f"p{k}[{index}] if n{k} > {place.index} else -1"
        self.lines.append(f"{name} = {code}")
        if place.shift:
            self.lines.append(f"if {name} >= 0:")
            self.lines.append(f"    {name} += {place.shift}")
            self.lines.append(f"    if {name} < low or {name} >= high:")
            self.lines.append(f"        {name} = -1")
        return name

    def read(self, node: Read) -> Value:
        if node not in self.reads:
            at = self.position(node.place)
            column = self.column(node.column)
            number = len(self.lines)
            self.reads[node] = Value(f"v{number}", f"e{number}")
            found = [f"e{number} = z{column}[{at}] != 0", f"v{number} = c{column}[{at}]"]
            if at == "row":
                self.lines += found
                return self.reads[node]
            zero = "0.0" if lane(node.type) is Lane.FLOAT else "0"
            given = node.absent is not None and node.absent.value is not None
            absent = self.constant(node.absent) if given and node.absent is not None else zero
            self.lines += [f"v{number} = {absent}", f"e{number} = {not given}", f"if {at} >= 0:"]
            self.lines += ["    " + line for line in found]
        return self.reads[node]

    def label(self, node: LabelAt) -> Value:
        if node not in self.reads:
            at = self.position(node.place)
            number = len(self.lines)
            self.lines.append(f"e{number} = {at} < start or {at} > row")
            self.lines.append(f"v{number} = 0 if e{number} else lc[labels[written + {at} - start]]")
            self.reads[node] = Value(f"v{number}", f"e{number}")
        return self.reads[node]

    def fold(self, node: Fold) -> Value:
        if node.column is None:
            if node.members == self.everything:
                return Value("(row - start + 1)", "False")
            return Value(f"n{self.set_number(node.members)}", "False")
        j = self.fold_number(node)
        count = "row - start + 1" if node.members == self.everything else f"n{self.set_number(node.members)}"
        match node.name:
            case "count":
                return Value(f"u{j}[{count}]", "False")
            case _:
                return Value(f"t{j}[{count}]", f"(u{j}[{count}] == 0)")

    # -- values

    def value(self, node: Scalar) -> Value:
        match node:
            case Read():
                return self.read(node)
            case Const(value=None):
                return Value("0.0" if lane(node.type) is Lane.FLOAT else "0", "True")
            case Const():
                return Value(self.constant(node), "False")
            case Fold():
                return self.fold(node)
            case LabelAt():
                return self.label(node)
            case Trying():
                return Value("trying", "False")
            case Op():
                return self.operator(node)
            case Ask():
                raise AssertionError("the host is asked for whole conditions")

    def operator(self, node: Op) -> Value:
        if node.name == "case":
            return self.case(node)
        if node.type.kind is Kind.BOOLEAN and node.name not in ("coalesce", "nullif", "greatest", "least"):
            true, false = self.true(node), self.false(node)
            return Value(f"(1 if {true} else 0)", f"(not {true} and not {false})")
        values = [self.value(arg) for arg in node.args]
        if node.name in ("coalesce", "greatest", "least"):
            return self.pick(node, values)
        if node.name == "nullif":
            value, other = map(self.named, values)
            same = self.same(value.code, other.code, lane(node.type))
            return Value(value.code, f"({value.null} or (not {other.null} and {same}))")
        if node.name in ("/", "%"):
            return self.quotient(node, *map(self.named, values))
        return Value(self.arithmetic(node, [v.code for v in values]), _any([v.null for v in values]))

    def quotient(self, node: Op, dividend: Value, divisor: Value) -> Value:
        """NULL where the divisor is zero."""
        is_float = lane(node.type) is Lane.FLOAT
        zero = "0.0" if is_float else "0"
        if node.name == "/":
            code = f"{dividend.code} / {divisor.code}"
        else:
            code = f"{'frem' if is_float else 'rem'}({dividend.code}, {divisor.code})"
        null = _any([dividend.null, divisor.null, f"{divisor.code} == {zero}"])
        return Value(f"({code} if {divisor.code} != {zero} else {zero})", null)

    def arithmetic(self, node: Op, codes: list[str]) -> str:
        is_float = lane(node.type) is Lane.FLOAT
        match node.name:
            case "+" | "-" if not is_float:
                return f"{'add' if node.name == '+' else 'sub'}({codes[0]}, {codes[1]})"
            case "*" if not is_float:
                return f"mul({codes[0]}, {codes[1]})"
            case "+" | "-" | "*":
                return f"({codes[0]} {node.name} {codes[1]})"
            case "neg":
                return f"(-{codes[0]})" if is_float else f"sub(0, {codes[0]})"
            case "abs":
                return f"abs({codes[0]})"
            case "to_float":
                return f"({codes[0]} / {10 ** scale(node.args[0].type)}.0)"
            case "rescale":
                return f"mul({codes[0]}, {10 ** (scale(node.type) - scale(node.args[0].type))})"
            case "days_to_us":
                return f"mul({codes[0]}, {DAY})"
            case _:
                raise AssertionError(node.name)

    def case(self, node: Op) -> Value:
        if len(node.args) > MOST_NESTED:
            return self.long_case(node)
        last = self.value(node.args[-1])
        code, null = last.code, last.null
        for position in range(len(node.args) - 3, -1, -2):
            test, result = self.true(node.args[position]), self.value(node.args[position + 1])
            code = f"({result.code} if {test} else {code})"
            null = f"({result.null} if {test} else {null})"
        return Value(code, null)

    def long_case(self, node: Op) -> Value:
        """The same one after the other: Python reads no more than 200 brackets in each other."""
        *pairs, last = node.args
        tests = [self.true(test) for test in pairs[::2]]
        results = [self.value(result) for result in pairs[1::2]]
        default = self.value(last)
        n = len(self.lines)
        zero = "0.0" if lane(node.type) is Lane.FLOAT else "0"
        self.lines += [f"v{n} = {zero}", f"e{n} = True", f"w{n} = True"]
        for test, result in zip([*tests, "True"], [*results, default], strict=True):
            self.lines += [f"if w{n} and {test}:", f"    w{n} = False", f"    v{n} = {result.code}"]
            self.lines += [f"    e{n} = {result.null}"]
        return Value(f"v{n}", f"e{n}")

    def pick(self, node: Op, values: list[Value]) -> Value:
        """COALESCE takes the first that is not NULL, GREATEST and LEAST ignore NULLs."""
        values = [self.named(value) for value in values]
        best = values[-1]
        for value in reversed(values[:-1]):
            if node.name == "coalesce":
                code = f"({best.code} if {value.null} else {value.code})"
            else:
                first, second = (best.code, value.code) if node.name == "greatest" else (value.code, best.code)
                smaller = self.less(first, second, lane(node.type))
                chosen = f"({value.code} if {smaller} else {best.code})"
                code = f"({best.code} if {value.null} else ({value.code} if {best.null} else {chosen}))"
            best = self.named(Value(code, f"({value.null} and {best.null})"))
        return best

    def named(self, value: Value) -> Value:
        """The value in locals, so that code which needs it several times does not grow."""
        if value.code.isidentifier():
            return value
        number = len(self.lines)
        self.lines += [f"v{number} = {value.code}", f"e{number} = {value.null}"]
        return Value(f"v{number}", f"e{number}")

    # -- truth

    def less(self, left: str, right: str, kind: Lane) -> str:
        return f"below({left}, {right})" if kind is Lane.FLOAT else f"({left} < {right})"

    def same(self, left: str, right: str, kind: Lane) -> str:
        return f"alike({left}, {right})" if kind is Lane.FLOAT else f"({left} == {right})"

    def true(self, node: Scalar) -> str:
        """Code that is true where the expression is TRUE (not NULL)."""
        return self.truth(node, wanted=True)

    def false(self, node: Scalar) -> str:
        """Code that is true where the expression is FALSE (not NULL)."""
        return self.truth(node, wanted=False)

    def truth(self, node: Scalar, wanted: bool) -> str:
        if isinstance(node, Op):
            args = node.args
            match node.name:
                case "and" | "or":
                    word = " and " if (node.name == "and") == wanted else " or "
                    return f"({word.join(self.truth(arg, wanted) for arg in args)})"
                case "not":
                    return self.truth(args[0], not wanted)
                case "is true" | "is false":
                    test = self.truth(args[0], node.name == "is true")
                    return test if wanted else f"(not {test})"
                case "is null" | "is not null":
                    null = self.value(args[0]).null
                    return f"({null})" if (node.name == "is null") == wanted else f"(not {null})"
                case "is distinct from" | "is not distinct from":
                    return self.distinct(node, (node.name == "is distinct from") == wanted)
                case name if name in COMPARISONS:
                    return self.comparison(node, wanted)
        value = self.value(node)
        return f"(not {value.null} and {value.code} {'!=' if wanted else '=='} 0)"

    def comparison(self, node: Op, wanted: bool) -> str:
        left, right = self.value(node.args[0]), self.value(node.args[1])
        kind = lane(node.args[0].type) if node.args[0].type.kind is not Kind.NULL else lane(node.args[1].type)
        match node.name:
            case "=" | "<>":
                test, positive = self.same(left.code, right.code, kind), node.name == "="
            case "<" | ">=":
                test, positive = self.less(left.code, right.code, kind), node.name == "<"
            case _:
                test, positive = self.less(right.code, left.code, kind), node.name == ">"
        outcome = test if positive == wanted else f"not {test}"
        present = [f"not {null}" for null in (left.null, right.null) if null != "False"]
        return f"({' and '.join([*present, outcome])})"

    def distinct(self, node: Op, wanted: bool) -> str:
        left, right = self.value(node.args[0]), self.value(node.args[1])
        same = self.same(left.code, right.code, lane(node.args[0].type))
        equal = f"(({left.null} and {right.null}) or (not {left.null} and not {right.null} and {same}))"
        return f"(not {equal})" if wanted else equal


def _any(tests: list[str]) -> str:
    kept = [test for test in tests if test != "False"]
    return f"({' or '.join(kept)})" if kept else "False"
