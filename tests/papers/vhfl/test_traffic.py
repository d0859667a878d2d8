"""Traffic: the generator against closed forms and brute force; samples against arithmetic; no leakage."""

from collections import deque

import attrs
import networkx as nx
import numpy as np
import pytest

from cosim.configuration import ConfigurationError
from scenarios.papers.vhfl.traffic.traffic import (
    FEATURES,
    Traffic,
    TrafficTable,
    bursts,
    generate,
    nearest_neighbours,
)
from scenarios.papers.vhfl.traffic.traffic_samples import samples

EXACTLY = {"rtol": 1e-12, "atol": 0.0}
STILL = Traffic(level_spread=0.0, drift=0.0, bursts_per_day=0.0, noise=0.0)
"""Nothing but cycles and the users' draws."""
NORMAL_999 = 3.29
"""Half the width of a 99.9 % interval, in standard deviations."""


def table_of(traffic, num_cells=8, seed=1):
    return generate(traffic, num_cells, np.random.default_rng(seed))


# --- the generator ---


def test_the_rng_decides_everything():
    first, again, other = table_of(Traffic()), table_of(Traffic()), table_of(Traffic(), seed=2)
    np.testing.assert_array_equal(first.target, again.target)
    np.testing.assert_array_equal(first.features, again.features)
    assert nx.utils.graphs_equal(first.neighbours, again.neighbours)
    assert np.isclose(first.target, other.target, rtol=1e-6).mean() < 0.01
    assert set(first.neighbours.edges) != set(other.neighbours.edges)


def test_shapes_and_times():
    table = table_of(Traffic(num_days=3, slot_s=1800.0), num_cells=5)
    assert table.cells == ("cell-0000", "cell-0001", "cell-0002", "cell-0003", "cell-0004")
    assert (table.target.shape, table.features.shape) == ((144, 5), (144, 5, 4))
    assert list(table.time_s[[0, 1, 143]]) == [0.0, 1800.0, 3 * 86_400.0 - 1800.0]


def test_strengths_move_no_draws():
    """The same bursts at another size or coupling, on the same load and graph, measured alike."""

    def target(**changed):
        table = table_of(attrs.evolve(Traffic(), **changed))
        assert nx.utils.graphs_equal(table.neighbours, table_of(Traffic()).neighbours)
        return table.target

    load = target(noise=0.0, bursts_per_day=0.0)
    small, large = target(noise=0.0, burst_size=1.0), target(noise=0.0, burst_size=3.0)
    np.testing.assert_allclose(large - load, 3.0 * (small - load), rtol=1e-9, atol=1e-3)
    staying, moving = target(noise=0.0, burst_coupling=0.0), target(noise=0.0)
    assert (moving >= staying).all()
    np.testing.assert_allclose(target() / moving, target(burst_coupling=0.0) / staying, **EXACTLY)


def brute_force_bursts(traffic, sizes, graph):
    """Every burst on its own, its way searched breadth first, its decay taken as a power."""
    cells, load = list(graph), np.zeros(sizes.shape)
    for start, source in np.argwhere(sizes > 0.0):
        distances, queue = {cells[source]: 0}, deque([cells[source]])
        while queue:
            cell = queue.popleft()
            for other in graph[cell]:
                if other not in distances:
                    distances[other] = distances[cell] + 1
                    queue.append(other)
        for cell, hops in distances.items():
            arrival = start + hops * traffic.burst_delay_slots
            for slot in range(arrival, len(load)):
                part = traffic.burst_coupling**hops * traffic.burst_decay ** (slot - arrival)
                load[slot, cells.index(cell)] += part * sizes[start, source]
    return load


