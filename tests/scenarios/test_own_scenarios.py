"""A scenario of a user's own on the command line: run, repeated, resumed, studied, shown, helped, refused."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from own_commands import called

from analysis.studies import load
from cosim import Result
from cosim.engine.run.run import run
from cosim.records.tables import TABLES
from scenarios.command_line import running

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

MINE = '''"""Patience: what does a rest before every edge round cost?"""

import cosim
import torch
from cosim.configuration import knob, part, positive
from torch import nn


@part
class Patient(cosim.Selection):
    """Rests before every edge round.

    Attributes:
        rest_s: Pause of an edge server. [no source]
    """

    rest_s: float = knob(positive, default=1.0)

    def participants(self, sim, edge, coming):
        """Everyone, after a rest."""
        yield from sim.spend(edge.name, "idle", self.rest_s)
        return edge.clients


def network():
    """Weights of its own."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10))


def system(num_clients=4):
    """The configuration."""
    training = cosim.EdgeTraining(
        num_edge_rounds=1,
        steps=cosim.SameSteps(num_local_steps=2),
        local=cosim.Sgd(batch_size=5),
        selection=Patient(),
    )
    return cosim.System(
        num_cells=2,
        num_clients=num_clients,
        model="mine:network",
        initial_weights="network",
        data=cosim.Digits(),
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=3),
    )


def paper_scale():
    """The same, larger."""
    return system(num_clients=6)


def number():
    """No system."""
    return 3


def fails():
    """Nothing."""
    raise KeyError("key")


def misspells():
    """No such field."""
    return cosim.System(num_client=3)


def mistypes():
    """No name."""
    return cosim.System(3)


def report(result):
    """Last lines of the terminal."""
    return f"rested {result.config['system']['protocol']['training']['selection']['rest_s']} s"
