"""The command `motif` where the packages of the command line are not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {missing!r} else real(name, package)
from motif.cli import main
main(["version"])
"""


@pytest.mark.parametrize(
    ("missing", "named"), [(("typer", "rich"), "typer and rich"), (("typer",), "typer"), (("rich",), "rich")]
)
def test_the_command_says_what_to_install(missing: tuple[str, ...], named: str) -> None:
    code = WITHOUT.format(missing=missing)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"the command line needs {named}\n  hint: pip install 'motif-cep[cli]'\n"


def test_nothing_is_said_where_nothing_is_missing() -> None:
    code = WITHOUT.format(missing=())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("motif ")
