"""What Spark understood of a text, judged against what a query may be: one that only reads tables and views by name.

The text itself is not looked at: Spark's parser tells its plan, and every node of it must be one of those known here.
Functions that were registered with the session are code that is trusted; of Spark's own, those that run code or open
files are refused. Behind Spark Connect there is no parser within reach: there hold the rules of `motif.lang.safety`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, functions

from motif.errors import MotifError, QueryBindError, Span, UnsupportedQuery, did_you_mean
from motif.lang.lexer import Kind, tokenize
from motif.lang.safety import FILE_FORMATS, RUNS_CODE, qualified_tables
from motif.limits import Limits

_CATALYST = "org.apache.spark.sql.catalyst."
_PLANS = frozenset(
    """Aggregate AsOfJoin Distinct Except Filter Generate GlobalLimit Intersect Join LateralJoin LimitAll LocalLimit
    LocalRelation NearestByJoin Offset OneRowRelation Pivot Project RepartitionByExpression Sample Sort SubqueryAlias
    Union Unpivot UnresolvedHint UnresolvedWith WithWindowDefinition""".split()
)
_UNRESOLVED = frozenset(
    """MultiAlias NamedParameter NamedStreamingRelation PosParameter RelationTimeTravel UnresolvedAlias
    UnresolvedAttribute UnresolvedExtractValue UnresolvedFunction UnresolvedGenerator UnresolvedHaving
    UnresolvedInlineTable UnresolvedOrdinal UnresolvedPipeAggregateOrdinal UnresolvedQualify UnresolvedRegex
    UnresolvedRelation UnresolvedStar UnresolvedStarExceptOrReplace UnresolvedSubqueryColumnAliases
    UnresolvedTVFAliases UnresolvedTableValuedFunction""".split()
)
_EXPRESSION = re.compile(
    r"expressions\.(?:aggregate\.)?(?!CallMethodViaReflection|ScalaUDF|Python|UnresolvedCursor)\w+\$?"
)
_OPENS = RUNS_CODE | {"from_avro", "from_protobuf", "python_worker_logs", "schema_of_avro", "to_avro", "to_protobuf"}
_WITHOUT_OPTIONS = {"from_xml": 2, "schema_of_xml": 1}
"""Functions whose options may name a file, and how many arguments they have without."""
_UNTOLD = frozenset(
    """Cast.evalMode GroupingSets.groupingSetIndexes Join.hint LikeAll.patterns LikeAny.patterns Literal.value
    LocalRelation.data NotLikeAll.patterns NotLikeAny.patterns UnresolvedRelation.options
    UnresolvedWindowExpression.windowSpec""".split()
)
"""What Spark leaves out of its description of a plan and that holds no expression."""
_HAS_OPTIONS = re.compile(r"\bwith\s*\(", re.IGNORECASE)
_JUST_A_NAME = re.compile(r"\(?`(?:[^`]|``)*`\)?(?: AS (?:c\d+|`(?:[^`]|``)*`))?")
_OPTIONS = ("options of a table are not part of a query", "set them where the table is registered")
_DOUBLE_QUOTES = "spark.sql.ansi.doubleQuotedIdentifiers"
_NO_LIMITS = Limits(query_chars=1 << 30, query_tokens=1 << 30, nesting_depth=1 << 30)
NO_FILES = "a query can not open files"
NAME_THE_VIEW = "register the file as a view and name the view"


class Unsafe(UnsupportedQuery):
    """What a query may not do; `word` is the name in the text that asks for it."""

    def __init__(self, message: str, hint: str | None = None, word: str = "") -> None:
        super().__init__(message, hint=hint)
        self.word = word

    def at(self, source: str, span: Span | None) -> MotifError:
        """The same, pointing at the user's text."""
        kind = QueryBindError if isinstance(self, NoTable) else UnsupportedQuery
        return kind(self.message, source=source, span=span or _last(self.word, source), hint=self.hint)


class NoTable(Unsafe):
    """A name with points that is no table."""


def _last(word: str, text: str) -> Span | None:
    start = text.casefold().rfind(word.casefold()) if word else -1
    return Span(start, start + len(word)) if start >= 0 else None


def queried(session: SparkSession, sql: str, **frames: DataFrame) -> DataFrame:
    """What a query of the user gives, once it is known to be one; braces in it name the frames if there are any."""
    check(session, sql.format(**dict(zip(frames, frames, strict=True))) if frames else sql)
    return session.sql(sql, **frames)  # type: ignore[arg-type]


