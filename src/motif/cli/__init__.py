"""The command line: `motif run`, `check`, `explain`, `version`."""

from motif.cli.app import main

__all__ = ["main"]
