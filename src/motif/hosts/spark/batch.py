"""DataFrames and statements through Spark in batch: lazy, as Spark users expect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from motif.engine.order import Layout, crossing, layout
from motif.engine.told import Told
from motif.errors import MotifError, QueryBindError, QuerySyntaxError, Span, UnsupportedQuery
from motif.hosts.constants import value_of
from motif.hosts.spark.asking import ASK, Condition, Questions, argument_type, settled, told_later
from motif.hosts.spark.exchange import moved
from motif.hosts.spark.files import matched_by_reading, one_task
from motif.hosts.spark.mistakes import mistake
from motif.hosts.spark.plans import Chosen, final_columns, row_plan, stream_plan
from motif.hosts.spark.safety import Unsafe, computed, filtered, queried, selected
from motif.hosts.spark.says import in_our_words, refusal
from motif.hosts.spark.settings import quiet, use_unbounded_batches
from motif.hosts.spark.shipping import carried
from motif.hosts.spark.tell import Tell
from motif.hosts.spark.types import kept_back, leaf_schema, message_and_hint, type_of
from motif.hosts.spark.worker import Batches, asker, matcher, told_program
from motif.ir.expr import Call, Column, Expr, HostAggregate, Verbatim, transform
from motif.ir.query import RowQuery
from motif.ir.render import render_row_sql
from motif.ir.types import Schema, Type
from motif.lang.splice import Spliced
from motif.lang.statement import Clause, Statement
from motif.plan.bind import bind_errors
from motif.plan.constants import reads_nothing, words_of
from motif.plan.events.program import EventProgram
from motif.plan.outputs import FIELD, Grouped
from motif.plan.overlaps import tell_overlaps
from motif.plan.physical.plan import Strategy
from motif.plan.physical.planned import PlannedQuery
from motif.plan.planner import plan
from motif.plan.program import Program
from motif.plan.row_exprs import as_on_one_row
from motif.plan.source import Answers, HostRefusal, QueryRefusal, Verdict
from motif.plan.stream import time_column
from motif.plan.unmet import MOST_VALUES, tell_of_rows

Follow = Callable[..., Tell]
"""Takes a program, its plan and the functions of the user."""
_MATCH, _ROW = "__motif_match", "__motif_row"
_UNSTEADY = frozenset(
    "current_date current_time current_timestamp curdate localtimestamp now unix_timestamp current_user user".split()
)
"""Functions whose value is another one the next time, and which VALUES takes all the same."""
_UNSTEADY_ARGUMENT = "non-deterministic"
MATCH = "motif_match_rows"
"""What Spark shows as the name of the step that matches."""
_VERDICTS = {"INVALID_WHERE_CONDITION": Verdict.AGGREGATE, "UNSUPPORTED_GENERATOR": Verdict.ROWS}
"""By what Spark says of an expression that it does not take in WHERE."""
_OF_CLAUSE = "__motif_"
"""How the names of what stands for a clause begin."""


def quoted(name: str) -> str:
    """An identifier that Spark takes as it is."""
    return "`" + name.replace("`", "``") + "`"


def row_sql(expr: Expr) -> str:
    """A row expression in Spark's dialect."""
    return render_row_sql(expr, quoted, "spark")


