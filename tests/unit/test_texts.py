"""Short texts as numbers, and back."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from motif.engine import partitions
from motif.engine.arrays import MANY, decoded
from motif.engine.partitions import are_short, coded
from motif.engine.texts import packed, unpacked

KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
SHORT = ["", "a", "b", "ab", "ba", "S0000001", "S0000002", "größe", "12345678", "é", "\x7f\x01"]


def texts(values: list[str | None], kind: pa.DataType) -> pa.Array:
    return pa.array([None if value is None else value.encode() for value in values], pa.binary()).cast(kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_texts_come_back(kind: pa.DataType) -> None:
    given = texts(SHORT, kind)
    numbers = packed(given)
    assert numbers is not None
    assert len(set(numbers.tolist())) == len(SHORT)
    again = unpacked(numbers, kind)
    again.validate(full=True)
    assert again.equals(given)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_part_of_a_column(kind: pa.DataType) -> None:
    given = texts([*SHORT, "longer than eight", *SHORT], kind)
    assert packed(given) is None
    for part in (given.slice(0, len(SHORT)), given.slice(len(SHORT) + 1), given.slice(3, 2), given.slice(5, 0)):
        numbers = packed(part)
        assert numbers is not None
        assert unpacked(numbers, kind).equals(part)


@pytest.mark.parametrize("text", ["123456789", "a\0", "\0"])
def test_texts_that_no_number_stands_for(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "PACKED_ROWS", 0)
    assert packed(texts(["a", text], pa.string())) is None
    assert coded(pa.chunked_array([texts(["a", text, "a"], pa.string())])).to_pylist() == ["a", text, "a"]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(20))
def test_codes_are_those_of_arrow(seed: int, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    """One code for each value, in the order in which they come, also where a text is long or odd."""
    monkeypatch.setattr(partitions, "CODED_ROWS", 7)
    monkeypatch.setattr(partitions, "PACKED_ROWS", (0, 61)[seed % 2])
    rng = random.Random(seed)
    rare = ["longer than eight", "\0", "b"][seed % 3]
    chosen: list[str | None] = [rng.choice([*SHORT, None]) if rng.random() < 0.95 else rare for _ in range(60)]
    cut = rng.randrange(60)
    column = pa.chunked_array([texts(chosen[:cut], kind), texts(chosen[cut:], kind), texts([], kind)])
    found = coded(column)
    found.validate(full=True)
    expected = column.combine_chunks().dictionary_encode()
    assert found.indices.equals(expected.indices)
    assert decoded(found).equals(decoded(expected))


def test_what_looks_short() -> None:
    assert are_short(pa.chunked_array([["a", "b"]]))
    assert not are_short(pa.chunked_array([["a", "longer than eight"]]))
    assert not are_short(pa.chunked_array([[1, 2]]))
    assert not are_short(pa.chunked_array([], pa.string()))
    assert not are_short(pa.chunked_array([pa.array(["a"]).dictionary_encode()]))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("given", [["ab", "cd", "é"], ["abc", "abd", "abe", "é!"], ["ab", "", "cd"], ["", ""], ["a"]])
def test_texts_of_one_length_are_decoded_as_others_are(kind: pa.DataType, given: list[str]) -> None:
    rng = np.random.default_rng(1)
    known = texts(given, kind)
    for values in (known, known.slice(len(known) - 1)):
        codes = pa.array(rng.integers(0, len(values), 2 * MANY), pa.int32())
        array = pa.DictionaryArray.from_arrays(codes, values)
        for part in (array, array.slice(7), array.slice(MANY + 1)):
            found = decoded(part)
            found.validate(full=True)
            assert found.equals(part.dictionary_decode())
