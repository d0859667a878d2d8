"""`cosim reproduce`: exit codes, how long a full form takes, a cluster, and all figures in a row."""

import json
from concurrent.futures import Future
from contextlib import nullcontext
from types import SimpleNamespace

import attrs
import pandas as pd
import pytest
from matplotlib.figure import Figure

import cosim
from scenarios import quickstart
from scenarios.command_line import main, reproductions
from scenarios.reproduce import figures, kept
from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.figures import Options, run_all
from scenarios.reproduce.shown import tell

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

YES, NO, NOISY = [2.0, 2.1, 2.2], [-2.0, -2.1, -2.2], [-9.0, 1.0, 9.0]
TINY = cosim.evolve(quickstart.system(), end=cosim.AfterRounds(num_global_rounds=1), evaluation=cosim.Never())


def claim(values, **others):
    return Claim(paper="more is better", quantities=[Quantity(words="x", values=values, least=0.0)], **others)


def told(figure, options, *claims, runs=()):
    return tell(figure, options, claims, pd.DataFrame({"seed": [1]}), Figure(), runs)


# Exit codes.


@pytest.mark.parametrize(
    ("required", "others", "code"),
    [
        ([YES], [YES], 0),
        ([YES], [NO, NOISY], 0),
        ([YES, NOISY], [YES], 3),
        ([NOISY, NO], [], 1),
        ([], [NO], 0),
    ],
)
def test_required_claims_decide_the_exit_code(required, others, code, tmp_path, capsys):
    """Too noisy alone is 3, and says what would tell more."""
    claims = [claim(values, is_required=True) for values in required] + [claim(values) for values in others]
    assert told("f", Options(out=tmp_path, seeds=3), *claims) == code
    said = "Too noisy with 3 seeds: more is better. Use --seeds 12, which halves the intervals."
    assert (said in capsys.readouterr().out) is (code == 3)


# How long it takes.


def keep(folder, name, command, core_hours, seeds):
    told = {"command": command, "core_hours": core_hours, "seeds": seeds}
    (folder / f"{name}.json").write_text(json.dumps(told))


@pytest.mark.parametrize(
    ("options", "hours"),
    [
        (Options(), 2.0),
        (Options(seeds=10), 4.0),
        (Options(seed=7, seeds=1), 0.4),
        (Options(quick=True), None),
        (Options(workers=3, executor="dask"), 2.0),
    ],
)
def test_a_kept_figure_says_how_long_the_same_command_takes(options, hours, tmp_path):
    """Each seed as long; another form is another command."""
    keep(tmp_path, "f-other", "cosim reproduce f --reading other", 9.0, [1])
    keep(tmp_path, "f", "cosim reproduce f --seeds 5", 2.0, [1, 2, 3, 4, 5])
    found = kept.core_hours("f", options, tmp_path)
    assert found == (None if hours is None else pytest.approx(hours))


def test_a_full_form_says_so_before_it_starts(monkeypatch, capsys):
    monkeypatch.setattr(kept, "core_hours", lambda name, options: {"a": 1.0, "b": 3.0}.get(name))
    asked = {name: Options(workers=2) for name in ("a", "b", "c")}
    assert list(kept.expected({"a": asked["a"]})) == [
        "a: about 1 core-hours, as kept in docs/results, or 30 minutes on 2 cores; finished runs are "
        "not repeated."
    ]
    both, unknown = kept.expected(asked)
    assert both.startswith("2 figures: about 4 core-hours")
    assert unknown == "c: how long is not kept in docs/results; the progress tells it."


# A cluster.


def test_runs_go_to_a_cluster(tmp_path, monkeypatch):
    """Two workers; the runs are the same as of any other executor, and their cost is known."""
    from distributed import LocalCluster  # a fifth of a second, which other processes save

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        options = Options(seeds=2, out=tmp_path, executor=f"dask={cluster.scheduler_address}")
        runs = run_all("f", {"it": TINY}, options)
    assert [run.config["system"]["seed"] for run in runs["it"]] == [1, 2]
    assert sorted(figures.known_costs(tmp_path)) == ["runs/it/seed-1", "runs/it/seed-2"]
    monkeypatch.setattr(figures, "pool", None)  # runs that are there need no executor
    again = run_all("f", {"it": TINY}, attrs.evolve(options, executor="processes"))
    assert [run.summary for run in again["it"]] == [run.summary for run in runs["it"]]


