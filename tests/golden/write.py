"""Writes the plans that the tests of this folder compare: `python tests/golden/write.py`.

Read the difference before you commit it: each line of it is a query that will run in another way.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

from queries import IN_PROCESS, SPARK, of_process, of_spark, of_spark_stream, of_stream, text_of

PLANS = Path(__file__).parent / "plans"


def in_process(name: str, folder: Path) -> str:
    """The plans of a group in process."""
    return text_of(IN_PROCESS[name], of_stream if name.endswith("streams") else lambda case: of_process(case, folder))


def on_spark(name: str, session: object, folder: Path) -> str:
    """The plans of a group on Spark."""
    return text_of(
        SPARK[name],
        lambda case: of_spark_stream(case, session) if name.endswith("streams") else of_spark(case, session, folder),
    )


def main() -> None:
    from motif.hosts.spark.local import local_session

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name in IN_PROCESS:
            (PLANS / f"{name}.txt").write_text(in_process(name, Path(folder)))
        session = local_session("golden plans", cores=2, **{"spark.sql.session.timeZone": "UTC"})
        for name in SPARK:
            (PLANS / f"{name}.txt").write_text(on_spark(name, session, Path(folder)))
        session.stop()


if __name__ == "__main__":
    main()
