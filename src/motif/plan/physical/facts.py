"""What a choice may look at: what is known of the rows, the host and the machine. None: not known (yet)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from motif.plan.events.steps import Estimates


class Host(StrEnum):
    """The engine around the matching."""

    DUCKDB = "DuckDB"
    SPARK = "Spark"


class Mode(StrEnum):
    """How rows come."""

    BATCH = "batch"
    STREAM = "stream"
    ARCHIVE = "stream with an archive"


class Reader(StrEnum):
    """Who reads the rows that cross to the matching."""

    MEMORY = "memory"
    ARROW = "Arrow"
    HOST = "host"
    PUSH = "push"


class Code(StrEnum):
    """Where the machine code of a loop is."""

    LOADED = "loaded"
    KEPT = "kept on disk"
    ABSENT = "not compiled yet"


@dataclass(frozen=True, slots=True)
class Crossing:
    """A column that crosses to the matching: what the host computes for it, and its type."""

    sql: str
    type: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What the host is asked for, in its own words."""

    rows: str = ""
    """Rows in any order."""
    sorted_rows: str = ""
    """The same rows in the order of the matching."""
    filter: str = ""
    """What it leaves out beforehand, where that is a step of its own."""
    result: str = ""
    """What it computes from the matches; nothing where the matching gives all that is asked for."""
    crossing: tuple[Crossing, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known before a query runs; what is learned while it runs makes another one."""

    host: Host = Host.DUCKDB
    mode: Mode = Mode.BATCH
    cores: int = 1
    asked: Asked = field(default_factory=Asked)
    reader: Reader = Reader.HOST
    """Who could read them, at best."""
    file_rows: int | None = None
    """Rows of the file that is read, of which fewer may cross."""
    computes: bool = False
    """Motif would compute conditions on rows, where others than the host read."""
    files: int = 0
    """Files that are read by others than the host."""
    rows: int | None = None
    """Rows that cross."""
    bytes: int | None = None
    """Bytes that a host expects to read, where it does nothing but read; while it runs, bytes that have crossed."""
    memory: int | None = None
    """Bytes that rows may take in memory, as the limits of the caller allow."""
    largest_share: float | None = None
    """Of the rows, the share of the partition that has most."""
    code: Code | None = None
    """Of the loops that the matching takes."""
    lead_steps: int | None = None
    """Steps that a join takes, as far as a sample of the events that are bound first tells."""
    functions: frozenset[str] = frozenset()
    """Functions of the user: what they cost, no one knows."""
    estimates: Estimates | None = None
    """Candidates of each variable, and what else the order of a join depends on."""
    buckets: int | None = None
    """Buckets of keys of a stream on Spark."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What the query sets in the session of the host for itself."""