class SparkSource:
    """The input of one clause."""

    dialect = "spark"

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame
        self._types: dict[Expr, t.DataType] = {}

    @property
    def answers(self) -> Answers | None:
        # A stream is searched while it runs, where nobody can ask Spark anything.
        return None if self.frame.isStreaming else told_later

    @property
    def schema(self) -> Schema:
        return {field.name: type_of(field.dataType) for field in self.frame.schema.fields}

    def select(self, exprs: Sequence[Expr]) -> DataFrame:
        """Row expressions as columns c0, c1, ..."""
        try:
            with quiet():
                return selected(self.frame, [f"{row_sql(expr)} AS c{i}" for i, expr in enumerate(exprs)])
        except (AnalysisException, ParseException) as error:
            raise refusal(error) from None
        except Unsafe as unsafe:
            raise HostRefusal(unsafe.message) from None

    def where(self, condition: str) -> SparkSource:
        """Some of the rows, with the same columns."""
        chosen = SparkSource(filtered(self.frame, condition))
        chosen._types = self._types
        return chosen

    def spark_types(self, exprs: Sequence[Expr]) -> list[t.DataType]:
        """Spark's own types of row expressions."""
        try:
            with quiet():
                self._types = self._types or self._column_types()
                unknown = [expr for expr in dict.fromkeys(exprs) if expr not in self._types]  # to ask takes a while
                kinds = [field.dataType for field in self.select(unknown).schema.fields] if unknown else []
        except (AnalysisException, ParseException) as error:
            raise refusal(error) from None
        self._types |= dict(zip(unknown, kinds, strict=True))
        return [self._types[expr] for expr in exprs]

    def _column_types(self) -> dict[Expr, t.DataType]:
        fields = self.frame.schema.fields
        names = Counter(field.name.casefold() for field in fields)
        return {Column(field.name): field.dataType for field in fields if names[field.name.casefold()] == 1}

    def types_of(self, exprs: Sequence[Expr]) -> list[Type]:
        kinds = self.spark_types(exprs)
        for kind in kinds:
            if months := kept_back(kind):
                raise HostRefusal(
                    f"Spark does not hand {months.simpleString()} to Python: CAST it in the input, to text or months"
                )
        return [type_of(kind) for kind in kinds]

    def verdict(self, exprs: Sequence[Expr]) -> Verdict:
        # WHERE takes values only, and Spark says what else it has found.
        tested = " OR ".join(f"({row_sql(expr)} IS NULL)" for expr in exprs)
        try:
            with quiet():
                # A filter has the columns of its input, so Connect would not ask for them.
                filtered(self.frame, tested).select(f.lit(1)).schema  # noqa: B018 - asks for the analysis
        except (AnalysisException, ParseException) as error:
            verdict = _VERDICTS.get((error.getCondition() or "").partition(".")[0])
            if verdict is None:
                raise refusal(error) from None
            return verdict
        except Unsafe as unsafe:
            raise HostRefusal(unsafe.message) from None
        return Verdict.VALUE

    def query_refusal(self, text: str) -> QueryRefusal | None:
        if self.frame.isStreaming:
            hint = "join the table to the stream, in a sub-query in front of the clause"
            message = "not supported in a stream: a sub-query, whose tables may change while the stream runs"
            return QueryRefusal(UnsupportedQuery(message, hint=hint))
        if _OF_CLAUSE in text:
            hint = "give the sub-query a table: write the matches to one first"
            message = "not supported on Spark: a sub-query beside WITH items that hold MATCH_RECOGNIZE"
            return QueryRefusal(UnsupportedQuery(message, hint=hint))
        try:
            with quiet():
                queried(self.frame.sparkSession, text).schema  # noqa: B018 - asks for the analysis
        except (AnalysisException, ParseException) as error:
            said, help_ = message_and_hint(str(error))
            kind = QuerySyntaxError if isinstance(error, ParseException) else QueryBindError
            return QueryRefusal(kind(said, hint=help_), *_place_in(error, text))
        except Unsafe as unsafe:
            return QueryRefusal(unsafe.at("", None))
        return None

    def type_name(self, expr: Expr) -> str:
        try:
            with quiet():
                return self.select([expr]).schema.fields[0].dataType.simpleString()
        except (AnalysisException, ParseException) as error:
            raise refusal(error) from None

    def leaves_texts(self, column: str) -> bool:  # noqa: ARG002 - a boolean costs Spark more, whatever the column
        return True

    def constant(self, expr: Expr) -> tuple[object] | None:
        if not self.is_steady(expr):
            return None
        # Spark works rows of VALUES out while it plans, without a job, and takes no RAND( ) there.
        one = f"SELECT * FROM VALUES ({row_sql(expr)})"
        try:
            with quiet():
                return value_of(queried(self.frame.sparkSession, one).toArrow())
        except PySparkException as error:
            if (error.getCondition() or "").startswith("INVALID_INLINE_TABLE"):
                return None
            raise refusal(error) from None
        except Unsafe as unsafe:
            raise HostRefusal(unsafe.message) from None

    def totals(self, exprs: Sequence[Expr]) -> list[object]:
        """Values of aggregates over all rows: one job."""
        [row] = _rows(self.select(exprs))
        return list(row)

    def values(self, expr: Expr, where: Expr | None = None) -> list[tuple[str, int]]:
        """The most frequent values as texts, and how often they are there: one job."""
        rows = self if where is None else self.where(row_sql(where))
        texts = rows.select([expr]).select(f.col("c0").cast("string").alias("value")).dropna()
        counted = texts.groupBy("value").count().orderBy(f.desc("count"), "value")
        return [(value, count) for value, count in _rows(counted.limit(MOST_VALUES))]

    def sample(self, expr: Expr, rows: int) -> list[str]:
        """Some values that are not NULL, as texts: one job."""
        return [text for (text,) in _rows(self.select([expr]).dropna().limit(rows))]

    def is_steady(self, expr: Expr) -> bool:
        if any(word in _UNSTEADY for word in words_of(expr)):
            return False
        if reads_nothing(expr):
            return True  # what changes is refused where it is worked out
        try:
            # An aggregate takes no argument that may be another one the next time.
            self.type_name(Call("count_if", (Call("is null", (as_on_one_row(expr),)),)))
        except HostRefusal as refusal:
            return _UNSTEADY_ARGUMENT not in str(refusal).casefold()
        return True

    def on_nulls(self, exprs: Sequence[Expr]) -> list[object]:
        empty = (no_rows(self.frame) if self.frame.isStreaming else self.frame).limit(0)
        # A row that is part of the plan: Spark works the answer out while it plans, without a job.
        one = self.frame.sparkSession.sql("SELECT * FROM VALUES (1) AS one(__motif_one)")
        joined = one.join(empty, how="left", on=one["__motif_one"].isNull())
        return list(selected(joined, list(map(row_sql, exprs))).first() or ())