@pytest.mark.parametrize("delay_slots", [1, 2, 40])
def test_bursts_against_brute_force(delay_slots):
    """A ring of four with a tail, and two cells apart from it, with several bursts under way at once."""
    graph = nx.Graph([*zip("abcd", "bcda", strict=True), ("d", "e"), ("x", "y")])
    traffic = Traffic(burst_decay=0.6, burst_coupling=0.7, burst_delay_slots=delay_slots)
    rng = np.random.default_rng(5)
    sizes = rng.exponential(size=(30, 7)) * (rng.random((30, 7)) < 0.1)
    assert np.count_nonzero(sizes) > 10
    expected = brute_force_bursts(traffic, sizes, graph)
    np.testing.assert_allclose(bursts(traffic, sizes, graph), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("delay_slots", [1, 3])
def test_a_burst_reaches_the_next_cells_after_the_delay_and_no_earlier(delay_slots):
    traffic = Traffic(burst_decay=0.5, burst_coupling=0.25, burst_delay_slots=delay_slots)
    sizes = np.zeros((12, 3))
    sizes[2, 0] = 8.0
    load = bursts(traffic, sizes, nx.path_graph(["a", "b", "c"]))
    for cell, first in enumerate((8.0, 2.0, 0.5)):
        arrival = 2 + cell * delay_slots
        assert not load[:arrival, cell].any()
        assert list(load[arrival : arrival + 3, cell]) == [first, first / 2, first / 4]


def test_without_coupling_bursts_stay_where_they_begin():
    sizes = np.zeros((4, 3))
    sizes[1, 1] = 1.0
    load = bursts(Traffic(burst_coupling=0.0), sizes, nx.path_graph(["a", "b", "c"]))
    np.testing.assert_array_equal(load.T, [[0, 0, 0, 0], [0, 1, 0.5, 0.25], [0, 0, 0, 0]])


def test_bursts_have_their_mean():
    """Compound Poisson with geometric decay: rate x size / (1 - decay) on average.

    About 20,000 bursts of exponential size: relative standard error sqrt(2 / 20,000) = 1 %.
    """
    traffic = Traffic(num_days=2000, num_neighbours=1, burst_coupling=0.0, noise=0.0, slot_s=21_600.0)
    with_bursts, without = (
        table_of(attrs.evolve(traffic, bursts_per_day=per_day), num_cells=50).target.mean()
        for per_day in (0.2, 0.0)
    )
    expected = 20e6 * (0.2 / 4) * 1.5 / (1 - 0.5)
    assert with_bursts - without == pytest.approx(expected, rel=NORMAL_999 * 0.01)


def test_cycles_repeat_and_have_mean_one():
    target = table_of(attrs.evolve(STILL, num_days=14)).target[:, 0].reshape(14, 24)
    np.testing.assert_allclose(target[1:5], np.broadcast_to(target[0], (4, 24)), **EXACTLY)
    np.testing.assert_allclose(target[7:], target[:7], **EXACTLY)
    np.testing.assert_allclose(target.mean(), 20e6, **EXACTLY)
    assert {int(hour) for hour in target.argmin(axis=1)} == {4}
    # daily: 1 - 0.5 at 4 o'clock and 1 + 0.5 at 16 o'clock; weekly: 1 + 0.3 x 2/7, and 1 - 0.3 x 5/7
    np.testing.assert_allclose(target[:, 16] / target[:, 4], 3.0, **EXACTLY)
    np.testing.assert_allclose(target[5:7] / target[3], (1 - 1.5 / 7) / (1 + 0.6 / 7), **EXACTLY)


def test_drift_is_stationary_and_remembers():
    """50 cells x 2400 slots, correlation 0.9^k: relative standard error of a variance about 1.2 %."""
    traffic = attrs.evolve(STILL, drift=0.2, daily_cycle=0.0, weekly_cycle=0.0, num_days=100)
    drift = np.log(table_of(traffic, num_cells=50).target / 20e6)
    variance = (drift**2).mean()
    assert variance == pytest.approx(0.04, rel=NORMAL_999 * 0.013)
    assert (drift[0] ** 2).mean() == pytest.approx(0.04, rel=NORMAL_999 * np.sqrt(2 / 50))
    assert (drift[1:] * drift[:-1]).mean() / variance == pytest.approx(0.9, abs=NORMAL_999 * 0.002)


def test_cells_differ_in_level_with_mean_one():
    """Lognormal of spread 0.3: relative deviation sqrt(exp(0.09) - 1) = 0.307 of one level; 5000 cells."""
    traffic = attrs.evolve(STILL, level_spread=0.3, weekly_cycle=0.0, num_days=1, num_neighbours=1)
    level = np.concatenate([table_of(traffic, 100, seed).target.mean(axis=0) for seed in range(50)]) / 20e6
    assert level.mean() == pytest.approx(1.0, abs=NORMAL_999 * 0.307 / np.sqrt(5000))
    assert np.log(level).std() == pytest.approx(0.3, rel=NORMAL_999 / np.sqrt(2 * 5000))


def test_noise_is_relative_to_the_load():
    noisy, clean = (table_of(attrs.evolve(Traffic(), noise=noise)).target for noise in (0.05, 0.0))
    error = noisy / clean - 1.0
    assert error.std() == pytest.approx(0.05, rel=NORMAL_999 / np.sqrt(2 * error.size))
    assert error.mean() == pytest.approx(0.0, abs=NORMAL_999 * 0.05 / np.sqrt(error.size))
    assert abs(np.corrcoef(error.ravel(), clean.ravel())[0, 1]) < NORMAL_999 / np.sqrt(error.size)


def test_throughput_is_never_negative():
    target = table_of(attrs.evolve(Traffic(), noise=1.0)).target
    assert target.min() == 0.0
    assert (target == 0.0).mean() == pytest.approx(0.1587, abs=0.014)  # normal below -1; 99.9 % interval


def test_what_cells_observe_follows_the_load():
    """Users are Poisson: their index of dispersion around 40 x load is 1, with deviation sqrt(2 / n)."""
    table = table_of(attrs.evolve(Traffic(), noise=0.0))
    load = table.target / 20e6
    mean_users, max_users, per_user_bps, small = np.moveaxis(table.features, -1, 0)
    assert table.feature_names == FEATURES
    dispersion = (mean_users - 40 * load) ** 2 / (40 * load)
    assert dispersion.mean() == pytest.approx(1.0, abs=NORMAL_999 * np.sqrt(2.2 / load.size))
    assert mean_users.sum() == pytest.approx(40 * load.sum(), abs=NORMAL_999 * np.sqrt(40 * load.sum()))
    assert (max_users >= mean_users).all()
    assert (max_users - mean_users).sum() == pytest.approx(10 * load.sum(), rel=0.01)
    assert mean_users.min() > 0
    np.testing.assert_allclose(per_user_bps * mean_users, table.target, **EXACTLY)
    assert small.min() >= 0.0
    assert small.max() <= 1.0
    residual = small - 0.6 / (1 + load / 2)
    assert residual.std() == pytest.approx(0.02, rel=NORMAL_999 / np.sqrt(2 * load.size))
    assert np.corrcoef(small.ravel(), load.ravel())[0, 1] < -0.8


def test_neighbours_are_nearest_and_mutual():
    """On a line at 0, 1, 3, 7 the nearest are b, a, b, c."""
    places = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [7.0, 0.0]])
    graph = nearest_neighbours(("a", "b", "c", "d"), places, 1)
    assert {frozenset(edge) for edge in graph.edges} == {frozenset(p) for p in ("ab", "bc", "cd")}
    graph = table_of(Traffic(num_days=1), num_cells=30).neighbours
    assert min(degree for _, degree in graph.degree) == 3
    assert nx.number_of_selfloops(graph) == 0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("burst_decay", 1.0, r"Traffic\.burst_decay = 1: must lie below 1, or bursts never die out"),
        ("burst_coupling", 1.1, r"Traffic\.burst_coupling = 1\.1: must lie from 0 to 1"),
        ("slot_s", 7000.0, r"Traffic\.slot_s = 7000: a day must hold a whole number of slots.*3600 s"),
    ],
)
def test_refused_configurations(field, value, message):
    with pytest.raises(ConfigurationError, match=message):
        Traffic(**{field: value})


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("drift", 50.0, "a cell has .* users"),
        ("drift", 1200.0, "a cell has inf users"),
        ("drift", 1e30, "a cell has inf users"),
        ("burst_size", 1e30, "a cell has .* users"),
        ("bursts_per_day", 1e30, "a slot has .* bursts"),
        ("level_spread", 1e30, None),
        ("noise", 1e30, None),
        ("mean_throughput_bps", 1e30, None),
    ],
)
def test_legal_and_absurd_strengths_give_finite_numbers_or_a_sentence(field, value, says):
    traffic = attrs.evolve(STILL, **{"num_days": 7, "bursts_per_day": 1.0, field: value})
    if says is None:
        table = table_of(traffic)
        assert np.isfinite(table.target).all()
        assert np.isfinite(table.features).all()
        return
    usual = getattr(Traffic(), field)
    with pytest.raises(ConfigurationError, match=rf"Traffic\.{field} = .*: {says}.* Use .*{usual}"):
        table_of(traffic)


