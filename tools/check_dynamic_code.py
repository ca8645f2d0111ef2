"""Finds code that could run text or bytes as a program.

    python tools/check_dynamic_code.py src/motif

Reported: `eval`, `exec`, `compile`, `__import__` and their `builtins` twins; any use of `pickle`, `marshal`,
`shelve` and their kin; `os.system` and its kin; `subprocess` with a shell. `exec` and `compile` are allowed in the
one module that builds kernels from fixed templates. A name that was imported under another name is followed.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path

BUILTINS = frozenset({"eval", "exec", "compile", "__import__"})
MODULES = frozenset(
    {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "code", "codeop"}
)
CALLS = frozenset({"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"})
OS_PREFIXES = ("os.exec", "os.spawn")
ALLOWED = {"kernels/build.py": frozenset({"exec", "compile"})}
"""Module below the package, and what it may use."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One forbidden use."""

    path: Path
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what} is not allowed here"


def check_source(source: str, path: Path, allowed: frozenset[str] = frozenset()) -> list[Finding]:
    """All forbidden uses in one module."""
    tree = ast.parse(source, filename=str(path))
    names = _imported_names(tree)
    found = [
        Finding(path, getattr(node, "lineno", 1), what)
        for node in ast.walk(tree)
        for what in _uses(node, names)
        if what not in allowed
    ]
    return sorted(set(found), key=lambda f: (f.line, f.what))


def check_tree(package: Path) -> list[Finding]:
    """All forbidden uses in all modules of a package folder."""
    findings: list[Finding] = []
    for path in sorted(package.rglob("*.py")):
        allowed = ALLOWED.get(path.relative_to(package).as_posix(), frozenset())
        findings += check_source(path.read_text(encoding="utf-8"), path, allowed)
    return findings


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Local name -> what it stands for, such as `s` -> `os.system`."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _uses(node: ast.AST, names: dict[str, str]) -> list[str]:
    """What this one node uses of the forbidden things."""
    if isinstance(node, ast.Import):
        return [top for alias in node.names if (top := alias.name.split(".")[0]) in MODULES]
    if isinstance(node, ast.ImportFrom):
        top = (node.module or "").split(".")[0]
        return [top] if top in MODULES and not node.level else []
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(_dotted(node, names))
    if isinstance(node, ast.Call):
        return _called(node, names)
    return []


def _named(name: str) -> list[str]:
    name = name.removeprefix("builtins.")
    if name in BUILTINS or name in CALLS or name.startswith(OS_PREFIXES):
        return [name]
    return []


def _called(node: ast.Call, names: dict[str, str]) -> list[str]:
    name = _dotted(node.func, names)
    found = []
    if name.startswith("subprocess.") and any(k.arg == "shell" and not _is_false(k.value) for k in node.keywords):
        found.append("subprocess with shell=True")
    if name in {"importlib.import_module", "getattr"}:
        texts = {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
        found += sorted(texts & (BUILTINS | MODULES if name == "getattr" else MODULES))
    return found


def _dotted(node: ast.AST, names: dict[str, str]) -> str:
    """`a.b.c` with the first name replaced by what it was imported as; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([names.get(node.id, node.id), *reversed(parts)])


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def main(arguments: list[str]) -> int:
    """Check the given package folders; 1 where something was found."""
    if not arguments:
        print("usage: check_dynamic_code.py PACKAGE_FOLDER...", file=sys.stderr)
        return 2
    findings = [finding for folder in arguments for finding in check_tree(Path(folder))]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
