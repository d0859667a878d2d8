"""A reproduction whose worker is killed, as by the system for want of memory, says so."""

import multiprocessing
import os
import signal

import pytest

import models
from cosim import AfterRounds, ConfigurationError, evolve
from cosim.data import Synthetic
from cosim.studies.executors import MOST_ATTEMPTS
from scenarios import quickstart
from scenarios.reproduce.figures import Options, run_all


def dies():
    """A network that is built where it is checked, and kills the worker that builds it."""
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return models.build("relu-12-8-4")


def test_it_ends_with_the_run_and_what_to_do(tmp_path):
    system = evolve(
        quickstart.system(), model=f"{__name__}:dies", data=Synthetic(), end=AfterRounds(num_global_rounds=1)
    )
    died = rf"a_b/seed-1 failed with: its worker died, {MOST_ATTEMPTS} times\. Use the same command"
    with pytest.raises(ConfigurationError, match=died):
        run_all("hist-fig4", {"a b": system}, Options(seeds=1, workers=1, out=tmp_path / "f"))
