"""Tables of other libraries <-> Arrow, without importing any of them before it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from motif.errors import MotifError

READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}


def is_path(data: object) -> bool:
    """Names a file rather than being a table."""
    return isinstance(data, str | Path)


def reader_of(path: str) -> str:
    """The DuckDB function that reads a file, by its ending."""
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in (".gz", ".zst")]
    reader = READERS.get(suffixes[-1].lower()) if suffixes else None
    if reader is None:
        raise MotifError(
            f"cannot tell the format of {path} from its name", hint=f"use a name that ends in {', '.join(READERS)}"
        )
    return reader


def to_arrow(data: Any) -> pa.Table:
    """An Arrow, pandas or Polars table as Arrow."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if type(data).__module__.startswith("pandas"):
        return pa.Table.from_pandas(data, preserve_index=False)
    if type(data).__module__.startswith("pyspark."):
        raise MotifError(
            "a Spark DataFrame is no table in process",
            hint="make it a view (frame.createOrReplaceTempView('name')) and give spark=session instead of tables=, "
            "or give it to motif.match",
        )
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        data = data.collect()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise MotifError(
        f"a table cannot be a {type(data).__name__}",
        hint="give a path, or a pyarrow, pandas or Polars table (or a Spark DataFrame to motif.match)",
    )


def stays(data: Any) -> bool:
    """Whether values of a table are never changed in place, as those of pandas may be: a result may then hold them."""
    return isinstance(data, pa.Table | pa.RecordBatch) or type(data).__module__.startswith("polars")


def like(table: pa.Table, data: Any) -> Any:
    """The result as the kind of table `data` is; Arrow for Arrow and for files."""
    module = type(data).__module__
    if module.startswith("pandas"):
        return table.to_pandas()
    if module.startswith("polars"):
        import polars as pl

        return pl.from_arrow(table)
    return table
