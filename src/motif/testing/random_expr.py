"""Random scalar expressions of DEFINE and MEASURES, as text, typed by construction."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Types of expressions; only equal kinds are compared with each other."""

    INT = "int"
    FLOAT = "float"
    DECIMAL = "decimal"
    TEXT = "text"
    TIMESTAMP = "timestamp"
    DATE = "date"


HOST_FUNCTIONS = 0.03
"""How many of the conditions of DEFINE only the host can decide."""
KIND_WEIGHTS = {Kind.INT: 8, Kind.FLOAT: 3, Kind.DECIMAL: 3, Kind.TEXT: 4, Kind.TIMESTAMP: 1, Kind.DATE: 1}
COLUMN_OF = {
    Kind.INT: "v",
    Kind.FLOAT: "w",
    Kind.DECIMAL: "d",
    Kind.TEXT: "c",
    Kind.TIMESTAMP: "ts",
    Kind.DATE: "day",
}
FORMS = {
    Kind.INT: (
        "({x} + {y})",
        "({x} - {y})",
        "({x} % 3)",
        "ABS({x})",
        "(2 * {x})",
        "(- {x})",
        "SIGN({x})",
        "FLOOR({x} / 2)",
        "CEIL({x} / 2)",
        "ROUND({x} / 2)",
    ),
    Kind.FLOAT: ("({x} + {y})", "({x} - {y})", "({x} / 4)", "ABS({x})", "CAST({x} AS DOUBLE)"),
    Kind.DECIMAL: ("({x} + {y})", "({x} - {y})", "LEAST({x}, {y})"),
    Kind.TEXT: ("({x} || {y})", "UPPER({x})", "LOWER({x})"),
    Kind.TIMESTAMP: ("({x} + INTERVAL '1' MINUTE)", "({x} - INTERVAL '30' SECOND)"),
    Kind.DATE: ("LEAST({x}, {y})",),
}
FORMS_OF_ALL = (
    "COALESCE({x}, {y})",
    "NULLIF({x}, {y})",
    "GREATEST({x}, {y})",
    "CASE WHEN {x} IS NULL THEN {y} ELSE {z} END",
)
EASY_CONDITIONS = (
    "{q}v >= {small}",
    "{q}v <= {large}",
    "{q}c IN ('a', 'b', 'c')",
    "{q}c <> 'd'",
    "{q}c = 'a' OR {q}c = 'b'",
    "NOT {q}c = 'd'",
    "{q}w >= 0.25",
    "{q}d < 7.25",
    "{q}b IS NOT FALSE",
    "{q}b OR {q}v > 1",
    "{q}v BETWEEN 1 AND 5",
    "{q}v IS NOT NULL",
    "{q}c LIKE 'a%' OR {q}v % 2 = 0",
    "COALESCE({q}v, 3) > 1",
    "CASE WHEN {q}v > 4 THEN {q}b ELSE TRUE END",
    "{q}day IS NOT NULL",
    "LENGTH({q}c) = 1",
    "PREV({q}v) IS NULL OR {q}v >= PREV({q}v)",
    "NEXT({q}c) IS NULL OR {q}c <= NEXT({q}c)",
    "COALESCE({q}w <> PREV({q}w, 2), TRUE)",
)
"""True for most rows; `{q}` is nothing or a variable's prefix."""


_NUMBERS, _TEXTS = "(VALUES (1), (4), (NULL)) AS s(x)", "(VALUES ('a'), ('c'), (NULL)) AS s(x)"
SUB_QUERIES: dict[str, list[tuple[object, ...]]] = {
    f"SELECT max(x) FROM {_NUMBERS}": [(4,)],
    f"SELECT count(x) FROM {_NUMBERS}": [(2,)],
    f"SELECT x FROM {_NUMBERS} WHERE x > 9": [],
    f"SELECT x FROM {_NUMBERS}": [(1,), (4,), (None,)],
    f"SELECT x FROM {_NUMBERS} WHERE x > 0": [(1,), (4,)],
    f"SELECT min(x) FROM {_TEXTS}": [("a",)],
    f"SELECT x FROM {_TEXTS} WHERE x > 'x'": [],
    f"SELECT x FROM {_TEXTS}": [("a",), ("c",), (None,)],
    f"SELECT x FROM {_TEXTS} WHERE x <> ''": [("a",), ("c",)],
}
"""Sub-queries, and what each gives."""


