"""A Spark session on this machine, set up for Motif."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from motif.errors import MotifError

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""Where streams keep their state."""
TRIES = 4


def local_session(name: str = "motif", *, cores: int | None = None, **settings: str) -> SparkSession:
    """A session in local mode whose Python workers are this very Python; `settings` go to its configuration.

    A task that fails, for one because its worker was killed, is tried again as on a cluster.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(name).master(f"local[{cores or '*'}, {TRIES}]")
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": f"{_half_of_memory()}m",
        "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        **settings,
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 - PySpark raises whatever its launcher met
        raise MotifError(
            f"Spark does not start: {str(error).splitlines()[0]}",
            hint="Spark needs Java 17 or newer: on Debian, apt-get install openjdk-17-jre-headless",
        ) from None


def _half_of_memory() -> int:
    """Half of the machine's memory in MiB, at most 8 GiB."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return min(pages * size // 2 >> 20, 8192)
