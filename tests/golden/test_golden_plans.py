"""The plans of kept queries in process: a change of one has to be written down, `python tests/golden/write.py`."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from write import IN_PROCESS, PLANS, in_process

HOW = "write the plans with: python tests/golden/write.py"


@pytest.mark.parametrize("name", IN_PROCESS)
def test_plans_are_as_they_were(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert in_process(name, tmp_path) == (PLANS / f"{name}.txt").read_text(), HOW