'''
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cosim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Call]:
    """The command in a folder with mine.py: exit code, output, errors. Each call is as in a new process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "mine.py").write_text(MINE)
    path = list(sys.path)

    def call(*arguments: str) -> tuple[int, str, str]:
        return called(arguments, capsys)

    yield call
    sys.modules.pop("mine", None)
    sys.path[:] = path


def same(one: str, other: str) -> bool:
    """True if all tables of two run folders are equal, value for value."""
    first, second = Result.load(one), Result.load(other)
    return all(getattr(first, name).equals(getattr(second, name)) for name in TABLES)


def config(folder: str) -> dict:
    return json.loads((Path(folder) / "config.json").read_text())


@pytest.mark.parametrize("target", ["mine.py:system", "mine:system", "mine.py", "../{}/mine.py"])
def test_it_runs_with_its_own_options_and_names_itself_by_its_module(target, cosim, tmp_path):
    target = target.format(tmp_path.name)
    code, output, errors = cosim("run", target, "--rest-s", "2", "--out", "a", "--quiet")
    assert code == 0, errors
    assert "rested 2.0 s" in output
    assert config("a")["scenario"] == "mine:system"
    assert config("a")["system"]["protocol"]["training"]["selection"]["kind"] == "mine:Patient"
    assert config("a")["network"]["class"] == "torch.nn.modules.container:Sequential"
    spans = Result.load("a").spans
    assert list(
        spans[spans["activity"] == "idle"]["end_s"] - spans[spans["activity"] == "idle"]["start_s"]
    ) == (pytest.approx([2.0] * 6, rel=1e-12))


def test_a_file_elsewhere_is_a_scenario_too_and_lies_in_runs_under_its_name(cosim, tmp_path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "mine.py").rename(tmp_path / "lab" / "mine.py")
    assert cosim("run", "lab/mine.py:paper_scale", "--quiet")[0] == 0
    assert config("runs/mine-paper_scale-1")["scenario"] == "mine:paper_scale"
    assert cosim("run", "--paper-scale", "lab/mine.py", "--evaluation.kind", "Never", "--quiet")[0] == 0
    assert config("runs/mine-Never-1")["system"]["num_clients"] == 6
    assert config("runs/mine-Never-1")["system"]["evaluation"] == {"kind": "Never"}


def test_another_kind_is_in_the_name_and_a_report_that_fails_spoils_nothing(cosim):
    code, _, errors = cosim("run", "mine.py", "--selection.kind", "Everyone", "--quiet")
    assert code == 2
    assert "mine:system: report(): KeyError: 'rest_s' (line 7" in errors
    assert Result.load("runs/mine-Everyone-1").summary.status == "complete"


def test_its_config_is_repeated_where_its_module_is_named(cosim):
    assert cosim("run", "mine.py", "--out", "a", "--quiet")[0] == 0
    for out, words in (
        ("b", ("--config", "a/config.json", "--import", "mine")),
        ("c", ("mine.py", "--quiet", "--config=a/config.json")),
    ):
        code, output, errors = cosim("run", *words, "--out", out)
        assert code == 0, errors
        assert "rested 1.0 s" in output
        assert same("a", out)
    code, _, errors = cosim("run", "--out", "d", "--config", "a/config.json")
    assert code == 2
    assert "the module mine is not loaded" in errors
    assert "--import mine" in errors
    assert not Path("d").exists()


def test_its_scenario_is_asked_for_also_where_no_class_of_it_is_left(cosim):
    words = ("--model", "relu-64-8-10", "--initial-weights", "drawn")
    assert cosim("run", "mine.py", *words, "--out", "a", "--quiet")[0] == 0
    written = config("a")
    selection = written["system"]["protocol"]["training"]["selection"]
    selection["kind"] = "Everyone"
    del selection["rest_s"]
    Path("plain.json").write_text(json.dumps(written))
    code, _, errors = cosim("run", "--config", "plain.json")
    assert code == 2
    assert "plain.json: scenario = 'mine:system': the module mine is not loaded" in errors
    code, _, errors = cosim("run", "hist", "--config", "plain.json")
    assert code == 2
    assert "a run of mine:system, not of hist" in errors


def test_a_stopped_run_says_how_it_goes_on_and_remembers_its_options(cosim, monkeypatch):
    """Named modules are said, not kept: a file imports nothing. All else comes from provenance.json."""
    assert cosim("run", "mine.py", "--out", "whole", "--quiet")[0] == 0

    def stops(*arguments, **options):
        def heard(report):
            if report.version == 2:
                raise KeyboardInterrupt

        return run(*arguments, listener=heard, **options)

    with monkeypatch.context() as patch:
        patch.setattr(running, "run", stops)
        Path("data").mkdir()
        words = ("--workers", "1", "--checkpoint-every", "1", "--data-dir", "data", "--quiet")
        code, _, errors = cosim("run", "mine.py", "--import", "json", "--out", "a", *words)
    assert code == 130
    assert "To resume: cosim run mine.py --import json --resume a" in errors
    code, _, errors = cosim("run", "--resume", "a")
    assert code == 2
    assert "--resume a/config.json: kind = 'mine:Patient': the module mine is not loaded" in errors
    code, output, errors = cosim("run", "mine.py", "--import", "json", "--resume", "a", "--workers", "2")
    assert code == 0, errors
    assert "rested 1.0 s" in output
    assert same("a", "whole")
    (again,) = json.loads(Path("a/provenance.json").read_text())["resumed"]
    data = str(Path("data").resolve())
    assert again["started_with"] == {
        "data_dir": data,
        "workers": 2,
        "device": "cpu",
        "checkpoint_every": 1,
        "clock": "auto",
        "records": "auto",
        "keep": "last",
    }


@pytest.mark.parametrize("option", ["--seed", "--num-clients=3", "--selection.kind"])
def test_a_run_that_goes_on_keeps_its_fields(option, cosim, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "config.json").write_text('{"system": {}}')
    code, output, errors = cosim("run", "--resume", "a", option, "3")
    assert (code, output) == (2, "")
    assert errors == (
        f"Error: {option.partition('=')[0]}: a resumed run keeps its fields. Leave it out; "
        "for another run, use cosim run --config a/config.json with any field changed."
    )


def test_a_study_of_it_runs_in_other_processes(cosim):
    words = ("--over", "rest-s=1,2", "--seeds", "2", "--workers", "2", "--out", "s")
    code, output, errors = cosim("study", "mine.py:system", *words)
    assert code == 0, errors
    assert "difference to rest 1 s" in " ".join(output.split())
    runs = load("s")
    assert list(runs["protocol.training.selection.rest_s"]) == [1, 1, 2, 2]
    assert runs["time_s"][2] - runs["time_s"][0] == pytest.approx(3.0, rel=1e-9)
    assert json.loads(Path("s/study.json").read_text())["scenario"] == "mine:system"
    assert cosim("run", "mine.py", "--out", "a", "--quiet")[0] == 0
    assert same("a", "s/runs/design-000-seed-1")
    assert cosim("report", "s", "a")[0] == 0


def test_help_and_show_teach_its_parts(cosim, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", "120")  # no panels side by side
        code, output, _ = cosim("run", "mine.py", "--help")
    shown = " ".join(output.replace("│", " ").split())
    assert code == 0
    assert "Patience: what does a rest before every edge round cost?" in shown
    assert (
        "--protocol.training.selection.rest-s FLOAT Pause of an edge server. [no source] (default: 1.0)"
        in shown
    )
    assert "--training.rest-s" not in shown.replace("--protocol.training.selection.rest-s", "")
    code, output, _ = cosim("show", "mine.py:system", "--rest-s", "4")
    assert code == 0
    assert re.search(
        r"^ protocol\.training\.selection +mine:Patient +chosen in this scenario *$", output, re.MULTILINE
    )
    assert re.search(r"^ protocol\.training\.selection\.rest_s +4 +s +chosen here *$", output, re.MULTILINE)


def test_help_names_the_kinds_of_parts_and_the_options_that_stand_anywhere(cosim, monkeypatch):
    """Its own class with what it says of itself, what else the part may be, and the same for `study`."""
    monkeypatch.setenv("COLUMNS", "2000")  # for the kinds of all tests of this process in one line
    for command in ("run", "study", "show"):
        code, output, _ = cosim(command, "mine.py", "--help")
        assert code == 0
        kinds = output.partition("Parts, and other kinds of them")[2]
        row = r"--protocol\.training\.selection\.kind +mine:Patient +BySamples,.* +Rests before every edge"
        assert re.search(row, kinds)
        assert re.search(
            r"--uplink\.kind +Radio +GivenRates, Instantaneous\b.* +An uplink over the air\.", kinds
        )
        assert "--import MODULE" in output
        assert "--paper-scale" in output
        assert ("--resume FOLDER" in output) == ("--config FILE" in output) == (command == "run")
        code, general, _ = cosim(command, "--help")
        assert code == 0
        assert "--import MODULE" in general
        assert f"\n  cosim {command} mine.py:system" in general
        assert "mine:Patient" not in general


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "thine.py"), "thine.py: there is no file thine.py. Did you mean mine.py?"),
        (("run", "mine"), "no scenario 'mine'. Did you mean mine.py? Known: aircomp"),
        (("run", "mien:system"), "ModuleNotFoundError: No module named 'mien'. Did you mean mine?"),
        (
            ("show", "hist", "--import", "mien"),
            "ModuleNotFoundError: No module named 'mien'. Did you mean mine?",
        ),
        (("run", "mine.py:sistem"), "mine:sistem: there is no function sistem. Did you mean system?"),
        (("run", "mine.py", "--selection.kind", "mine:Patiens"), "Did you mean mine:Patient?"),
        (("run", "mine.py", "--selection.kind", "Patient"), "Did you mean mine:Patient?"),
        (("run", "mine.py", "--rests", "2"), "no option --rests. Did you mean --rest-s?"),
        (("run", "mine.py:number"), "mine:number: number() gives int. Return a cosim.System"),
        (("run", "mine.py:fails"), "mine:fails: KeyError: 'key' (line 6"),
        (
            ("run", "mine.py:misspells"),
            "mine:misspells: System has no field 'num_client'. Did you mean num_clients? Known fields: seed,",
        ),
        (("run", "mine.py:misspells"), "evaluation. (line 67 of "),
        (
            ("run", "mine.py:mistypes"),
            "mine:mistypes: System takes fields by their names only. Use System(seed=3). (line 72 of ",
        ),
        (("run", "mine.py", "--timing-only"), "no option --timing-only. Use --evaluation.kind Never."),
        (("run", "mine.py", "--model", "mine:system"), "System.model = 'mine:system': gave System"),
        (("run", "mine.py", "--model", "mine:fails"), "System.model = 'mine:fails': KeyError: 'key'"),
        (
            ("run", "mine.py", "--model", "mine:nothing"),
            "System.model = 'mine:nothing': there is no such function",
        ),
        (("run", "mine.py", "--model", "os.path2:x"), "the module os.path2 is not loaded"),
        (("run", "mine.py", "--model", "relu-64-8-10"), "relu-64-8-10 has no weights of its own"),
        (("study", "hist", "--paper-scale"), "--paper-scale: hist has one size only"),
        (("run", "mine.py", "--resume", "a", "--config", "b"), "--config and --resume"),
        (("run", "--paper-scale", "--config", "b"), "--paper-scale: a run has its size already"),
        (("run", "--resume", "a", "mine.py"), "--resume a: is not a run folder"),
        (("show", "mine.py", "--config", "b"), "no option --config. See --help"),
        (("run", "mine.py", "--config"), "--config: needs a value"),
        (("run", "--seed", "3"), "cosim run: needs SCENARIO, before any option. Known: aircomp"),
    ],
)
def test_what_is_not_there_is_refused_in_one_message(words, said, cosim, tmp_path):
    code, output, errors = cosim(*words)
    assert (code, output) == (2, "")
    assert said in errors
    assert errors.count("Error:") == 1 or "TypeError" in said or "KeyError" in said or "NotFound" in said
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["mine.py"]


def test_a_module_of_the_same_name_is_not_taken_for_it(cosim, tmp_path):
    (tmp_path / "mine.py").rename(tmp_path / "json.py")
    code, _, errors = cosim("run", "json.py:system")
    assert code == 2
    assert "another module is called json" in errors
    assert "Use another name for the file" in errors