def _place_in(error: PySparkException, text: str) -> tuple[int | None, int]:
    """Where in a text Spark sees a mistake, and how long it is."""
    contexts: list[Any] = list(error.getQueryContext() or [])
    if not contexts:
        return None, 1
    fragment, start = contexts[0].fragment(), contexts[0].startIndex()
    return (start, len(fragment)) if text[start : start + len(fragment)] == fragment else (None, 1)


def _rows(frame: DataFrame) -> list[Any]:
    try:
        with quiet():
            return frame.collect()
    except PySparkException as error:
        raise refusal(error) from None


def no_rows(frame: DataFrame) -> DataFrame:
    """A table with the columns of a stream, which Spark lets no one look into."""
    nulls = [f.lit(None).cast(field.dataType).alias(field.name) for field in frame.schema.fields]
    return frame.sparkSession.sql("SELECT 1").select(*nulls)


def match_frame(
    frame: DataFrame, query: RowQuery, wanted: Strategy | None = None, follow: Follow | None = None
) -> DataFrame:
    """Matches of a clause over a DataFrame; where it has conditions for Spark, they are asked about now.

    `follow`: says how tasks tell what they count.
    """
    use_unbounded_batches(frame.sparkSession)
    source = SparkSource(frame)
    tell_overlaps(query)
    return run_program(answered(plan(query, source), source), source, wanted, follow)


def run_program(
    program: Program, source: SparkSource, wanted: Strategy | None = None, follow: Follow | None = None
) -> DataFrame:
    """The plan around the engine: exchange by key, match in the workers, scalars after. No job is run."""
    kinds = source.spark_types(crossing(program))
    chosen = row_plan(program, source, wanted)
    tell = None if follow is None else follow(program, chosen.plan)
    work = matcher(program, row_layout(program, kinds), chosen.plan, chosen.costs, tell)
    schema = leaf_schema(program.outputs.leaves, kinds)
    return with_scalars(program, in_workers(program, source, chosen, work, MATCH, schema))


def row_layout(program: Program, kinds: Sequence[t.DataType]) -> Layout:
    """How the rows that cross are sorted."""
    return layout(program, [type_of(kind) for kind in kinds])


def in_workers(
    program: Program,
    source: SparkSource,
    chosen: Chosen,
    work: Callable[[Batches], Batches],
    name: str,
    schema: t.StructType,
) -> DataFrame:
    """What the workers make of rows, each partition in one task."""
    if chosen.files is not None:
        task = one_task(source.frame.sparkSession)
        return task.mapInArrow(carried(matched_by_reading(chosen.files, work), name), schema)
    assert chosen.plan.move is not None
    rows = moved(source.select(crossing(program)), chosen.plan.move)
    return rows.mapInArrow(carried(work, name), schema)


