"""The stream that `motif.testing.kills` kills: files in, matches out through `motif.sink`, until all files are taken.

`python -m motif.testing.kill_job PLACE FOLDER`: reads FOLDER/in, writes to the place in FOLDER, remembers in
FOLDER/checkpoint.
"""

from __future__ import annotations

import sys
from pathlib import Path

import motif
from motif.hosts.spark.local import local_session
from motif.testing.kills import LATENESS, QUERIES, SCHEMA, sink


def main(place: str, folder: str) -> int:
    """Run every query over the files, one after the other."""
    spark = local_session(
        "kills", cores=2, **{"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
    )
    for name, query in QUERIES.items():
        events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(f"{folder}/in")
        running = (
            motif.match(events, query, lateness=LATENESS, buckets=4)
            .writeStream.foreachBatch(sink(place, Path(folder), name))
            .option("checkpointLocation", f"{folder}/checkpoint/{name}")
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
