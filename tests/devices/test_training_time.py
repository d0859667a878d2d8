"""Training times: their laws by statistics, and one run each by arithmetic."""

import math

import attrs
import numpy as np
import pytest
from scipy import stats

import cosim
from cosim import ConfigurationError, Never
from cosim.clock.draws import Numbers
from cosim.devices import ExponentialTime, HalfNormalTime, HyperExponentialTime, LogNormalTime, TrainingTime
from cosim.jobs.job import Job
from cosim.names import ClientNames
from cosim.testing import small_system

pytestmark = pytest.mark.quick

PLANNED_S = 3.0
SIGNIFICANCE = 0.001
BUSY = HyperExponentialTime(busy_probability=0.2, busy_factor=6.0)


def busy(x: np.ndarray) -> np.ndarray:
    """Distribution function by hand: 0.8 a + 0.2 * 6 a = 1 gives the mean a = 0.5 of an idle device."""
    return 1.0 - 0.8 * np.exp(-x / 0.5) - 0.2 * np.exp(-x / 3.0)


LAWS = {
    "log-normal": (LogNormalTime(spread=0.4), stats.lognorm(0.4).cdf),
    "exponential": (ExponentialTime(), stats.expon().cdf),
    "hyper-exponential": (BUSY, busy),
    "half-normal": (HalfNormalTime(), stats.halfnorm(scale=math.sqrt(math.pi / 2.0)).cdf),
}
"""A law, and its distribution function in planned times."""
WRONG = {
    "log-normal": stats.lognorm(0.4, scale=math.exp(-0.08)).cdf,  # as if the mean were what was planned
    "exponential": stats.expon(scale=1.05).cdf,
    "hyper-exponential": lambda x: 1.0 - 0.8 * np.exp(-x) - 0.2 * np.exp(-x / 6.0),  # the idle mean planned
    "half-normal": stats.halfnorm().cdf,  # as if the standard deviation were what was planned
}


def drawn(law: TrainingTime, count: int = 100_000) -> np.ndarray:
    """In planned times."""
    clients = Numbers.of(ClientNames(0, count))
    planned_s = np.full(count, PLANNED_S)
    return law.training_s(cosim.Simulation(1), clients, Job(1, 0, 0), planned_s) / PLANNED_S


@pytest.mark.parametrize("name", LAWS)
def test_times_follow_their_law(name):
    law, distribution = LAWS[name]
    times = drawn(law)
    assert times.min() > 0.0
    assert stats.kstest(times, distribution).pvalue > SIGNIFICANCE
    assert stats.kstest(times, WRONG[name]).pvalue < SIGNIFICANCE


def mean_is(times: np.ndarray, mean: float) -> bool:
    """True if a mean lies in a 99.9 % interval."""
    half = stats.norm.ppf(1.0 - SIGNIFICANCE / 2.0) * times.std(ddof=1) / math.sqrt(len(times))
    return abs(times.mean() - mean) < half


@pytest.mark.parametrize("name", LAWS)
def test_the_mean_is_what_was_planned_where_a_law_says_so(name):
    times = drawn(LAWS[name][0])
    factor = math.exp(0.4**2 / 2.0) if name == "log-normal" else 1.0
    assert mean_is(times, factor)
    assert not mean_is(times, 1.05 * factor)


def test_the_two_that_are_exponential_are_called_so():
    for broken in ({"busy_probability": 1.0}, {"busy_factor": 1.0}):
        with pytest.raises(ConfigurationError, match=r"HyperExponentialTime\..* = 1.*ExponentialTime"):
            HyperExponentialTime(**broken)


class Doubled(TrainingTime):
    """A user's law."""

    def training_s(self, sim, clients, job, planned_s):
        return 2.0 * planned_s


def trained_s(law: TrainingTime | None) -> dict[tuple[str, int], float]:
    system = small_system()
    devices = attrs.evolve(system.devices, training_time=law)
    spans = cosim.run(attrs.evolve(system, devices=devices, evaluation=Never())).spans
    trains = spans[spans["activity"] == "train"]
    return dict(
        zip(
            zip(trains["node"], trains["job"], strict=True),
            trains["end_s"] - trains["start_s"],
            strict=True,
        )
    )


def test_a_run_trains_as_long_as_the_law_says():
    """A law of ones own by arithmetic; a law of ours by its named draw, the same for all designs."""
    planned = trained_s(None)
    assert len(planned) == 5 * 3 * 2
    doubled, shaken = trained_s(Doubled()), trained_s(LogNormalTime(spread=0.5))
    sim = cosim.Simulation(small_system().seed)
    for (client, job), seconds in planned.items():
        assert doubled[client, job] == pytest.approx(2.0 * seconds, rel=1e-9)
        factor = sim.of_client(client, "training time", LogNormalTime(spread=0.5).draw, job)
        assert shaken[client, job] == pytest.approx(seconds * factor, rel=1e-9)
