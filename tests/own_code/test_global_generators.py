"""Global generators: what is drawn under a key follows from it, in any thread, and nothing else moves."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from cosim.own_code.global_generators import (
    NUMPYS,
    PYTHONS,
    TORCHS,
    alone,
    kept,
    moved,
    seeded,
    states,
    without_draws,
)

DRAWS: dict[str, Callable[[], Any]] = {
    TORCHS: lambda: torch.rand(3).tolist(),
    NUMPYS: lambda: np.random.standard_normal(3).tolist(),  # noqa: NPY002
    PYTHONS: lambda: [random.random(), random.randrange(100), random.sample(range(9), 3)],
}


def drawn() -> list[Any]:
    return [draw() for draw in DRAWS.values()]


def drawn_under(key: int) -> list[Any]:
    with seeded(key):
        return drawn()


def test_draws_follow_from_the_key_and_the_generators_are_put_back():
    before = states()
    first, again, others = drawn_under(3), drawn_under(3), [drawn_under(key) for key in (0, 4, 2**64 - 1)]
    assert first == again
    assert states() == before
    for number in range(len(DRAWS)):
        seen = [str(found[number]) for found in (first, *others)]
        assert len(set(seen)) == len(seen)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        assert first[0] == torch.rand(3).tolist()


def test_draws_of_threads_side_by_side_are_those_of_one():
    wanted = [drawn_under(key) for key in range(60)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(drawn_under, range(60))) == wanted


@pytest.mark.parametrize("generator", DRAWS)
def test_a_call_that_draws_is_found_with_the_generator(generator):
    assert without_draws(DRAWS[generator])[1] == [generator]
    assert without_draws(lambda: 3) == (3, [])


def test_single_draws_of_numpys_are_found_however_it_draws():
    """The second of two normal values is drawn without a step of the generator."""
    normal, uniform = np.random.standard_normal, np.random.random
    usual = np.random.get_bit_generator()
    with kept():
        np.random.seed(3)  # noqa: NPY002
        for draw in (uniform, normal, normal, uniform, normal, uniform, normal):
            before = states()
            assert moved(before) == []
            draw()
            assert moved(before) == [NUMPYS]
        np.random.set_bit_generator(np.random.PCG64(3))
        try:
            before = states()
            uniform()
            assert moved(before) == [NUMPYS]
        finally:
            np.random.set_bit_generator(usual)


def test_the_second_of_two_normal_values_is_put_back():
    normal = np.random.standard_normal
    with kept():
        np.random.seed(3)  # noqa: NPY002
        normal()
        before = states()
        with kept():
            normal()
            assert moved(before) == [NUMPYS]
        assert moved(before) == []


def test_what_another_thread_draws_is_not_the_calls():
    """Draws of a thread outside cosim fall into the first call, and Python's into all of them."""
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        draw = drawn if len(calls) == 1 else DRAWS[PYTHONS]
        other = threading.Thread(target=draw)
        other.start()
        other.join()

    assert without_draws(call)[1] == []
    assert len(calls) == 2


def test_calls_side_by_side_blame_each_other_for_nothing_and_meet_no_seeded_draw():
    """One in four draws, and each of these is found."""
    wanted = [drawn_under(key) for key in range(40)]

    def tried(number: int) -> Any:
        if number % 2:
            return drawn_under(number // 2)
        return without_draws(DRAWS[TORCHS] if number % 8 == 0 else lambda: None)[1]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(tried, range(80)))
    assert found[1::2] == wanted
    assert found[0::2] == [[TORCHS] if number % 8 == 0 else [] for number in range(0, 80, 2)]


@pytest.mark.parametrize("outer", [lambda call: without_draws(call)[0], lambda call: within(3, call)])
def test_a_call_within_a_call_waits_for_nobody(outer):
    """A network's function that trains by cosim, say: on this thread, and on threads that it starts."""
    import contextvars

    def inner() -> list[Any]:
        context = contextvars.copy_context()
        found: list[Any] = []
        other = threading.Thread(target=lambda: found.append(context.run(without_draws, lambda: 5)))
        other.start()
        other.join(timeout=60.0)
        with alone():
            return [*found, without_draws(lambda: 6), drawn_under(3)]

    assert outer(inner) == [(5, []), (6, []), drawn_under(3)]


def within(key: int, call: Callable[[], Any]) -> Any:
    with seeded(key):
        return call()
