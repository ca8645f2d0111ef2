"""Items, PICK, WITHIN and CONSUMING of a query of the event language."""

from __future__ import annotations

from motif.errors import MotifError, QueryBindError, did_you_mean, perhaps
from motif.ir.event import Duration, EventCount, Item, Pick, PickMode
from motif.ir.expr import At, Column, Expr
from motif.lang.cursor import Cursor, describe
from motif.lang.lexer import Kind, Token, Tokens
from motif.lang.misspelt import meant_for
from motif.lang.scope import Place
from motif.lang.snoop.duration import at_number, read_duration
from motif.lang.snoop.expression import EventExpressionParser
from motif.lang.snoop.names import Names

_MODES = tuple(PickMode)
_PICK = "write PICK LAST a, or PICK FIRST b WITHIN 5 s FROM a"
_MOST_EVENTS = 2**31 - 1


# -- items --------------------------------------------------------------------------------------------


def read_items(tokens: Tokens, pos: int, end: int, place: Place, names: Names) -> tuple[Item, ...]:
    """The items of SELECT or RETURN between `pos` and `end`."""
    items: list[Item] = []
    while not items or pos < end:
        parser = EventExpressionParser(tokens, pos, end, place, names)
        if pos >= end or parser.at_op(","):
            hint = "is there a comma too many?" if items or pos < end else f"write {names.all[0]}.x, or SELECT *"
            parser.fail_expected(f"an item of {place.value}", hint)
        items.append(_item(parser, pos))
        pos = _behind_comma(parser, place) if parser.pos < end else end
    return tuple(items)


def _behind_comma(parser: EventExpressionParser, place: Place) -> int:
    hint = f"write AS {parser.peek().text}" if parser.peek().kind is Kind.NAME else None
    parser.expect_op(",", f"between the items of {place.value}", hint)
    if parser.pos >= parser.end:
        parser.fail_expected(f"an item of {place.value}", "is there a comma too many?")
    return parser.pos


def _item(parser: EventExpressionParser, start: int) -> Item:
    expr = parser.expression()
    parser.check_depth(expr)
    for mark in parser.agreements:
        parser.refuse_agreement(mark.span)
    if parser.accept_word("AS"):
        return Item(expr, parser.expect_name("a name after AS").value, parser.span_from(start))
    column = _plain_attribute(expr, parser.pos - start)
    if column is None and (parser.done or parser.at_op(",")):
        text = parser.text(start, parser.pos)
        hint = f"write {text if len(text) <= 40 else text[:37] + '...'} AS name"
        parser.fail("this item has no name", parser.span_from(start), hint)
    return Item(expr, column or "", parser.span_from(start))


def _plain_attribute(expr: Expr, tokens: int) -> str | None:
    """The attribute's name if the expression was written as just `a.x`."""
    if isinstance(expr, At) and isinstance(expr.arg, Column) and tokens == 3:
        return expr.arg.name
    return None


# -- PICK ---------------------------------------------------------------------------------------------


def read_picks(tokens: Tokens, pos: int, end: int, names: Names) -> tuple[tuple[Pick, ...], int]:
    """What follows PICK, and where it ends."""
    cursor = Cursor(tokens, pos, end)
    picks = [_pick(cursor, names)]
    while cursor.accept_op(","):
        picks.append(_pick(cursor, names))
    return tuple(picks), cursor.pos


def _pick(cursor: Cursor, names: Names) -> Pick:
    """`LAST a WITHIN 5 s FROM b`; brackets keep a WITHIN that could be read as that of the query."""
    start = cursor.pos
    if not cursor.accept_op("("):
        return _bare_pick(cursor, names, bracketed=False)
    pick = _bare_pick(cursor, names, bracketed=True)
    cursor.expect_op(")", "at the end of the pick", _PICK)
    return Pick(pick.mode, pick.var, pick.within, pick.origin, cursor.span_from(start))


