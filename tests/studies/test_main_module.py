"""Main module: programs that worker processes cannot execute again are refused before the first starts."""

import re
import sys
from multiprocessing import forkserver
from multiprocessing.process import current_process
from types import ModuleType

import pytest
import worlds
from torch import nn

import cosim
from cosim import ConfigurationError, HFedAvg, evolve
from cosim.studies.study import Study

TIMED = worlds.alike(2, 2, evaluation=cosim.Never(), protocol=HFedAvg())
SCRIPT = """
import cosim
from cosim.studies.study import Study

base = cosim.System(num_cells=1, num_clients=2, model="relu-4-2", protocol=cosim.HFedAvg(),
    data=cosim.data.Synthetic(), evaluation=cosim.Never(), end=cosim.AfterRounds(num_global_rounds=1))
"""


def main_module(monkeypatch, **named):
    main = ModuleType("__main__")
    vars(main).update(named)
    monkeypatch.setitem(sys.modules, "__main__", main)


def test_a_worker_of_a_pool_is_told_of_one_that_may_have_workers(tmp_path, monkeypatch):
    monkeypatch.setitem(current_process()._config, "daemon", True)
    with pytest.raises(ConfigurationError, match=r"may start no others, as it is a daemon.* Use concurrent"):
        Study(TIMED, seeds=1).run(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_program_that_is_no_file_is_refused(tmp_path, monkeypatch):
    main_module(monkeypatch, __file__="<stdin>")
    with pytest.raises(ConfigurationError, match=r"<stdin> is no file\. Use a file: save"):
        Study(TIMED, seeds=1).run(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_network_of_a_notebook_is_refused_and_a_study_without_is_run(tmp_path, monkeypatch):
    main_module(monkeypatch, net=lambda: nn.Linear(12, 4))
    with pytest.raises(
        ConfigurationError, match=r"defined in a notebook, .*Use a file: write it to mine\.py"
    ):
        Study(evolve(TIMED, model="__main__:net"), seeds=1).run(tmp_path / "s")
    assert not (tmp_path / "s").exists()
    assert list(Study(TIMED, seeds=1).run(tmp_path / "s", num_workers=1)["status"]) == ["complete"]


def test_a_long_path_of_temporary_files_is_named(tmp_path, monkeypatch):
    def too_long():
        raise OSError("AF_UNIX path too long")

    monkeypatch.setattr(forkserver, "ensure_running", too_long)
    with pytest.raises(
        ConfigurationError, match=r"AF_UNIX path too long\)\. They need a socket in .*TMPDIR=/tmp"
    ):
        Study(TIMED, seeds=1).run(tmp_path / "s")


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ('Study(base, seeds=1).run("s", num_workers=1)', "with it this study, which has no main guard"),
        (
            'import os\nopen(os.devnull if __name__ == "__main__" else "/none/there")\n'
            'Study(base, seeds=1).run("s", num_workers=1)',
            "its first worker process ended as it began, .*exit code 1; an error stands above",
        ),
    ],
)
def test_a_script_without_a_main_guard_is_told_so_once(study, message, tmp_path, processes):
    (tmp_path / "mine.py").write_text(SCRIPT + study)
    code = f"import runpy\nrunpy.run_path({str(tmp_path / 'mine.py')!r}, run_name='__main__')"
    started = processes.start(code, [], tmp_path)
    assert started.wait() == 1
    said = started.err.read_text()
    assert len([line for line in said.splitlines() if "ConfigurationError: " in line]) == 1, said
    assert re.search(message + r'.* Use if __name__ == "__main__": before the study', said), said
    assert not list((tmp_path / "s" / "runs").iterdir())
