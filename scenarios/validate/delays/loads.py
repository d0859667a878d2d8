"""Laws of a load of one's own: bursts of packets, and queues that lose, for `delay_laws`."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np
from typing_extensions import override

import cosim
from analysis.closed_forms.delays.finite_buffer import FiniteRoom
from analysis.closed_forms.delays.on_off_arrivals import OnOffStream
from analysis.laws.port import Clock, Law, Numbers
from analysis.laws.samples import Independent, Sample, Series, regenerating
from cosim.clock.simulation import Simulation
from cosim.queues.station import Station
from scenarios.validate.delays.packets import EMPTY, NUM_PACKETS, Array, Packets

BURSTS = OnOffStream(rates_per_s=(8.0, 0.5), mean_times_s=(1.0, 3.0))
ROOM = FiniteRoom(arrival_rate_per_s=2.0, service_rate_per_s=2.5, num_places=4)
NUM_STATIONS, NUM_WINDOWS = 250, 40
"""Stations, and windows of a full run at each."""
RATE, FULL = "packets (1/s)", "share of time that it is full"
LOST, EMPTIES, STAY = "share lost", "share that finds it empty", "mean stay (s)"


@attrs.frozen(kw_only=True)
class Bursts(Law):
    """Bursts of packets: MMPP of two states."""

    formula: ClassVar[str] = (
        "m = p r_1 + (1 - p) r_2; I(t) = 1 + 2 p (1 - p) (r_1 - r_2)^2 (1 - (1 - exp(-s t)) / (s t)) / (s m)"
        "; "
        "p = s_2 / s, s = s_1 + s_2"
    )
    symbols: ClassVar[str] = (
        "m, the mean rate of packets; I(t), the variance of the packets in t over their mean; r_1 and r_2, "
        "the rates in and between bursts; 1 / s_1 and 1 / s_2, the mean times in and between bursts; p, the "
        "share of time in bursts"
    )
    conditions: ClassVar[str] = "times in and between bursts exponential and independent; equilibrium"
    source: ClassVar[str] = "Fischer and Meier-Hellstern 1993, derived here"
    module: ClassVar[str] = "delays.on_off_arrivals"
    shortest: ClassVar[float] = 0.15
    theory: OnOffStream = BURSTS
    windows_s: tuple[float, ...] = (1.0, 10.0)

    @staticmethod
    def quantity(window_s: float) -> str:
        """Of a window."""
        return f"dispersion in {window_s:g} s"

    @override
    def predict(self) -> Numbers:
        return {RATE: self.theory.mean_rate_per_s} | {
            self.quantity(window_s): self.theory.dispersion(window_s) for window_s in self.windows_s
        }

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Wrong theories: a Poisson stream; rates that their times do not weight; another window."""
        last_s = self.windows_s[-1]
        return {
            "Poisson of that mean": {self.quantity(window_s): 1.0 for window_s in self.windows_s},
            "the mean of the rates": {RATE: sum(self.theory.rates_per_s) / 2.0},
            "the limit of long windows": {self.quantity(self.windows_s[0]): self.theory.dispersion(1e9)},
            "the dispersion of 1 s": {self.quantity(last_s): self.theory.dispersion(self.windows_s[0])},
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Packets that come to stations, which are independent, in windows."""
        arrivals = cosim.queues.OnOffArrivals(
            on_rate_per_s=self.theory.rates_per_s[0],
            off_rate_per_s=self.theory.rates_per_s[1],
            mean_on_s=self.theory.mean_times_s[0],
            mean_off_s=self.theory.mean_times_s[1],
        )
        num_windows, longest_s = clock.num(NUM_WINDOWS), max(self.windows_s)
        sim, until_s = Simulation(clock.seed), num_windows * longest_s
        short = cosim.queues.Deterministic(duration_s=1e-3)
        stations = [
            Station(sim, f"path-{number}", arrivals, short, EMPTY, keep_packets=True)
            for number in range(NUM_STATIONS)
        ]
        sim.run(sim.spend("observer", "watch", until_s + 1.0))
        arrivals_s = [Packets.of(station, until_s).arrivals_s for station in stations]
        rates_per_s = [len(own_s) / until_s for own_s in arrivals_s]
        samples: dict[str, Sample] = {RATE: Independent(values=rates_per_s)}
        for window_s in self.windows_s:
            mean, edges_s = self.theory.mean_rate_per_s * window_s, np.arange(0.0, until_s + 0.5, window_s)
            squares = [np.mean((np.histogram(own_s, edges_s)[0] - mean) ** 2) for own_s in arrivals_s]
            samples[self.quantity(window_s)] = Independent(values=np.array(squares) / mean)
        return samples


@attrs.frozen(kw_only=True)
class Room(Law):
    """M/M/1/K: a buffer that loses."""

    formula: ClassVar[str] = (
        "P(k) = rho^k / (1 + rho + ... + rho^K); lost: P(K); E[T] = E[N] / (lambda (1 - P(K)))"
    )
    symbols: ClassVar[str] = (
        "K places, with the one in service; N packets are there; P(k), the share of time with k of them, and "
        "of packets that find k; T, the stay of packets that get in; lambda arrivals and mu services a "
        "second; rho = lambda / mu"
    )
    conditions: ClassVar[str] = (
        "Poisson arrivals, exponential services, one server, first come first served; services independent "
        "of each other and of arrivals, equilibrium, any rho"
    )
    source: ClassVar[str] = "Kleinrock, Queueing Systems 1, Section 3.6"
    module: ClassVar[str] = "delays.finite_buffer"
    shortest: ClassVar[float] = 0.15
    theory: FiniteRoom = ROOM

    @override
    def predict(self) -> Numbers:
        shares = self.theory.shares
        return {
            LOST: self.theory.lost_share,
            FULL: self.theory.lost_share,
            EMPTIES: float(shares[0]),
            STAY: self.theory.mean_sojourn_s,
        }

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Wrong theories: a place more; a queue that loses none."""
        more = attrs.evolve(self.theory, num_places=self.theory.num_places + 1)
        endless = attrs.evolve(self.theory, num_places=1000)
        tail = float(endless.shares[self.theory.num_places :].sum())
        return {
            "the buffer without the place in service": {LOST: more.lost_share, FULL: more.lost_share},
            "the tail of M/M/1": {LOST: tail, FULL: tail, EMPTIES: float(endless.shares[0])},
            "the stay of M/M/1": {STAY: endless.mean_sojourn_s},
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """The public at a station with a finite buffer."""
        rate_per_s, num_places = self.theory.arrival_rate_per_s, self.theory.num_places
        sim, until_s = Simulation(clock.seed), clock.size * NUM_PACKETS / (2.0 * rate_per_s)
        station = Station(
            sim,
            "path",
            cosim.queues.PoissonArrivals(rate_per_s=rate_per_s),
            cosim.queues.Exponential(rate_per_s=self.theory.service_rate_per_s),
            EMPTY,
            discipline=cosim.queues.FiniteBuffer(num_waiting=num_places - 1),
            keep_packets=True,
        )
        sim.run(sim.spend("observer", "watch", 1.01 * until_s))
        served = Packets.of(station, until_s)
        assert station.lost is not None
        lost_s = np.array([packet.arrival_s for packet in station.lost if packet.arrival_s <= until_s])
        arrivals_s = np.concatenate([served.arrivals_s, lost_s])
        departures_s = np.concatenate([served.departures_s, np.full(len(lost_s), np.inf)])
        zeros = np.zeros(len(arrivals_s))
        packets = Packets(arrivals_s, departures_s, zeros, zeros > 0.0)
        is_lost = np.isinf(packets.departures_s)
        samples = regenerating(packets.found_empty, {LOST: is_lost, EMPTIES: packets.found_empty})
        samples |= regenerating(served.found_empty, {STAY: served.sojourns_s})
        return samples | {FULL: Series(values=shares_of_time(served, num_places, until_s))}


def shares_of_time(packets: Packets, num: int, until_s: float, window_s: float = 5.0) -> Array:
    """Share of each window at which this number of packets is there, shape (windows,)."""
    instants_s = np.concatenate([packets.arrivals_s, packets.departures_s])
    steps = np.repeat([1, -1], len(packets.arrivals_s))
    order = np.argsort(instants_s, kind="stable")
    edges_s = np.append(0.0, instants_s[order])
    before = np.append(0, np.cumsum(steps[order])[:-1])  # packets that are there until each instant
    so_far_s = np.append(0.0, np.cumsum((before == num) * np.diff(edges_s)))
    windows_s = np.arange(0.0, until_s, window_s)
    return np.diff(np.interp(windows_s, edges_s, so_far_s)) / window_s