def selected(frame: DataFrame, exprs: Sequence[str]) -> DataFrame:
    """Columns of a frame that are expressions of the user."""
    for expr in exprs:
        if not _JUST_A_NAME.fullmatch(expr):
            check(frame.sparkSession, expr, is_query=False)
    return frame.selectExpr(*exprs)


def filtered(frame: DataFrame, condition: str) -> DataFrame:
    """Rows of a frame that meet a condition of the user."""
    check(frame.sparkSession, condition, is_query=False)
    return frame.filter(condition)


def computed(frame: DataFrame, expr: str) -> Column:
    """An expression of the user, for that frame."""
    check(frame.sparkSession, expr, is_query=False)
    return functions.expr(expr)


def check(session: SparkSession, text: str, *, is_query: bool = True) -> None:
    """Raise unless Spark understands a query that only computes, over tables and views by name."""
    state = getattr(session, "_jsparkSession", None) and session._jsparkSession.sessionState()
    if state is not None:
        tables = _judged(state, text, is_query=is_query)
    else:
        tables = _by_words(session, text, is_query=is_query)
    for table in tables:
        if not _exists(session, table):
            raise _no_table(session, table)


def _by_words(session: SparkSession, text: str, *, is_query: bool) -> Tables:
    """The same from the text alone, for want of Spark's parser."""
    if '"' in text and session.conf.get(_DOUBLE_QUOTES, "false") == "true":
        hint = "write strings with single quotes and names with backticks"
        raise Unsafe(f"double quotes where {_DOUBLE_QUOTES} is set", hint, '"')
    tokens = tokenize(text, "spark", _NO_LIMITS)
    for opener, close in tokens.closer.items():
        name = tokens[opener - 1]
        if opener and tokens[opener].is_op("(") and name.kind is Kind.NAME:
            commas = sum(tokens[i].is_op(",") and tokens.parent[i] == opener for i in range(opener, close))
            _check_name(name.value.lower(), commas + 1)
            if is_query and name.is_word("WITH"):
                raise Unsafe(*_OPTIONS)
    return qualified_tables(tokens) if is_query else ()


def _exists(session: SparkSession, table: tuple[str, ...]) -> bool:
    """Whether a name with points is a table; else Spark would try its first part as a format and the rest as a path."""
    if any(letter in part for part in table for letter in "/\\:"):
        return False
    try:
        return bool(session.catalog.tableExists(".".join(f"`{part.replace('`', '``')}`" for part in table)))
    except AnalysisException:
        return False


def _no_table(session: SparkSession, table: tuple[str, ...]) -> Unsafe:
    if any(letter in table[-1] for letter in "/\\:*") or table[0].lower() in FILE_FORMATS:
        return Unsafe(NO_FILES, NAME_THE_VIEW, table[-1])
    name = ".".join(table)
    hint = did_you_mean(name, tables_beside(name, session)) or "a query reads tables and views by name"
    return NoTable(f"there is no table or view {name}", hint, table[-1])


def tables_beside(name: str, session: SparkSession) -> list[str]:
    """Tables and views where a name that is not there would be."""
    database, _, _ = name.replace("`", "").rpartition(".")
    try:
        found = session.catalog.listTables(database or None)
    except PySparkException:  # there is no such database
        return [each.name for each in session.catalog.listDatabases()]
    return [f"{database}.{table.name}" if database else table.name for table in found]


# -- what the parser says

Tables = tuple[tuple[str, ...], ...]
_JUDGED: dict[tuple[str, bool, bool], Tables] = {}
MOST_JUDGED = 512


def _judged(state: Any, text: str, *, is_query: bool) -> Tables:
    """Names with points that stand for tables; the same text means the same as long as quotes do."""
    key = (text, is_query, bool(state.conf().doubleQuotedIdentifiers()))
    found = _JUDGED.pop(key, None)
    if found is None:
        parser = state.sqlParser()
        found = _look(parser.parsePlan(text) if is_query else parser.parseExpression(text), text)
    _JUDGED[key] = found  # as the last one
    for oldest in list(_JUDGED)[:-MOST_JUDGED]:
        _JUDGED.pop(oldest, None)
    return found


