"""Sojourns of packets and messages in M/H2/1 queues, on the clock and in arrays, for `success_rate`.

On the clock everything is an event at a `Station`; in arrays it is Lindley's recursion, with packets of its
own.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from analysis.closed_forms.sojourn import Sojourn
from analysis.intervals.regenerative import cycles, regenerative
from analysis.intervals.statistics import Interval
from cosim import Simulation
from cosim.clock.simulation import Event, Process
from cosim.configuration import (
    ConfigurationError,
    at_least,
    between,
    knob,
    not_empty,
    not_negative,
    part,
    positive,
)
from cosim.names import client_name
from cosim.queues import HyperExponential, NoWork, StationaryWork
from cosim.queues.arrivals import PoissonArrivals
from cosim.queues.station import Station
from scenarios.validate.queue_arrays import simulate

WEIGHT_BEYOND = 0.5
"""The alpha_1 of what the formula does not cover."""


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        arrival_rate_per_s: Background packets per second, lambda_N. [VHFL, Section V-E]
        rates_per_s: Service rates mu_1 and mu_2. [VHFL, Section V-E]
        fast_weights: Values of alpha_1. [no source: Fig. 7a has four]
        success_rates: Values of gamma, at whose T_p is measured. [no source]
        num_packets: Packets on the clock, for each alpha_1. [no source]
        num_array_packets: Packets in arrays, for each alpha_1. [no source]
        seed: Names the arrivals and services. [no source]
        out: Folder of the table and the picture. [no source]
    """

    arrival_rate_per_s: float = knob(positive, default=2.0)
    rates_per_s: tuple[float, float] = knob(positive, default=(8.0, 2.0))
    fast_weights: tuple[float, ...] = knob(not_empty, between(0.0, 1.0), default=(0.3, 0.5, 0.7, 0.9))
    success_rates: tuple[float, ...] = knob(
        not_empty, between(0.01, 0.999), default=(0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
    )
    num_packets: int = knob(at_least(1000), default=1_000_000)
    num_array_packets: int = knob(at_least(1000), default=5_000_000)
    seed: int = knob(not_negative, default=1)
    out: str = "validations/success-rate"

    def __attrs_post_init__(self) -> None:
        for fast_weight in (*self.fast_weights, WEIGHT_BEYOND):
            try:
                self.theory(fast_weight)
            except ConfigurationError:
                raise
            except ValueError as error:
                raise ConfigurationError(f"alpha_1 = {fast_weight:g}: {error}") from None

    def service(self, fast_weight: float) -> HyperExponential:
        """The service law of an alpha_1."""
        return HyperExponential(weights=(fast_weight, 1.0 - fast_weight), rates_per_s=self.rates_per_s)

    def theory(self, fast_weight: float) -> Sojourn:
        """Theorem 2 for an alpha_1."""
        law = self.service(fast_weight)
        return Sojourn(
            arrival_rate_per_s=self.arrival_rate_per_s, weights=law.weights, rates_per_s=law.rates_per_s
        )


@attrs.frozen(kw_only=True, eq=False)
class Sojourns:
    """Packets of one queue: sojourn times in s and which found the system empty, each shape (packets,)."""

    sojourn_s: NDArray[np.float64]
    found_idle: NDArray[np.bool_]


def on_the_clock(options: Options, fast_weight: float) -> Sojourns:
    """The public's packets at a station, event by event."""
    sim = Simulation(options.seed)
    law = options.service(fast_weight)
    station = Station(
        sim,
        f"path-{fast_weight}",
        PoissonArrivals(rate_per_s=options.arrival_rate_per_s),
        law,
        StationaryWork(),
        keep_packets=True,
    )
    sim.run(sim.spend("observer", "watch", options.num_packets / options.arrival_rate_per_s))
    assert station.packets is not None
    rows = np.array([(p.arrival_s, p.departure_s) for p in station.packets]).reshape(-1, 2)
    found_idle = np.zeros(len(rows), bool)
    found_idle[1:] = rows[1:, 0] >= rows[:-1, 1]
    return Sojourns(sojourn_s=rows[:, 1] - rows[:, 0], found_idle=found_idle)


def in_arrays(options: Options, fast_weight: float) -> Sojourns:
    """The same queue by Lindley's recursion, with packets of its own."""
    rng = Simulation(options.seed).stream(f"arrays-{fast_weight}", "packets")
    packets = simulate(
        options.arrival_rate_per_s, options.service(fast_weight), options.num_array_packets, rng
    )
    return Sojourns(sojourn_s=packets.sojourn_s, found_idle=packets.found_idle)


def success_intervals(sojourns: Sojourns, waits_s: NDArray[np.float64], level: float) -> list[Interval]:
    """The share of packets that stay no longer than each T_p."""
    if np.count_nonzero(sojourns.found_idle) < 3:
        remark = "the queue hardly ever ran empty"
        nothing = Interval(estimate=math.nan, low=0.0, high=1.0, level=level, too_noisy=True, remark=remark)
        return [nothing] * len(waits_s)
    return [
        regenerative(*cycles(sojourns.found_idle, sojourns.sojourn_s <= wait_s), level=level)
        for wait_s in waits_s
    ]


def messages_in_time(
    options: Options, wait_s: float, every_s: float, num_senders: int, num_rounds: int
) -> NDArray[np.float64]:
    """Share of the messages of a round that come in time, for each round, shape (rounds,)."""
    sim = Simulation(options.seed)
    law = options.service(WEIGHT_BEYOND)
    station = Station(
        sim,
        f"path-every-{every_s}",
        PoissonArrivals(rate_per_s=options.arrival_rate_per_s),
        law,
        StationaryWork(),
    )
    in_time = np.zeros(num_rounds)

    def rounds() -> Process:
        for number in range(num_rounds):
            yield from sim.spend("senders", "wait", every_s)
            for sender in range(num_senders):
                listen(sim, station, client_name(sender), wait_s, in_time, number)
        yield from sim.spend("senders", "wait", 1000.0 * law.mean_s)

    sim.run(rounds())
    return in_time / num_senders


def first_messages_in_time(
    options: Options, wait_s: float, after_s: float, num_paths: int = 4000
) -> tuple[int, int]:
    """Number of first messages that come in time, and of all, each on a path of its own that starts empty."""
    sim = Simulation(options.seed)
    in_time = np.zeros(num_paths)
    law = options.service(WEIGHT_BEYOND)
    stations = [
        Station(sim, f"path-{number}", PoissonArrivals(rate_per_s=options.arrival_rate_per_s), law, NoWork())
        for number in range(num_paths)
    ]

    def start() -> Process:
        yield from sim.spend("senders", "wait", after_s)
        for number, station in enumerate(stations):
            listen(sim, station, client_name(number), wait_s, in_time, number)
        yield from sim.spend("senders", "wait", 2.0 * wait_s)

    sim.run(start())
    return int(in_time.sum()), num_paths


def listen(
    sim: Simulation, station: Station, sender: str, wait_s: float, in_time: NDArray[np.float64], number: int
) -> None:
    """Send a message and count it if it comes in time."""
    sent_s = sim.now_s

    def count(_done: Event) -> None:
        in_time[number] += sim.now_s - sent_s <= wait_s

    station.send(sender, num_packets=1).done.callbacks.append(count)  # type: ignore[union-attr]
