"""Content of a figure's NAME.json: the cost of its runs, against sums by hand."""

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from scenarios.reproduce import shown
from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.figures import Options

pytestmark = pytest.mark.quick


def run_in(folder, num_global_rounds) -> Any:
    return SimpleNamespace(folder=folder, summary=SimpleNamespace(num_global_rounds=num_global_rounds))


def test_a_figure_took_what_its_own_runs_took(tmp_path):
    """Costs of another figure in the same folder are none of its; without runs the command itself counts."""
    costs_s = {"runs/a/seed-1": 1800.0, "runs/b/seed-1": 5400.0, "runs/other/seed-1": 9e9}
    (tmp_path / "costs.json").write_text(json.dumps(costs_s))
    runs = [run_in(tmp_path / "runs" / name / "seed-1", rounds) for name, rounds in (("a", 7), ("b", 3))]
    told = shown.as_json("f", Options(), [], tmp_path, runs)
    assert (told["runs"], told["global_rounds"], told["core_hours"]) == (2, [3, 7], 2.0)


def test_a_figure_names_the_commits_that_have_made_its_runs(tmp_path):
    """Commits of runs, not of the one that tells them again; all that continued a stopped run."""
    folders = [tmp_path / name for name in ("late", "early")]
    for folder, started, commits in zip(folders, ("2", "1"), (["c"], ["a", "b", "a"]), strict=True):
        folder.mkdir()
        first, *others = ({"commit": commit, "started": started} for commit in commits)
        (folder / "provenance.json").write_text(json.dumps(first | {"resumed": others}))
    told = shown.as_json("f", Options(), [], tmp_path, [run_in(folder, 1) for folder in folders])
    assert told["commits"] == ["a", "b", "c"]


def test_a_figure_without_runs_took_what_it_says(tmp_path):
    assert shown.as_json("f", Options(), [], tmp_path, [], took_s=900.0)["core_hours"] == 0.25


def test_claims_of_ours_are_told_apart(tmp_path):
    quantities = [Quantity(words="x", values=[1.0, 1.0], least=0.0)]
    claims = [
        Claim(paper=f"{own} it", quantities=quantities, is_ours=own == "our") for own in ("their", "our")
    ]
    told = shown.as_json("f", Options(), claims, tmp_path, [])["claims"]
    assert [claim["is_ours"] for claim in told] == [False, True]
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(shown.claims_table("f", Options(), claims))
    printed = console.export_text()
    assert "│ their it " in printed
    assert "│ (ours, not the paper's) our it " in printed
