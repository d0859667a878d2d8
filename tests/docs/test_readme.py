"""README: its programs work as pasted, on one page each, and its commands are known."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import warm

import analysis
from scenarios import command_line
from scenarios.command_line import data as data_command
from scenarios.command_line.catalogue import catalogue
from scenarios.command_line.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


SCENARIO, PART = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def pasted(code: str, tmp_path: Path, processes: warm.Processes) -> str:
    """Output of a program of the README."""
    assert len(code.splitlines()) <= 15
    script = tmp_path / "my_scenario.py"
    script.write_text(code)
    program = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    done = processes.start(program, [script], tmp_path)
    assert done.wait() == 0, done.err.read_text()
    return done.out.read_text()


def test_the_scenario_works_when_pasted(tmp_path, processes):
    printed = pasted(SCENARIO, tmp_path, processes)
    times_s = [float(t) for t in re.findall(r"MHz: ([0-9.]+) simulated seconds", printed)]
    assert len(times_s) == 2
    assert times_s[0] < times_s[1]


def test_every_command_is_known():
    commands = re.findall(r"`(cosim .*?)`", README) + re.findall(r"^cosim .*", README, flags=re.MULTILINE)
    for command, name in re.findall(r"cosim (\w+) ?([a-z0-9][\w.:-]*)?", "\n".join(commands)):
        assert command in COMMANDS
        if ":" in name:
            continue  # a scenario of the reader's own, which is really run
        if command == "init":
            continue  # a name of the reader's choice
        known = {
            "run": catalogue("run"),
            "study": catalogue("run"),
            "show": catalogue("run"),
            "reproduce": catalogue("reproduce"),
            "validate": catalogue("validate"),
            "data": data_command.COMMANDS,
        }.get(command, {"": ""})
        is_folder = command in ("plot", "report", "table", "trace")
        assert not name or is_folder or name in known


def test_folders_that_commands_look_at_were_written_by_one_before():
    made = set[str]()
    for line in re.findall(r"^cosim .*", README.replace("\\\n", " "), flags=re.MULTILINE):
        words = shlex.split(line, comments=True)
        out = words[words.index("--out") + 1] if "--out" in words else None
        asked = [word for word in words if re.match("(runs|studies)/", word) and word != out]
        assert all(any(word == one or word.startswith(f"{one}/") for one in made) for word in asked), line
        made |= {out} if out else set()


@pytest.mark.usefixtures("unwritten_pictures")
def test_the_command_line_takes_the_scenario_as_one_of_ours(tmp_path, monkeypatch, capsys):
    """Each line as it is typed, in a folder outside of the checkout, its module not loaded; fewer rounds."""
    shorter = SCENARIO.replace("num_global_rounds=30", "num_global_rounds=3")
    assert shorter != SCENARIO
    (tmp_path / "my_scenario.py").write_text(shorter)
    lines = re.findall(r"^(cosim .*my_scenario\b.*)$", README, flags=re.MULTILINE)
    assert len(lines) == 4
    monkeypatch.chdir(tmp_path)
    for line in lines:
        sys.modules.pop("my_scenario", None)
        monkeypatch.setattr(sys, "path", [word for word in sys.path if word != str(tmp_path)])
        with pytest.raises(SystemExit) as ended:
            command_line.main(shlex.split(line, comments=True)[1:])
        assert ended.value.code == 0, (line, capsys.readouterr().err)
    sys.modules.pop("my_scenario", None)
    results = [analysis.load(path) for path in sorted((tmp_path / "runs").iterdir())]
    assert [result.config["system"]["uplink"]["sharing"]["bandwidth_hz"] for result in results] == [2e6, 2e6]
    assert [result.config["system"]["seed"] for result in results] == [1, 2]
    runs = analysis.load(tmp_path / "studies" / "my_scenario-1")
    mean_s = runs.groupby("uplink.sharing.bandwidth_hz")["time_s"].mean()
    assert mean_s[5e5] > mean_s[1e6] > results[0].summary.time_s


@pytest.mark.usefixtures("unwritten_pictures")
def test_the_part_is_on_the_command_line(tmp_path, monkeypatch, capsys):
    """Its commands in one process, with fewer rounds; each rest is a span."""
    (tmp_path / "rests.py").write_text(PART)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "200")
    run, show = re.findall(r"^cosim (.*--import rests.*)$", README, flags=re.MULTILINE)
    for line in (f"{run} --num-global-rounds 2 --quiet --out a", show):
        with pytest.raises(SystemExit) as ended:
            command_line.main(shlex.split(line))
        assert ended.value.code == 0
    assert re.search(r"protocol\.training\.selection\.rest_s +1 +s", capsys.readouterr().out)
    spans = analysis.load(tmp_path / "a").spans
    rests = spans[spans["activity"] == "idle"]
    assert len(rests) == 2 * 3 * 3
    assert (rests["end_s"] - rests["start_s"]).to_numpy() == pytest.approx(0.01, rel=1e-9)
    sys.modules.pop("rests", None)


def test_every_file_that_is_named_is_there():
    for path in re.findall(
        r"`((?:cosim|docs|benchmarks|scenarios)/[\w/.]+\.\w+)`|\]\((docs/[\w.]+)\)", README
    ):
        assert (ROOT / (path[0] or path[1])).exists(), path


def test_the_tests_are_those_of_ci():
    """The very command, and no more than a page before it."""
    (command,) = re.findall(r"&& (python -m pytest .*)$", README, flags=re.MULTILINE)
    assert f"{command} ||" in (ROOT / ".ci" / "run").read_text()
    assert len(README.splitlines()) <= 150
