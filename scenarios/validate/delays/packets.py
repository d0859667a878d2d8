"""Packets of stations, in the order of their arrivals, and the quantities that laws of queues are about."""

from collections.abc import Callable, Mapping, Sequence
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

import cosim
from analysis.laws.port import Clock
from cosim.clock.simulation import Process, Simulation
from cosim.queues.station import Station

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
NUM_PACKETS = 300_000
"""Of a full run."""
EMPTY, NO_PUBLIC = cosim.queues.NoWork(), cosim.queues.PoissonArrivals(rate_per_s=0.0)


class Packets:
    """Packets in the order of their arrivals.

    Args:
        arrivals_s: Arrivals in any order, shape (packets,).
        departures_s: Departures, infinite for lost packets, shape (packets,).
        services_s: Services, shape (packets,).
        of_messages: True for packets of messages, shape (packets,).
    """

    def __init__(self, arrivals_s: Array, departures_s: Array, services_s: Array, of_messages: Bools) -> None:
        order = np.argsort(arrivals_s, kind="stable")
        self.arrivals_s, self.departures_s = arrivals_s[order], departures_s[order]
        self.services_s, self.of_messages = services_s[order], of_messages[order]

    @classmethod
    def of(cls, station: Station, until_s: float) -> "Packets":
        """Packets that a station has served, of packets that had come by a time well before the end."""
        assert station.packets is not None
        rows = [
            (p.arrival_s, p.departure_s, p.service_s, p.sender != "")
            for p in station.packets
            if p.arrival_s <= until_s
        ]
        arrivals_s, departures_s, services_s, of_messages = np.array(rows).T
        return cls(arrivals_s, departures_s, services_s, of_messages.astype(bool))

    @property
    def sojourns_s(self) -> Array:
        """From arrival to departure."""
        return self.departures_s - self.arrivals_s

    @property
    def waits_s(self) -> Array:
        """From arrival to the start of the service; 0 where it differs from 0 by rounding."""
        waits_s = self.sojourns_s - self.services_s
        return np.where(np.abs(waits_s) > 1e-9 * (1.0 + self.services_s), waits_s, 0.0)

    @property
    def found_empty(self) -> Bools:
        """True for packets that found the station empty."""
        gone_s = np.where(np.isfinite(self.departures_s), self.departures_s, 0.0)
        return self.arrivals_s >= np.append(0.0, np.maximum.accumulate(gone_s)[:-1])

    def begins(self, of_class: Bools) -> Bools:
        """True for a class's packets that are the first since the station was empty, shape (its packets,)."""
        return np.diff(np.cumsum(self.found_empty)[of_class], prepend=-1) > 0


def of_the_public(
    clock: Clock, rate_per_s: float, service: cosim.queues.ServiceLaw, num_servers: int = 1
) -> Packets:
    """Packets of the public at a station that starts empty."""
    sim, until_s = Simulation(clock.seed), clock.size * NUM_PACKETS / rate_per_s
    arrivals = cosim.queues.PoissonArrivals(rate_per_s=rate_per_s)
    station = Station(sim, "path", arrivals, service, EMPTY, num_servers=num_servers, keep_packets=True)
    sim.run(sim.spend("observer", "watch", 1.01 * until_s))
    return Packets.of(station, until_s)


def poisson(sim: Simulation, rate_per_s: float, until_s: float, come: Callable[[], object]) -> Process:
    """Call `come` in a Poisson stream; it leaves no spans, of which there would be too many."""
    gaps = sim.stream("senders", "gaps")
    while sim.now_s <= until_s:
        for gap_s in gaps.standard_exponential(1024) / rate_per_s:
            yield sim.timer(gap_s)
            come()


def mean_and_tail(
    mean: str, mean_s: float, tail: Callable[[float], SupportsFloat], times_s: Sequence[float]
) -> dict[str, float]:
    """A mean, and shares above some times, by name."""
    return {mean: mean_s} | {over(time_s): float(tail(time_s)) for time_s in times_s}


def values_and_tail(mean: str, values_s: Array, times_s: Sequence[float]) -> Mapping[str, Array | Bools]:
    """The same for packets, shape (packets,) each."""
    return {mean: values_s} | {over(time_s): values_s > time_s for time_s in times_s}


def over(time_s: float) -> str:
    """The name of a share."""
    return f"share over {time_s:g} s"