@dataclass(frozen=True)
class ExprWriter:
    """Writes expressions over the given variables; `define` is the variable being defined, None in MEASURES."""

    rng: random.Random
    names: Sequence[str]
    """Primary variables and subsets."""
    labels: Sequence[str]
    """Primary variables: what CLASSIFIER() can be."""
    define: str | None = None
    with_queries: bool = False
    """Whether sub-queries may be drawn: they belong to statements."""

    # --- conditions ---

    def definition(self) -> str:
        """A condition for DEFINE that holds often enough."""
        chance = self.rng.random()
        if chance < 0.45:
            return self.easy_condition()
        if chance < 0.7:
            return f"COALESCE({self.condition(2)}, TRUE)"
        if chance < 0.88:
            return f"{self.condition(1)} OR {self.easy_condition()}"
        return self.condition(2)

    def easy_condition(self) -> str:
        """A condition on the candidate row alone."""
        prefix = self.rng.choice(("", "", f"{self.define}." if self.define else ""))
        template = self.rng.choice(EASY_CONDITIONS)
        return f"({template.format(q=prefix, small=self.rng.choice((0, 1, 2)), large=self.rng.choice((4, 5, 6)))})"

    def condition(self, depth: int) -> str:
        """Any condition, in parentheses where that may matter."""
        if depth == 0 or self.rng.random() < 0.45:
            return self._predicate()
        left, right = self.condition(depth - 1), self.condition(depth - 1)
        form = self.rng.choice(
            (
                f"({left} AND {right})",
                f"({left} OR {right})",
                f"({left} OR {right})",
                f"NOT ({left})",
                f"COALESCE({left}, TRUE)",
                f"CASE WHEN {left} THEN TRUE ELSE {right} END",
                f"(({left}) IS TRUE)",
                f"(({left}) IS NOT NULL)",
            )
        )
        return str(form)

    def _predicate(self) -> str:
        kind = self._kind()
        value = self.value(kind, 1)
        chance = self.rng.random()
        if chance < 0.12:
            return f"({value} IS {self.rng.choice(('', 'NOT '))}NULL)"
        if chance < 0.2:
            low, high = self.value(kind, 0), self.value(kind, 0)
            return f"({value} {self.rng.choice(('', 'NOT '))}BETWEEN {low} AND {high})"
        if chance < 0.28 and kind in (Kind.INT, Kind.TEXT):
            return f"({value} {self.rng.choice(('', 'NOT '))}IN ({self._list(kind)}))"
        if chance < 0.36:
            return self.rng.choice(self._special_predicates())
        if chance < 0.46:
            return self._short_form(kind, value)
        if chance < 0.46 + HOST_FUNCTIONS and self.define:
            return self._host_function()
        if self.with_queries and chance < 0.64:
            return self._sub_query(self.rng.choice((Kind.INT, Kind.TEXT)))
        operator = self.rng.choice(("=", "<>", "<", "<=", "<=", ">", ">=", ">=", "IS NOT DISTINCT FROM"))
        return f"({value} {operator} {self.value(kind, 1)})"

    def _short_form(self, kind: Kind, value: str) -> str:
        """What is spelled out when it is read: rows of values, ANY, ALL, SYMMETRIC."""
        operator = self.rng.choice(("=", "<>", "<", "<=", ">", ">="))
        other = self._kind()
        left, right = (f"({self.value(kind, 0)}, {self.value(other, 0)})" for _ in range(2))
        quantifier, negation = self.rng.choice(("ANY", "ALL")), self.rng.choice(("", "NOT "))
        forms = [
            f"({left} {operator} {right})",
            f"({left} {negation}IN ({right}, {left}))",
            f"({value} {operator} {quantifier} ({self.value(kind, 0)}, {self._literal(kind)}))",
            f"({value} {negation}BETWEEN SYMMETRIC {self.value(kind, 0)} AND {self._literal(kind)})",
        ]
        if kind is Kind.TEXT:
            name = self._prefix(self._variable()) + COLUMN_OF[kind]
            forms.append(f"({name} {negation}LIKE {quantifier} ('a%', '%b'))")
        return self.rng.choice(forms)

    def _host_function(self) -> str:
        """A condition of DEFINE that only the host can decide, over values of different rows."""
        one, other = (self._prefix(self._variable()) for _ in range(2))
        forms = (
            f"({one}c || {other}c <> 'ab')",
            f"(UPPER({one}c || LAST({other}c, 1)) >= 'B')",
            f"({one}c LIKE {other}c || '%')",
            f"(LENGTH({one}c || FIRST({other}c)) = 2)",
            f"(ROUND(({one}v + {other}v) / 2) <= 3)",
            f"(SIGN({one}v - {other}v) <= 0)",
            f"(FLOOR(SUM({one}v) / COUNT(*)) < 4)",
            f"(ROUND(AVG({other}v)) >= SIGN({one}v))",
            f"(LOWER(CLASSIFIER() || {other}c) <> 'ab')",
            f"(ROUND({one}v / MATCH_NUMBER()) <= 4 AND {other}v IS NOT NULL)",
        )
        return self.rng.choice(forms)

    def _sub_query(self, kind: Kind) -> str:
        """A condition with a query that reads nothing of the match."""
        of_kind = [text for text in SUB_QUERIES if (_TEXTS in text) == (kind is Kind.TEXT)]
        value, others = of_kind[0], of_kind[1:]
        operator = self.rng.choice(("=", "<>", "<", "<=", ">", ">="))
        negation, query = self.rng.choice(("", "NOT ")), self.rng.choice(others)
        variable = self._prefix(self._variable())
        row = self.rng.choice(
            (variable + COLUMN_OF[kind], self._row_expression(kind, variable), self._navigation(kind))
        )
        quantifier = self.rng.choice(("ANY", "ALL"))
        forms = [
            f"({self.value(kind, 1)} {operator} ({value}))",
            f"(COALESCE(({others[0] if kind is Kind.INT else value}), {self._literal(kind)}) {operator} {row})",
            f"({negation}EXISTS ({query}))",
            f"({row} {negation}IN ({query}))",
            f"({row} {negation}IN ({query}))",
            f"(({row} {negation}IN ({query})) IS NULL)",
            f"({row} {operator} {quantifier} ({query}))",
        ]
        return self.rng.choice(forms)

    def _special_predicates(self) -> tuple[str, ...]:
        label = self.rng.choice(self.labels)
        prefix = self._prefix(self._variable())
        return (
            f"({prefix}b)",
            f"({prefix}b IS NOT TRUE)",
            f"(CLASSIFIER() = '{label}')",
            f"(PREV(CLASSIFIER()) IS NULL OR PREV(CLASSIFIER()) = '{label}')",
            "(NEXT(CLASSIFIER()) IS NULL)",
            f"(CLASSIFIER({self.rng.choice(self.names)}) <> '{label}')",
            "(MATCH_NUMBER() % 2 = 1)",
            "(MATCH_NUMBER() <= 2)",
            f"({prefix}c LIKE '{self.rng.choice(('a%', '_', '%b%'))}')",
            f"(COUNT(*) <= {self.rng.randint(2, 4)})",
            f"(MAX(CLASSIFIER()) >= '{label}')",
            f"(MIN(CLASSIFIER({self.rng.choice(self.names)})) = '{label}')",
            f"(COUNT(CLASSIFIER()) <= {self.rng.randint(2, 4)})",
            f"(COUNT({self.rng.choice(self.names)}.*) < {self.rng.randint(2, 4)})",
            f"(SUM({prefix}v) <= {self.rng.randint(5, 12)})",
            "(ts - FIRST(ts) <= INTERVAL '5' MINUTE)",
            "(day - FIRST(day) <= 3)",
        )

    def _list(self, kind: Kind) -> str:
        items = [self._literal(kind) for _ in range(self.rng.randint(1, 4))]
        if self.rng.random() < 0.1:
            items.append("NULL")
        return ", ".join(items)

    # --- values ---

    def measure(self) -> str:
        """An expression for MEASURES."""
        chance = self.rng.random()
        if chance < 0.07:
            return "MATCH_NUMBER()"
        if chance < 0.14:
            return self.rng.choice(("CLASSIFIER()", f"CLASSIFIER({self.rng.choice(self.names)})"))
        if chance < 0.2:
            return self.rng.choice(self._label_measures())
        if chance < 0.28:
            return self._array()
        return self.value(self._kind(), 2)

    def _label_measures(self) -> tuple[str, ...]:
        return (
            "PREV(CLASSIFIER())",
            "NEXT(CLASSIFIER())",
            "FIRST(CLASSIFIER(), 1)",
            "FINAL LAST(CLASSIFIER())",
            f"FIRST(CLASSIFIER({self.rng.choice(self.names)}))",
        )

    def _array(self) -> str:
        variable = self._variable()
        argument = self.rng.choice(
            (*(self._prefix(variable) + name for name in ("v", "c", "w")), self._classifier(variable))
        )
        return f"{self._mode()}ARRAY_AGG({self.rng.choice(('', '', 'DISTINCT '))}{argument})"

    def value(self, kind: Kind, depth: int) -> str:
        """An expression of the kind."""
        chance = self.rng.random()
        if chance < 0.13:
            return self._literal(kind)
        if chance < 0.3:
            return self._prefix(self._variable()) + COLUMN_OF[kind]
        if chance < 0.52 or depth == 0:
            return self._navigation(kind)
        if chance < 0.8 and kind in (Kind.INT, Kind.FLOAT, Kind.DECIMAL):
            return self._aggregate(kind)
        return self._combined(kind, self.value(kind, depth - 1), lambda: self.value(kind, depth - 1))

    def _literal(self, kind: Kind) -> str:
        """A constant, sometimes one that has to be worked out."""
        plain = self._plain_literal(kind)
        if self.rng.random() < 0.75:
            return plain
        forms = [form for form in (*FORMS[kind], *FORMS_OF_ALL) if "/" not in form and "INTERVAL" not in form]
        return self.rng.choice(forms).format(x=plain, y=self._plain_literal(kind), z=plain)

    def _plain_literal(self, kind: Kind) -> str:
        match kind:
            case Kind.INT:
                return str(self.rng.randint(0, 6))
            case Kind.FLOAT:
                return f"{self.rng.randint(0, 16) * 0.25}e0"
            case Kind.DECIMAL:
                return f"{self.rng.randint(0, 16) * 0.25:.2f}"
            case Kind.TEXT:
                return f"'{self.rng.choice('abcd')}'"
            case Kind.TIMESTAMP:
                return f"TIMESTAMP '2024-01-01 00:0{self.rng.randint(0, 4)}:30'"
            case Kind.DATE:
                return f"DATE '2024-03-0{self.rng.randint(1, 4)}'"

    def _navigation(self, kind: Kind) -> str:
        variable = self._variable()
        row = self._row_expression(kind, self._prefix(variable))
        offset = self.rng.choice(("", "", ", 0", ", 1", ", 2"))
        edge = f"{self.rng.choice(('FIRST', 'LAST'))}({row}{offset})"
        step = self.rng.choice(("PREV", "PREV", "NEXT"))
        steps = self.rng.choice(("", "", "", ", 0", ", 1", ", 2", ", 3"))
        return self.rng.choice((self._mode() + edge, f"{step}({row}{steps})", f"{step}({self._mode()}{edge}{steps})"))

    def _aggregate(self, kind: Kind) -> str:
        variable = self._variable()
        prefix = self._prefix(variable)
        distinct = "DISTINCT " if self.rng.random() < 0.2 else ""
        argument = distinct + self._row_expression(kind, prefix)
        forms = [f"{self.rng.choice(('SUM', 'MIN', 'MAX'))}({argument})"]
        if kind is Kind.INT:
            counted = self.rng.choice("vwcbd")
            forms += [f"COUNT({prefix or ''}*)", "COUNT(*)", f"COUNT({distinct}{prefix}{counted})"]
        if kind is Kind.FLOAT:
            forms += [f"AVG({distinct}{prefix}{self.rng.choice('vwd')})"]
        return self._mode() + self.rng.choice(forms)

    def _row_expression(self, kind: Kind, prefix: str) -> str:
        """Speaks of one row: all its columns have the same prefix, and there is at least one."""
        column = prefix + COLUMN_OF[kind]
        if self.rng.random() < 0.8:
            return column
        return self._combined(kind, column, lambda: self.rng.choice((column, self._literal(kind))))

    def _combined(self, kind: Kind, first: str, other: Callable[[], str]) -> str:
        """An operator or function over `first` and other expressions of the kind."""
        own = [form.format(x=first, y=other(), z=other()) for form in FORMS[kind]]
        shared = [form.format(x=first, y=other(), z=other()) for form in FORMS_OF_ALL]
        return self.rng.choice(own * 2 + shared)

    # --- names ---

    def _kind(self) -> Kind:
        return self.rng.choices(list(KIND_WEIGHTS), list(KIND_WEIGHTS.values()))[0]

    def _variable(self) -> str | None:
        return None if self.rng.random() < 0.4 else self.rng.choice(self.names)

    @staticmethod
    def _prefix(variable: str | None) -> str:
        return "" if variable is None else f"{variable}."

    @staticmethod
    def _classifier(variable: str | None) -> str:
        return f"CLASSIFIER({variable or ''})"

    def _mode(self) -> str:
        """RUNNING or FINAL; DEFINE only runs."""
        modes = ("", "", "", "RUNNING ") if self.define else ("", "", "RUNNING ", "FINAL ")
        return self.rng.choice(modes)
