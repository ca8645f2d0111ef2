"""Freed memory that the process keeps."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from motif.engine import memory


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What the allocator is asked for."""
    calls: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda name, value: calls.append((name, value)))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    for name in ("MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    memory.keep_freed_memory.cache_clear()
    return calls


def test_it_is_asked_once(asked: list[tuple[int, int]]) -> None:
    memory.keep_freed_memory()
    assert sorted(asked) == [(-3, 32 << 20), (-1, 128 << 20)]
    memory.keep_freed_memory()
    assert len(asked) == 2


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
def test_what_the_user_has_chosen_stays(
    name: str, asked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    memory.keep_freed_memory()
    assert not asked


def test_other_systems_are_left_alone(asked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    memory.keep_freed_memory()
    assert not asked