def test_slots_of_decimals_fill_a_day():
    """A thousand slots of 86.4 s do, although the remainder of the division is not 0."""
    assert table_of(Traffic(num_days=1, slot_s=86.4), num_cells=4).target.shape == (1000, 4)


def test_more_neighbours_than_others_are_refused():
    assert table_of(Traffic(num_days=1, num_neighbours=3), num_cells=4).neighbours.number_of_edges() == 6
    with pytest.raises(
        ConfigurationError, match=r"Traffic\.num_neighbours = 3: each of the 3 cells has only 2 others"
    ):
        table_of(Traffic(num_neighbours=3), num_cells=3)


# --- samples ---


def table_by_hand(num_slots=8, features=None, target=None, **changed):
    """Cells a - b - c on a line; throughput t + 1, 10 (t + 1), 100 (t + 1); one feature, t^2 plus 0, 5, 7."""
    t = np.arange(num_slots, dtype=float)[:, None]
    return TrafficTable(
        **{
            "cells": ("a", "b", "c"),
            "neighbours": nx.path_graph(["a", "b", "c"]),
            "start_s": 0.0,
            "slot_s": 21_600.0,
            "feature_names": ("users",),
            "features": (t**2 + [0.0, 5.0, 7.0])[..., None] if features is None else features,
            "target": (t + 1) * [1.0, 10.0, 100.0] if target is None else target,
            **changed,
        }
    )


