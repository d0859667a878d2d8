"""Laws of one queue, first come first served, for `delay_laws`."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
from typing_extensions import override

import cosim
from analysis.closed_forms.delays.equal_services import EqualServices
from analysis.closed_forms.delays.many_servers import ManyServers
from analysis.closed_forms.pollaczek_khinchine import PollaczekKhinchine
from analysis.closed_forms.sojourn import Sojourn
from analysis.laws.port import Clock, Law, Numbers
from analysis.laws.samples import Sample, regenerating
from scenarios.validate.delays.conditions import STEADY
from scenarios.validate.delays.packets import mean_and_tail, of_the_public, values_and_tail

WAIT, SOJOURN = "mean wait (s)", "mean sojourn (s)"
MM1 = ManyServers(arrival_rate_per_s=2.0, service_rate_per_s=3.0)
MD1 = EqualServices(arrival_rate_per_s=2.0, service_s=0.35)
MH1 = Sojourn(arrival_rate_per_s=2.0, weights=(0.5, 0.5), rates_per_s=(8.0, 2.0))
MM3 = ManyServers(arrival_rate_per_s=2.1, service_rate_per_s=1.0, num_servers=3)


@attrs.frozen(kw_only=True)
class OneServer(Law):
    """M/M/1."""

    formula: ClassVar[str] = "P(T > t) = exp(-(mu - lambda) t)"
    symbols: ClassVar[str] = (
        "T, the sojourn, from arrival to departure; lambda arrivals and mu services a second; "
        "rho = lambda / mu"
    )
    conditions: ClassVar[str] = (
        f"Poisson arrivals, exponential services, one server, first come first served; {STEADY}"
    )
    source: ClassVar[str] = "Kleinrock, Queueing Systems 1, Sections 3.2 and 5.7"
    module: ClassVar[str] = "delays.many_servers"
    theory: ManyServers = MM1
    times_s: tuple[float, ...] = (1.0, 2.0)

    @override
    def predict(self) -> Numbers:
        """Mean and tail of the sojourn."""
        return mean_and_tail(SOJOURN, self.theory.mean_sojourn_s, self.theory.stays_longer, self.times_s)

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Wrong theory: the packet's own service is forgotten."""
        waits = mean_and_tail(SOJOURN, self.theory.mean_waiting_s, self.theory.waits_longer, self.times_s)
        return {"waiting for sojourn": waits}

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """The public at a station."""
        service = cosim.queues.Exponential(rate_per_s=self.theory.service_rate_per_s)
        packets = of_the_public(clock, self.theory.arrival_rate_per_s, service)
        return regenerating(packets.found_empty, values_and_tail(SOJOURN, packets.sojourns_s, self.times_s))


