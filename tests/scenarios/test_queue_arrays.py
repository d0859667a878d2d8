"""The recursion as arrays against a plain loop, and its packets against Pollaczek and Khinchine."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cosim.configuration import ConfigurationError
from cosim.queues.initial_work import NoWork, StationaryWork
from cosim.queues.service import Deterministic, Exponential, HyperExponential
from scenarios.validate import queue_arrays as arrays
from scenarios.validate.queue_arrays import simulate, sojourn_s, waiting_s

CLOSELY = {"rel": 1e-9, "abs": 1e-9}


def loop_s(arrival_s: list[float], service_s: list[float], work_s: float) -> list[float]:
    """First in, first out, packet by packet: each starts when it is there and the one before has left."""
    free_s, waits_s = work_s, []
    for arrives_s, takes_s in zip(arrival_s, service_s, strict=True):
        starts_s = max(free_s, arrives_s)
        waits_s.append(starts_s - arrives_s)
        free_s = starts_s + takes_s
    return waits_s


def queue_of(draw, times_s):
    packets = draw(st.lists(st.tuples(times_s, times_s), max_size=150))
    gaps_s, services_s = [gap for gap, _ in packets], [service for _, service in packets]
    return np.cumsum(gaps_s).tolist(), services_s, draw(times_s)


@st.composite
def any_queue(draw):
    return queue_of(draw, st.floats(0.0, 5.0) | st.floats(0.0, 0.5))


@st.composite
def lattice_queue(draw):
    """Whole seconds, so that all ties are met and no number is rounded."""
    return queue_of(draw, st.integers(0, 3).map(float))


@pytest.fixture(params=[8, 24, 2**15], scope="module")
def chunk(request):
    """Also chunks so small that few packets fill many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "CHUNK", request.param)
        yield request.param


@given(queue=any_queue())
@settings(max_examples=100)
def test_arrays_agree_with_a_loop(chunk, queue):
    arrival_s, service_s, work_s = queue
    expected_s = loop_s(arrival_s, service_s, work_s)
    assert waiting_s(np.array(arrival_s), np.array(service_s), work_s).tolist() == pytest.approx(
        expected_s, **CLOSELY
    )


@given(queue=lattice_queue())
@settings(max_examples=100)
def test_on_a_lattice_arrays_are_exact(chunk, queue):
    arrival_s, service_s, work_s = queue
    assert waiting_s(np.array(arrival_s), np.array(service_s), work_s).tolist() == loop_s(
        arrival_s, service_s, work_s
    )


@pytest.mark.parametrize("rho", [0.2, 0.775, 0.99, 1.5])
def test_many_packets_agree_with_a_loop_over_several_chunks(rho):
    rng = np.random.default_rng(3)
    num_packets = 3 * arrays.CHUNK + 13
    arrival_s, service_s = (
        np.cumsum(rng.exponential(0.5, num_packets)),
        rng.exponential(0.5 * rho, num_packets),
    )
    found_s = waiting_s(arrival_s, service_s, 0.7)
    expected_s = np.array(loop_s(arrival_s.tolist(), service_s.tolist(), 0.7))
    np.testing.assert_allclose(found_s, expected_s, rtol=1e-9, atol=1e-9)
    assert (found_s == 0.0).tolist() == (expected_s == 0.0).tolist()


@given(queue=any_queue())
@settings(max_examples=50)
def test_work_is_conserved(chunk, queue):
    """A packet leaves its service after it arrived and the packet before it has left, whichever is later."""
    arrival_s, service_s, work_s = np.array(queue[0]), np.array(queue[1]), queue[2]
    departure_s = arrival_s + sojourn_s(arrival_s, service_s, work_s)
    before_s = np.concatenate([[work_s], departure_s])[:-1] if len(arrival_s) else departure_s
    assert departure_s == pytest.approx(np.maximum(before_s, arrival_s) + service_s, **CLOSELY)


@pytest.mark.parametrize(
    ("arrival_s", "service_s", "work_s", "message"),
    [
        ([1.0, 2.0], [1.0], 0.0, "one for each packet"),
        ([[1.0]], [[1.0]], 0.0, "one for each packet"),
        ([1.0, 0.5], [1.0, 1.0], 0.0, "in order"),
        ([-1.0, 0.5], [1.0, 1.0], 0.0, "in order"),
        ([1.0, math.nan], [1.0, 1.0], 0.0, "in order"),
        ([1.0, 2.0], [1.0, -1.0], 0.0, "not negative"),
        ([1.0, 2.0], [1.0, 1.0], -1.0, "not negative"),
    ],
)
def test_what_is_no_queue_is_refused(arrival_s, service_s, work_s, message):
    with pytest.raises(ValueError, match=message):
        waiting_s(np.array(arrival_s), np.array(service_s), work_s)