BY_HAND = {
    # mean of the neighbours' throughput in t and t - 1, largest in t, mean users | own throughput in t and
    # t - 1, own users | sine and cosine of the day (a quarter per slot), of the week (one in 28)
    ("a", 1): [20, 10, 20, 6, 2, 1, 1, 1, 0, np.sin(2 * np.pi / 28), np.cos(2 * np.pi / 28)],
    ("b", 1): [101, 50.5, 200, 4.5, 20, 10, 6, 1, 0, np.sin(2 * np.pi / 28), np.cos(2 * np.pi / 28)],
    ("b", 4): [252.5, 202, 500, 19.5, 50, 40, 21, 0, 1, np.sin(8 * np.pi / 28), np.cos(8 * np.pi / 28)],
    ("c", 6): [70, 60, 70, 41, 700, 600, 43, 0, -1, np.sin(12 * np.pi / 28), np.cos(12 * np.pi / 28)],
}


def test_features_by_hand():
    """8 slots, 2 lags: training samples from slots 1 to 4 (targets in 2 to 5), tests from 5 and 6."""
    data = samples(table_by_hand(), num_lags=2)
    assert (data.train_x.shape, data.test_x.shape, data.num_global_features) == ((12, 11), (6, 11), 4)
    assert list(data.train_cells) == [0] * 4 + [1] * 4 + [2] * 4
    assert list(data.test_cells) == [0, 0, 1, 1, 2, 2]
    t, own = np.arange(1, 5), np.array([[1.0], [10.0], [100.0]])
    day, week = 2 * np.pi * t / 4, 2 * np.pi * t / 28
    of_b = np.array([[10.0], [50.5], [10.0]])  # mean scale of the neighbours of a, b, c
    zeros = np.zeros((3, 1))
    raw = np.stack(
        [
            of_b * (t + 1),
            of_b * t,
            np.array([[10.0], [100.0], [10.0]]) * (t + 1),
            t**2 + np.array([[5.0], [3.5], [5.0]]),
            own * (t + 1),
            own * t,
            t**2 + np.array([[0.0], [5.0], [7.0]]),
            *(zeros + wave for wave in (np.sin(day), np.cos(day), np.sin(week), np.cos(week))),
        ],
        axis=-1,
    ).reshape(12, 11)
    mean, deviation = raw.mean(axis=0), raw.std(axis=0)
    np.testing.assert_allclose(data.train_x, (raw - mean) / deviation, rtol=0, atol=1e-6)
    for (cell, slot), expected in BY_HAND.items():
        place = "abc".index(cell)
        row = data.train_x[4 * place + slot - 1] if slot < 5 else data.test_x[2 * place + slot - 5]
        np.testing.assert_allclose(row, (expected - mean) / deviation, rtol=0, atol=1e-6)
    # targets (t + 2) x scale; their training mean is (3 + 4 + 5 + 6) / 4 x (1 + 10 + 100) / 3 = 166.5
    np.testing.assert_allclose(data.train_y, (own * (t + 2)).ravel() / 166.5, rtol=1e-6)
    np.testing.assert_allclose(data.test_y, (own * [7, 8]).ravel() / 166.5, rtol=1e-6)


