"""What tests share: one Spark session per test process, and the folder of compiled kernels."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark on two cores of this machine, reachable from nowhere else."""
    from motif.hosts.spark.local import local_session

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }
    session = local_session("motif tests", cores=2, **settings)
    yield session
    session.stop()


@pytest.fixture
def spark(spark_session: SparkSession) -> SparkSession:
    """The session with one shuffle partition, whatever a test before has set; the smallest table is exchanged."""
    spark_session.conf.set("spark.sql.shuffle.partitions", "1")
    spark_session.conf.set("spark.motif.costs", '{"one_task_bytes": 0}')
    return spark_session


@pytest.fixture
def small_tables(spark: SparkSession) -> None:
    """Tables of tests are what they are: too small to be exchanged."""
    spark.conf.unset("spark.motif.costs")


@pytest.fixture(autouse=True)
def one_connect_server_at_a_time(request: pytest.FixtureRequest) -> Iterator[None]:
    """A Connect server on this machine always takes the same port, and tests run side by side."""
    if request.node.name != "test_spark_connect":
        yield
        return
    with (Path(tempfile.gettempdir()) / "motif-tests-connect.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def kernel_cache(pytestconfig: pytest.Config) -> Iterator[None]:
    """Kernels compiled by tests stay in pytest's own cache folder: slow once, quick in later runs."""
    assert pytestconfig.cache is not None
    before = os.environ.get("MOTIF_CACHE")
    os.environ["MOTIF_CACHE"] = str(pytestconfig.cache.mkdir("kernels"))
    yield
    if before is None:
        del os.environ["MOTIF_CACHE"]
    else:
        os.environ["MOTIF_CACHE"] = before
