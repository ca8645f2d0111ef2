"""What the kernel knows of this process and of those it started. All environments run it: no packages but Python's."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
Measurement = dict[str, Any]


def measurement(contender: str, wall: float, cpu: float, answer: int | None) -> Measurement:
    """One run, with the peaks of memory since they were last reset."""
    peaks = {process: _peak(process) for process in tree()}
    python = {process: kb for process, (name, kb) in peaks.items() if name.startswith("python")}
    below = max((kb for process, kb in python.items() if process != os.getpid()), default=0)
    return {
        "contender": contender,
        "wall_s": wall,
        "cpu_s": cpu,
        "answer": answer,
        # Of this process, or of the largest Python worker where Spark runs some.
        "peak_mb": (below or python.get(os.getpid(), 0)) / 1024,
        # All processes added up, a JVM too; pages that forked workers share are counted for each.
        "all_mb": sum(kb for _, kb in peaks.values()) / 1024,
        "base_mb": 0.0,
        "handed_mb": 0.0,
    }


def tree(root: int | None = None) -> list[int]:
    """A process, this one where none is named, and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            parents.setdefault(int(stat[1]), []).append(int(entry.name))
    found = [root or os.getpid()]
    for process in found:
        found += parents.get(process, [])
    return found


def _stat(process: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; nothing where it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def tree_cpu(root: int | None = None) -> float:
    """CPU seconds of such a tree, of processes that ended included."""
    return sum(int(ticks) for process in tree(root) for ticks in _stat(process)[11:15]) / TICKS


def reset_peaks() -> None:
    """Let the peaks of memory start from now."""
    for process in tree():
        try:
            Path(f"/proc/{process}/clear_refs").write_text("5")
        except OSError:
            continue  # ended, or a kernel without it: peaks are then those of the whole life


def resident_mb() -> float:
    """Memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _peak(process: int) -> tuple[str, int]:
    """The name of a process and its peak in kB."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return "", 0
    name, peak = re.search(r"Name:\s+(\S+)", text), re.search(r"VmHWM:\s+(\d+)", text)
    return (name[1], int(peak[1])) if name and peak else ("", 0)
