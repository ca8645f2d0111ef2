"""Very many values are told apart in parts, and the answer is that of one table."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from motif.engine import numbering
from motif.engine.numbering import are_many, encoded_by_parts
from motif.engine.partitions import groups
from motif.engine.texts import packed, unpacked


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "PIECE", 16)


def random_values(seed: int, kind: pa.DataType, *, nulls: bool) -> pa.Array:
    rng = random.Random(seed)
    low = 0 if pa.types.is_unsigned_integer(kind) else -(1 << kind.bit_width - 1)
    known = [rng.randrange(low, low + (1 << kind.bit_width)) for _ in range(rng.choice((3, 60, 900)))]
    return pa.array([None if nulls and rng.random() < 0.1 else rng.choice(known) for _ in range(700)], kind)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint64()], ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_each_row_has_the_code_of_its_value_and_each_value_has_one(seed: int, kind: pa.DataType, nulls: bool) -> None:
    column = random_values(seed, kind, nulls=nulls)
    encoded = encoded_by_parts(column)
    assert encoded.dictionary_decode().equals(column)
    assert len(encoded.dictionary) == len(encoded.dictionary.unique())


def test_codes_rise_where_equal_values_are_side_by_side() -> None:
    rng = random.Random(5)
    different = rng.sample(range(1 << 40), 300)
    column = pa.array([value for value in different for _ in range(rng.choice((1, 2, 3)))])
    encoded = encoded_by_parts(column)
    assert encoded.equals(column.dictionary_encode())
    apart = pa.concat_arrays([column, column.slice(0, 1)])
    assert encoded_by_parts(apart).dictionary_decode().equals(apart)


def test_parts_are_made_only_where_most_values_are_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "SAMPLE", 50)
    assert are_many(np.arange(1_000))
    assert not are_many(np.arange(1_000) % 40)
    assert not are_many(np.arange(63))


@pytest.mark.parametrize("texts", [False, True])
def test_keys_of_many_values_are_the_same_partitions(monkeypatch: pytest.MonkeyPatch, texts: bool) -> None:
    """One key, and two of which not every pair is there."""
    monkeypatch.setattr(numbering, "SAMPLE", 50)
    rng = random.Random(7)
    one: list[Any] = [rng.randrange(1 << 50) for _ in range(500)] * 2
    if texts:
        one = [f"k{value}" for value in one]
    other = [rng.randrange(-(1 << 50), 1 << 50) for _ in range(250)] * 4
    table = pa.table({"a": one, "b": other})
    for keys in ([0], [1], [0, 1]):
        rows = list(zip(*(table.column(key).to_pylist() for key in keys), strict=True))
        found = dict(zip(rows, groups(table, keys).tolist(), strict=True))
        assert groups(table, keys).tolist() == [found[row] for row in rows]
        assert len(set(found.values())) == len(set(rows))


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["ab", "cd"], ["a", "ab", ""], ["12345678", "abcdefgh"]])
def test_texts_of_one_length_and_of_several_come_back(texts: list[str]) -> None:
    array = pa.array(texts, pa.string())
    numbers = packed(array)
    assert numbers is not None
    for kind in (pa.string(), pa.large_string()):
        assert unpacked(numbers, kind).equals(array.cast(kind))
