"""A stopped run goes on with the code of cosim that has begun it, or not at all."""

import json
from importlib.metadata import version

import pytest
import worlds
from fixtures.fixes import has_fix

import cosim
from cosim import ConfigurationError
from cosim.results import provenance
from cosim.results.versions import Version
from scenarios.command_line.commands import exit_code

SYSTEM = worlds.alike(2, 2, end=cosim.AfterRounds(num_global_rounds=2))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Complete run, by other code of cosim than runs this test."""
    with monkeypatch.context() as then:
        then.setattr(provenance, "_code", lambda: "0f" * 32)
        cosim.run(SYSTEM, out=tmp_path / "a", num_workers=1)
    return tmp_path / "a"


def test_a_checkpoint_of_other_code_is_not_resumed(folder, capsys):
    (folder / "summary.json").unlink()
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ConfigurationError) as refused:
        cosim.run(SYSTEM, out=folder, num_workers=1, resume=True)
    said = str(refused.value)
    words = f"its checkpoint is of other code of cosim, cosim {version('cosim')} (code 0f0f0f0f"
    assert f"resume: {folder}: {words}" in said
    assert f"and this is {Version.here().words}. Use cosim run --config {folder}/config.json" in said
    assert has_fix(said)
    assert exit_code(["run", "--resume", str(folder)]) == 2
    assert words in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_the_fix_helps(folder, tmp_path):
    (folder / "summary.json").unlink()
    again = ["run", "--config", str(folder / "config.json"), "--out", str(tmp_path / "b"), "--quiet"]
    assert exit_code(again) == 0


def test_what_has_left_no_checkpoint_begins_with_the_code_at_hand(folder):
    (folder / "summary.json").unlink()
    (folder / "checkpoint.npz").unlink()
    assert cosim.run(SYSTEM, out=folder, num_workers=1, resume=True).summary.status == "complete"


def test_a_complete_run_of_other_code_is_read_as_it_is(folder):
    assert cosim.run(SYSTEM, out=folder, num_workers=1, resume="as found").summary.status == "complete"


@pytest.mark.parametrize("origin", [{}, {"code": 1, "versions": {"cosim": "0"}}])
def test_a_run_that_does_not_say_its_code_is_not_judged(origin, folder):
    (folder / "summary.json").unlink()
    (folder / "provenance.json").write_text(json.dumps(origin))
    assert cosim.run(SYSTEM, out=folder, num_workers=1, resume=True).summary.status == "complete"
