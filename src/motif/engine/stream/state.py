"""Saved sessions: kept events and a few facts, in a `container` that notices every damage.

A session is saved with what its query reads and keeps (`Needs`), not with how it is matched: a later version of the
engine goes on from it, and so does a changed query if what was kept is enough for it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from motif.engine.stream import container
from motif.engine.stream.valid import is_whole_number


@dataclass(frozen=True, slots=True)
class Needs:
    """What a query reads of the events, and how long it needs them: all as text that can be compared and shown."""

    language: str
    columns: tuple[str, ...]
    """Expressions of the host, with their types."""
    key: str
    order: str
    filter: str
    """Which events are kept at all."""
    meaning: str
    """What must not change; for most event patterns nothing, as events alone are kept."""
    history: str
    """The query, where it decides which events are consumed."""
    began: str
    """The query, where it is noted which events began a match of it: the others time out."""
    is_numbered: bool
    """Whether the number of matches so far is kept for every key."""
    span: int | None
    """How long events are kept; None: for ever."""
    lookback: int
    lasting: tuple[str, ...] | None
    """Which events are kept after they could end a match; None: all."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What cannot be worked out again from the events."""

    watermark: int
    latest: int
    """The latest time seen, from which a watermark by lateness is counted."""
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Saved:
    """A session as it is saved."""

    needs: Needs
    facts: Facts
    kept: pa.Table | None
    pending: pa.Table | None


def dump(saved: Saved) -> bytes:
    """A session as bytes."""
    header = {"needs": asdict(saved.needs), "facts": asdict(saved.facts)}
    return container.pack("session", header, [container.table_bytes(table) for table in (saved.kept, saved.pending)])


def load(data: bytes) -> Saved:
    """Bytes as a session; raises MotifError where they are damaged."""
    return container.unpack("session", data, _content)


def _content(header: dict[str, Any], blobs: list[bytes]) -> Saved:
    needs = _needs(header["needs"])
    facts = Facts(**header["facts"])
    if not all(map(is_whole_number, (facts.watermark, facts.latest, *facts.counts.values()))):
        raise ValueError(facts)
    kept, pending = map(container.bytes_table, blobs)
    return Saved(needs, facts, kept, pending)


def _needs(values: dict[str, Any]) -> Needs:
    lasting = values["lasting"]
    lists = {"columns": tuple(values["columns"]), "lasting": None if lasting is None else tuple(lasting)}
    needs = Needs(**{**values, **lists})
    if not is_whole_number(needs.lookback) or not (needs.span is None or is_whole_number(needs.span)):
        raise ValueError(needs)
    return needs


def _changed(what: str, before: str, now: str) -> str:
    return f"{what} changed\n  from {before or 'none'}\n  to   {now or 'none'}"


def why_not(saved: Needs, wanted: Needs) -> str | None:
    """Why a query cannot go on from what another one has kept; None if it can."""
    for name, of in (
        ("language", "the language"),
        ("key", "the partition key"),
        ("order", "the order of events"),
        ("filter", "the conditions that decide which events are kept"),
        ("meaning", "the pattern"),
        ("history", "a query that consumes events cannot change but for SELECT: it"),
    ):
        before, now = getattr(saved, name), getattr(wanted, name)
        if before != now:
            return _changed(of, before, now)
    if wanted.began != saved.began and wanted.began:
        if not saved.began:
            return "timed-out matches are asked for now, and it was not noted which events have begun a match"
        return _changed(
            "a query that gives out timed-out matches cannot change but for SELECT: it", saved.began, wanted.began
        )
    if missing := [column for column in wanted.columns if column not in saved.columns]:
        return f"it reads what was not kept: {', '.join(missing)}"
    if saved.lasting is not None and (wanted.lasting is None or not set(wanted.lasting) <= set(saved.lasting)):
        return "events that were only the last of a match were let go, and it looks for others after them"
    if saved.span is not None and (wanted.span is None or wanted.span > saved.span):
        return "its window is longer than events were kept"
    if wanted.is_numbered and not saved.is_numbered:
        return "it asks for the number of a match, or for the first row of a key, and these were not kept"
    if wanted.lookback > saved.lookback:
        return "it looks further back than rows were kept"
    return None
