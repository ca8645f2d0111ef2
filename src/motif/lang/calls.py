"""Calls: functions of the host, and those whose arguments are joined by words instead of commas."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from motif.errors import QueryBindError, UnsupportedQuery
from motif.ir.expr import AGGREGATES, OPERATORS, Aggregate, Call, Expr, HostAggregate, Literal, Mode, SubQuery
from motif.lang.cursor import describe
from motif.lang.interval import unit_name
from motif.lang.lexer import Kind, Token
from motif.lang.navigation import ROW_PATTERN_FUNCTIONS, NavigationParser
from motif.lang.safety import RUNS_CODE
from motif.lang.verbatim import VerbatimBuilder

RESERVED = frozenset("AND OR NOT IS IN LIKE ILIKE BETWEEN WHEN THEN ELSE END AS SELECT FROM WHERE DISTINCT".split())
"""Words that can not begin an operand; as columns they need quotes."""
_OF_CONDITIONS = {"EVERY": "min", "SOME": "max", "ANY": "max"}
"""What the standard's aggregates of conditions are: FALSE is less than TRUE."""
_KEYWORD_CALLS = {
    "position": frozenset({"IN"}),
    "substring": frozenset({"FROM", "FOR"}),
    "substr": frozenset({"FROM", "FOR"}),
    "trim": frozenset({"BOTH", "LEADING", "TRAILING", "FROM"}),
    "overlay": frozenset({"PLACING", "FROM", "FOR"}),
}
_DUCKDB_TAKES_LAMBDA = frozenset(
    """apply array_apply array_filter array_reduce array_transform filter list_apply list_filter list_reduce
    list_transform reduce""".split()
)
_NEVER_PLAIN = (OPERATORS - {"coalesce", "nullif"}) | {"row"}
"""Functions whose name as a `Call` would be taken for something else."""


def reads_nested_query(first: Token, second: Token) -> bool:
    """Whether the first two tokens in a bracket begin a query."""
    if first.is_word("SELECT", "FROM"):
        return True
    named = first.is_word("WITH", "TABLE") and second.kind is Kind.NAME
    return named or (first.is_word("VALUES") and second.is_op("("))


