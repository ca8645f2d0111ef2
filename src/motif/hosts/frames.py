"""Tables of other libraries <-> Arrow, without importing any of them before it is needed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from motif.arguments import not_a_table
from motif.errors import MotifError
from motif.hosts.given_files import Files


def is_path(data: object) -> bool:
    """Names files rather than being a table."""
    return isinstance(data, str | Path | Files)


def is_dataset(data: object) -> bool:
    """A `pyarrow.dataset`: files, on this machine or elsewhere, that Arrow reads."""
    return type(data).__module__.startswith("pyarrow._dataset")


def dataset_of(files: Files) -> Any:
    """Files of an object store, through the file systems of Arrow."""
    from pyarrow import dataset
    from pyarrow.fs import FileSystem

    try:
        system = FileSystem.from_uri(files.paths[0])[0]
        places = [FileSystem.from_uri(path)[1] for path in files.paths]
        kind = files.reader.removeprefix("read_") if Path(places[0]).suffix else "parquet"
        found = dataset.dataset(places if len(places) > 1 else places[0], filesystem=system, format=kind)
    except (OSError, ValueError, pa.ArrowException) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise MotifError(f"cannot read {files}: {first}", hint="Arrow's file systems have to reach it") from None
    return found


def to_arrow(data: Any) -> pa.Table:
    """An Arrow, pandas or Polars table as Arrow."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if is_dataset(data):
        return data.to_table()
    if type(data).__module__.startswith("pyspark."):
        raise MotifError(
            "a Spark DataFrame is no table in process",
            hint="make it a view (frame.createOrReplaceTempView('name')) and give spark=session instead of tables=, "
            "or give it to motif.match",
        )
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        data = data.collect()
    is_pandas = type(data).__module__.startswith("pandas")
    if not is_pandas and not hasattr(data, "__arrow_c_stream__"):
        raise not_a_table(data)
    try:
        return _of_pandas(data) if is_pandas else pa.table(data)
    except (pa.ArrowException, AttributeError, TypeError, ValueError) as error:
        raise _blamed(data, error) from None


def _blamed(data: Any, error: Exception) -> MotifError:
    """The column that Arrow cannot take."""
    if not hasattr(data, "columns") or not hasattr(data, "dtypes"):  # a single column, or what groups rows
        return not_a_table(data)
    if twice := [name for name, count in Counter(data.columns).items() if count > 1]:
        return MotifError(f"the table has two columns {twice[0]}", hint="rename one of them")
    for name in data.columns:
        part = data[[name]]
        try:
            _of_pandas(part) if type(data).__module__.startswith("pandas") else pa.table(part)
        except (pa.ArrowException, TypeError, ValueError) as culprit:
            what = f"column {name} ({part.dtypes.iloc[0] if hasattr(part.dtypes, 'iloc') else part.dtypes[0]})"
            why = ": ".join(str(reason) for reason in culprit.args)
            return MotifError(
                f"{what} is nothing that Arrow can hold: {why.rstrip('.')}",
                hint="leave the column out, or cast it first",
            )
    return MotifError(f"the table is nothing that Arrow can hold: {error}", hint="give it as a pyarrow.Table")


DTYPE = b"motif.pandas"
"""Where a field says which type of its own pandas had for it."""


def _of_pandas(data: Any) -> pa.Table:
    table = pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)
    for number, dtype in enumerate(data.dtypes):
        kind = type(dtype).__name__
        if hasattr(dtype, "__from_arrow__") and kind not in ("PeriodDtype", "IntervalDtype"):
            text = (
                f"string[{dtype.storage}]" if kind == "StringDtype" else "arrow" if kind == "ArrowDtype" else str(dtype)
            )
            field = table.schema.field(number).with_metadata({DTYPE: text.encode()})
            table = table.set_column(number, field, table.column(number))
    return table


def stays(data: Any) -> bool:
    """Whether values of a table are never changed in place, as those of pandas may be: a result may then hold them."""
    return isinstance(data, pa.Table | pa.RecordBatch) or type(data).__module__.startswith("polars")


def _to_pandas(table: pa.Table) -> Any:
    frame = table.to_pandas()
    for number, field in enumerate(table.schema):
        if field.metadata and DTYPE in field.metadata:
            import pandas as pd

            text = field.metadata[DTYPE].decode()
            dtype: Any = pd.ArrowDtype(field.type) if text == "arrow" else pd.api.types.pandas_dtype(text)
            frame.isetitem(number, pd.Series(dtype.__from_arrow__(table.column(number)), index=frame.index))
    return frame


def like(table: pa.Table, data: Any) -> Any:
    """The result as the kind of table `data` is; Arrow for Arrow and for files."""
    module = type(data).__module__
    if module.startswith("pandas"):
        return _to_pandas(table)
    if module.startswith("polars"):
        import polars as pl

        return pl.from_arrow(table)
    return table