def test_the_clock_starts_where_the_table_does():
    """A record from Tuesday 06:00 on: sine and cosine of a quarter day and of 5/28 of a week in slot 0."""
    later = samples(table_by_hand(start_s=30 * 3600.0, num_slots=40), num_lags=1)
    monday = samples(table_by_hand(num_slots=45), num_lags=1)
    day = later.train_x[:4, -4:-2]
    assert day[0, 0] == day[:, 0].max()
    assert day[3, 1] == day[:, 1].max()
    week, expected = later.train_x[:29, -2], np.sin(2 * np.pi * (np.arange(5, 34) % 28) / 28)
    assert np.corrcoef(week, expected)[0, 1] == pytest.approx(1.0, abs=1e-9)
    assert np.corrcoef(monday.train_x[:29, -2], expected)[0, 1] < 0.6


def test_scales_are_those_of_training():
    data = samples(table_of(Traffic()))
    np.testing.assert_allclose(data.train_x.mean(axis=0, dtype=float), 0.0, atol=1e-6)
    np.testing.assert_allclose(data.train_x.std(axis=0, dtype=float), 1.0, atol=1e-5)
    assert data.train_y.mean(dtype=float) == pytest.approx(1.0, abs=1e-6)


def test_a_constant_feature_is_zero_and_not_noise():
    data = samples(table_by_hand(features=np.full((8, 3, 1), 0.1)), num_lags=2)
    assert np.abs(data.train_x[:, [3, 6]]).max() < 1e-12
    assert np.isfinite(data.test_x).all()


def changed_from(table, slot):
    target, features = table.target.copy(), table.features.copy()
    target[slot:] = 7.0 * target[slot:] + 1e9
    features[slot:] += 1e3
    return samples(attrs.evolve(table, target=target, features=features))


def test_training_knows_nothing_of_the_test_part():
    """1008 slots: the test part begins in slot 756; of slot 755 training knows the target."""
    table = table_of(Traffic())
    data, changed, earlier = samples(table), changed_from(table, 756), changed_from(table, 755)
    for name in ("train_x", "train_y", "train_cells"):
        np.testing.assert_array_equal(getattr(data, name), getattr(changed, name))
    assert (data.test_y != changed.test_y).all()
    # the first test sample of a cell is seen from slot 755, of which nothing changed
    np.testing.assert_array_equal(data.test_x[0], changed.test_x[0])
    assert (data.test_x[1] != changed.test_x[1]).any()
    assert not np.array_equal(data.train_y, earlier.train_y)


