"""Progress: lines outside a terminal, how long it takes yet, and a bar in one."""

import builtins
import io
import re
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
import rich.console

import cosim
from cosim.display import progress
from cosim.display.progress import duration, progress_of
from cosim.ends.port import Counted
from cosim.studies import watch
from cosim.studies.study import Study

SYSTEM = cosim.System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=cosim.data.Synthetic(),
    protocol=cosim.Hist(
        training=cosim.EdgeTraining(num_edge_rounds=1, steps=cosim.SameSteps(num_local_steps=1))
    ),
    end=cosim.AfterRounds(num_global_rounds=3),
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test turns."""
    now = [50.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def terminal(monkeypatch):
    """Screen of a terminal."""
    shown = io.StringIO()
    console = rich.console.Console(file=shown, force_terminal=True, width=150)
    monkeypatch.setattr(progress, "_console", lambda: console)
    return shown


@pytest.fixture
def notebook(monkeypatch):
    """The texts that a notebook shows, one after the other in one place; it has IPython, and no widgets."""
    shown = []

    class ZMQInteractiveShell:
        """By which a notebook is known."""

    class Handle:
        def update(self, data, *, raw):
            assert raw
            shown.append(data["text/plain"])

    def display(data, *, raw, display_id):
        handle = Handle()
        handle.update(data, raw=raw)
        return handle

    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    ipython = types.ModuleType("IPython.display")
    ipython.display = display
    monkeypatch.setitem(sys.modules, "IPython.display", ipython)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    progress._console.cache_clear()
    yield shown
    progress._console.cache_clear()


def test_lines_say_how_long_it_takes_yet_by_the_pace_since_the_first_news(clock, capsys):
    with progress_of("s") as show:
        show(Counted(20, 60, "runs"), "none")
        clock[0] += 10.0
        show(Counted(22, 60, "runs"), "two", within=0.5)
        show(Counted(23, 60, "runs"), "three")
        clock[0] += 100.0
        show(Counted(60, 60, "runs"), "all")
    assert capsys.readouterr().err.splitlines() == [
        "s: 20 of 60 runs, none, 0 s",
        "s: 60 of 60 runs, all, 110 s",
    ]


def test_what_is_under_way_counts(clock, capsys):
    with progress_of("s") as show:
        show(Counted(0, 4, "runs"), "begun")
        clock[0] += 30.0
        show(Counted(0, 4, "runs"), "half of two", within=1.0)
    assert capsys.readouterr().err.splitlines()[-1] == "s: 0 of 4 runs, half of two, 30 s, about 90 s left"


@pytest.mark.parametrize(
    ("wall_s", "words"),
    [
        (0.1, "1 s"),
        (99.0, "99 s"),
        (100.0, "2 minutes"),
        (4200.0, "70 minutes"),
        (7200.0, "2 hours"),
        (3e5, "3 days"),
    ],
)
def test_durations(wall_s, words):
    assert duration(wall_s) == words


def test_a_run_shows_nothing_unless_asked(capsys):
    cosim.run(SYSTEM)
    assert capsys.readouterr() == ("", "")
    cosim.run(SYSTEM, progress=True)
    assert "run: 3 of 3 rounds, simulated" in capsys.readouterr().err
    heard = []
    cosim.run(SYSTEM, progress="mine", listener=lambda report: heard.append(report.version))
    assert "mine: 3 of 3 rounds, simulated" in capsys.readouterr().err
    assert heard == [0, 1, 2, 3]


def test_in_a_terminal_it_is_a_bar_whose_words_are_no_markup(terminal, capsys):
    cosim.run(SYSTEM, progress="sweep[lr=0.1]")
    assert "sweep[lr=0.1]" in terminal.getvalue()
    assert "3 of 3 rounds, simulated" in terminal.getvalue()
    assert "━" in terminal.getvalue()
    assert capsys.readouterr().err == ""


def test_in_a_notebook_a_run_shows_its_simulated_time(notebook, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_TEXT_EVERY_WALL_S", 0.0)
    result = cosim.run(SYSTEM, progress=True)
    assert [re.sub(r", (no|test|about) .*", "", text) for text in notebook] == [
        "run",
        f"run {'·' * 28} 0 of 3 rounds, simulated 0 s",
        *(
            f"run {'━' * (28 * n // 3):·<28} {n} of 3 rounds, simulated {end_s:.4g} s"
            for n, end_s in ends(result)
        ),
    ]
    assert capsys.readouterr() == ("", "")


def ends(result):
    """Number and end of each global round."""
    rounds = result.rounds[result.rounds["level"] == "global"]
    return zip(rounds["global_round"], rounds["end_s"], strict=True)


def test_in_a_notebook_a_study_shows_simulated_times_of_its_runs(notebook, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(watch, "_EVERY_WALL_S", 0.01)
    monkeypatch.setattr(progress, "_TEXT_EVERY_WALL_S", 0.0)
    longer = cosim.evolve(SYSTEM, end=cosim.AfterRounds(num_global_rounds=100))
    with ThreadPoolExecutor(1) as executor:
        Study(longer, {}, 2).run(tmp_path / "s", executor=executor, progress="mine")
    times_s = [found[1] for text in notebook if (found := re.search(r"1 running \(simulated (.*) s\)", text))]
    assert len({float(time_s) for time_s in times_s}) > 1
    assert notebook[-1] == f"mine {'━' * 28} 2 of 2 runs, 0 running, 0 failed"
    printed, errors = capsys.readouterr()
    assert printed.startswith("mine: 2 runs, about ")
    assert errors == ""