def test_an_executor_that_is_none_is_refused(tmp_path):
    with pytest.raises(cosim.ConfigurationError, match="--executor slurm: must be processes, dask or"):
        run_all("f", {"it": TINY}, Options(out=tmp_path, executor="slurm"))


# All of them.


class Here:
    """Executor of this process, which counts the runs that it is given."""

    def __init__(self) -> None:
        self.num = 0

    def submit(self, carry_out, *given):
        self.num += 1
        future = Future()
        future.set_result(carry_out(*given))
        return future


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Figures a and c of a run each, and b, which fails; the executor, and the figures by name."""
    here = Here()

    def figure(name, values):
        def run(options):
            runs = run_all(name, {"it": TINY}, options)
            return told(name, options, claim(values, is_required=True), runs=runs["it"])

        return SimpleNamespace(main=run, Options=Options)

    def fails(options):
        raise RuntimeError("out of luck")

    known = {
        "a": figure("a", YES),
        "b": SimpleNamespace(main=fails, Options=Options),
        "c": figure("c", NOISY),
    }
    monkeypatch.setattr(reproductions, "catalogue", lambda command: dict.fromkeys(known))
    monkeypatch.setattr(reproductions, "find", lambda command, name: known[name])
    monkeypatch.setattr(figures.executor, "pool", lambda *_: nullcontext((here, 1)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return here, known


def called(capsys):
    """Exit code, and the rows of the table."""
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--all", "--quick", "--seeds", "1"])
    output = capsys.readouterr().out
    lines = [line.split("│")[1:-1] for line in output[output.rindex("3 figures") :].splitlines()]
    return ended.value.code, {
        cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines if cells
    }


def test_a_figure_that_fails_does_not_keep_the_others_from_being_run(few, capsys):
    here, known = few
    code, rows = called(capsys)
    assert (code, here.num) == (2, 2)
    (come_out, _, _, minutes, said), failed, noisy = rows["a"], rows["b"], rows["c"]
    assert (come_out, said) == ("1", "0: required claims come out")
    assert float(minutes) > 0.0
    assert failed == ["", "", "", "", "2: RuntimeError: out of luck"]
    assert (noisy[2], noisy[4]) == ("1", "3: a required claim is too noisy to tell")
    known["b"].main = lambda options: 0
    code, again = called(capsys)
    assert (code, here.num) == (3, 2)  # runs that have ended are not repeated
    assert (again["a"], again["c"]) == (rows["a"], rows["c"])
    assert again["b"][4] == "0: required claims come out"


def test_after_a_kill_the_same_command_goes_on(few, capsys):
    here, known = few
    whole = known["b"].main

    def stopped(options):
        raise KeyboardInterrupt

    known["b"].main = stopped
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--all", "--quick", "--seeds", "1"])
    assert (ended.value.code, here.num) == (130, 1)
    assert "To resume: cosim reproduce --all --quick --seeds 1" in capsys.readouterr().err
    known["b"].main = whole
    code, rows = called(capsys)
    assert (code, here.num, list(rows)) == (2, 2, ["a", "b", "c"])


def test_figures_get_the_options_that_they_have(few):
    """An option that only some have goes to these; one folder for all is refused, since some share one."""
    _, known = few
    asked = []

    @attrs.frozen(kw_only=True)
    class Own:
        quick: bool = False
        longer: int = 3

    known["a"] = SimpleNamespace(main=lambda options: asked.append(options) or 0, Options=Own)
    known["b"] = known["c"] = SimpleNamespace(
        main=lambda options: asked.append(options) or 0, Options=Options
    )
    assert reproductions.run_every(["--quick", "--workers", "3"]) == 0
    assert asked == [Own(quick=True), *[Options(quick=True, workers=3)] * 2]
    with pytest.raises(
        cosim.ConfigurationError, match=r"--out x: each figure has a folder .* Leave --out out"
    ):
        reproductions.run_every(["--out", "x"])
