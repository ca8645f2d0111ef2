"""Compiled loops: what they are called with, what they raise, and what is kept of them on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motif.kernels import build, disk, native
from motif.kernels.native import Native

SOURCE = """
@kernel
def total(values, factor, pair, out):
    result = 0.0
    for i in range(len(values)):
        result += values[i] * factor
    out[0] = result + pair[0][0] + pair[1][0]
    if pair[1][0] < 0:
        raise OverflowError
    return len(values)
"""
PAIR = (np.array([1, 2], np.int64), np.array([10.0]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOTIF_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Kinds of arguments for which something was compiled."""
    shapes: list[object] = []
    own = Native._compiled

    def recorded(self: Native, shape: native.Shape) -> bytes:
        shapes.append(shape)
        return own(self, shape)

    monkeypatch.setattr(Native, "_compiled", recorded)
    return shapes


def total() -> Native:
    return Native("total", SOURCE, build.defined)


def called(loop: Native, values: Any, factor: Any = 2, pair: Any = PAIR) -> float:
    out = np.zeros(1)
    assert loop(values, factor, pair, out) == len(values)
    return float(out[0])


@pytest.mark.usefixtures("folder")
def test_each_kind_of_arguments_is_compiled_once(compiled: list[object]) -> None:
    loop = total()
    assert called(loop, np.arange(5)) == 31
    assert called(loop, np.arange(6)) == 41
    assert len(compiled) == 1
    assert called(loop, np.arange(5), 2.5) == 36
    assert called(loop, np.arange(5, dtype=np.uint8)) == 31
    assert called(loop, np.array([True, False, True])) == 15
    assert len(compiled) == 4
    assert called(loop, np.arange(5), np.int64(2)) == 31
    assert called(loop, np.arange(5), True) == 21
    assert len(compiled) == 4


@pytest.mark.usefixtures("folder")
def test_arrays_that_are_apart_or_out_of_step_in_memory() -> None:
    loop = total()
    apart = np.arange(10)[::2]
    assert called(loop, apart) == called(loop, apart.copy())
    shifted = np.frombuffer(b"\0" + np.arange(5).tobytes(), np.int64, offset=1)
    assert not shifted.flags.aligned
    assert called(loop, shifted) == 31
    assert called(loop, np.zeros(0, np.int64)) == 11


@pytest.mark.usefixtures("folder")
def test_overflow_is_raised() -> None:
    loop = total()
    with pytest.raises(OverflowError):
        called(loop, np.arange(5), pair=(PAIR[0], np.array([-1.0])))
    assert called(loop, np.arange(5)) == 31


def test_code_is_kept_and_loaded(folder: Path, compiled: list[object]) -> None:
    first = total()
    assert not first.is_kept
    assert not first.is_loaded
    called(first, np.arange(5))
    assert first.is_kept
    assert first.is_loaded
    second = total()
    assert second.is_kept
    assert not second.is_loaded
    assert called(second, np.arange(5)) == 31
    assert len(compiled) == 1
    other = Native("total", SOURCE.replace("0.0", "1.0"), build.defined)
    assert not other.is_kept
    assert [path.suffix for path in folder.rglob("*") if path.is_file()] == [".o"]


@pytest.mark.parametrize("damage", [lambda code: code[:-9], lambda code: code[:-1] + b"?", lambda _: b""])
def test_damaged_code_is_made_anew(folder: Path, compiled: list[object], damage: Any) -> None:
    called(total(), np.arange(5))
    (path,) = folder.rglob("*.o")
    path.write_bytes(damage(path.read_bytes()))
    assert called(total(), np.arange(5)) == 31
    assert len(compiled) == 2
    assert called(total(), np.arange(5)) == 31
    assert len(compiled) == 2


def test_code_of_another_loop_or_kind_is_not_run(folder: Path, compiled: list[object]) -> None:
    called(total(), np.arange(5))
    called(Native("total", SOURCE.replace("0.0", "5.0"), build.defined), np.arange(5))
    called(total(), np.arange(5), 2.5)
    files = sorted(folder.rglob("*.o"))
    codes = [path.read_bytes() for path in files]
    for path, code in zip(files, [*codes[1:], codes[0]], strict=True):
        path.write_bytes(code)
    assert called(total(), np.arange(5)) == 31
    assert called(total(), np.arange(5), 2.5) == 36
    assert called(Native("total", SOURCE.replace("0.0", "5.0"), build.defined), np.arange(5)) == 36
    assert len(compiled) == 6


