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
