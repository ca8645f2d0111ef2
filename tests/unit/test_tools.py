"""The project's own tools: each finds what was planted for it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


check_dynamic_code = load("check_dynamic_code")
limits_page = load("limits_page")
decisions_page = load("decisions_page")

PLANTED = {
    "eval": "x = eval('1')",
    "exec": "exec('x = 1')",
    "compile": "compile('1', 'f', 'eval')",
    "__import__": "__import__('os')",
    "eval by another name": "run = eval\nrun('1')",
    "eval of builtins": "import builtins\nbuiltins.eval('1')",
    "eval imported": "from builtins import eval as harmless\nharmless('1')",
    "eval by getattr": "import builtins\ngetattr(builtins, 'eval')('1')",
    "pickle": "import pickle",
    "pickle under a name": "import pickle as p\np.loads(b'')",
    "loads of pickle": "from pickle import loads",
    "pickle by importlib": "import importlib\nimportlib.import_module('pickle')",
    "marshal": "import marshal",
    "shelve": "import shelve",
    "system": "import os\nos.system('ls')",
    "system under a name": "from os import system as s\ns('ls')",
    "popen": "import os\nos.popen('ls')",
    "execv": "import os\nos.execv('ls', [])",
    "shell": "import subprocess\nsubprocess.run('ls', shell=True)",
    "shell that may be true": "import subprocess\nsubprocess.run('ls', shell=flag)",
    "shell of Popen": "from subprocess import Popen\nPopen('ls', shell=True)",
    "inside a function": "def f():\n    def g():\n        return eval('1')\n    return g",
}

HARMLESS = [
    "import re\nre.compile('a')",
    "plan.compile(query)",
    "import ast\nast.literal_eval('1')",
    "import subprocess\nsubprocess.run(['ls'], shell=False)",
    "'eval(1)'",
    "def evaluate(): ...",
]


@pytest.mark.parametrize("source", PLANTED.values(), ids=PLANTED.keys())
def test_dynamic_code_is_found(source: str) -> None:
    assert check_dynamic_code.check_source(source, Path("planted.py"))


@pytest.mark.parametrize("source", HARMLESS)
def test_harmless_code_is_left_alone(source: str) -> None:
    assert check_dynamic_code.check_source(source, Path("planted.py")) == []


def test_only_the_kernel_builder_may_use_exec(tmp_path: Path) -> None:
    source = "exec(compile('x = 1', 'kernel', 'exec'))\n"
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "build.py").write_text(source)
    assert check_dynamic_code.check_tree(tmp_path) == []
    (tmp_path / "kernels" / "other.py").write_text(source)
    (tmp_path / "build.py").write_text(source)
    assert {f.path.relative_to(tmp_path).as_posix() for f in check_dynamic_code.check_tree(tmp_path)} == {
        "kernels/other.py",
        "build.py",
    }


def test_the_kernel_builder_may_not_use_anything_else(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "build.py").write_text("import pickle\neval('1')\n")
    assert [f.what for f in check_dynamic_code.check_tree(tmp_path)] == ["pickle", "eval"]


def test_the_exit_status_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.py").write_text("\neval('1')\n")
    assert check_dynamic_code.main([str(tmp_path)]) == 1
    assert f"{tmp_path / 'bad.py'}:2: eval is not allowed here" in capsys.readouterr().out
    assert check_dynamic_code.main([]) == 2


def test_motif_has_no_dynamic_code() -> None:
    assert check_dynamic_code.check_tree(ROOT / "src" / "motif") == []


def test_the_page_of_limits_is_up_to_date() -> None:
    assert limits_page.PAGE.read_text(encoding="utf-8") == limits_page.page(), "run python tools/limits_page.py"


def test_every_decision_has_a_status_and_superseding_is_mutual(capsys: pytest.CaptureFixture[str]) -> None:
    assert decisions_page.main(["--check"]) == 0, capsys.readouterr().err


DECISIONS = {
    "0001-a.md": "# 1. A\n\n**Status:** Superseded by [3](0003-c.md)\n",
    "0002-b.md": "# 2. B\n\n**Status:** Accepted; in part superseded by [3](0003-c.md)\n",
    "0003-c.md": "# 3. C\n\n**Status:** Accepted; supersedes [1](0001-a.md); supersedes in part [2](0002-b.md)\n",
}


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("0001-a.md", "# 1. A", "# 1. A", ""),
        ("0001-a.md", "**Status:** Superseded by [3](0003-c.md)", "**Context.**", "0001-a.md: the third line"),
        ("0001-a.md", "Superseded by [3](0003-c.md)", "Accepted", "0003-c.md: supersedes 1, which does not say so"),
        ("0001-a.md", "Superseded", "Replaced", "0001-a.md: the third line"),
        ("0002-b.md", "in part superseded", "superseded", "0002-b.md: the third line"),
        ("0003-c.md", "; supersedes in part [2](0002-b.md)", "", "0002-b.md: superseded by 3, which does not say so"),
        ("0003-c.md", "supersedes in part", "supersedes", "0002-b.md: superseded by 3, which does not say so"),
        ("0003-c.md", "[1](0001", "[4](0004", "0003-c.md: supersedes 4, which does not say so"),
        ("0003-c.md", "[1](0001", "[4](0001", "0003-c.md: the third line"),
        ("0003-c.md", "# 3. C", "# 4. C", "0003-c.md: the first line"),
    ],
)
def test_a_wrong_status_is_told(tmp_path: Path, file: str, old: str, new: str, complaint: str) -> None:
    for name, text in DECISIONS.items():
        assert name != file or old in text
        (tmp_path / name).write_text(text.replace(old, new) if name == file else text)
    said = decisions_page.complaints(decisions_page.decisions(tmp_path))
    assert any(line.startswith(complaint) for line in said) if complaint else said == []
