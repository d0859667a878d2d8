"""Laws of what goes through queues: two stations, and the age of what a server knows, for `delay_laws`."""

import math
from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np
from typing_extensions import override

import cosim
from analysis.closed_forms.delays.age import Age
from analysis.closed_forms.delays.many_servers import ManyServers
from analysis.closed_forms.delays.tandem import Tandem
from analysis.laws.port import Clock, Law, Numbers
from analysis.laws.samples import Sample, Series, regenerating
from cosim.clock.simulation import Event, Simulation
from cosim.queues.station import Station
from scenarios.validate.delays.conditions import STEADY
from scenarios.validate.delays.packets import (
    EMPTY,
    NO_PUBLIC,
    NUM_PACKETS,
    Array,
    Packets,
    mean_and_tail,
    of_the_public,
    poisson,
    values_and_tail,
)

SOJOURN, AGE = "mean sojourn (s)", "mean age (s)"
TANDEM = Tandem(arrival_rate_per_s=2.0, service_rates_per_s=(3.2, 4.0))
AGES = Age(arrival_rate_per_s=1.0, service_rate_per_s=2.0)


@attrs.frozen(kw_only=True)
class TwoStations(Law):
    """Tandem M/M/1."""

    formula: ClassVar[str] = (
        "E[T] = 1 / a_1 + 1 / a_2; P(T > t) = (a_2 exp(-a_1 t) - a_1 exp(-a_2 t)) / (a_2 - a_1), "
        "a_i = mu_i - lambda"
    )
    symbols: ClassVar[str] = (
        "T, the time through both stations; lambda arrivals a second; mu_i services a second at station i; "
        "rho = lambda / mu_i at each"
    )
    conditions: ClassVar[str] = (
        "Poisson arrivals to the first, exponential services drawn again at the second, one server each, "
        "first come first served, no time between the stations; for the tail a_1 and a_2 differ, else it is "
        f"(1 + a_1 t) exp(-a_1 t); {STEADY}"
    )
    source: ClassVar[str] = "Burke 1956, Reich 1957"
    module: ClassVar[str] = "delays.tandem"
    theory: Tandem = TANDEM
    times_s: tuple[float, ...] = (1.0, 2.0)

    @override
    def predict(self) -> Numbers:
        """Mean and tail of the way through both."""
        return mean_and_tail(SOJOURN, self.theory.mean_sojourn_s, self.theory.stays_longer, self.times_s)

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """An exponential of the same mean; the narrower station alone."""

        def exponential(mean_s: float) -> Numbers:
            return mean_and_tail(SOJOURN, mean_s, lambda time_s: math.exp(-time_s / mean_s), self.times_s)

        slower_s = 1.0 / min(self.theory.spare_rates_per_s)
        return {
            "exponential of that mean": exponential(self.theory.mean_sojourn_s),
            "the slower station alone": exponential(slower_s),
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Messages that go on to a second station as soon as they have left the first."""
        rate_per_s = self.theory.arrival_rate_per_s
        sim, until_s = Simulation(clock.seed), clock.size * NUM_PACKETS / (2.0 * rate_per_s)
        first, second = (
            Station(
                sim,
                f"stop-{place}",
                NO_PUBLIC,
                cosim.queues.Exponential(rate_per_s=rate),
                EMPTY,
                keep_packets=True,
            )
            for place, rate in enumerate(self.theory.service_rates_per_s)
        )

        def go_on(_done: Event) -> None:
            second.send("client-0000", 1)

        def come() -> None:
            first.send("client-0000", 1).done.callbacks.append(go_on)  # type: ignore[union-attr]

        sim.run(poisson(sim, rate_per_s, 1.01 * until_s, come))
        before, after = (Packets.of(station, 1.01 * until_s) for station in (first, second))
        num = int(np.searchsorted(before.arrivals_s, until_s))
        zeros = np.zeros(num)
        ways = Packets(before.arrivals_s[:num], after.departures_s[:num], zeros, zeros > 0.0)
        return regenerating(ways.found_empty, values_and_tail(SOJOURN, ways.sojourns_s, self.times_s))


@attrs.frozen(kw_only=True)
class AgeOfUpdates(Law):
    """Age of updates through M/M/1."""

    formula: ClassVar[str] = "E[age] = (1 / mu) (1 + 1 / rho + rho^2 / (1 - rho))"
    symbols: ClassVar[str] = (
        "age, the time since the newest update that has come was made, averaged over time; lambda updates "
        "and mu services a second; rho = lambda / mu"
    )
    conditions: ClassVar[str] = (
        "updates made in a Poisson stream and queued at once, exponential services, one server, first come "
        f"first served; {STEADY}"
    )
    source: ClassVar[str] = "Kaul, Yates, Gruteser 2012, derived here"
    module: ClassVar[str] = "delays.age"
    shortest: ClassVar[float] = 0.3
    theory: Age = AGES

    @override
    def predict(self) -> Numbers:
        """Mean over time."""
        return {AGE: self.theory.mean_s}

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Delay of an update, which is the same for updates made late."""
        rates_per_s = self.theory.arrival_rate_per_s, self.theory.service_rate_per_s
        delay_s = ManyServers(
            arrival_rate_per_s=rates_per_s[0], service_rate_per_s=rates_per_s[1]
        ).mean_sojourn_s
        return {
            "gaps and delays independent": {AGE: 1.0 / rates_per_s[0] + delay_s},
            "the delay alone": {AGE: delay_s},
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """The public's packets are updates; the mean age in each of many windows."""
        service = cosim.queues.Exponential(rate_per_s=self.theory.service_rate_per_s)
        packets = of_the_public(clock, self.theory.arrival_rate_per_s, service)
        return {AGE: Series(values=mean_ages_s(packets.arrivals_s, packets.departures_s))}


def mean_ages_s(made_s: Array, come_s: Array, per_window: int = 20) -> Array:
    """Mean age between the first and the last coming, in windows of `per_window` updates, shape (windows,).

    Args:
        made_s: When each update was made, in order, shape (updates,).
        come_s: When it has come, in order, shape (updates,).
    """
    ages_s, gaps_s = come_s - made_s, np.diff(come_s)
    so_far = np.append(0.0, np.cumsum(ages_s[:-1] * gaps_s + gaps_s**2 / 2.0))
    edges_s = np.linspace(come_s[0], come_s[-1], len(come_s) // per_window + 1)
    last = np.clip(np.searchsorted(come_s, edges_s, side="right") - 1, 0, len(come_s) - 1)
    since_s = edges_s - come_s[last]
    return np.diff(so_far[last] + ages_s[last] * since_s + since_s**2 / 2.0) / np.diff(edges_s)