@pytest.mark.parametrize("of", [lambda path: path, lambda path: path.parent, lambda path: path.parents[3]])
def test_what_others_can_write_is_not_run(
    folder: Path, compiled: list[object], of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    called(total(), np.arange(5))
    (path,) = folder.rglob("*.o")
    of(path).chmod(0o777)
    assert called(total(), np.arange(5)) == 31
    assert len(compiled) == 2
    if of(path) == path:
        assert called(total(), np.arange(5)) == 31
        assert len(compiled) == 2  # it was replaced by our own
    else:
        assert not total().is_kept
        assert str(of(path)) in caplog.text


def test_folders_are_made_for_the_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        called(total(), np.arange(5))
    finally:
        os.umask(before)
    assert total().is_kept
    assert all(not path.stat().st_mode & 0o077 for path in folder.rglob("*"))


def test_ctrl_c_while_the_compiler_is_imported_leaves_it_whole(tmp_path: Path) -> None:
    script = """
import importlib.abc, signal, sys
import numpy as np
from motif.kernels import build
from motif.kernels.native import Native

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have its background jobs ignore it

class Interrupting(importlib.abc.MetaPathFinder):
    left = 1
    def find_spec(self, name, path, target=None):
        if name == "numba.core.types" and self.left:
            self.left = 0
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
loop = Native("plus", "@kernel\\ndef plus(x):\\n    return x + 1\\n", build.defined)
try:
    print("first", loop(41))
except KeyboardInterrupt:
    print("stopped")
print("then", loop(41))
"""
    found = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "MOTIF_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.stdout.split() == ["stopped", "then", "42"], found.stderr


def test_code_for_another_processor_is_left_alone(
    folder: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    called(total(), np.arange(5))
    own = native._processor()
    monkeypatch.setattr(native, "_processor", lambda: (own[0], f"{own[1]},"))
    called(total(), np.arange(5))
    assert len(compiled) == 2
    assert len(list(folder.rglob("*.o"))) == 2


@pytest.mark.usefixtures("folder")
def test_code_of_another_version_is_not_kept(compiled: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    called(total(), np.arange(5))
    monkeypatch.setattr(native, "_version", lambda: "0.0")
    assert not total().is_kept
    called(total(), np.arange(5))
    assert len(compiled) == 2


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert called(total(), np.arange(5)) == 31
    assert not total().is_kept
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_a_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[object]) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MOTIF_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        assert called(total(), np.arange(5)) == 31
    assert len(compiled) == 2
    assert not total().is_kept


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    for name in ("MOTIF_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    disk.write("loop", "kind", b"code")
    assert disk.read("loop", "kind") is None
    assert not disk.has("loop")


@pytest.mark.usefixtures("folder")
def test_many_threads_ask_at_once(compiled: list[object]) -> None:
    loop = total()
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(called(loop, np.arange(5)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [31] * 8
    assert len(compiled) == 1


@pytest.mark.usefixtures("folder")
def test_more_arrays_than_a_call_has_arguments() -> None:
    source = "@kernel\ndef last(arrays):\n    return arrays[199][0] + arrays[0][0]\n"
    arrays = tuple(np.array([number]) for number in range(5, 205))
    assert Native("last", source, build.defined)(arrays) == 209


@pytest.mark.usefixtures("folder")
def test_a_loop_gives_back_a_whole_number() -> None:
    with pytest.raises(TypeError, match="half gives back float64"):
        Native("half", "@kernel\ndef half(x):\n    return x / 2\n", build.defined)(3)
    assert Native("none", "@kernel\ndef none(x):\n    return 0\n", build.defined)(2.5) == 0


@pytest.mark.usefixtures("folder")
def test_code_that_needs_the_compiler_is_not_made() -> None:
    source = "@kernel\ndef total(values, factor, pair, out):\n    {}\n    return 0\n"
    with pytest.raises(RuntimeError, match="which only Numba has"):
        called(Native("total", source.format("print(factor)"), build.defined), np.arange(5))
    with pytest.raises(Exception, match="NRT required but not enabled"):
        called(Native("total", source.format("values.copy()"), build.defined), np.arange(5))


def test_many_threads_define_loops_at_once() -> None:
    source = "def grown(x):\n" + "".join(f"    x = ((x + {n}) * 1) - ({n})\n" for n in range(300)) + "    return x\n"
    sources = [source.replace("* 1", f"* {number % 3 + 1}") for number in range(48)]
    with ThreadPoolExecutor(8) as pool:
        defined = list(pool.map(lambda text: build.defined(text, {})["grown"], sources))
    assert [loop(2) for loop in defined[::3]] == [2] * 16
