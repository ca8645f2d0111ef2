"""How work gets to the Python of Spark's workers: under a name that Spark shows, and to workers without Motif."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer

from motif.arguments import check_session
from motif.errors import MotifError
from motif.version import VERSION

Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]
_SERIALIZER = CloudPickleSerializer()  # type: ignore[no-untyped-call]
"""What Spark itself sends functions with."""


def carried(work: Work, name: str) -> Work:
    """A function for `mapInArrow`; Spark's plan and its pages show it as `name`.

    It is sent as it is, not as a name in a module: a worker that has no Motif, or another one, can say so.
    """
    sent, version = _SERIALIZER.dumps(work), VERSION  # type: ignore[no-untyped-call]

    def run(batches: Any) -> Any:
        try:
            from motif.hosts.spark.shipping import received
        except ModuleNotFoundError as error:
            message = (
                f"the Python of Spark's workers cannot run Motif ({error}): install motif-cep {version} there, or let "
                "motif.ship(spark) add it to the workers of a session; docs/hosts.md says all ways"
            )
            raise ImportError(message) from None
        yield from received(sent, version, batches)

    run.__name__ = run.__qualname__ = name
    run.__module__ = "__main__"  # what is defined there is sent as it is
    return run


def received(sent: bytes, version: str, batches: Batches) -> Batches:
    """Do in a worker what was sent; a mistake that it finds is told without the frames above it."""
    if version != VERSION:
        raise MotifError(
            f"Spark's workers have Motif {VERSION}, and the program that asks has {version}",
            hint="install the same version in both",
        )
    try:
        yield from _SERIALIZER.loads(sent)(batches)  # type: ignore[no-untyped-call]
    except MotifError as error:
        raise error.with_traceback(None) from None


def ship(session: Any) -> None:
    """Add Motif to the workers of a session; see `motif.ship`."""
    check_session("the session", session)
    folder = Path(tempfile.mkdtemp(prefix="motif-ship-"))
    archive = str(packed(folder))
    if hasattr(session, "sparkContext") and not is_connect(session):
        session.sparkContext.addPyFile(archive)
    else:
        session.addArtifacts(archive, pyfile=True)


def is_connect(session: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def packed(folder: Path) -> Path:
    """Motif's own files, of which Python can import."""
    package = Path(__file__).parents[2]
    target = folder / f"motif_cep-{VERSION}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, Path("motif") / path.relative_to(package))
    return target