def test_cells_have_equally_many_samples_ready_for_torch():
    """1008 slots, 4 lags: targets in slots 4 to 755 for training, 756 to 1007 for testing."""
    data = samples(table_of(Traffic()))
    assert set(np.bincount(data.train_cells)) == {752}
    assert set(np.bincount(data.test_cells)) == {252}
    assert data.num_global_features == 4 + 1 + 4
    for array in (data.train_x, data.test_x, data.train_y, data.test_y):
        assert array.dtype == np.float32
        assert array.flags.c_contiguous


def test_without_global_features_the_client_sees_the_same():
    data = samples(table_of(Traffic()))
    alone = data.without_global_features()
    assert alone.num_global_features == 0
    np.testing.assert_array_equal(alone.train_x, data.train_x[:, 9:])
    np.testing.assert_array_equal(alone.test_x, data.test_x[:, 9:])
    assert alone.train_x.flags.c_contiguous
    assert alone.test_x.flags.c_contiguous
    np.testing.assert_array_equal(alone.train_y, data.train_y)


def test_every_neighbour_counts_alike():
    """A graph from elsewhere may carry weights, and its nodes in another order."""
    weighted = nx.Graph()
    weighted.add_weighted_edges_from([("b", "c", 9.0), ("b", "a", 2.0)])
    plain, other = samples(table_by_hand()), samples(table_by_hand(neighbours=weighted))
    np.testing.assert_array_equal(plain.train_x, other.train_x)


def test_tables_that_give_no_samples_are_refused():
    assert len(samples(table_by_hand(num_slots=8), num_lags=4).train_x) == 2 * 3
    with pytest.raises(ConfigurationError, match=r"4 lags from 7 slots.*2 more slots of training \(5\)"):
        samples(table_by_hand(num_slots=7), num_lags=4)
    with pytest.raises(ConfigurationError, match=r"0 lags"):
        samples(table_by_hand(), num_lags=0)
    with pytest.raises(ConfigurationError, match=r"mean throughput in training is 0: must be above 0"):
        samples(table_by_hand(target=np.zeros((8, 3))))
    silent = np.ones((8, 3))
    silent[6:] = 0.0
    with pytest.raises(ConfigurationError, match=r"mean throughput in testing is 0: must be above 0"):
        samples(table_by_hand(target=silent))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"target": np.ones((8, 2))}, r"target: shape \(8, 2\) must be \(8, 3\)"),
        ({"features": np.ones((8, 3))}, r"features: shape \(8, 3\) must be \(8, 3, 1\)"),
        ({"neighbours": nx.path_graph(["a", "b"])}, "its nodes must be the 3 cells"),
        ({"neighbours": nx.empty_graph(["a", "b", "c"])}, "cell 'a' has no neighbour"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(changed, message):
    with pytest.raises(ConfigurationError, match=message):
        table_by_hand(**changed)


# --- do neighbours matter? ---


def linear_test_mse(data):
    def extended(x):
        return np.column_stack((x, np.ones(len(x)))).astype(float)

    weights = np.linalg.lstsq(extended(data.train_x), data.train_y.astype(float), rcond=None)[0]
    return float(np.mean((extended(data.test_x) @ weights - data.test_y) ** 2))


def gain(traffic, seed):
    """Test error of a linear prediction without the server's features, relative to the error with them."""
    data = samples(table_of(traffic, num_cells=16, seed=seed))
    return linear_test_mse(data.without_global_features()) / linear_test_mse(data)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_neighbours_help_to_predict(seed):
    assert gain(Traffic(), seed) > 1.4


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_neighbours_do_not_help_where_bursts_stay(seed):
    """The control: without coupling the server knows nothing that the cell does not."""
    assert 0.97 < gain(Traffic(burst_coupling=0.0), seed) < 1.03


def test_most_of_the_next_throughput_can_be_predicted():
    data = samples(table_of(Traffic(), num_cells=16))
    assert linear_test_mse(data) / data.test_y.var() < 0.25
