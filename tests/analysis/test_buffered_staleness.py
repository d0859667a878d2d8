"""Staleness by concurrency and buffer against paths that are simulated here, report by report."""

import numpy as np
import pytest

from analysis.closed_forms.buffered_staleness import BufferedStaleness


def simulated(
    num_in_flight: int, num_updates: int, times, before: bool, num_versions: int
) -> tuple[int, int]:
    """Applied staleness, and ages of what is in no version at the end, of a server in a few lines.

    Args:
        times: Gives the time of the next job.
        before: True if replacements leave before the version.
    """
    at_work = [(times(), 0) for _ in range(num_in_flight)]
    buffer: list[int] = []
    version = applied = 0
    while version < num_versions:
        time, started = min(at_work)
        at_work.remove((time, started))
        buffer.append(started)
        if before:
            at_work.append((time + times(), version))
        if len(buffer) == num_updates:
            applied += sum(version - number for number in buffer)
            version, buffer = version + 1, []
        if not before and version < num_versions:
            at_work.append((time + times(), version))
    return applied, sum(version - started for started in [*buffer, *(number for _, number in at_work)])


LAWS = {
    "exponential": lambda rng: rng.exponential(),
    "heavy": lambda rng: float(np.exp(1.5 * rng.standard_normal())),
    "uniform": lambda rng: 1.0 + 1e-3 * rng.random(),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(("num_in_flight", "num_updates"), [(1, 1), (1, 3), (4, 1), (5, 3), (3, 8)])
def test_the_identity_holds_on_every_path(law, num_in_flight: int, num_updates: int) -> None:
    rng, theory = (
        np.random.default_rng(1),
        BufferedStaleness(num_in_flight=num_in_flight, num_updates=num_updates),
    )
    for num_versions in (1, 2, 7, 100):
        after = simulated(num_in_flight, num_updates, lambda: law(rng), False, num_versions)
        assert sum(after) == theory.total(num_versions) == (num_in_flight - 1) * num_versions
        before = simulated(num_in_flight, num_updates, lambda: law(rng), True, num_versions)
        assert sum(before) == num_in_flight * num_versions


@pytest.mark.parametrize(("num_in_flight", "num_updates"), [(4, 1), (5, 3), (3, 8)])
def test_means_tend_to_their_limits(num_in_flight: int, num_updates: int) -> None:
    """Ages left at the end are bounded in number, here of at most some ten versions each."""
    rng, num_versions = np.random.default_rng(2), 3000
    theory = BufferedStaleness(num_in_flight=num_in_flight, num_updates=num_updates)
    for before, limit in ((False, theory.mean), (True, theory.mean_replaced_before)):
        applied, left = simulated(num_in_flight, num_updates, rng.exponential, before, num_versions)
        num_applied = num_versions * num_updates
        assert left / num_applied < 0.05
        assert applied / num_applied == pytest.approx(limit - left / num_applied, rel=1e-12)


@pytest.mark.parametrize("num_in_flight", range(1, 8))
@pytest.mark.parametrize("num_updates", range(1, 10))
def test_equal_times_come_in_batches(num_in_flight: int, num_updates: int) -> None:
    """By enumeration: clients that report together are applied in turn, and replaced at the end."""
    period = np.lcm(num_in_flight, num_updates)
    started, version, buffer, staleness = [0] * num_in_flight, 0, [], []
    for _ in range(4 * int(period) // num_in_flight):
        for start in started:
            buffer.append(start)
            if len(buffer) == num_updates:
                staleness += [version - number for number in buffer]
                version, buffer = version + 1, []
        started = [version] * num_in_flight
    theory = BufferedStaleness(num_in_flight=num_in_flight, num_updates=num_updates)
    assert np.mean(staleness) == pytest.approx(theory.mean_of_equal_times, rel=1e-12)


def test_values_by_hand() -> None:
    theory = BufferedStaleness(num_in_flight=50, num_updates=10)
    assert (theory.mean, theory.mean_replaced_before, theory.mean_of_equal_times) == (4.9, 5.0, 2.0)
    assert BufferedStaleness(num_in_flight=10, num_updates=10).mean_of_equal_times == 0.0


def test_nothing_in_flight_is_refused() -> None:
    with pytest.raises(ValueError, match="num_in_flight = 0 must be at least 1"):
        BufferedStaleness(num_in_flight=0, num_updates=1)
