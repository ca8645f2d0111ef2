"""WHERE: the conditions between its ANDs, and the attributes of `[a, b]`."""

from __future__ import annotations

from motif.errors import perhaps
from motif.ir.event import Attribute
from motif.ir.expr import Call, Column, Expr
from motif.lang.interval import short_unit
from motif.lang.lexer import Kind, Tokens
from motif.lang.scope import Place
from motif.lang.snoop.expression import EventExpressionParser
from motif.lang.snoop.names import Names
from motif.lang.snoop.pattern import SECTIONS


def read_conditions(
    tokens: Tokens, pos: int, end: int, names: Names
) -> tuple[tuple[Expr, ...], tuple[Attribute, ...], int]:
    """What follows WHERE: conditions, attributes all variables agree on, and where it ends."""
    lines = tokens[pos].is_word("FILTER") and not tokens[pos + 1].is_op(".")
    parser = EventExpressionParser(tokens, pos + lines, end, Place.WHERE, names, lines)
    if at_end(parser):
        parser.fail_expected("a condition after WHERE", f"write WHERE {names.all[0]}.x > 5, or leave WHERE out")
    terms = _terms(parser)
    while lines and not at_end(parser) and parser.on_new_line():
        terms += _terms(parser)
    if not at_end(parser):
        _refuse_rest(parser, lines)
    return _sorted(parser, terms)


def at_end(parser: EventExpressionParser) -> bool:
    """Whether nothing is left, or the next clause begins here."""
    return parser.done or (parser.at_word(*SECTIONS) and not parser.peek(1).is_op("."))


def conjuncts(expr: Expr) -> list[Expr]:
    """The conditions between the outermost ANDs, left to right."""
    found: list[Expr] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and node.name == "and":
            stack.extend(reversed(node.args))
        else:
            found.append(node)
    return found


def _terms(parser: EventExpressionParser) -> list[Expr]:
    expr = parser.expression()
    parser.check_depth(expr)
    return conjuncts(expr)


def _refuse_rest(parser: EventExpressionParser, lines: bool) -> None:
    if parser.at_word("DEFINE", "SELECT", "PATTERN"):
        parser.fail_between_queries()
    hint = _word_hint(parser)
    if parser.at_op(",") or parser.at_op("&&"):
        hint = "join conditions with AND"
    elif parser.previous.kind is Kind.NUMBER and (unit := short_unit(parser.peek().value)):
        hint = f"a length of time is written INTERVAL '{parser.previous.text}' {unit}"
    elif hint is None and parser.on_new_line() and not lines:
        hint = "join conditions with AND, or write WHERE FILTER to have one on each line"
    elif parser.at_op("["):
        hint = "write AND before ["
    parser.fail_expected("AND, OR, another operator, or the next clause", hint)


def _word_hint(parser: EventExpressionParser) -> str | None:
    """For a word that an operator does not make part of a condition: what it may have been meant for."""
    token, following = parser.peek(), parser.peek(1)
    order = {"GROUP": "matches are not grouped", "ORDER": "matches come in the order of their events"}
    if token.kind is not Kind.NAME or token.quoted or following.kind is Kind.OP:
        return None
    return order.get(token.text.upper()) or perhaps(token.text, SECTIONS)


def _sorted(parser: EventExpressionParser, terms: list[Expr]) -> tuple[tuple[Expr, ...], tuple[Attribute, ...], int]:
    """Conditions on the one side, `[a, b]` on the other; it may stand nowhere else than between ANDs."""
    marks = {id(mark) for mark in parser.agreements}
    alone = {id(term) for term in terms}
    for mark in parser.agreements:
        if id(mark) not in alone:
            parser.refuse_agreement(mark.span)
    same: dict[str, Attribute] = {}
    for column in (arg for mark in parser.agreements for arg in mark.args):
        assert isinstance(column, Column), "an agreement holds columns"
        same.setdefault(column.name.casefold(), Attribute(column.name, column.span))
    conditions = tuple(term for term in terms if id(term) not in marks)
    return conditions, tuple(same.values()), parser.pos