def _look(plan: Any, text: str) -> Tables:
    """Check every node of a plan or an expression."""
    tree = json.loads(plan.toJSON())
    if _HAS_OPTIONS.search(text) or any(_leaves_out(node) for node in _nodes(tree)):
        tree = _spelled_out(plan)
    tables = []
    for node in _nodes(tree):
        kind = _kind(node)
        if kind == "UnresolvedRelation":
            if node.get("options"):
                raise Unsafe(*_OPTIONS)
            tables.append(_parts(node["multipartIdentifier"]))
        elif kind in ("UnresolvedFunction", "UnresolvedGenerator", "UnresolvedTableValuedFunction"):
            _check_function(kind, node)
    return tuple(table for table in tables if len(table) > 1)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, list):
            stack.extend(part)
        elif isinstance(part, dict):
            stack.extend(part.values())
            if "class" in part:
                yield part


def _kind(node: dict[str, Any]) -> str:
    """The name of a node that may be part of a query."""
    path = str(node["class"]).removeprefix(_CATALYST)
    package, _, name = path.rpartition(".")
    known = {"plans.logical": _PLANS, "analysis": _UNRESOLVED}.get(package, ())
    if name in known or _EXPRESSION.fullmatch(path):
        return name
    if "Script" in name:
        raise Unsafe("TRANSFORM ... USING runs a program; a query can not", "use functions of Spark", "USING")
    if "UnresolvedIdentifier" in name:
        raise Unsafe("IDENTIFIER( ) hides which table or function is meant", "write the name itself", "IDENTIFIER")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", re.sub(r"Statement|Command|Unresolved|\$", "", name)).upper()
    raise Unsafe(f"{words} is not part of a query", "Motif runs queries only: SELECT, WITH, FROM, VALUES")


def _leaves_out(node: dict[str, Any]) -> bool:
    """Whether a part of the node is not told, or cut short."""
    name = node["class"].rpartition(".")[2]
    return any(
        (value is None and key != "evalContext" and f"{name}.{key}" not in _UNTOLD)
        or (isinstance(value, str) and value.endswith(" more fields]"))
        for key, value in node.items()
    )


def _parts(names: str | list[str]) -> tuple[str, ...]:
    """`[a, b]`; a name with a comma in it looks like two, and is then looked for as two."""
    return tuple(names.removeprefix("[").removesuffix("]").split(", ")) if isinstance(names, str) else tuple(names)


def _check_function(kind: str, node: dict[str, Any]) -> None:
    match kind:
        case "UnresolvedFunction":
            name = _parts(node["nameParts"])[-1].lower()
        case "UnresolvedGenerator":
            name = node["name"]["funcName"].lower()
        case _:
            name = _parts(node["name"])[-1].lower()
    _check_name(name, len(node.get("arguments", ())))


def _check_name(name: str, arguments: int) -> None:
    if name in RUNS_CODE:
        raise Unsafe(f"{name} runs code; a query can not", "register a function with Spark and call that", name)
    if name in _OPENS:
        raise Unsafe(f"{name} can open files; a query can not", "use it where the table is registered", name)
    if arguments > _WITHOUT_OPTIONS.get(name, arguments):
        raise Unsafe(f"options of {name} can open files; a query can not", "leave the options out", name)


# -- where a description leaves something out


def _spelled_out(thing: Any) -> Any:
    """A plan with all that its nodes hold, in the form of its description: slower, for every part is asked for."""
    if isinstance(thing, str | bool | int | float | None):
        return thing
    name = thing.getClass().getName()
    if name.endswith("CaseInsensitiveStringMap"):
        return not thing.isEmpty()
    if _is_a(thing, "scala.collection.Iterable"):
        iterator = thing.iterator()
        return [_spelled_out(each) for each in iter(lambda: iterator.next() if iterator.hasNext() else _END, _END)]
    if not name.startswith((_CATALYST, "scala.")) or not _is_a(thing, "scala.Product"):
        return name
    fields = {thing.productElementName(i): _spelled_out(thing.productElement(i)) for i in range(thing.productArity())}
    is_node = _is_a(thing, f"{_CATALYST}trees.TreeNode")
    return {**fields, "class": name} if is_node else fields


_END = object()


def _is_a(thing: Any, java_class: str) -> bool:
    return bool(thing.getClass().forName(java_class).isInstance(thing))
