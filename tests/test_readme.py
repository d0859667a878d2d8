"""README: its scenario works as pasted, on one page, and its commands are known."""

import re
import subprocess
import sys
from pathlib import Path

from scenarios import catalogue, command_line

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_the_scenario_works_when_pasted(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(code.splitlines()) <= 30
    script = tmp_path / "my_scenario.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    times_s = [float(t) for t in re.findall(r"MHz: ([0-9.]+) simulated seconds", done.stdout)]
    assert len(times_s) == 2
    assert times_s[0] < times_s[1]


def test_every_command_is_known():
    for command, name in re.findall(
        r"cosim (\w+) ?([a-z0-9-]*)", "\n".join(re.findall(r"`(cosim .*?)`", README))
    ):
        assert command in command_line._COMMANDS or command == "run"
        known = {
            "run": catalogue.SCENARIOS,
            "show": catalogue.SCENARIOS,
            "reproduce": catalogue.REPRODUCTIONS,
            "validate": catalogue.VALIDATIONS,
            "data": {"fashion-mnist": ""},
        }.get(command, {"": ""})
        assert not name or name in known


def test_every_file_that_is_named_is_there():
    for path in re.findall(
        r"`((?:cosim|docs|benchmarks|scenarios)/[\w/.]+\.\w+)`|\]\((docs/[\w.]+)\)", README
    ):
        assert (ROOT / (path[0] or path[1])).exists(), path