def _bare_pick(cursor: Cursor, names: Names, bracketed: bool) -> Pick:
    start = cursor.pos
    if not cursor.at_word(*_MODES):
        hint = f"write PICK LAST {describe(cursor.peek())}" if names.find(cursor.peek().value) else None
        hint = hint or perhaps(cursor.peek().text, _MODES) or _PICK
        cursor.fail_expected("FIRST, LAST, EACH or ALL in PICK", hint)
    mode = PickMode(cursor.next().text.upper())
    var = variable(cursor, cursor.expect_name(f"a variable after {mode}", _PICK), names)
    if not (cursor.at_word("WITHIN") and (bracketed or _belongs_to_pick(cursor))):
        return Pick(mode, var, span=cursor.span_from(start))
    cursor.next()
    within = read_duration(cursor, "WITHIN")
    origin = None
    if cursor.accept_word("FROM"):
        origin = variable(cursor, cursor.expect_name("a variable after FROM", _PICK), names)
    return Pick(mode, var, within, origin, cursor.span_from(start))


def _belongs_to_pick(cursor: Cursor) -> bool:
    """`PICK LAST a WITHIN 5 s`: the query's own WITHIN, unless FROM, another pick or another WITHIN follows."""
    ahead = Cursor(cursor.tokens, cursor.pos + 1, cursor.end)
    try:
        read_duration(ahead, "WITHIN")
    except MotifError:
        return False
    return ahead.at_word("FROM", "WITHIN") or ahead.at_op(",")


def variable(cursor: Cursor, token: Token, names: Names) -> str:
    """The variable that is named here."""
    name = names.find(token.value)
    if name is None:
        hint = did_you_mean(token.value, names.bound)
        cursor.fail(f"{describe(token)} is not a variable of the pattern", token.span, hint, QueryBindError)
    return name


# -- WITHIN, CONSUMING ----------------------------------------------------------------------------------


def read_within(tokens: Tokens, pos: int, end: int) -> tuple[Duration | EventCount, int]:
    """What follows WITHIN, and where it ends."""
    cursor = Cursor(tokens, pos, end)
    sign = 1 if cursor.at_op("-") else 0
    if at_number(cursor) or sign:
        token, unit = cursor.peek(sign), cursor.peek(sign + 1)
        if unit.is_word("EVENTS", "EVENT", "ROWS"):
            count = _event_count(cursor, token, unit, negative=bool(sign))
            cursor.pos += 2
            return EventCount(count, cursor.span_from(pos)), cursor.pos
    microseconds = read_duration(cursor, "WITHIN")
    return Duration(microseconds, cursor.span_from(pos)), cursor.pos


def _event_count(cursor: Cursor, token: Token, unit: Token, negative: bool) -> int:
    span = cursor.peek().span.to(unit.span)
    if unit.is_word("ROWS"):
        cursor.fail("WITHIN counts EVENTS, not ROWS", unit.span, f"write WITHIN {token.text} EVENTS")
    whole = token.value.isascii() and token.value.isdecimal()
    if negative or not whole or not token.value.strip("0"):
        cursor.fail("WITHIN n EVENTS needs a whole number from 1 on", span, "write WITHIN 10 EVENTS")
    digits = token.value.lstrip("0")
    if len(digits) > 10 or int(digits) > _MOST_EVENTS:
        cursor.fail("WITHIN n EVENTS can not be that many", span, f"at most {_MOST_EVENTS:,}; or leave WITHIN out")
    return int(digits)


def read_consuming(tokens: Tokens, pos: int, end: int, names: Names) -> tuple[tuple[str, ...], int]:
    """What follows CONSUMING: the variables whose events are used up, and where it ends."""
    cursor = Cursor(tokens, pos, end)
    alone = not cursor.peek(1).is_op(",")
    if cursor.at_word("ALL", "NONE") and alone and cursor.peek().value not in names.all:
        word = cursor.next()
        return (names.bound if word.is_word("ALL") else ()), cursor.pos
    consumed = [_consumed(cursor, names)]
    while cursor.accept_op(","):
        consumed.append(_consumed(cursor, names))
    return tuple(dict.fromkeys(consumed)), cursor.pos


def _consumed(cursor: Cursor, names: Names) -> str:
    token = cursor.expect_name("a variable, ALL or NONE after CONSUMING", "write CONSUMING a, b")
    if names.find(token.value) is None and (meant := meant_for(token, ("ALL", "NONE"))):
        cursor.fail(f"{describe(token)} is not a variable of the pattern", token.span, f"did you mean {meant[0]}?")
    name = variable(cursor, token, names)
    if name in names.negated:
        message = f"{describe(token)} is a variable of NOT: there is no event to consume"
        cursor.fail(message, token.span, did_you_mean("", names.bound), QueryBindError)
    return name
