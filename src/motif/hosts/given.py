"""Types that a host does not keep: how a table is handed to DuckDB, and how its values come out as they went in.

DuckDB knows no zone of a column, no categories, no length of time that is not an INTERVAL, and one form of text. What
comes out unchanged is of the type of the column that it comes from. What was computed is of the type that DuckDB gives,
but for an INTERVAL, which is a duration, and a time with a zone, which is shown in the zone of all columns with one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from motif.arguments import check_capitals
from motif.engine.arrays import arrow, flat, interval_lengths, null_flags, numpy_of, plain_type
from motif.errors import MotifError, QueryDataError

MOST_DIGITS = 38
"""Of a decimal number that hosts take."""
LONGEST = (1 << 63) // 1_000
"""Microseconds of a length of time that DuckDB hands over, which counts in nanoseconds then."""
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_list_view, pa.types.is_large_list_view)


@dataclass(frozen=True, slots=True)
class Given:
    """What a column was given as."""

    kind: pa.DataType
    dictionary: pa.Array | None = None
    """The categories, where it has some."""
    parts: tuple[Given, ...] = ()
    """What the fields of a struct, or the values of a list, were given as."""
    metadata: Mapping[bytes, bytes] | None = field(default=None, compare=False)

    def listed(self) -> Given:
        """Lists of it; what repeats is not left out in them."""
        if pa.types.is_run_end_encoded(self.kind):
            return Given(self.kind.value_type).listed()
        return Given(pa.list_(self.kind), parts=(self,))


def together(fields: Iterable[tuple[str, Given]]) -> Given:
    """A struct of columns."""
    listed = list(fields)
    return Given(pa.struct([(name, part.kind) for name, part in listed]), parts=tuple(part for _, part in listed))


def given_column(table: pa.Table, name: str) -> Given:
    """What a column of a table is."""
    column, metadata = table.column(name), table.schema.field(name).metadata
    if not pa.types.is_dictionary(column.type):
        return Given(column.type, metadata=metadata)
    unified = column.unify_dictionaries()
    values = unified.chunk(0).dictionary if unified.num_chunks else pa.array([], column.type.value_type)
    return Given(column.type, values, metadata=metadata)


def given_in_file(schema: pa.Schema, name: str) -> Given | None:
    """What a column of a file is said to be; a file has zones and values of its own, but no form of texts."""
    if schema.names.count(name) != 1:
        return None
    kind = schema.field(name).type
    is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return Given(kind) if is_zoned or isinstance(kind, pa.BaseExtensionType) or pa.types.is_time(kind) else None


_KEPT = frozenset(
    [
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.null()),
        *(pa.date32(), pa.time64("us"), *map(pa.timestamp, ("s", "ms", "us", "ns"))),
    ]
)


def is_kept(kind: pa.DataType) -> bool:
    """Whether DuckDB hands values over in the type in which it took them."""
    return kind in _KEPT


# -- in


def readable(name: str, table: pa.Table, *, is_fixed: bool = False) -> pa.Table:
    """The table with columns that DuckDB reads. Raises `MotifError` for what it would lose.

    `is_fixed`: types do not depend on values, as rows of a stream are read like those that came before.
    """
    check_schema(name, table.schema)
    for number, column in enumerate(table.schema):
        values, kind = table.column(number), _readable(column.type)
        if _is_helpless(column.type) and (is_fixed or _are_microseconds(values)):
            kind = _in_microseconds(column.type)
        _check_lengths(name, column, values)
        if kind != column.type:
            table = table.set_column(number, pa.field(column.name, kind), _cast(name, column, values, kind))
    return table


def check_schema(name: str, schema: pa.Schema) -> None:
    """Raises `MotifError` for a column that DuckDB does not take, or does not tell from another one."""
    check_capitals(_called(name), schema.names)
    for column in schema:
        if _readable(column.type) is None:
            what = f"takes at most {MOST_DIGITS} digits" if pa.types.is_decimal(column.type) else "has no such type"
            raise _cannot(name, column, f"DuckDB {what}")


def _cast(name: str, column: pa.Field, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return values.cast(kind)
    except (pa.ArrowException, ValueError) as error:
        if _counts_nanoseconds(column.type):
            raise _cannot(name, column, "DuckDB counts in microseconds, and there are nanoseconds in it") from None
        raise _cannot(name, column, f"its values are no {kind} ({str(error).splitlines()[0]})") from None


def _counts_nanoseconds(kind: pa.DataType) -> bool:
    return kind == pa.duration("ns") or _is_helpless(kind)


def _is_helpless(kind: pa.DataType) -> bool:
    """Whether DuckDB has a type, but next to no function on it: nanoseconds, of a day or with a zone."""
    return kind == pa.time64("ns") or (pa.types.is_timestamp(kind) and kind.unit == "ns" and kind.tz is not None)


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    return pa.time64("us") if pa.types.is_time(kind) else pa.timestamp("us", kind.tz)


def _are_microseconds(values: pa.ChunkedArray) -> bool:
    """Whether no value is between two microseconds."""
    parts = [numpy_of(part.view(pa.int64()))[null_flags(part) == 0] for part in values.chunks]
    return not any(bool((part % 1_000).any()) for part in parts)


def _called(table: str) -> str:
    return "the table" if table.startswith("__motif") or table == "data" else f"table {table}"


def _check_lengths(table: str, column: pa.Field, values: pa.ChunkedArray) -> None:
    if pa.types.is_duration(column.type) and len(values):
        most = pc.max(pc.abs(values.cast(pa.int64()).cast(pa.float64()))).as_py() or 0
        if most > LONGEST * _per_microsecond(column.type):
            raise _cannot(table, column, "a length of time is over 292 years")


def _per_microsecond(kind: pa.DataType) -> float:
    return {"s": 1e-6, "ms": 1e-3, "us": 1.0, "ns": 1e3}[kind.unit]


def _cannot(table: str, column: pa.Field, why: str) -> MotifError:
    return MotifError(
        f"column {column.name} of {_called(table)} ({column.type}) can not be read: {why}",
        hint="leave the column out, or cast it first",
    )


@lru_cache(1024)
def _readable(kind: pa.DataType) -> pa.DataType | None:
    """The type as which DuckDB reads one; None if there is none."""
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind):
        return _readable_decimal(kind)
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if pa.types.is_union(kind):
        return None
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind if _readable(kind.value_type) == kind.value_type else _readable(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return kind if _readable(kind.storage_type) == kind.storage_type else _readable(kind.storage_type)
    if pa.types.is_struct(kind):
        inner = [_readable(part.type) for part in kind]
        if None in inner:
            return None
        return pa.struct([part.with_type(new) for part, new in zip(kind, inner, strict=True)])
    if any(is_such(kind) for is_such in _LISTS) or pa.types.is_fixed_size_list(kind):
        new = _readable(kind.value_type)
        if new is None or new == kind.value_type:
            return None if new is None else kind
        return pa.list_(new, kind.list_size) if pa.types.is_fixed_size_list(kind) else pa.list_(new)
    if pa.types.is_map(kind):
        key, item = _readable(kind.key_type), _readable(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    return kind


def _readable_decimal(kind: pa.DataType) -> pa.DataType | None:
    digits, scale = kind.precision, kind.scale
    if scale < 0:
        digits, scale = digits - scale, 0
    if digits > MOST_DIGITS:
        return None
    return kind if kind.bit_width < pa.decimal256(1).bit_width and scale == kind.scale else pa.decimal128(digits, scale)


# -- out

Lookup = Callable[[str], Given | None]
"""What a column of an input was given as; None where that is not known."""


def finished(column: pa.ChunkedArray, given: Given | None, zone: str | None) -> pa.ChunkedArray:
    """A column of a result: `given` what it was, if it comes out unchanged; `zone`: that of all times with one."""
    if given is None:
        return computed(column, zone)
    return column if column.type == given.kind else pa.chunked_array([restored(column, given)])


def restored(column: pa.ChunkedArray | pa.Array, given: Given) -> pa.Array:
    """Unchanged values of a column in the type in which they were given."""
    return _restored(flat(column), given)


def _restored(array: pa.Array, given: Given) -> pa.Array:
    kind = given.kind
    if array.type == kind:
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _storage(array, kind))
    if pa.types.is_dictionary(kind):
        return _coded(_restored(array, Given(kind.value_type)), given)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(_restored(array, Given(kind.value_type)), kind.run_end_type)
    if pa.types.is_struct(kind):
        parts = given.parts or tuple(Given(part.type) for part in kind)
        values = [_restored(array.field(number), part) for number, part in enumerate(parts)]
        if not values:
            return array
        return pa.StructArray.from_arrays(values, fields=list(kind), mask=array.is_null())
    if pa.types.is_map(kind):
        keys, items = (_restored(part, Given(of)) for part, of in _map_parts(array, kind))
        return pa.MapArray.from_arrays(_offsets(array), keys, items, kind)
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
        inner = _restored(values, *(given.parts or (Given(kind.value_type),)))
        return pa.FixedSizeListArray.from_arrays(inner, type=kind, mask=array.is_null())
    if any(is_such(kind) for is_such in _LISTS):
        inner = _restored(array.values, *(given.parts or (Given(kind.value_type),)))
        return _list_of(array, inner, kind)
    if pa.types.is_interval(array.type):
        return durations(array).cast(kind)
    return array.cast(kind)


def _map_parts(array: pa.Array, kind: pa.DataType) -> list[tuple[pa.Array, pa.DataType]]:
    return [(array.keys, kind.key_type), (array.items, kind.item_type)]


def _list_of(array: pa.Array, values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        whole = numpy_of(array.offsets).astype(np.int32 if pa.types.is_list_view(kind) else np.int64)
        view = pa.ListViewArray if pa.types.is_list_view(kind) else pa.LargeListViewArray
        return view.from_arrays(whole[:-1], np.diff(whole), values, type=kind, mask=array.is_null())
    # Arrow's cast of a list cuts fields of type null, even where nothing is to be cast.
    if pa.types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(_offsets(array).cast(pa.int64()), values, type=kind)
    return pa.ListArray.from_arrays(_offsets(array), values, type=kind)


def _offsets(array: pa.Array) -> pa.Array:
    """Where lists begin and end, NULL for those that are."""
    return arrow(numpy_of(array.offsets).copy(), np.append(null_flags(array).astype(bool), False))


def _storage(array: pa.Array, kind: Any) -> pa.Array:
    if kind == pa.uuid() and pa.types.is_string(array.type):
        digits = pc.replace_substring(array.drop_null(), "-", "").to_pylist()
        known = np.frombuffer(bytes.fromhex("".join(digits)), "V16")
        values = np.zeros(len(array), "V16")
        gone = null_flags(array).astype(bool)
        values[~gone] = known
        valid = pa.py_buffer(np.packbits(~gone, bitorder="little"))
        return pa.Array.from_buffers(pa.binary(16), len(array), [valid, pa.py_buffer(values)])
    return _restored(array, Given(kind.storage_type))


def _coded(values: pa.Array, given: Given) -> pa.Array:
    kind = given.kind
    plain = values.cast(plain_type(values.type))  # Arrow looks up no views
    known = pc.unique(plain.drop_null()) if given.dictionary is None else given.dictionary.cast(plain.type)
    indices = pc.index_in(plain, known, skip_nulls=True).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, known.cast(kind.value_type), ordered=kind.ordered)


def durations(array: pa.Array) -> pa.Array:
    """INTERVALs as lengths of time in microseconds."""
    lengths = interval_lengths(array)
    if lengths is None:
        raise QueryDataError(
            "an INTERVAL of months has no fixed length, and so it is no duration",
            hint="CAST it AS VARCHAR, or subtract times: their difference is a duration",
        )
    return lengths


def computed(column: pa.ChunkedArray, zone: str | None) -> pa.ChunkedArray:
    """Values that were computed, with no INTERVAL among them, and in a zone (None: that of the host)."""
    kind = _computed(column.type, zone)
    return column if kind == column.type else pa.chunked_array([_restored(flat(column), Given(kind))])


@lru_cache(1024)
def _computed(kind: pa.DataType, zone: str | None) -> pa.DataType:
    if pa.types.is_interval(kind):
        return pa.duration("us")
    if pa.types.is_timestamp(kind) and kind.tz and zone:
        return pa.timestamp(kind.unit, zone)
    if pa.types.is_struct(kind):
        return pa.struct([part.with_type(_computed(part.type, zone)) for part in kind])
    if pa.types.is_map(kind):
        return pa.map_(_computed(kind.key_type, zone), _computed(kind.item_type, zone))
    if pa.types.is_list(kind) and _computed(kind.value_type, zone) != kind.value_type:
        return pa.list_(_computed(kind.value_type, zone))
    if pa.types.is_fixed_size_list(kind) and _computed(kind.value_type, zone) != kind.value_type:
        return pa.list_(_computed(kind.value_type, zone), kind.list_size)
    return kind


def zones_of(kind: pa.DataType) -> frozenset[str]:
    """The zones of times in values of a type."""
    if pa.types.is_timestamp(kind):
        return frozenset([kind.tz] if kind.tz else [])
    inner = [kind.field(number).type for number in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return frozenset().union(*map(zones_of, inner))
