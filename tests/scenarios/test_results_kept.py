"""The results that are kept: pages hold what was run, and verdicts follow from the values of the seeds."""

import json
import math
from types import SimpleNamespace

import pandas as pd
import pytest
from scipy import stats

import cosim
from scenarios import results
from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.rawhfl.figures import Options as RawHflOptions
from scenarios.results import __main__ as command
from scenarios.results import judge

FIGURES = {path.stem: json.loads(path.read_text()) for path in sorted(results.FOLDER.glob("*.json"))}


def test_the_pages_are_what_is_kept():
    for path, text in results.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"make it anew: {results.COMMAND}"
    assert {path.stem for path in results.FOLDER.glob("*.md")} == {"README", "claims", *results.PAPERS}


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
                is_rare=of["is_rare"],
            )
            for of in claim["quantities"]
        ]
        again = Claim(paper=claim["paper"], quantities=quantities)
        assert again.verdict == claim["verdict"]
        assert [found.in_words for found in again.found] == [of["in_words"] for of in claim["quantities"]]
        num_values = {len(of["values"]) for of in claim["quantities"] if not of["is_exact"]}
        assert all(num >= len(told["seeds"]) for num in num_values)


@pytest.mark.parametrize("name", FIGURES)
def test_table_and_picture_are_there(name):
    assert len(pd.read_csv(results.FOLDER / f"{name}.csv"))
    assert (results.FOLDER / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of the results, empty."""
    monkeypatch.setattr(results, "FOLDER", tmp_path / "kept")
    return tmp_path / "kept"


def leave(folder, form, figure="hist-fig4", core_hours=1.0, commit="abc", **claim):
    """Files that a reproduction leaves in a folder of its own; its table says the form."""
    own = folder / form
    own.mkdir(parents=True, exist_ok=True)
    told = {
        "figure": figure,
        "command": f"cosim reproduce {figure}" + " --quick" * ("quick" in form),
        "commits": [commit],
        "core_hours": core_hours,
        "claims": [claim] if claim else [],
    }
    (own / f"{figure}.json").write_text(json.dumps(told))
    (own / f"{figure}.csv").write_text(form)
    (own / f"{figure}.png").write_bytes(b"")
    (own / "costs.json").write_text("{}")
    return own


def test_a_figure_is_taken_in_in_its_longest_form(tmp_path, kept):
    """In full before the quick form, however long that took."""
    folder = tmp_path / "figures"
    for form, core_hours in (("quick", 9.0), ("full", 2.0), ("again", 1.0)):
        leave(folder, form, core_hours=core_hours)
    assert results.take_in(folder) == (["hist-fig4"], [])
    assert (kept / "hist-fig4.csv").read_text() == "full"
    assert sorted(path.name for path in kept.iterdir()) == [
        "hist-fig4.csv",
        "hist-fig4.json",
        "hist-fig4.png",
    ]


def test_a_quick_form_does_not_replace_a_full_one(tmp_path, kept):
    """Else what is taken in last is kept; figures that are left are named."""
    for form, taken, after in (
        ("quick", True, "quick"),
        ("quick-again", True, "quick-again"),
        ("full", True, "full"),
        ("quick", False, "full"),
        ("full-again", True, "full-again"),
    ):
        folder = leave(tmp_path, form, core_hours=0.5 if form == "full-again" else 1.0)
        assert results.take_in(folder) == ((["hist-fig4"], []) if taken else ([], ["hist-fig4"]))
        assert (kept / "hist-fig4.csv").read_text() == after


def test_what_is_left_is_printed(tmp_path, kept, monkeypatch, capsys):
    results.take_in(leave(tmp_path, "full"))
    monkeypatch.setattr(command, "pages", dict)
    command.main([str(leave(tmp_path, "quick"))])
    assert capsys.readouterr().out.splitlines() == [
        "Taken in: nothing",
        "Left, quick forms where a full one is kept: hist-fig4",
    ]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"commit": "abc+changes"}, r"hist-fig5.json: commits = abc\+changes: must be .* Commit"),
        ({"paper": "more is better"}, "hist-fig5.json: claims: each must say `is_ours`.* Use `cosim"),
    ],
)
def test_a_figure_that_nobody_could_trust_is_refused_and_nothing_taken_in(what, message, tmp_path, kept):
    leave(tmp_path, "first")
    leave(tmp_path, "second", "hist-fig5", **what)
    with pytest.raises(cosim.ConfigurationError, match=message):
        results.take_in(tmp_path)
    assert not kept.exists()


# --- Pages --------------------------------------------------------------------------------------------------


def told(claims, **others):
    """A figure's NAME.json."""
    as_usual = {"figure": "hist-fig4", "command": "cosim reproduce hist-fig4", "seeds": [1], "runs": 0}
    as_usual |= {"global_rounds": [], "core_hours": 1.0, "commits": ["0123456789"], "cpu": "one"}
    return as_usual | {"claims": claims} | others


def claimed(paper, verdict="comes out", is_ours=False, least=0.0, most=None):
    quantity = {"in_words": "it: 2 [1, 3]", "least": least, "most": most}
    return {"paper": paper, "verdict": verdict, "is_ours": is_ours, "quantities": [quantity]}


@pytest.fixture
def table_kept(kept):
    """Table like a figure's."""
    kept.mkdir()
    return lambda frame: frame.to_csv(kept / "hist-fig4.csv", index=False)


def test_a_page_says_what_was_asked(table_kept):
    table_kept(pd.DataFrame({"x": range(99), "seed": 0}))
    lines = list(results.section(told([claimed("a", most=1.5), claimed("b", least=None, most=0.25)])))
    assert "| a | it: 2 [1, 3] (asked: 0 to 1.5) | comes out |" in lines
    assert "| b | it: 2 [1, 3] (asked: below 0.25) | comes out |" in lines


def test_bars_in_a_claim_are_no_edges_of_its_cells(table_kept):
    table_kept(pd.DataFrame({"x": range(99), "seed": 0}))
    (row,) = (row for row in results.section(told([claimed("sends s |U| bits")])) if "sends" in row)
    assert row.startswith(r"| sends s \|U\| bits | it: 2")


def test_a_claim_that_is_not_run_has_its_command(table_kept):
    table_kept(pd.DataFrame({"x": range(99), "seed": 0}))
    how = {"command": "cosim reproduce hist-fig4 --paper-scale", "core_hours": 12.34}
    claim = {"paper": "later", "verdict": "not run", "is_ours": False, "quantities": []} | how
    figure = told([claimed("now"), claim])
    row = "| later | `cosim reproduce hist-fig4 --paper-scale`: about 12 core-hours | not run |"
    assert row in list(results.section(figure))
    (line,) = (line for line in results.index({"hist": [figure]}).splitlines() if "hist-fig4]" in line)
    assert [cell.strip() for cell in line.strip("|").split("|")][1:6] == ["2", "1", "", "", "1"]


@pytest.mark.parametrize("name", judge.names("claims_in"))
def test_kept_claims_are_the_ones_of_today(name):
    """Claims that follow from the table: if words, range or origin have changed, they are judged again."""
    again = json.loads(json.dumps(judge.judged(name)["claims"]))
    assert again == FIGURES[name]["claims"], f"judge it again: python -m scenarios.results.judge {name}"


def test_figures_whose_claims_need_runs_are_not_judged_again():
    with pytest.raises(cosim.ConfigurationError, match=r"hist-fig4: its claims need its runs. Use one of"):
        judge.judged("hist-fig4")


def test_a_table_is_completed_with_columns_that_need_no_learning(kept, monkeypatch):
    """By the code of a commit, which stands beside the runs' own; what was there stays to the last digit."""
    asked = []

    def completed(table, options):
        asked.append((options.reading, list(options.every_seed)))
        return table.assign(backhaul_bits=7.0)

    name = "rawhfl-table2-printed"
    module = SimpleNamespace(completed=completed, Options=RawHflOptions)
    monkeypatch.setattr(judge, "find", lambda command, name: module)
    monkeypatch.setattr(judge, "FOLDER", kept)
    monkeypatch.setattr(judge, "provenance", lambda *_: {"commit": "def"})
    command = "cosim reproduce rawhfl-table2 --reading printed --seeds 2"
    kept.mkdir()
    (kept / f"{name}.json").write_text(
        json.dumps({"figure": name, "command": command, "commits": ["abc"], "claims": []})
    )
    pd.DataFrame({"algorithm": "a", "seed": [1], "accuracy": [0.1 + 0.2]}).to_csv(
        kept / f"{name}.csv", index=False
    )
    monkeypatch.setattr(judge.__main__, "pages", dict)
    judge.main([name])
    assert asked == [("printed", [1, 2])]
    assert json.loads((kept / f"{name}.json").read_text())["commits"] == ["abc", "def"]
    written = "algorithm,seed,accuracy,backhaul_bits\na,1,0.30000000000000004,7.0\n"
    assert (kept / f"{name}.csv").read_text() == written
    monkeypatch.setattr(judge, "provenance", lambda *_: {"commit": "def+changes"})
    with pytest.raises(SystemExit, match="must be without"):
        judge.main([name])


def test_claims_of_ours_stand_and_count_by_themselves(table_kept):
    table_kept(pd.DataFrame({"x": range(99), "seed": 0}))
    of_paper = [claimed("theirs"), claimed("theirs too", "too noisy")]
    own = [claimed("ours", is_ours=True), claimed("ours too", "does not show", is_ours=True)]
    figure = told([own[0], *of_paper, own[1]])
    lines = list(results.section(figure))
    heads = [
        lines.index(f"| {words} | here | verdict |") for words in ("the paper says", "ours, not the paper's")
    ]
    names = ("theirs", "theirs too", "ours", "ours too")
    rows = [next(n for n, line in enumerate(lines) if line.startswith(f"| {name} |")) for name in names]
    assert sorted([*heads, *rows]) == [heads[0], *rows[:2], heads[1], *rows[2:]]
    (line,) = (line for line in results.index({"hist": [figure]}).splitlines() if "hist-fig4]" in line)
    counts = ["2", "1", "", "1", "", "1 of 2", "1", "", "", "1"]
    assert [cell.strip() for cell in line.strip("|").split("|")][1:] == counts


@pytest.mark.parametrize(
    ("commit", "shown"), [("0123456789", "`0123456`."), ("0123456789+changes", "`0123456+changes`.")]
)
def test_a_page_says_where_a_commit_does_not_hold_all(commit, shown, table_kept):
    table_kept(pd.DataFrame({"x": range(99), "seed": 0}))
    assert f", commit {shown}" in list(results.section(told([], commits=[commit])))[-1]


def test_a_small_table_is_shown_with_means_over_seeds(table_kept):
    """Intervals by Student's t; runs that never got there are counted; an empty column is left out."""
    taken = {"a": [1.0, 2.0, 3.0], "b": [1.0, math.inf, 2.0], "c": [5.0] * 3}
    rows = [
        {"name": name, "seed": seed, "time_s": taken_s, "paper_MB": 7.25, "nothing": math.nan}
        for seed in (0, 1, 2)
        for name, taken_s in ((name, of_seeds[seed]) for name, of_seeds in taken.items())
    ]
    table_kept(pd.DataFrame(rows))
    half = stats.t.ppf(0.975, 2) / math.sqrt(3.0)
    lines = list(results.section(told([])))
    first = lines.index("| name | time (s) | paper MB |")
    assert lines[first + 1 : first + 6] == [
        "|---|---|---|",
        f"| a | 2 [{2.0 - half:.3g}, {2.0 + half:.3g}] | 7.25 |",
        "| b | 2 of 3 reached | 7.25 |",
        "| c | 5 | 7.25 |",
        "",
    ]


def test_what_a_small_table_lacks_is_left_empty(table_kept):
    """The paper's number, or ours."""
    rows = {"algorithm": ["A", "B"], "paper": [math.nan, 0.25], "seed": 1, "accuracy": [0.51234, math.nan]}
    table_kept(pd.DataFrame(rows))
    assert {"| A |  | 0.5123 |", "| B | 0.25 |  |"} <= {*results.section(told([]))}


def test_names_that_look_like_nothing_stay(table_kept):
    table_kept(pd.DataFrame({"algorithm": ["None", "NA"], "seed": 1, "accuracy": 0.5}))
    assert {"| None | 0.5 |", "| NA | 0.5 |"} <= {*results.section(told([]))}


def test_of_a_long_table_none_is_shown(table_kept):
    rows = pd.DataFrame({"algorithm": list("ABCDEFGHIJKL"), "seed": 1, "accuracy": 0.5})
    table_kept(rows)
    assert "| L | 0.5 |" in list(results.section(told([])))
    table_kept(pd.concat([rows, rows.iloc[:1].assign(algorithm="M")]))
    assert not any(line.startswith("| L |") for line in results.section(told([])))