# --- Poisson arrivals -------------------------------------------------------------------------------------


def batch_interval(values: np.ndarray, num_batches: int = 32) -> tuple[float, float]:
    """99.9 % interval of the mean of a correlated sequence, by batch means."""
    batches = values[: len(values) // num_batches * num_batches].reshape(num_batches, -1).mean(axis=1)
    half = stats.t.ppf(0.9995, num_batches - 1) * batches.std(ddof=1) / math.sqrt(num_batches)
    return batches.mean() - half, batches.mean() + half


def mean_wait_s(arrivals_per_s: float, mean_s: float, second_s2: float) -> float:
    """Pollaczek-Khinchine."""
    return arrivals_per_s * second_s2 / (2.0 * (1.0 - arrivals_per_s * mean_s))


H2 = HyperExponential(weights=(0.3, 0.7), rates_per_s=(8.0, 2.0))


@pytest.mark.parametrize(
    ("law", "second_s2"),
    [
        (Exponential(rate_per_s=2.58), 2.0 / 2.58**2),
        (Deterministic(duration_s=0.3875), 0.3875**2),
        (H2, 2.0 * (0.3 / 64.0 + 0.7 / 4.0)),
    ],
)
def test_the_mean_wait_is_pollaczek_khinchines(law, second_s2):
    """And not that of services with another variance, nor of a load a little higher."""
    packets = simulate(2.0, law, 2_000_000, np.random.default_rng(11))
    least_s, most_s = batch_interval(packets.waiting_s)
    assert least_s < mean_wait_s(2.0, law.mean_s, second_s2) < most_s
    assert not least_s < mean_wait_s(2.0, law.mean_s, 1.2 * second_s2) < most_s
    assert not least_s < mean_wait_s(2.1, law.mean_s, second_s2) < most_s


def test_a_share_of_1_minus_rho_finds_the_server_idle():
    packets = simulate(2.0, H2, 2_000_000, np.random.default_rng(11))
    least, most = batch_interval(packets.found_idle.astype(float))
    assert least < 1.0 - 0.775 < most
    assert most - least < 0.02


def test_sojourns_are_waits_and_services():
    packets = simulate(2.0, H2, 100_000, np.random.default_rng(5))
    service_s = packets.sojourn_s - packets.waiting_s
    spread_s = service_s.std() / math.sqrt(len(service_s))
    assert abs(service_s.mean() - H2.mean_s) < 3.29 * spread_s
    assert service_s.min() > 0.0


@pytest.mark.parametrize("law", [Exponential(), H2, Deterministic()])
def test_a_longer_run_begins_with_the_shorter_one(law):
    long, short = (simulate(2.0, law, n, np.random.default_rng(5)) for n in (2 * arrays.CHUNK + 7, 1000))
    np.testing.assert_array_equal(long.waiting_s[:1000], short.waiting_s)
    np.testing.assert_array_equal(long.sojourn_s[:1000], short.sojourn_s)


def test_from_empty_the_first_packet_never_waits_and_stationary_it_may():
    waits_s = {
        work: [simulate(2.0, H2, 1, np.random.default_rng(seed), work).waiting_s[0] for seed in range(300)]
        for work in (NoWork(), StationaryWork())
    }
    assert max(waits_s[NoWork()]) == 0.0
    share = np.mean(np.array(waits_s[StationaryWork()]) > 0.0)
    assert abs(share - 0.775) < 3.29 * math.sqrt(0.775 * 0.225 / 300)


def test_no_packets_are_an_empty_run():
    assert simulate(2.0, H2, 0, np.random.default_rng(1)).sojourn_s.shape == (0,)
    assert waiting_s(np.empty(0), np.empty(0)).shape == (0,)


@pytest.mark.parametrize(
    ("arrivals_per_s", "message"),
    [(0.0, r"arrival_rate_per_s = 0: must be above 0"), (4.0, r"rho = 1\.55 has no stationary state")],
)
def test_a_run_that_cannot_be_is_refused(arrivals_per_s, message):
    with pytest.raises(ConfigurationError, match=message):
        simulate(arrivals_per_s, H2, 10, np.random.default_rng(1))
