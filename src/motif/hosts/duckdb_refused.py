"""What DuckDB refuses, as Motif's own errors: its messages taken apart, and its limits by our names."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from motif import limits
from motif.engine.memory import half_of
from motif.errors import (
    HostError,
    LimitExceeded,
    MotifError,
    QueryBindError,
    QueryDataError,
    QuerySyntaxError,
    Span,
    UnsupportedQuery,
    did_you_mean,
)
from motif.hosts.duckdb_safety import NO_FILES, PASS_THE_FILE, NoTable, Unsafe
from motif.hosts.duckdb_says import SEVERAL_ROWS, in_our_words
from motif.lang.misspelt import slip_in_sql

Room = tuple[int, int | None, str | None]
"""Bytes of memory and of disk, and where on disk."""


class Refused(HostError):
    """DuckDB's own error, taken apart, or ours of what it understood."""

    def __init__(self, error: BaseException, tables: Sequence[str] = (), before: int = 0) -> None:
        if isinstance(error, Unsafe):
            self.kind, self.message = type(error).__name__, error.message
            self.position, self.length = error.position, error.length
            if isinstance(error, NoTable):
                self.message = _no_table(error.message, tables)
            return
        kind, _, text = str(error).partition(": ")
        facts: dict[str, str] = {}
        if text.startswith("{"):
            facts = json.loads(text)
            text = facts["exception_message"]
        self.kind = type(error).__name__
        self.message = in_our_words(_plain(text.split("\n\nLINE ")[0].strip()) or kind)
        if self.message.startswith(SEVERAL_ROWS):
            self.kind = "QueryDataError"  # whatever DuckDB calls it
        if facts.get("error_subtype") == "MISSING_ENTRY" and facts.get("type") == "Table":
            self.message = _no_table(facts["name"], tables)
        self.position = int(facts["position"]) - before if "position" in facts else None
        location = json.loads(facts.get("location", "[0,1]"))
        self.length = max(1, int(location[1]))
        super().__init__(self.message)

    def as_error(self, source: str | None = None, span: Span | None = None) -> MotifError:
        """The same as one of ours, pointing at the user's text."""
        first, _, rest = self.message.partition("\n")
        hint = " ".join(rest.split())[:200] or None
        place: dict[str, Any] = {"source": source, "span": span, "hint": hint}
        match self.kind:
            case "ParserException":
                if source and span and (slip := slip_in_sql(source, span.start, "duckdb")):
                    place["span"], place["hint"] = slip
                return QuerySyntaxError(first, **place)
            case "PermissionException":
                place["hint"] = PASS_THE_FILE
                return UnsupportedQuery(NO_FILES, **place)
            case "Unsafe":
                return UnsupportedQuery(first, **place)
            case (
                "NoTable" | "BinderException" | "CatalogException" | "InvalidInputException" | "NotImplementedException"
            ):
                return QueryBindError(first, **place)
            case "OutOfMemoryException":
                return beyond_limits(self.message) or QueryDataError(first, **place)
            case "IOException" | "HTTPException":
                return MotifError(self.message)
            case _:
                return QueryDataError(first, **place)


def _no_table(name: str, tables: Sequence[str]) -> str:
    return f"there is no table {name}\n{did_you_mean(name, tables) or 'give a table of that name'}"


_OF_OURS = re.compile(r' when casting from source column (__leaf_|c)\d+|""?__leaf_\d+""?|__leaf_\d+|"?__motif_\w+"?')


def _plain(message: str) -> str:
    """Without the names that we gave to what has none."""
    return _OF_OURS.sub(lambda found: "" if found[0].startswith(" ") else "a value of the match", message)


def room() -> Room:
    """What DuckDB may use now."""
    now = limits.LIMITS
    return half_of(now), now.spill_bytes, now.temp_folder


_NO_MEMORY = re.compile(r"(failed to|could not) (allocate|pin|resize|reserve memory) (data|block)|Out of Memory")
"""What DuckDB says where it has no more room in memory."""


def beyond_limits(text: str) -> LimitExceeded | None:
    """What DuckDB says once it has no more room, as the limit that is reached; None of any other error."""
    memory, disk, _ = room()
    if "max_temp_directory_size" in text:
        most = "half of what was free" if disk is None else f"{disk:,}"
        return LimitExceeded(
            f"what does not fit into memory takes more room on disk than spill_bytes = {most}",
            hint="ask for less, or allow more: motif.limits.LIMITS = replace(motif.limits.LIMITS, spill_bytes=...)",
        )
    if _NO_MEMORY.search(text):
        return LimitExceeded(
            f"DuckDB needs more memory than half of memory_bytes = {2 * memory:,}",
            hint="ask for less, or allow more: motif.limits.LIMITS = replace(motif.limits.LIMITS, memory_bytes=...)",
        )
    return None


def first_line(error: BaseException) -> str:
    """What an error says, without what only DuckDB knows."""
    text = str(error)
    if "{" in text:
        with suppress(ValueError, KeyError):
            text = json.loads(text[text.index("{") : text.rindex("}") + 1])["exception_message"]
    text = _plain(text)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__
