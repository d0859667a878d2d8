"""The garbage collector looks less often during runs, and afterwards as before."""

import gc
import threading

import pytest

import cosim
from cosim.engine.run.collector import MOST_YOUNG, rare_collections
from cosim.testing import small_system

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def threshold():
    """A threshold of the user's own."""
    before = gc.get_threshold()
    gc.set_threshold(123, 7, 3)
    yield
    gc.set_threshold(*before)


def test_a_run_has_the_higher_threshold_and_gives_the_users_back():
    seen = []
    system = cosim.evolve(small_system(), evaluation=cosim.Never())
    cosim.run(system, listener=lambda report: seen.append(gc.get_threshold()))
    assert set(seen) == {(MOST_YOUNG, 7, 3)}
    assert gc.get_threshold() == (123, 7, 3)


def test_a_run_that_fails_gives_it_back():
    def fails(report):
        raise RuntimeError("heard enough")

    with pytest.raises(RuntimeError, match="heard enough"):
        cosim.run(small_system(), listener=fails)
    assert gc.get_threshold() == (123, 7, 3)


def test_of_runs_side_by_side_the_last_one_gives_it_back():
    inner_began, outer_ended = threading.Event(), threading.Event()
    seen = []

    def inner():
        with rare_collections():
            inner_began.set()
            outer_ended.wait()
            seen.append(gc.get_threshold())

    thread = threading.Thread(target=inner)
    with rare_collections():
        thread.start()
        inner_began.wait()
    outer_ended.set()
    thread.join()
    assert seen == [(MOST_YOUNG, 7, 3)]
    assert gc.get_threshold() == (123, 7, 3)


@pytest.mark.parametrize("young", [0, 2 * MOST_YOUNG])
def test_what_looks_less_often_or_never_stays(young):
    gc.set_threshold(young, 7, 3)
    with rare_collections():
        assert gc.get_threshold() == (young, 7, 3)
    assert gc.get_threshold() == (young, 7, 3)