def answered(program: Program, source: SparkSource) -> Program:
    """The same with what Spark has to say of its conditions; runs jobs if there are some."""
    if not program.asks:
        return program
    kinds = source.spark_types(crossing(program))
    arranged, chosen = row_layout(program, kinds), row_plan(program, source)
    conditions = [
        Condition(asked.expr, tuple(argument_type(arg, kinds) for arg in ask.args), program.query.source)
        for asked, ask in zip(program.asks, program.questions, strict=True)
    ]

    def search(told: Sequence[Told], schema: Questions) -> DataFrame:
        work = asker(told_program(program, told), arranged, chosen.plan, chosen.costs, schema.arrow)
        return in_workers(program, source, chosen, work, ASK, schema.struct)

    return told_program(program, settled(source.frame.sparkSession, conditions, search))


def with_scalars(program: Program | EventProgram, leaves: DataFrame) -> DataFrame:
    """The output columns from what the workers return."""
    try:
        with quiet():
            leaves = with_groups(leaves, program.outputs.grouped)
            result = selected(leaves, final_columns(program))
            result.schema  # noqa: B018 - Connect looks at it only now
    except (AnalysisException, ParseException, Unsafe) as error:
        raise blamed(error, program, leaves) from None
    return result


def with_groups(leaves: DataFrame, groups: Sequence[Grouped]) -> DataFrame:
    """Spark's aggregates over the rows of lists: one row for each of their elements, grouped by where it came from.

    The rows of a list stay together and in order, so aggregates meet them as the clause orders them.
    """
    if not groups:
        return leaves
    lists = list(dict.fromkeys(group.rows for group in groups))
    others = [name for name in leaves.columns if name not in lists]
    known = {name: f.coalesce(f.col(name), f.array()) for name in lists}
    numbered = leaves.withColumns({_MATCH: f.monotonically_increasing_id(), **known})
    rows = numbered.select(_MATCH, *others, f.explode_outer(f.arrays_zip(*lists)).alias(_ROW))
    rows = rows.select(_MATCH, *others, *(f.col(_ROW).getField(name).alias(name) for name in lists))
    kept = [f.first(name).alias(name) for name in others]
    found = [computed(leaves, row_sql(_of_present(group))).alias(group.name) for group in groups]
    return rows.groupBy(_MATCH).agg(*kept, *found).drop(_MATCH)


def _of_present(group: Grouped) -> Expr:
    """The aggregate over what is a row of its list: lists are not of one length."""

    def qualified(node: Expr) -> Expr | None:
        is_field = isinstance(node, Column) and node.name.startswith(FIELD)
        return Verbatim((f"{quoted(group.rows)}.{quoted(node.name)}",), ()) if is_field else None  # type: ignore[union-attr]

    aggregate = group.aggregate
    present: Expr = Call("is not null", (Column(group.rows),))
    if aggregate.filter is not None:
        present = Call("and", (present, transform(aggregate.filter, qualified)))
    return HostAggregate(transform(aggregate.call, qualified), present)


def blamed(error: PySparkException | Unsafe, program: Program | EventProgram, leaves: DataFrame) -> MotifError:
    """The measure that Spark cannot compute."""
    for name, expr in program.outputs.columns:
        try:
            with quiet():
                selected(leaves, [row_sql(expr)]).schema  # noqa: B018 - asks for the analysis
        except (AnalysisException, ParseException) as culprit:
            message, hint = in_our_words(culprit)
            span = next((m.span for m in program.query.measures if m.name == name), None)
            return QueryBindError(message, source=program.query.source, span=span, hint=hint)
        except Unsafe as unsafe:
            span = next((m.span for m in program.query.measures if m.name == name), None)
            return unsafe.at(program.query.source, span)
    if isinstance(error, Unsafe):
        return QueryBindError(error.message)
    message, hint = in_our_words(error)
    return QueryBindError(message, hint=hint)


def around(statement: Statement, session: SparkSession, frames: dict[str, DataFrame]) -> DataFrame:
    """What a statement makes of the matches of its clauses."""
    if statement.is_all_of_one_clause():
        return frames[statement.clauses[0].name]
    return _sql(session, statement, [statement.outer], frames, None)


def over(frame: DataFrame, statement: Callable[[str], str]) -> DataFrame:
    """What SQL makes of a DataFrame; `statement` writes it around the name that stands for it."""
    text = statement("\0").replace("{", "{{").replace("}", "}}").replace("\0", "{frame}")
    return queried(frame.sparkSession, text, frame=frame)


