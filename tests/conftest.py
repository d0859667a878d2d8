"""Fixtures of all tests."""

import gc
import math
import os
import random
import sys
from collections.abc import Iterator
from importlib import import_module
from io import StringIO
from pathlib import Path

# The processes of the tests keep all cores busy: a team of threads within one would wait for them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
import warm
from data_sets import loaded
from hypothesis import HealthCheck, settings

from cosim import FashionMnist
from cosim.data.dataset import Dataset
from cosim.data.pictures.published import MissingFiles
from cosim.engine.learning.workers import one_torch_thread

pytest.register_assert_rewrite("both_clocks", "equal")

# No test cuts the power, which alone needs the disk to have taken what a process has written.
os.fsync = lambda file: None

# No run is saved because the machine is slow.
import_module("cosim.engine.run.writer")._SAVE_EVERY_WALL_S = math.inf

# What is imported stays, and is not searched for what can be freed (`pytest_collection_finish`).
gc.disable()
gc.set_threshold(50_000, 20, 20)  # and looks less often through what tests make

# Every run tries the same examples; `pytest --hypothesis-profile new` looks for new ones. How long an example
# takes says how busy the machine is.
settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("new"), derandomize=True)
settings.load_profile("fixed")


LONG = (
    "docs/test_docs.py",
    "scenarios/test_validate_staleness.py",
    "scenarios/test_hist_figures.py",
    "scenarios/test_rawhfl_claims.py",
    "own/test_own_parts.py",
    "scenarios/test_interrupts.py",
    "testing/test_testing.py",
    "scenarios/test_validate_delay_laws.py",
    "scenarios/test_validate_success_rate.py",
    "systems/test_parts_with_protocols.py",
    "protocols/asynchronous/test_asynchronous_learning.py",
    "engine/run/test_run.py",
    "studies/test_study.py",
    "engine/store/test_damaged_files.py",
    "scenarios/test_validate_csi_error.py",
    "scenarios/test_study_command.py",
    "own/test_distribution.py",
    "scenarios/test_report_in_browser.py",
    "scenarios/test_own_scenarios.py",
    "scenarios/test_vhfl_figures.py",
    "radio/sharing/test_beamforming.py",
    "engine/store/test_checkpoint.py",
)
"""The files that take longest. They begin, so that no process is left alone with one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first; the others stay in their order."""
    here = Path(__file__).parent
    rank = {here / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path, len(LONG)))


def pytest_collection_finish() -> None:
    """Let the garbage collector look after what tests make, and leave alone what they have imported."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def same_path() -> Iterator[None]:
    """Later tests find no module in a folder that `--import` has added to the path."""
    path = sys.path[:]
    yield
    sys.path[:] = path


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """Draws from global generators do not depend on the tests before."""
    seed = 3_141_592_653  # no key or seed of a test, whose draws would be the very same
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if "torch" in sys.modules:  # else it has drawn nothing
        # torch.manual_seed would note by a traceback each time what devices that are not there are to do
        sys.modules["torch"].default_generator.manual_seed(seed)


@pytest.fixture(scope="session")
def fashion_mnist() -> Dataset:
    """The real data set. Without its files the test is skipped, or fails where COSIM_REQUIRE_DATA is 1."""
    try:
        return loaded(FashionMnist())
    except MissingFiles as missing:
        reason = str(missing)
    if os.environ.get("COSIM_REQUIRE_DATA") == "1":
        pytest.fail(f"COSIM_REQUIRE_DATA is 1, but: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def unwritten_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are drawn, and their files and their places on a page are there and empty.

    For tests that look at no picture: layout and rendering take most of the time of a page.
    """
    empty = '<svg viewBox="0 0 1 1"></svg>'

    def keep(figure: object, file: Path | StringIO, **options: object) -> None:
        file.write(empty) if isinstance(file, StringIO) else file.write_text(empty)

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", keep)


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[warm.Processes]:
    """New processes, which do not wait for imports."""
    base = tmp_path_factory.getbasetemp()
    all_of_it = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    found = warm.Processes(all_of_it / "warm", tmp_path_factory.mktemp("processes"))
    yield found
    found.close()


@pytest.fixture(scope="session", autouse=True)
def processes_of_tests(processes: warm.Processes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Workers of studies, and second processes of contracts, do not wait for imports either."""
    with warm.forked_from(processes.place, tmp_path_factory.mktemp("servers")):
        yield


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Torch computes with one thread, as a worker does: two would wait for each other on a busy machine."""
    with one_torch_thread():
        yield


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count every run as a large one, which runs on arrays where all parts can."""
    monkeypatch.setattr("cosim.system.needs.MOST_BY_EVENTS", 0)
