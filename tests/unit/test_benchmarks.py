"""Results of benchmarks: files are read as they were written, runs are put together, pages show what is kept."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


campaigns = _load("campaigns")
FACTS = {
    "commit": "abc1234",
    "source": "0123456789ab",
    "form": "full",
    "from": "2026-11-19T10:00:00+00:00",
    "to": "2026-11-19T11:00:00+00:00",
    "load": "1.5",
    "cpu": "one, that counts: fast",
    "cores": "2",
}


def line(workload: str, contender: str = "motif", **figures: Any) -> dict[str, Any]:
    return {"workload": workload, "rows": 10, "keys": 1, "repeat": 1, "contender": contender, **figures}


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    refused = line("b", "flink", refused='it says "no",\nin two lines')
    campaign = campaigns.Campaign(FACTS, (line("a", wall_s=0.25, start_s=""), refused))
    path = campaigns.write(campaign, tmp_path)
    assert path.name == "2026-11-19-abc1234.csv"
    again = campaigns.read(path)
    assert dict(again.facts) == FACTS
    assert again.rows[0] == {
        **{name: str(value) for name, value in line("a", wall_s=0.25).items()},
        "refused": "",
    }
    assert again.rows[1]["refused"] == refused["refused"]


def test_runs_of_one_campaign_are_one_file_with_the_newest_lines(tmp_path: Path) -> None:
    first = campaigns.Campaign(FACTS, (line("a", wall_s=1.0), line("a", wall_s=2.0), line("b", wall_s=3.0)))
    later = {"commit": "def5678", "from": "2026-11-20T09:00:00+00:00", "to": "2026-11-20T09:30:00+00:00", "load": "0.5"}
    second = campaigns.Campaign({**FACTS, **later}, (line("a", wall_s=4.0), line("a", "polars", wall_s=5.0)))
    path = campaigns.join(first, tmp_path)
    assert campaigns.join(second, tmp_path) == path
    (both,) = campaigns.read_all(tmp_path)
    assert [(row["workload"], row["contender"], row["wall_s"]) for row in both.rows] == [
        ("b", "motif", "3.0"),
        ("a", "motif", "4.0"),
        ("a", "polars", "5.0"),
    ]
    assert both.facts["commit"] == "abc1234 def5678"
    assert both.facts["from"] == FACTS["from"]
    assert both.facts["to"] == later["to"]
    assert both.facts["load"] == "0.5 to 1.5"


@pytest.mark.parametrize("fact", ["source", "form", "cores"])
def test_another_motif_or_machine_is_another_campaign(tmp_path: Path, fact: str) -> None:
    campaigns.join(campaigns.Campaign(FACTS, (line("a", wall_s=1.0),)), tmp_path)
    other = {**FACTS, fact: "short" if fact == "form" else "other", "commit": "def5678"}
    campaigns.join(campaigns.Campaign(other, (line("a", wall_s=2.0),)), tmp_path)
    assert [len(campaign.rows) for campaign in campaigns.read_all(tmp_path)] == [1, 1]


@pytest.mark.parametrize(("fact", "value"), [("commit", "abc1234-dirty"), ("source", "0123 changed to 4567")])
def test_what_is_of_no_commit_is_not_clean(fact: str, value: str) -> None:
    assert campaigns.Campaign(FACTS, ()).is_clean
    assert not campaigns.Campaign({**FACTS, fact: value}, ()).is_clean


def test_pages_show_what_is_kept_and_nothing_else() -> None:
    command = [sys.executable, str(BENCHMARKS / "report.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