def statement_errors(statement: Statement, session: SparkSession, *, rows: bool = False) -> list[MotifError]:
    """What is wrong with a statement whose text is fine; Spark analyses, no row is read unless `rows` is set."""
    try:
        frames: dict[str, DataFrame] = {}
        for clause in statement.clauses:
            frame = clause_input(statement, clause, session, frames)
            if unknown := bind_errors(clause.query, SparkSource(frame).schema):
                return unknown
            source = SparkSource(frame)
            program = plan(clause.query, source)
            tell_overlaps(clause.query)
            if frame.isStreaming:
                time_column(program, source.schema)
            if rows and not frame.isStreaming:
                tell_of_rows(program, source)
                program = answered(program, source) if clause is not statement.clauses[-1] else program
            frames[clause.name] = run_program(program, source)
        around(statement, session, frames)
    except MotifError as error:
        return [error]
    return []


def statement_plans(
    statement: Statement, session: SparkSession, *, wanted: Strategy | None = None
) -> list[PlannedQuery]:
    """How every clause of a statement will run, over tables and streams; no job is run."""
    if errors := statement_errors(statement, session):
        raise errors[0]
    frames: dict[str, DataFrame] = {}
    plans = []
    for clause in statement.clauses:
        frame = clause_input(statement, clause, session, frames)
        source = SparkSource(frame)
        program = plan(clause.query, source)
        plans.append(_planned(program, source, wanted))
        frames[clause.name] = run_program(program, source)
    return plans


def clause_errors(frame: DataFrame, query: RowQuery, *, rows: bool = False) -> list[MotifError]:
    """What is wrong with a clause over a DataFrame; Spark analyses, no row is read unless `rows` is set."""
    source = SparkSource(frame)
    try:
        if unknown := bind_errors(query, source.schema):
            return unknown
        program = plan(query, source)
        tell_overlaps(query)
        if frame.isStreaming:
            time_column(program, source.schema)
        if rows and not frame.isStreaming:
            tell_of_rows(program, source)
        run_program(program, source)
    except MotifError as error:
        return [error]
    return []


def clause_plan(frame: DataFrame, query: RowQuery, *, wanted: Strategy | None = None) -> PlannedQuery:
    """How a clause over a DataFrame will run; no job is run."""
    if errors := clause_errors(frame, query):
        raise errors[0]
    source = SparkSource(frame)
    return _planned(plan(query, source), source, wanted)


def _planned(program: Program, source: SparkSource, wanted: Strategy | None) -> PlannedQuery:
    is_stream = source.frame.isStreaming
    chosen = stream_plan(program, source, wanted) if is_stream else row_plan(program, source, wanted).plan
    return PlannedQuery(program, chosen)


def clause_input(
    statement: Statement, clause: Clause, session: SparkSession, frames: dict[str, DataFrame]
) -> DataFrame:
    """What a clause reads."""
    pieces = [clause.ctes, Spliced(" SELECT * FROM "), clause.input]
    return _sql(session, statement, pieces, frames, clause.input_span)


def _sql(
    session: SparkSession,
    statement: Statement,
    pieces: Sequence[Spliced],
    frames: dict[str, DataFrame],
    span: Span | None,
) -> DataFrame:
    """Run host SQL in which placeholders stand for DataFrames."""
    text = "".join(_template(piece, frames) for piece in pieces)
    used = {name: frame for name, frame in frames.items() if "{" + name + "}" in text}
    try:
        with quiet():
            # Without DataFrames the text is taken as it is, with them braces are doubled.
            plain = "".join(piece.text for piece in pieces)
            frame = queried(session, text, **used) if used else queried(session, plain)
            frame.schema  # noqa: B018 - Connect looks at the text only now
    except (ParseException, AnalysisException) as error:
        raise mistake(error, session, statement, span) from None
    except Unsafe as unsafe:
        raise unsafe.at(statement.text, span) from None
    return frame


def _template(spliced: Spliced, frames: dict[str, DataFrame]) -> str:
    """Text in the form that PySpark fills DataFrames into."""
    return "".join(
        "{" + text + "}" if stands_in and text in frames else text.replace("{", "{{").replace("}", "}}")
        for text, stands_in in spliced.parts()
    )
