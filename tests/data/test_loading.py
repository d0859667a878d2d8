"""Loading: what a user's code draws for a data set follows from the run's seed, or is refused."""

import math
import random
import secrets
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
import worlds

import cosim
from cosim.configuration import part
from cosim.data import loading
from cosim.data.dataset import Dataset
from cosim.data.loading import load
from cosim.data.split_data import SplitData
from cosim.own_code.global_generators import asked_for_randomness

NUM = 400


def parts(order) -> tuple:
    """Noisy pictures of ten classes in an order, 300 and 100 of them."""
    chosen = np.asarray(order)
    y = np.arange(NUM) % 10
    x = (y[:, None] + np.random.default_rng(1).standard_normal((NUM, 64))).astype(np.float32)
    return (x[chosen[:300]], y[chosen[:300]]), (x[chosen[300:400]], y[chosen[300:400]])


def by_torch(data_dir):
    return parts(torch.randperm(NUM))


def by_numpy(data_dir):
    return parts(np.random.permutation(NUM))  # noqa: NPY002


def by_python(data_dir):
    return parts(random.sample(range(NUM), NUM))


def by_itself(data_dir):
    return parts(np.random.default_rng(5).permutation(NUM))


class Jittered(torch.utils.data.Dataset):
    """A transform that draws whenever an item is read."""

    def __init__(self, num: int) -> None:
        self.num = num

    def __len__(self) -> int:
        return self.num

    def __getitem__(self, number):
        if number >= self.num:
            raise IndexError
        return torch.randn(64) + number % 10, number % 10


def as_items(data_dir):
    return Jittered(60), Jittered(40)


def without_a_seed(data_dir):
    return parts(np.random.default_rng().permutation(NUM))


def of_python_itself(data_dir):
    return parts(random.Random().sample(range(NUM), NUM))


def of_the_system(data_dir):
    return parts(sorted(range(NUM), key=lambda _: secrets.randbits(40)))


@part
class Own(SplitData):
    """Data of one's own that draws from a global generator, and from a stream of the run."""

    def load(self, sim, data_dir):
        """A few samples."""
        x = np.random.standard_normal((30, 4)).astype("f4")  # noqa: NPY002
        y = sim.stream("cloud", "own").integers(3, size=30)
        return Dataset.of("own", (x[:20], y[:20]), (x[20:], y[20:]), 3)


@part
class OwnSplit(cosim.data.Split):
    """A split of one's own that draws from a global generator."""

    def deal(self, sim, dataset, cell_sizes):
        """Equal shares."""
        return np.array_split(np.random.permutation(len(dataset.train_x)), sum(cell_sizes))  # noqa: NPY002


def arrays(source: str) -> cosim.Arrays:
    return cosim.Arrays(source=f"{__name__}:{source}")


def samples(data: cosim.data.Data, seed: int) -> np.ndarray:
    return load(data, seed, None).dataset.train_x


@pytest.mark.parametrize(
    "data", [*map(arrays, ("by_torch", "by_numpy", "by_python", "as_items")), Own()], ids=str
)
def test_what_is_drawn_follows_from_the_seed(data):
    first, state = samples(data, 1), np.random.get_state()[1].copy()  # noqa: NPY002
    torch.rand(1), random.random()
    np.testing.assert_array_equal(samples(data, 1), first)
    assert not np.array_equal(samples(data, 2), first)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    with ThreadPoolExecutor(4) as pool:
        for seed, found in zip(
            [1, 2] * 4, pool.map(lambda seed: samples(data, seed), [1, 2] * 4), strict=True
        ):
            assert np.array_equal(found, first) == (seed == 1)


def test_a_function_with_a_seed_of_its_own_gives_the_same_in_all_runs():
    np.testing.assert_array_equal(samples(arrays("by_itself"), 1), samples(arrays("by_itself"), 2))


@pytest.mark.parametrize("source", ["without_a_seed", "of_python_itself", "of_the_system"])
def test_what_does_not_follow_from_the_seed_is_refused_before_anything_is_written(source, tmp_path):
    system = worlds.digits(data=arrays(source))
    with pytest.raises(
        cosim.ConfigurationError, match=rf"{source}: gives other samples each time .*default_rng"
    ):
        cosim.run(system, out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


class Counted:
    """Counts its calls."""

    calls: ClassVar[list[int]] = []


def counted(data_dir):
    Counted.calls.append(1)
    return by_itself(data_dir)


def counted_without_a_seed(data_dir):
    Counted.calls.append(1)
    return without_a_seed(data_dir)


def test_what_takes_long_is_loaded_once_unless_it_asks_the_system_for_randomness(monkeypatch):
    """Another thread may ask, too."""
    monkeypatch.setattr(loading, "_QUICK_WALL_S", 0.0)
    Counted.calls.clear()
    load(arrays("counted"), 1, None)
    assert len(Counted.calls) == 1
    with pytest.raises(cosim.ConfigurationError, match="gives other samples"):
        load(arrays("counted_without_a_seed"), 1, None)
    assert len(Counted.calls) == 3
    with asked_for_randomness() as asked:
        other = threading.Thread(target=np.random.default_rng)
        other.start()
        other.join()
        assert not asked
        np.random.default_rng()
        assert asked


class Made:
    """The samples of each call, for as long as something else holds them."""

    training: ClassVar[list[weakref.ref]] = []
    living: ClassVar[list[int]] = []


def watched(data_dir):
    Made.living.append(sum(made() is not None for made in Made.training))
    train, test = by_itself(data_dir)
    Made.training.append(weakref.ref(train[0]))
    return train, test


def test_samples_that_are_loaded_twice_are_in_memory_once(monkeypatch):
    monkeypatch.setattr(loading, "_QUICK_WALL_S", math.inf)
    Made.training.clear()
    Made.living.clear()
    loaded = load(arrays("watched"), 1, None)
    assert Made.living == [0, 0]
    assert [made() is loaded.dataset.train_x for made in Made.training] == [False, True]


def test_a_run_goes_on_with_no_other_samples(tmp_path, monkeypatch):
    def stop(report) -> None:
        if report.version:
            raise KeyboardInterrupt

    system, folder = worlds.digits(data=arrays("changing")), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        cosim.run(system, out=folder, listener=stop)
    monkeypatch.setitem(globals(), "ORDER", ORDER[::-1])
    with pytest.raises(
        cosim.ConfigurationError, match="was started with other samples than its data gives now"
    ):
        cosim.run(system, out=folder, resume=True)
    monkeypatch.undo()
    resumed = cosim.run(system, out=folder, resume=True)
    pd.testing.assert_frame_equal(resumed.evaluations, cosim.run(system).evaluations)


ORDER = tuple(range(NUM))


def changing(data_dir):
    """Data that another file would give."""
    return parts(ORDER)


def test_a_split_that_draws_follows_from_the_seed():
    system = worlds.digits(data=cosim.Digits(split=OwnSplit()))
    first = cosim.run(system).evaluations
    np.random.random()  # noqa: NPY002
    pd.testing.assert_frame_equal(cosim.run(system).evaluations, first)