@attrs.frozen(kw_only=True)
class EqualLengths(Law):
    """M/D/1."""

    formula: ClassVar[str] = (
        "E[W] = rho D / (2 (1 - rho)); P(W <= t) = (1 - rho) sum_{k <= t/D} (-u_k)^k exp(u_k) / k!, "
        "u_k = lambda (t - k D)"
    )
    symbols: ClassVar[str] = (
        "W, the wait, from arrival to the start of the service; D, what every service lasts; lambda "
        "arrivals a second; rho = lambda D"
    )
    conditions: ClassVar[str] = (
        f"Poisson arrivals, equal services, one server, first come first served; {STEADY}"
    )
    source: ClassVar[str] = "Erlang 1909, derived here"
    module: ClassVar[str] = "delays.equal_services"
    theory: EqualServices = MD1
    times_s: tuple[float, ...] = (0.5, 1.0)

    @override
    def predict(self) -> Numbers:
        """Mean and tail of the wait."""
        return mean_and_tail(WAIT, self.theory.mean_waiting_s, self.theory.waits_longer, self.times_s)

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Exponential services of the same mean."""
        rate_per_s = self.theory.arrival_rate_per_s
        other = ManyServers(arrival_rate_per_s=rate_per_s, service_rate_per_s=1.0 / self.theory.service_s)
        waits = mean_and_tail(WAIT, other.mean_waiting_s, other.waits_longer, self.times_s)
        return {"M/M/1 of that mean": waits}

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """The public at a station."""
        service = cosim.queues.Deterministic(duration_s=self.theory.service_s)
        packets = of_the_public(clock, self.theory.arrival_rate_per_s, service)
        return regenerating(packets.found_empty, values_and_tail(WAIT, packets.waits_s, self.times_s))


@attrs.frozen(kw_only=True)
class AnyLengths(Law):
    """M/G/1."""

    formula: ClassVar[str] = (
        "E[W] = lambda E[B^2] / (2 (1 - rho)); for M/H2/1 P(T > t) = p_1 exp(s_1 t) + p_2 exp(s_2 t)"
    )
    symbols: ClassVar[str] = (
        "W, the wait; T, the sojourn; B, a service; lambda arrivals a second; rho = lambda E[B]. M/H2/1 "
        "(`analysis/closed_forms/sojourn.py`): with probability alpha_i, i = 1 or 2, a service is "
        "exponential of rate mu_i; s_1 > s_2 are the roots of s^2 + (mu_1 + mu_2 - lambda) s + mu_1 mu_2 (1 "
        "- rho), p_1 = -s_2 (1 + (alpha_1 / mu_2 + alpha_2 / mu_1) s_1) / (s_1 - s_2), p_2 = 1 - p_1"
    )
    conditions: ClassVar[str] = (
        "Poisson arrivals, services of any law with finite E[B^2], one server, first come first served; "
        f"{STEADY}"
    )
    source: ClassVar[str] = "Kleinrock, Queueing Systems 1, Section 5.5; VHFL, Theorem 2"
    module: ClassVar[str] = "pollaczek_khinchine"
    theory: Sojourn = MH1
    times_s: tuple[float, ...] = (1.0, 2.0)

    @property
    def mean_s(self) -> float:
        """E[B]."""
        return self.theory.load / self.theory.arrival_rate_per_s

    @property
    def mean_square_s2(self) -> float:
        """E[B^2]."""
        stages = zip(self.theory.weights, self.theory.rates_per_s, strict=True)
        return sum(2.0 * weight / rate**2 for weight, rate in stages)

    def mean_waiting_s(self, mean_square_s2: float) -> float:
        """E[W] of a second moment."""
        return PollaczekKhinchine(
            arrival_rate_per_s=self.theory.arrival_rate_per_s,
            mean_service_s=self.mean_s,
            mean_square_service_s2=mean_square_s2,
        ).mean_waiting_s

    def tail(self, time_s: float) -> float:
        """P(T > t)."""
        return float(self.theory.failure_rate(time_s))

    @override
    def predict(self) -> Numbers:
        """Mean wait, and tail of the sojourn."""
        return mean_and_tail(WAIT, self.mean_waiting_s(self.mean_square_s2), self.tail, self.times_s)

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Of the services only the mean counts."""
        rate_per_s = self.theory.arrival_rate_per_s
        other = ManyServers(arrival_rate_per_s=rate_per_s, service_rate_per_s=1.0 / self.mean_s)
        return {
            "M/M/1 of that mean": mean_and_tail(WAIT, other.mean_waiting_s, other.stays_longer, self.times_s),
            "E[B]^2 for E[B^2]": {WAIT: self.mean_waiting_s(self.mean_s**2)},
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """The public at a station."""
        service = cosim.queues.HyperExponential(
            weights=self.theory.weights, rates_per_s=self.theory.rates_per_s
        )
        packets = of_the_public(clock, self.theory.arrival_rate_per_s, service)
        values = {**values_and_tail(SOJOURN, packets.sojourns_s, self.times_s), WAIT: packets.waits_s}
        return regenerating(packets.found_empty, {name: values[name] for name in self.predict()})


@attrs.frozen(kw_only=True)
class SeveralServers(Law):
    """M/M/c."""

    formula: ClassVar[str] = (
        "E[W] = C / (c mu - lambda); P(W > t) = C exp(-(c mu - lambda) t); C = B_c / (1 - rho (1 - B_c)), "
        "B_k = a B_{k-1} / (k + a B_{k-1}), B_0 = 1, a = lambda / mu"
    )
    symbols: ClassVar[str] = (
        "W, the wait; C, the probability of a wait; B_k, the share lost by k servers without a queue; "
        "lambda arrivals a second; mu services a second at each of c servers; rho = a / c"
    )
    conditions: ClassVar[str] = (
        f"Poisson arrivals, exponential services, one queue for c servers, first come first served; {STEADY}"
    )
    source: ClassVar[str] = "Kleinrock, Queueing Systems 1, Section 3.5; the tail derived here"
    module: ClassVar[str] = "delays.many_servers"
    theory: ManyServers = MM3
    times_s: tuple[float, ...] = (0.0, 1.0)

    def numbers(self, queue: ManyServers) -> Numbers:
        """Of a queue."""
        return mean_and_tail(WAIT, queue.mean_waiting_s, queue.waits_longer, self.times_s)

    @override
    def predict(self) -> Numbers:
        """Mean and tail of the wait."""
        return self.numbers(self.theory)

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Servers put together, or apart."""
        num = self.theory.num_servers
        alone = attrs.evolve(
            self.theory, arrival_rate_per_s=self.theory.arrival_rate_per_s / num, num_servers=1
        )
        fast = ManyServers(
            arrival_rate_per_s=self.theory.arrival_rate_per_s,
            service_rate_per_s=num * self.theory.service_rate_per_s,
        )
        return {"one server, c times as fast": self.numbers(fast), "a queue for each": self.numbers(alone)}

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """The public at a station of several servers."""
        service = cosim.queues.Exponential(rate_per_s=self.theory.service_rate_per_s)
        rate_per_s, num_servers = self.theory.arrival_rate_per_s, self.theory.num_servers
        packets = of_the_public(clock, rate_per_s, service, num_servers)
        return regenerating(packets.found_empty, values_and_tail(WAIT, packets.waits_s, self.times_s))
