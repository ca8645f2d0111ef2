"""Loops as machine code, which takes the compiler once: what it made is kept and loaded without it.

A loop gets arrays, numbers and tuples of these, and gives back a number. Its code needs nothing of Python or Numba,
only memory: LLVM's own loader puts it there in milliseconds, while importing Numba takes half a second, in every
process and every worker of Spark anew. Arguments are handed over as words of 64 bits, which some assembly fetches.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache, lru_cache
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

import numpy as np

from motif.kernels import disk
from motif.kernels.aside import NotLoaded, is_under_way, is_wanted

Definition = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Python source and the names it may use -> the names it defines."""
Shape = tuple[Any, ...]
"""The arguments of a call by kind: "<i8" for an array of whole numbers, "int" or "float", a tuple for a tuple."""

NOTHING_KNOWN: Mapping[str, Any] = MappingProxyType({})
_ENTRY = "motif_entry"
_FORMAT = "3"
"""Of the files that are kept."""
_ENGINES: list[Any] = []
"""Code lives as long as the engine that loaded it."""


class Native:
    """A loop that is compiled, or loaded, for each kind of arguments that it is called with.

    Arrays that it writes have to be contiguous and aligned; of others it gets a copy.
    """

    def __init__(self, name: str, source: str, define: Definition, known: Mapping[str, Any] = NOTHING_KNOWN) -> None:
        """`known`: what `define` was told of the loop."""
        self.name = name
        self.known = known
        self.source = source
        self.define = define
        self._digest = _digest(_FORMAT, name, source)
        self._entries: dict[Shape, Callable[[int], int]] = {}

    @property
    def is_loaded(self) -> bool:
        """Whether calls cost nothing more, arguments being of the kind they usually are."""
        return bool(self._entries)

    @property
    def is_kept(self) -> bool:
        """Whether it has only to be loaded, in the same sense."""
        return disk.has(self._folder)

    @property
    def _folder(self) -> str:
        """What another version of LLVM has made does not count as kept."""
        return f"{_version()}/{self._digest}"

    def __call__(self, *arguments: Any) -> int:
        leaves: list[Any] = []
        shape = tuple([_shape(argument, leaves) for argument in arguments])
        entry = self._entries.get(shape) or self._load(shape, aside=is_wanted())
        words = np.array([0, 0, 0, 0, *_words(leaves)], np.int64)
        address = words.__array_interface__["data"][0]
        words[:2] = address + 16, address + 24  # where the result and the error go
        if entry(address):
            raise OverflowError  # loops raise no other
        return int(words[2])

    def _load(self, shape: Shape, *, aside: bool) -> Callable[[int], int]:
        return _loader(os.getpid()).submit(self._now_loaded, shape, aside).result()

    def _now_loaded(self, shape: Shape, aside: bool) -> Callable[[int], int]:
        if shape not in self._entries:  # two threads may ask for the same
            code = disk.read(self._folder, _kind(shape))
            if code is None and aside and self._is_compiled_aside(shape):
                raise NotLoaded
            code = disk.read(self._folder, _kind(shape)) if code is None and aside else code
            self._entries[shape] = _loaded(self.keep(shape, nullcontext()) if code is None else code)
        return self._entries[shape]

    def _is_compiled_aside(self, shape: Shape) -> bool:
        request = {"name": self.name, "source": self.source, "known": dict(self.known), "shape": shape}
        return is_under_way(f"{self._folder}/{_kind(shape)}", request)

    def keep(self, shape: Shape, writing: AbstractContextManager[Any]) -> bytes:
        """Compile for such arguments, and keep the code on disk, within `writing`."""
        code = self._compiled(shape)
        with writing:
            disk.write(self._folder, _kind(shape), code)
        return code

    def _compiled(self, shape: Shape) -> bytes:
        import numba as typed

        numba: Any = typed  # it can do more than its types say
        # Loops own no memory: without Numba's counting of references they are compiled a fifth faster.
        kernel = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
        loop = self.define(self.source, {"kernel": kernel})[self.name]
        kinds = tuple(_numba_type(part, numba) for part in shape)
        loop.compile(kinds)
        made = loop.overloads[kinds]
        if numba.types.unliteral(made.signature.return_type) != numba.types.int64:
            raise TypeError(f"{self.name} gives back {made.signature.return_type}")
        return _machine_code(loop.inspect_llvm(kinds), made.fndesc.llvm_func_name)