class CallParser(NavigationParser):
    """Reads what stands at a name with a bracket behind it."""

    above_predicates: int
    """Power at which IN and BETWEEN are not read as operators."""
    lambda_names: tuple[str, ...] = ()
    offers_queries = True
    """Whether the language has sub-queries."""

    def call(self, token: Token, word: str) -> Expr:
        """The call of `token` that stands here; `word` is its upper-case name, '' if it is quoted."""
        if word in ROW_PATTERN_FUNCTIONS or (not word and token.value.lower() in AGGREGATES):
            return self.row_function()
        if word in _OF_CONDITIONS and not self._is_quantified():
            return self._of_conditions(word)
        if word == "EXISTS" and reads_nested_query(self.peek(2), self.peek(3)):
            self.next()
            return self.sub_query(exists=True)
        self._check_callable(token, word)
        if word in ("CAST", "TRY_CAST"):
            return self._cast()
        if word == "INTERVAL" and unit_name(self.tokens[self.close_of(self.pos + 1) + 1].value):
            return self._computed_interval()
        if word == "EXTRACT" and self.peek(3).is_word("FROM"):
            return self._extract()
        if word.lower() in _KEYWORD_CALLS:
            return self._keyword_call(_KEYWORD_CALLS[word.lower()])
        return self.function()

    def _check_callable(self, token: Token, word: str) -> None:
        name = token.value.lower()
        if name in RUNS_CODE and self.tokens.dialect == "spark":
            self.fail(
                f"{name} runs code; a query can not", hint="register a function with Spark", error=UnsupportedQuery
            )
        if word in RESERVED or word == "CASE":
            self.refuse_operand(token)
        if word in ("ANY", "SOME", "ALL"):
            function = "array_contains" if self.tokens.dialect == "spark" else "list_contains"
            self.fail(f"{word} ( ) is not offered", hint=f"use IN, or {function}", error=UnsupportedQuery)

    def _is_quantified(self) -> bool:
        """`x = ANY (...)`."""
        return self.previous.kind is Kind.OP and self.previous.text in ("=", "<", ">")

    def _of_conditions(self, word: str) -> Expr:
        """`EVERY(c)` and `SOME(c)`; OR FALSE lets conditions be as they are, and nothing else."""
        start = self.pos
        node = self._aggregate(None, start)
        if isinstance(node, Aggregate) and node.arg is not None:
            condition = Call("or", (node.arg, Literal(False)), node.arg.span)
            return replace(node, name=_OF_CONDITIONS[word], arg=condition)
        self.fail(f"{word} takes one condition", self.span_from(start), f"write {word}(A.x > 0)")

    def function_path(self) -> int:
        """Tokens of `catalog.schema.f` before a bracket, 0 if that is not what stands here."""
        length = 1
        while self.peek(length).is_op(".") and self.peek(length + 1).kind is Kind.NAME:
            length += 2
        return length if length > 1 and self.peek(length).is_op("(") else 0

    def host_aggregate(self, mode: Mode | None, start: int) -> Expr:
        """The call that stands here, which is an aggregate or nothing; its first word is at `start`."""
        call = self.function()
        aggregate = call if isinstance(call, HostAggregate) else HostAggregate(call)
        return replace(aggregate, mode=mode, span=self.span_from(start))

    def function(self, path: int = 1) -> Expr:
        """`f(a, b)`; what is more than a name and arguments is carried as text.

        Whether it is an aggregate only the host knows; DISTINCT, ORDER BY and FILTER leave no doubt.
        """
        start = self.pos
        self.pos += path
        name = self.previous
        self._check_callable(name, "")
        text = VerbatimBuilder(self, start)
        args: list[Expr] = []
        close = self.close_of(self.pos)
        self.refuse_query()
        self.next()
        plain = path == 1 and name.value.lower() not in _NEVER_PLAIN
        grouped = self.accept_quantifier() is not None
        while self.pos < close:
            plain = self._argument_of_call(text, args) and plain
            grouped = self._order_of(text) or self._treats_nulls() or grouped
            if self.pos < close:
                self._comma(name)
        self.pos = close + 1
        grouped = self._within_group(text) or self._treats_nulls() or grouped
        self._check_arity(name, args)
        plain = plain and not grouped
        call: Expr = Call(name.value.lower(), tuple(args), self.span_from(start)) if plain else text.build()
        is_filtered = self.at_word("FILTER") and self.peek(1).is_op("(")
        if grouped or is_filtered:
            self._refuse_inside(name, start)
            condition = self.filter_condition() if is_filtered else None
            call = HostAggregate(call, condition, span=self.span_from(start))
        self.refuse_window()
        return call

    def _refuse_inside(self, name: Token, start: int) -> None:
        """An aggregate among what another one, FIRST or LAST reads of one row."""
        if self.argument is not None:
            outer = self.argument.function
            hint = f"{outer} takes columns of one row; combine the results outside"
            self.fail(f"{name.text.upper()} inside of {outer}", self.span_from(start), hint, QueryBindError)

    def _order_of(self, text: VerbatimBuilder) -> bool:
        """`ORDER BY x DESC NULLS LAST, y` among the arguments of an aggregate."""
        if not self.accept_word("ORDER", "BY"):
            return False
        while True:
            start = self.pos
            text.add(self.expression(), start)
            if self.at_word("ASC", "DESC"):
                self.next()
            if self.at_word("NULLS") and self.peek(1).is_word("FIRST", "LAST"):
                self.pos += 2
            if not self.accept_op(","):
                return True

    def _within_group(self, text: VerbatimBuilder) -> bool:
        """`WITHIN GROUP (ORDER BY x)`."""
        if not (self.at_words("WITHIN", "GROUP") and self.peek(2).is_op("(")):
            return False
        self.pos += 3
        if not self._order_of(text):
            self.fail_expected("ORDER BY in WITHIN GROUP ( )")
        self.expect_op(")", "at the end of WITHIN GROUP ( )")
        return True

    def _treats_nulls(self) -> bool:
        """`IGNORE NULLS`."""
        return self.accept_word("IGNORE", "NULLS") or self.accept_word("RESPECT", "NULLS")

    def _comma(self, name: Token) -> None:
        self.expect_op(
            ",", f"or ) in {name.text}( )", "is a comma missing?" if self.peek().kind is not Kind.OP else None
        )
        if self.at_op(")"):
            self.fail_expected("an expression", "is there a comma too many?")

    def _check_arity(self, name: Token, args: list[Expr]) -> None:
        word = name.value.lower()
        if (word == "nullif" and len(args) != 2) or (word == "coalesce" and not args):
            wanted = "2 arguments" if word == "nullif" else "at least 1 argument"
            self.fail(f"{name.text} takes {wanted}, found {len(args)}", name.span)

    def _argument_of_call(self, text: VerbatimBuilder, args: list[Expr]) -> bool:
        """Read one argument; False if it is one that only the host understands."""
        if names := self._lambda_head(text.first.value):
            before = self.lambda_names
            self.lambda_names = (*before, *names)
            text.add_names_of(self.expression())
            self.lambda_names = before
            return False
        named = self.peek().kind is Kind.NAME and self._at_argument_name()
        if named:
            self.pos += 3
        start = self.pos
        arg = self.expression()
        text.add(arg, start)
        args.append(arg)
        return not named

    def _at_argument_name(self) -> bool:
        """`name := value` or `name => value`."""
        first, second = self.peek(1), self.peek(2)
        assigns = (first.is_op(":") and second.is_op("=")) or (first.is_op("=") and second.is_op(">"))
        return assigns and first.touches(second)

    def _lambda_head(self, function: str) -> tuple[str, ...]:
        """Step over `x ->`, `(x, y) ->` or `lambda x, y:`; the names it binds, or nothing."""
        start = self.pos
        keyword = self.at_word("LAMBDA") and self.peek(1).kind is Kind.NAME
        bracketed = not keyword and self.accept_op("(")
        if keyword:
            self.next()
        names: list[str] = []
        while self.peek().kind is Kind.NAME:
            names.append(self.next().value.casefold())
            if not ((keyword or bracketed) and self.accept_op(",")):
                break
        closed = not bracketed or self.accept_op(")")
        # In DuckDB an arrow elsewhere reads JSON: `j -> 'key'`.
        takes_arrow = self.tokens.dialect == "spark" or function.lower() in _DUCKDB_TAKES_LAMBDA
        arrow = names and closed and (self.accept_op(":") if keyword else takes_arrow and self.accept_op("->"))
        if not arrow:
            self.pos = start
            return ()
        return tuple(names)

    def _cast(self) -> Expr:
        text = VerbatimBuilder(self, self.pos)
        name = self.next()
        self.next()
        start = self.pos
        text.add(self.expression(), start)
        self.expect_word("AS", f"in {name.text}( )", f"write {name.text}(x AS INTEGER)")
        self.type_name()
        self.expect_op(")", f"at the end of {name.text}( )")
        return text.build()

    def type_name(self) -> None:
        """Step over a type of the host: `DECIMAL(10, 2)`, `INT[]`, `TIMESTAMP WITH TIME ZONE`, `MAP<INT, STRING>`."""
        self.expect_name("a type")
        while self.at_op(".") and self.peek(1).kind is Kind.NAME:
            self.pos += 2
        if self.at_word("PRECISION", "VARYING"):
            self.next()
        if self.at_op("("):
            self.pos = self.close_of(self.pos) + 1
        if self.at_op("<") and self.previous.is_word("ARRAY", "MAP", "STRUCT"):
            self._angle_brackets()
        if self.at_words("WITH", "TIME", "ZONE") or self.at_words("WITHOUT", "TIME", "ZONE"):
            self.pos += 3
        while self.at_op("["):
            close = self.close_of(self.pos)
            if close - self.pos > 2 or (close - self.pos == 2 and self.peek(1).kind is not Kind.NUMBER):
                return
            self.pos = close + 1

    def _angle_brackets(self) -> None:
        opener = self.peek()
        depth = 0
        while not self.done:
            token = self.next()
            depth += token.is_op("<") - token.is_op(">")
            if depth == 0:
                return
        self.fail("this < is never closed", opener.span, "add the missing >")

    def _extract(self) -> Expr:
        """`EXTRACT(HOUR FROM x)`."""
        text = VerbatimBuilder(self, self.pos)
        self.pos += 4
        start = self.pos
        text.add(self.expression(), start)
        self.expect_op(")", "at the end of EXTRACT( )")
        return text.build()

    def _keyword_call(self, keywords: frozenset[str]) -> Expr:
        """`SUBSTRING(x FROM 1 FOR 2)` and the like; without its keywords it is an ordinary call."""
        close = self.close_of(self.pos + 1)
        has_keyword = any(
            self.tokens[i].is_word(*keywords) and self.tokens.parent[i] == self.pos + 1 for i in range(self.pos, close)
        )
        if not has_keyword:
            return self.function()
        text = VerbatimBuilder(self, self.pos)
        self.pos += 2
        while self.pos < close:
            while self.at_word(*keywords) or self.at_op(","):
                self.next()
            if self.pos < close:
                start = self.pos
                text.add(self.expression(self.above_predicates), start)
                if self.pos < close and not (self.at_word(*keywords) or self.at_op(",")):
                    self.fail_expected(" or ".join([*sorted(keywords), ")"]))
        self.pos = close + 1
        return text.build()

    def _computed_interval(self) -> Expr:
        """DuckDB's `INTERVAL (x) MINUTE`."""
        text = VerbatimBuilder(self, self.pos)
        self.pos += 2
        start = self.pos
        text.add(self.expression(), start)
        self.expect_op(")", "before the unit of INTERVAL")
        self.next()
        return text.build()

    # -- refusals -------------------------------------------------------------------------------

    def refuse_operand(self, token: Token) -> NoReturn:
        hint = None
        if token.is_op("?") or token.is_op("$") or token.is_op("@"):
            hint = "parameters are not offered: write the value"
        elif token.kind is Kind.NAME:
            quote = "`" if self.tokens.dialect == "spark" else '"'
            hint = f"to use it as a column, quote it: {quote}{token.value}{quote}"
        elif token.is_op("*"):
            hint = "* is only allowed in COUNT(*)"
        elif token.is_op(","):
            hint = "is there a comma too many?"
        elif (token.is_op("<") or token.is_op(">")) and self.peek(-1).is_op("="):
            hint = f"write {token.text}="
        elif self.previous.is_word("AND", "OR", "NOT"):
            hint = f"write a condition behind {self.previous.text.upper()}, or leave it out"
        self.fail_expected("an expression", hint)

    def refuse_query(self) -> None:
        """Complain if the bracket here holds a query."""
        if self.at_query():
            self.check_query()
            hint = "write f((SELECT ...)), with brackets of its own"
            self.fail("a sub-query needs brackets of its own", hint=hint, error=UnsupportedQuery)

    # -- sub-queries ----------------------------------------------------------------------------

    def at_query(self) -> bool:
        """Whether a bracket stands here that holds a query."""
        return self.at_op("(") and reads_nested_query(self.peek(1), self.peek(2))

    def sub_query(self, *, exists: bool = False, gives_rows: bool = False) -> SubQuery:
        """The query in the bracket that stands here; what it reads, the host says."""
        self.check_query()
        start, close = self.pos, self.close_of(self.pos)
        inner = next((i for i in range(start, close) if self.tokens[i].is_word("MATCH_RECOGNIZE")), None)
        if inner is not None:
            hint = "put it into WITH in front of the statement, and read that"
            message = "MATCH_RECOGNIZE inside of MATCH_RECOGNIZE"
            self.fail(message, self.tokens[inner].span, hint, UnsupportedQuery)
        begin = self.tokens[start].span.end
        text = self.tokens.for_host[begin : self.tokens[close].span.start]
        self.pos = close + 1
        return SubQuery(text, exists, gives_rows, begin, self.span_from(start - exists))

    def check_query(self) -> None:
        """Complain where a query has no place."""
        hint = f"compute it {self.computed_before} and use its column"
        if not self.offers_queries or self.scope.place.row_only:
            inside = f"in {self.scope.place.value}" if self.offers_queries else self.inside
            self.fail(f"a sub-query is not offered {inside}", hint=hint, error=UnsupportedQuery)
        if self.lambda_names:
            self.fail("a sub-query is not offered in a lambda", hint=hint, error=UnsupportedQuery)

    def refuse_method(self, name: Token) -> NoReturn:
        """`x.f(...)`: a chained call or a function of a schema; which, only the host could tell."""
        hint = f"write {name.text}(x) instead of x.{name.text}()"
        self.fail(f"{describe(name)} is called with a point before it", name.span, hint, UnsupportedQuery)
