"""What Motif sets in a Spark session, for good or for a moment."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

_UNBOUNDED_BATCHES = "2147483647"
_ARROW_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


def use_unbounded_batches(session: SparkSession) -> None:
    """Spark sizes every single row it hands to Python unless this has exactly this value; that doubles the cost."""
    try:
        if session.conf.get(_ARROW_BYTES) != _UNBOUNDED_BATCHES:
            session.conf.set(_ARROW_BYTES, _UNBOUNDED_BATCHES)
            logging.getLogger("motif").info("rows are handed over in few, large batches: %s is set", _ARROW_BYTES)
    except PySparkException:
        return  # a session that does not let us is slower, not wrong


@contextmanager
def quiet() -> Iterator[None]:
    """PySpark logs every mistake in a query with a page of Java; we say it in one line ourselves."""
    # PySpark's own kind: if it found a plain one under this name, it could not log what it has to say from then on.
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