@lru_cache(maxsize=1)
def _loader(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a process that was forked has no threads
    """One thread that imports, compiles and loads: Ctrl-C never comes there, and half a compiler works no more."""
    return ThreadPoolExecutor(1, thread_name_prefix="motif-load")


def are_loaded(loops: Iterable[Native]) -> bool:
    """Whether all of them are there."""
    return all(loop.is_loaded for loop in loops)


def are_kept(loops: Iterable[Native]) -> bool:
    """Whether they have only to be loaded from disk."""
    return all(loop.is_kept for loop in loops)


def _kind(shape: Shape) -> str:
    return _digest(repr(shape), *_processor())


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


# -- arguments


def _shape(argument: Any, leaves: list[Any]) -> Any:
    """The kind of an argument; its arrays and numbers are added to `leaves`."""
    if isinstance(argument, tuple):
        return tuple([_shape(part, leaves) for part in argument])
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        leaves.append(argument if flags.c_contiguous and flags.aligned else np.require(argument, None, ("C", "A")))
        return argument.dtype.str
    is_float = isinstance(argument, float)
    leaves.append(argument if is_float else int(argument))
    return "float" if is_float else "int"


def _words(leaves: list[Any]) -> list[int]:
    """As Numba's code gets them: of an array no owner, its size, the address, then length and step."""
    words: list[int] = []
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            size, width = leaf.size, leaf.itemsize
            words += (0, 0, size, width, leaf.__array_interface__["data"][0], size, width)
        else:
            words.append(leaf if isinstance(leaf, int) else int(np.float64(leaf).view(np.int64)))
    return words


# -- compiling


def _numba_type(part: Any, numba: Any) -> Any:
    types = numba.types
    if isinstance(part, tuple):
        return types.BaseTuple.from_types([_numba_type(inner, numba) for inner in part])
    if part in ("int", "float"):
        return types.int64 if part == "int" else types.float64
    return types.Array(numba.from_dtype(np.dtype(part)), 1, "C")


def _machine_code(assembly: str, function: str) -> bytes:
    llvm = _llvm()
    module = llvm.parse_assembly(assembly)
    missing = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    if missing:  # LLVM would end the process
        raise RuntimeError(f"a compiled loop calls {missing}, which only Numba has")
    kinds = [str(argument.type) for argument in module.get_function(function).arguments]
    code: bytes = _machine().emit_object(llvm.parse_assembly(assembly + _entry(function, kinds)))
    return code


def _entry(function: str, kinds: list[str]) -> str:
    """A function that calls another with the words at an address.

    By Numba's convention the first two say where the result and the error go; what is returned is not 0 for an error.
    """
    pointer = "ptr" if kinds[0] == "ptr" else "i64*"  # as later and as earlier versions of LLVM write it
    lines = [f"%words = inttoptr i64 %address to {pointer}"]
    for number, kind in enumerate(kinds):
        convert = "inttoptr" if kind.endswith(("ptr", "*")) else "bitcast"
        lines += [
            f"%at{number} = getelementptr i64, {pointer} %words, i64 {number + 2 * (number > 1)}",
            f"%word{number} = load i64, {pointer} %at{number}",
            f"%value{number} = {convert} i64 %word{number} to {kind}",
        ]
    values = ", ".join(f"{kind} %value{number}" for number, kind in enumerate(kinds))
    lines += [f'%status = call i32 @"{function}"({values})', "ret i32 %status"]
    return f"\ndefine i32 @{_ENTRY}(i64 %address) {{\n" + "\n".join(lines) + "\n}\n"


# -- loading


def _loaded(code: bytes) -> Callable[[int], int]:
    llvm = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(engine.get_function_address(_ENTRY))


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def _version() -> str:
    """Asked of the package's metadata: the package itself takes longer to import."""
    return version("llvmlite")


def _processor() -> tuple[str, str]:
    """What code is made for."""
    llvm = _llvm()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _machine() -> Any:
    """As Numba has it, so that what it optimised stays so."""
    name, features = _processor()
    target = _llvm().Target.from_default_triple()
    relocation = "static" if target.name.startswith("x86") else "default"
    options = {"opt": 3, "reloc": relocation, "codemodel": "jitdefault", "jit": True}
    return target.create_target_machine(cpu=name, features=features, **options)
