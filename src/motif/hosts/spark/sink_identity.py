"""Which stream a batch belongs to: the id of its query, which Spark keeps in the checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from py4j.clientserver import ClientServer  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from motif.errors import MotifError


def is_connect(session: SparkSession) -> bool:
    """Whether the session is a client of a server elsewhere."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def query_id(session: SparkSession) -> str:
    """The id of the running query, from the JVM thread that this one is pinned to; "" outside of a stream."""
    context = session.sparkContext
    if not isinstance(context._gateway, ClientServer):
        raise MotifError(
            "with PYSPARK_PIN_THREAD=false a sink cannot tell which stream a batch belongs to",
            hint="leave that variable at its default, true",
        )
    return context.getLocalProperty("sql.streaming.queryId") or ""


@dataclass(frozen=True)
class Home:
    """The Connect session that started the stream."""

    session: SparkSession | None
    query_name: str | None

    @cached_property
    def query(self) -> str:
        """The id of the running query; kept, as other streams may start later."""
        active = [] if self.session is None else self.session.streams.active
        ids = [query.id for query in active if self.query_name in (None, query.name)]
        if len(ids) == 1:
            return ids[0]
        if self.query_name is not None:
            raise MotifError(
                f"no stream of this session is called {self.query_name}",
                hint=f"name it where it starts: matches.writeStream.queryName({self.query_name!r})",
            )
        raise MotifError(
            f"Spark Connect does not tell which stream a batch belongs to, and this session runs {len(ids)}",
            hint="name this one: writeStream.queryName('alerts') and motif.sink(..., query_name='alerts')",
        )


def named(query: str) -> str:
    """A query as messages call it."""
    return f"query {query}" if query else "a call outside of a stream"
