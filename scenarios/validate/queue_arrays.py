"""The station's queue as arrays: the same waiting times without a clock, for many packets of the public.

Lindley's recursion W_n = max(0, W_{n-1} + S_{n-1} - T_n), T_n between the arrivals n - 1 and n, steps many
stretches of packets side by side. A stretch of increments x_1, x_2, ... takes a first value w to
max(w + x_1 + x_2 + ..., r), where r is what it takes 0 to. So a stretch needs its sum and its r, and a chain
over the stretches, solved by cumulated sums and maxima, gives their first values. From these the recursion
runs as it is written, so a packet that finds the server idle waits exactly 0. The stretches of a chunk fit
into a core's cache, and rounding grows with the chunk, not with the run.

Scope and limitations: no messages, nothing reacts to what happens. Time 0 is the instant of the initial work.

Usage::

    packets = simulate(2.0, HyperExponential(), 1_000_000, np.random.default_rng(1), StationaryWork())
    packets.sojourn_s[packets.found_idle]  # one per regeneration cycle

Validation: event by event, `Station` gives the same packets the same sojourn times.
Speed: `benchmarks/queueing.py`.

Source: Lindley, "The theory of queues with a single server", 1952, eq. 1; closed solution: Asmussen, "Applied
Probability and Queues", Section III.6.
"""

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import positive, refuse
from cosim.queues.initial_work import InitialWork, StationaryWork
from cosim.queues.service import ServiceLaw

Seconds = NDArray[np.float64]
"""Times in s, shape (packets,)."""

STATIONARY = StationaryWork()
STRETCH = 8
CHUNK = 2**15
"""Packets of a stretch and of a chunk."""


@attrs.frozen(kw_only=True, eq=False)
class Packets:
    """Packets in the order of their arrivals.

    Attributes:
        waiting_s: Times from arrival to start of service, shape (packets,).
        sojourn_s: Times from arrival to departure, shape (packets,).
    """

    waiting_s: Seconds
    sojourn_s: Seconds

    @property
    def found_idle(self) -> NDArray[np.bool_]:
        """True for packets that found the system empty, so that the queue began again, shape (packets,)."""
        return self.waiting_s == 0.0


def simulate(
    arrival_rate_per_s: float,
    service: ServiceLaw,
    num_packets: int,
    rng: np.random.Generator,
    initial_work: InitialWork = STATIONARY,
) -> Packets:
    """Poisson arrivals to one server; the first packet comes at time 0.

    With stationary work every packet, the first included, has the stationary law of waiting. A longer run
    with the same generator begins with the packets of a shorter one.

    Args:
        arrival_rate_per_s: Packets per second.
        service: Law of the service times.
        num_packets: Packets from time 0 on.
        rng: Seeds the draws.
        initial_work: The work in the queue at time 0.

    Raises:
        ConfigurationError: An arrival rate that is not above 0; stationary work at a load of 1 or more.
    """
    broken = positive(arrival_rate_per_s)
    if broken:
        raise refuse("simulate", "arrival_rate_per_s", arrival_rate_per_s, broken)
    load = arrival_rate_per_s * service.mean_s
    initial_work.check("simulate", load)
    gaps, services, initial = (np.random.default_rng(seed) for seed in rng.integers(2**63, size=(3, 2)))
    recursion = _Recursion(initial_work.draw_work_s(load, service, initial))
    packets = Packets(waiting_s=np.empty(num_packets), sojourn_s=np.empty(num_packets))
    gap_s = np.empty(min(num_packets, CHUNK))
    for first in range(0, num_packets, CHUNK):
        waits_s = packets.waiting_s[first : first + CHUNK]
        gap_s = gap_s[: len(waits_s)]
        gaps.standard_exponential(out=gap_s)
        gap_s *= 1.0 / arrival_rate_per_s
        if first == 0:
            gap_s[0] = 0.0
        service_s = service.draw(services, CHUNK)[: len(waits_s)]
        recursion.run(gap_s, service_s, out_s=waits_s)
        np.add(waits_s, service_s, out=packets.sojourn_s[first : first + CHUNK])
    return packets


