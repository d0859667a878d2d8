"""The results that are kept: pages hold what was run, and verdicts follow from the values of the seeds."""

import json
import math

import pandas as pd
import pytest

from scenarios import results
from scenarios.reproduce.claims import Claim, Quantity

FIGURES = {path.stem: json.loads(path.read_text()) for path in sorted(results.FOLDER.glob("*.json"))}


def test_the_pages_are_what_is_kept():
    for path, text in results.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"make it anew: {results.COMMAND}"
    assert {path.stem for path in results.FOLDER.glob("*.md")} == {"README", *results.PAPERS}


def number(value: float | None, absent: float) -> float:
    return absent if value is None else value


@pytest.mark.parametrize("name", FIGURES)
def test_verdicts_and_numbers_follow_from_the_seeds(name):
    told = FIGURES[name]
    for claim in told["claims"]:
        quantities = [
            Quantity(
                words=of["words"],
                values=[number(value, math.nan) for value in of["values"]],
                least=number(of["least"], -math.inf),
                most=number(of["most"], math.inf),
                unit=of["unit"],
                is_exact=of["is_exact"],
                is_ratio=of["is_ratio"],
            )
            for of in claim["quantities"]
        ]
        again = Claim(paper=claim["paper"], quantities=quantities, is_required=claim["is_required"])
        assert again.verdict == claim["verdict"]
        assert [found.in_words for found in again.found] == [of["in_words"] for of in claim["quantities"]]
        num_values = {len(of["values"]) for of in claim["quantities"] if not of["is_exact"]}
        assert all(num >= len(told["seeds"]) for num in num_values)


@pytest.mark.parametrize("name", FIGURES)
def test_table_and_picture_are_there(name):
    assert len(pd.read_csv(results.FOLDER / f"{name}.csv"))
    assert (results.FOLDER / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_is_taken_in_in_its_longest_form(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path / "kept")
    for form, core_hours in (("hist-fig4-quick", 0.1), ("hist-fig4", 2.0), ("again", 1.0)):
        folder = tmp_path / "figures" / form
        folder.mkdir(parents=True)
        told = {"figure": "hist-fig4", "claims": [], "core_hours": core_hours}
        (folder / "hist-fig4.json").write_text(json.dumps(told))
        (folder / "hist-fig4.csv").write_text(form)
        (folder / "hist-fig4.png").write_bytes(b"")
        (folder / "costs.json").write_text("{}")
    assert results.take_in(tmp_path / "figures") == ["hist-fig4"]
    assert (tmp_path / "kept" / "hist-fig4.csv").read_text() == "hist-fig4"
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "hist-fig4.csv",
        "hist-fig4.json",
        "hist-fig4.png",
    ]
