"""The command line: `motif run`, `check`, `explain`, `version`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]
_NEEDED = ("typer", "rich")


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; what to install where the packages of the command line are missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        print(f"the command line needs {' and '.join(missing)}", file=sys.stderr)  # noqa: T201 - nothing else can show it
        print("  hint: pip install 'motif-cep[cli]'", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    from motif.cli.app import main as run

    run(argv)