def waiting_s(arrival_s: Seconds, service_s: Seconds, initial_work_s: float = 0.0) -> Seconds:
    """Time from arrival to start of service of every packet, shape (packets,).

    Args:
        arrival_s: Instants of arrival in order, from time 0, shape (packets,).
        service_s: Service times, shape (packets,).
        initial_work_s: Unfinished work at time 0.

    Raises:
        ValueError: Shapes that differ, arrivals out of order or before 0, a negative service or initial work.
    """
    arrivals_s, services_s = (np.asarray(values, np.float64) for values in (arrival_s, service_s))
    if arrivals_s.ndim != 1 or arrivals_s.shape != services_s.shape:
        raise ValueError(f"{arrivals_s.shape} arrivals and {services_s.shape} services: one for each packet")
    gap_s = np.diff(arrivals_s, prepend=0.0)
    if not (np.all(gap_s >= 0.0) and np.all(services_s >= 0.0) and initial_work_s >= 0.0):
        raise ValueError("arrivals must be in order from time 0, service times and initial work not negative")
    waits_s = np.empty_like(gap_s)
    recursion = _Recursion(initial_work_s)
    for first in range(0, len(gap_s), CHUNK):
        chunk = slice(first, first + CHUNK)
        recursion.run(gap_s[chunk], services_s[chunk], out_s=waits_s[chunk])
    return waits_s


def sojourn_s(arrival_s: Seconds, service_s: Seconds, initial_work_s: float = 0.0) -> Seconds:
    """Time from arrival to departure of every packet; arguments and errors as for `waiting_s`."""
    return waiting_s(arrival_s, service_s, initial_work_s) + service_s


class _Recursion:
    """Lindley's recursion from chunk to chunk.

    Increments have shape (STRETCH, stretches), so that one row takes all stretches of a chunk one step on.
    """

    def __init__(self, work_s: float) -> None:
        self._waiting_s = work_s
        self._service_s = 0.0
        self._steps_s = np.empty((STRETCH, CHUNK // STRETCH))
        self._padded_s = np.empty(CHUNK)

    def run(self, gap_s: Seconds, service_s: Seconds, out_s: Seconds) -> None:
        """Go on with the next packets, at most a chunk."""
        num_packets, num_stretches = len(gap_s), -(-len(gap_s) // STRETCH)
        steps_s, padded_s = self._steps_s[:, :num_stretches], self._padded_s[: num_stretches * STRETCH]
        padded_s[0] = self._service_s - gap_s[0]
        np.subtract(service_s[:-1], gap_s[1:], out=padded_s[1:num_packets])
        padded_s[num_packets:] = 0.0
        steps_s[:] = padded_s.reshape(num_stretches, STRETCH).T
        waits_s = self._first_values_s(steps_s)
        for step_s in steps_s:
            waits_s = np.maximum(np.add(step_s, waits_s, out=step_s), 0.0, out=step_s)
        padded_s.reshape(num_stretches, STRETCH)[:] = steps_s.T
        out_s[:] = padded_s[:num_packets]
        self._waiting_s, self._service_s = out_s[-1], service_s[-1]

    def _first_values_s(self, steps_s: NDArray[np.float64]) -> Seconds:
        """With which value each stretch begins, shape (stretches,)."""
        sum_s, from_zero_s = steps_s[0].copy(), np.maximum(steps_s[0], 0.0)
        for step_s in steps_s[1:]:
            sum_s += step_s
            from_zero_s += step_s
            np.maximum(from_zero_s, 0.0, out=from_zero_s)
        np.add.accumulate(sum_s, out=sum_s)
        excess_s = np.subtract(from_zero_s, sum_s, out=from_zero_s)
        excess_s[0] = max(excess_s[0], self._waiting_s)
        np.maximum.accumulate(excess_s, out=excess_s)
        first_s = np.empty_like(sum_s)
        first_s[0] = self._waiting_s
        np.add(excess_s[:-1], sum_s[:-1], out=first_s[1:])
        return first_s
