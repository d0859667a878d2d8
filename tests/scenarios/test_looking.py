"""`cosim report` and `cosim trace`: from run folders and studies to files, and what is refused."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from own_commands import exit_code

import cosim
from analysis.chrome_trace import spans
from cosim import AfterRounds, EdgeTraining, Hist, Sgd, System
from cosim.data import Synthetic
from cosim.studies.study import Study

SYSTEM = System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    protocol=Hist(
        training=EdgeTraining(
            num_edge_rounds=2, steps=cosim.SameSteps(num_local_steps=2), local=Sgd(batch_size=10)
        ),
    ),
    end=AfterRounds(num_global_rounds=2),
)


class Text(HTMLParser):
    """All text of a page."""

    def __init__(self, html):
        super().__init__()
        self.words = []
        self.feed(html)

    def handle_data(self, data):
        self.words += data.split()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run."""
    folder = tmp_path_factory.mktemp("made") / "a"
    cosim.run(SYSTEM, out=folder)
    return folder


@pytest.fixture(autouse=True)
def folders(made, monkeypatch, tmp_path):
    """A copy of the run in an empty folder."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, "runs/a")


def test_a_report_of_runs_is_one_page_beside_them(tmp_path, capsys):
    assert exit_code("report", "runs/a") == 0
    page = tmp_path / "runs" / "a" / "report.html"
    assert f"Page: {page.relative_to(tmp_path)} (1 run)" in capsys.readouterr().out
    words = " ".join(Text(page.read_text()).words)
    summary = cosim.Result.load("runs/a").summary
    assert f"{summary.time_s:.3g}"[:4] in words
    assert not re.search(r"(src|href)\s*=\s*.?(https?:)?//", page.read_text())


def test_a_report_of_a_study_tells_all_its_runs(tmp_path, capsys):
    Study(SYSTEM, {"num_cells": (1, 2)}, 1).run("s", executor=ThreadPoolExecutor(1))
    assert exit_code("report", "s", "runs/a", "--out", "pages/all.html") == 0
    assert "(3 runs)" in capsys.readouterr().out
    assert "num_cells" in (tmp_path / "pages" / "all.html").read_text()


@pytest.mark.usefixtures("unwritten_pictures")
def test_a_report_shows_the_targets_of_its_studies_unless_others_are_given(tmp_path):
    with ThreadPoolExecutor(1) as executor:
        Study(SYSTEM, {"num_cells": (1, 2)}, 1, targets=(0.1, 0.2), held=2).run("s", executor=executor)
        Study(SYSTEM, {"num_cells": (1, 2)}, 1, targets=(0.1,)).run("t", executor=executor)
    for arguments, shown, hidden in (
        (("s",), [f"{share} % test accuracy held for 2 evaluations" for share in (10, 20)], "not shown"),
        (("s", "--target", "0.3"), ("30 % test accuracy",), "held for"),
        (("s", "t"), ("20 % test accuracy held for 2 evaluations", "t: its targets are not shown"), "30 %"),
    ):
        assert exit_code("report", *arguments) == 0
        page = " ".join(Text((tmp_path / "s" / "report.html").read_text()).words)
        for words in shown:
            assert words in page
        assert hidden not in page


def test_a_report_says_which_runs_of_a_study_failed(tmp_path):
    Study(SYSTEM, {"num_cells": (1, 200)}, 1).run("s", executor=ThreadPoolExecutor(1))
    assert exit_code("report", "s") == 0
    assert "200 cells, seed 1: failed" in " ".join(Text((tmp_path / "s" / "report.html").read_text()).words)


def stopped(seed):
    """A folder of a run that was interrupted."""
    folder = f"runs/stopped-{seed}"
    cosim.run(cosim.evolve(SYSTEM, seed=seed), out=folder)
    path = Path(folder) / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "interrupted"}))
    return folder


@pytest.mark.parametrize("command", ["table", "plot"])
def test_runs_that_do_not_count_are_said(command, capsys):
    """A stopped run, also where it is named before the whole one of its seed, and one that is named again."""
    cosim.run(SYSTEM, out="runs/again")
    folders = (stopped(1), "runs/a", "runs/again", stopped(2))
    out = ("--out", "t.csv", "--format", "csv") if command == "table" else ("--out", "p.pdf")
    assert exit_code(command, *folders, *out) == 0
    said = capsys.readouterr().err
    for seed in (1, 2):
        assert (
            f"The run stopped-{seed} (seed {seed}) is not complete: interrupted after 2 global rounds" in said
        )
    assert said.count("; not counted.") == 3
    assert "The run again (seed 1) repeats a seed of its design; not counted." in said
    if command == "table":
        numbers = pd.read_csv("t.csv").set_index("metric")
        assert numbers.loc["time_s", "num_runs"] == 1
        assert numbers.loc["time_s", "value"] == cosim.Result.load("runs/a").summary.time_s


@pytest.mark.parametrize("command", ["table", "plot"])
def test_runs_of_a_study_that_failed_are_said(command, capsys):
    Study(SYSTEM, {"num_cells": (200, 1)}, 1).run("s", executor=ThreadPoolExecutor(1))
    assert exit_code(command, "s") == 0
    output, errors = capsys.readouterr()
    assert "200 cells, seed 1: failed (System.num_cells = 200" in errors
    assert command == "plot" or "difference to 1 cell, seed by seed" in output


def test_a_table_without_a_complete_run_is_refused(capsys):
    folder = stopped(1)
    assert exit_code("table", folder) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "table: no run in it is complete: The run stopped-1 (seed 1) is not complete" in error
    assert exit_code("plot", folder, "--out", "p.pdf") == 0
    assert "its numbers stand for what it did until then" in capsys.readouterr().err


def test_a_reference_without_a_complete_run_is_refused(capsys):
    Study(SYSTEM, {"num_cells": (200, 1)}, 1).run("s", executor=ThreadPoolExecutor(1))
    assert exit_code("table", "s", "--reference", "200 cells") == 2
    assert "--reference 200 cells: none of its runs is complete. Known: 1 cell." in capsys.readouterr().err


def test_a_global_round_that_is_not_there_is_refused(capsys):
    assert exit_code("report", "runs/a", "--global-round", "99") == 2
    assert "99" in capsys.readouterr().err


def test_a_trace_reads_back_as_the_table_of_spans(tmp_path, capsys):
    assert exit_code("trace", "runs/a") == 0
    events = json.loads((tmp_path / "runs" / "a" / "trace.json").read_text())["traceEvents"]
    assert f"({len(events)} events)" in capsys.readouterr().out
    assert spans(events).equals(cosim.Result.load("runs/a").spans)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", "nothing"), "nothing cannot be read as a run folder"),
        (("trace", "nothing"), "nothing cannot be read as a run folder"),
        (("report", "runs/a", "--target", "80"), "target 80: test accuracy is a share, from 0 to 1. Did you"),
        (("table", "runs/a", "--target", "80"), "Did you mean 0.8?"),
        (("report", "runs/a", "--held", "2"), "--held 2: there is no target. Use --target 0.8."),
        (("report", "runs/a", "--out", "/proc/x/y.html"), "cannot be written"),
        (("trace", "runs/a", "--out", "/proc/y.json"), "/proc/y.json: cannot be written"),
    ],
)
def test_refused_in_one_message(arguments, message, capsys):
    assert exit_code(*arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("Error:") == 1


def test_a_study_has_no_trace_and_one_without_ended_runs_no_report(capsys):
    Study(SYSTEM, {"num_cells": (200,)}, 1).run("s", executor=ThreadPoolExecutor(1))
    assert exit_code("trace", "s") == 2
    assert "is a study. Use one of its runs" in capsys.readouterr().err
    assert exit_code("report", "s") == 2
    assert "no run in it has ended" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "plot"])
def test_a_study_whose_runs_are_damaged_says_so(command, capsys):
    Study(SYSTEM, {"num_cells": (1,)}, 1).run("s", executor=ThreadPoolExecutor(1))
    (Path("s") / "runs" / "design-000-seed-1" / "summary.json").write_text("{")
    assert exit_code(command, "s") == 2
    assert f"Error: {command}: no run can be read. s/runs/design-000-seed-1 cannot be read" in (
        " ".join(capsys.readouterr().err.split())
    )


@pytest.mark.parametrize("command", ["report", "trace"])
def test_help_teaches(command, capsys):
    assert exit_code(command) == 0
    assert f"usage: cosim {command} FOLDER" in capsys.readouterr().out
    assert exit_code(command, "runs/a", "--help") == 0
