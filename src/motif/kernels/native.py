"""Loops as machine code, which takes the compiler once: what it made is kept and loaded without it.

A loop gets arrays, numbers and tuples of these. Compiled, it is one function that gets each array as an address and a
length. Such code needs nothing of Python or Numba, only memory: LLVM's own loader puts it there in milliseconds, while
importing Numba takes half a second, in every process and every worker of Spark anew.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from motif.kernels import disk

Definition = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Python source and the names it may use -> the names it defines."""
Shape = tuple[Any, ...]
"""The arguments of a call by kind: "<i8" for an array of whole numbers, "int" or "float", a tuple for a tuple."""

_NUMBERS: dict[str, Any] = {"int": ctypes.c_int64, "float": ctypes.c_double}

_ENTRY = "motif_entry"
_UNUSED = "NRT_MemInfo_call_dtor"
"""Numba's code calls this for arrays that own their memory. Ours never do."""
_LOADING = threading.Lock()
_ENGINES: list[Any] = []
"""Code lives as long as the engine that loaded it."""


class Native:
    """A loop that is compiled, or loaded, for each kind of arguments that it is called with.

    Arrays that it writes have to be contiguous and aligned; of others it gets a copy.
    """

    def __init__(self, name: str, source: str, define: Definition) -> None:
        self.name = name
        self.source = source
        self.define = define
        self.digest = _digest(_ENTRY_TEXT, name, source)
        self._entries: dict[Shape, Callable[..., int]] = {}

    @property
    def is_loaded(self) -> bool:
        """Whether calls cost nothing more, arguments being of the kind they usually are."""
        return bool(self._entries)

    @property
    def is_kept(self) -> bool:
        """Whether it has only to be loaded, in the same sense."""
        return disk.has(self.digest)

    def __call__(self, *arguments: Any) -> int:
        leaves: list[Any] = []
        shape = tuple([_shape(argument, leaves) for argument in arguments])
        entry = self._entries.get(shape) or self._load(shape)
        result, error = ctypes.c_int64(), ctypes.c_void_p()
        if entry(ctypes.byref(result), ctypes.byref(error), *_words(leaves)):
            raise OverflowError  # loops raise no other
        return result.value

    def _load(self, shape: Shape) -> Callable[..., int]:
        with _LOADING:  # two threads may ask for the same
            if shape not in self._entries:
                kind = f"{_digest(repr(shape), *_processor())}.o"
                code = disk.read(self.digest, kind)
                if code is None:
                    code = self._compiled(shape)
                    disk.write(self.digest, kind, code)
                self._entries[shape] = _loaded(code, shape)
            return self._entries[shape]

    def _compiled(self, shape: Shape) -> bytes:
        import numba as typed

        numba: Any = typed  # it can do more than its types say
        kernel = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
        names = self.define(self.source, {"kernel": kernel})
        entry = kernel(self.define(_entry_text(self.name, shape), names | {"carray": numba.carray})["entry"])
        parameters = tuple(part for leaf in _flat(shape) for part in _parameters(leaf, numba))
        entry.compile(parameters)
        name = entry.overloads[parameters].fndesc.llvm_func_name
        return _machine_code(entry.inspect_llvm(parameters).replace(name, _ENTRY))


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


def _words(leaves: list[Any]) -> list[Any]:
    words: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            words += (leaf.__array_interface__["data"][0], leaf.size)
        else:
            words.append(leaf)
    return words


def _flat(shape: Shape) -> Iterator[str]:
    for part in shape:
        if isinstance(part, tuple):
            yield from _flat(part)
        else:
            yield part


# -- compiling

_ENTRY_TEXT = """
def entry({parameters}):
    return {loop}({arguments})
"""


def _entry_text(loop: str, shape: Shape) -> str:
    leaves = list(_flat(shape))
    parameters = [f"p{n}" if leaf in _NUMBERS else f"p{n}, n{n}" for n, leaf in enumerate(leaves)]
    arguments = _arguments(shape, iter(range(len(leaves))))
    return _ENTRY_TEXT.format(parameters=", ".join(parameters), loop=loop, arguments=", ".join(arguments))


def _arguments(shape: Shape, numbers: Iterator[int]) -> Iterator[str]:
    for part in shape:
        if isinstance(part, tuple):
            yield "(" + "".join(f"{inner}, " for inner in _arguments(part, numbers)) + ")"
        elif part in _NUMBERS:
            yield f"p{next(numbers)}"
        else:
            number = next(numbers)
            yield f"carray(p{number}, (n{number},))"


def _parameters(leaf: str, numba: Any) -> list[Any]:
    types = numba.types
    if leaf in _NUMBERS:
        return [types.int64 if leaf == "int" else types.float64]
    return [types.CPointer(numba.from_dtype(np.dtype(leaf))), types.int64]


def _machine_code(assembly: str) -> bytes:
    module = _llvm().parse_assembly(assembly)
    missing = [f.name for f in module.functions if f.is_declaration and not f.name.startswith(("llvm.", _UNUSED))]
    if missing:  # LLVM would end the process
        raise RuntimeError(f"a compiled loop calls {missing}, which only Numba has")
    code: bytes = _machine().emit_object(module)
    return code


# -- loading


def _loaded(code: bytes, shape: Shape) -> Callable[..., int]:
    llvm = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f"define void @{_UNUSED}() {{ ret void }}"), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    address_and_length = (ctypes.c_int64, ctypes.c_int64)
    words = [word for leaf in _flat(shape) for word in ((_NUMBERS[leaf],) if leaf in _NUMBERS else address_and_length)]
    # Numba's convention: where to put the result, and the error, before the arguments; not 0 for an error.
    convention = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *words)
    return convention(engine.get_function_address(_ENTRY))


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _processor() -> tuple[str, ...]:
    """What code is made for, and by which version."""
    import llvmlite

    llvm = _llvm()
    return llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _machine() -> Any:
    """As Numba has it, so that what it optimised stays so."""
    llvm = _llvm()
    _, name, features = _processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="jitdefault", jit=True
    )
