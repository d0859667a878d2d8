"""Laws of queues in another order than that of arrivals, or with losses, for `delay_laws`."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np
from typing_extensions import override

import cosim
from analysis.closed_forms.delays.impatience import Impatience
from analysis.closed_forms.delays.many_servers import ManyServers
from analysis.closed_forms.delays.priorities import TwoPriorities
from analysis.closed_forms.sojourn import Sojourn
from analysis.laws.port import Clock, Law, Numbers
from analysis.laws.samples import Regenerating, Sample, regenerating
from cosim.clock.simulation import Simulation
from cosim.queues.message import Message
from cosim.queues.station import Station
from scenarios.validate.delays.conditions import STEADY
from scenarios.validate.delays.packets import EMPTY, NO_PUBLIC, NUM_PACKETS, Packets, poisson

CLASSES = TwoPriorities(
    arrival_rates_per_s=(1.6, 0.8), mean_services_s=(0.125, 0.5), mean_square_services_s2=(0.03125, 0.5)
)
"""Short messages and the public's long packets, all exponential."""
CLASS_SYMBOLS = (
    "class 1, messages; class 2, the public; of class i W_i, the wait, B_i, a service, lambda_i arrivals a "
    "second, rho_i = lambda_i E[B_i]; rho = rho_1 + rho_2; "
    "W_0 = (lambda_1 E[B_1^2] + lambda_2 E[B_2^2]) / 2"
)
PATIENT = Sojourn(arrival_rate_per_s=2.0, weights=(0.5, 0.5), rates_per_s=(8.0, 2.0))
MESSAGES, PUBLIC = "mean wait of messages (s)", "mean wait of the public (s)"
LOST, IDLE = "share lost", "share that finds it empty"


def in_order(
    theory: TwoPriorities, discipline: cosim.queues.Discipline, clock: Clock, parts: int = 1
) -> Packets:
    """Messages, of class 1, and the public's packets, of class 2, in one of several parts of a run."""
    (own_per_s, public_per_s), (own_s, public_s) = theory.arrival_rates_per_s, theory.mean_services_s
    sim, until_s = Simulation(clock.seed), clock.size / parts * NUM_PACKETS / (own_per_s + public_per_s)
    station = Station(
        sim,
        "path",
        cosim.queues.PoissonArrivals(rate_per_s=public_per_s),
        cosim.queues.Exponential(rate_per_s=1.0 / public_s),
        EMPTY,
        discipline=discipline,
        message_service=cosim.queues.Exponential(rate_per_s=1.0 / own_s),
        keep_packets=True,
    )
    sim.run(poisson(sim, own_per_s, 1.01 * until_s, lambda: station.send("client-0000", 1)))
    return Packets.of(station, until_s)


@attrs.frozen(kw_only=True)
class Priorities(Law):
    """M/G/1, two priorities."""

    formula: ClassVar[str] = "E[W_1] = W_0 / (1 - rho_1); E[W_2] = W_0 / ((1 - rho_1) (1 - rho))"
    symbols: ClassVar[str] = CLASS_SYMBOLS
    conditions: ClassVar[str] = (
        "independent Poisson arrivals of the classes, services of any law with finite E[B_i^2], one server, "
        f"messages before the public, each class first come first served, no interruption; {STEADY}"
    )
    source: ClassVar[str] = "Cobham 1954, derived here"
    module: ClassVar[str] = "delays.priorities"
    theory: TwoPriorities = CLASSES

    @override
    def predict(self) -> Numbers:
        """Mean waits."""
        return dict(zip((MESSAGES, PUBLIC), self.theory.mean_waiting_s, strict=True))

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """No order, or with interruption."""
        same_s = self.theory.conserved_s / sum(self.theory.loads)
        rate_per_s, service_s = self.theory.arrival_rates_per_s[0], self.theory.mean_services_s[0]
        alone = ManyServers(arrival_rate_per_s=rate_per_s, service_rate_per_s=1.0 / service_s)
        return {
            "first come first served": {MESSAGES: same_s, PUBLIC: same_s},
            "messages interrupt": {MESSAGES: alone.mean_waiting_s},
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Messages first."""
        packets = in_order(self.theory, cosim.queues.MessagesFirst(), clock)
        classes = {MESSAGES: packets.of_messages, PUBLIC: ~packets.of_messages}
        return {
            name: Regenerating(found_empty=packets.begins(own), values=packets.waits_s[own])
            for name, own in classes.items()
        }


@attrs.frozen(kw_only=True)
class Conservation(Law):
    """Conservation law."""

    formula: ClassVar[str] = "rho_1 E[W_1] + rho_2 E[W_2] = rho W_0 / (1 - rho) in any order"
    symbols: ClassVar[str] = CLASS_SYMBOLS
    conditions: ClassVar[str] = (
        "independent Poisson arrivals of the classes, services of any law with finite E[B_i^2], one server, "
        "an order that does not look at lengths of services, no interruption, none leaves unserved; "
        f"{STEADY}"
    )
    source: ClassVar[str] = "Kleinrock 1965, derived here"
    module: ClassVar[str] = "delays.priorities"
    theory: TwoPriorities = CLASSES
    shortest: ClassVar[float] = 0.1
    disciplines: tuple[cosim.queues.Discipline, ...] = (
        cosim.queues.FirstComeFirstServed(),
        cosim.queues.MessagesFirst(),
        cosim.queues.PublicFirst(),
    )

    @staticmethod
    def quantity(discipline: cosim.queues.Discipline) -> str:
        """Of a quantity."""
        return f"{type(discipline).__name__} (s)"

    @override
    def predict(self) -> Numbers:
        """The same in every order."""
        return {self.quantity(discipline): self.theory.conserved_s for discipline in self.disciplines}

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """The mean wait of all packets is what no order moves."""
        (own, public), (own_per_s, public_per_s) = self.theory.loads, self.theory.arrival_rates_per_s
        first_s = self.theory.mean_waiting_s[0]
        all_s = (own_per_s + public_per_s) * self.theory.conserved_s / (own + public)
        second_s = (all_s - own_per_s * first_s) / public_per_s
        return {
            "mean wait conserved": {
                self.quantity(cosim.queues.MessagesFirst()): own * first_s + public * second_s
            }
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """The same packets in each order; of each its wait by its class's load per packet."""
        total_per_s, samples = sum(self.theory.arrival_rates_per_s), dict[str, Sample]()
        for discipline in self.disciplines:
            packets = in_order(self.theory, discipline, clock, len(self.disciplines))
            mean_s = np.where(packets.of_messages, *self.theory.mean_services_s)
            values = {self.quantity(discipline): total_per_s * mean_s * packets.waits_s}
            samples |= regenerating(packets.found_empty, values)
        return samples


@attrs.frozen(kw_only=True)
class Patience(Law):
    """M/G/1 with patience D until service."""

    formula: ClassVar[str] = (
        "lost: (1 - rho) P(W > D) / (1 - rho P(W > D)); finds it empty: (1 - rho) / (1 - rho P(W > D))"
    )
    symbols: ClassVar[str] = (
        "shares of packets; W, the wait without impatience; D, the patience, at whose end a packet leaves; "
        "lambda arrivals a second, B a service, rho = lambda E[B]"
    )
    conditions: ClassVar[str] = (
        "Poisson arrivals, services of any law, one server, first come first served, one D for all; a "
        f"service that has begun ends; {STEADY}. A deadline of a protocol is another thing: it counts the "
        "service, and the packet stays"
    )
    source: ClassVar[str] = "derived here"
    module: ClassVar[str] = "delays.impatience"
    patient: Sojourn = PATIENT
    patience_s: float = 0.75

    @property
    def waits_longer(self) -> float:
        """P(W > D)."""
        return 1.0 - float(self.patient.success_rate_before_service(self.patience_s))

    @override
    def predict(self) -> Numbers:
        """Shares of packets."""
        theory = Impatience(load=self.patient.load, waits_longer=self.waits_longer)
        return {LOST: theory.lost_share, IDLE: theory.idle_share}

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """The losses' own relief forgotten; a deadline on the whole stay."""
        return {
            "packets that leave leave their work": {LOST: self.waits_longer, IDLE: 1.0 - self.patient.load},
            "a deadline on the sojourn": {LOST: float(self.patient.failure_rate(self.patience_s))},
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Messages of one packet each, no other traffic; messages that are never done are lost."""
        rate_per_s = self.patient.arrival_rate_per_s
        sim, until_s = Simulation(clock.seed), clock.size * NUM_PACKETS / rate_per_s
        service = cosim.queues.HyperExponential(
            weights=self.patient.weights, rates_per_s=self.patient.rates_per_s
        )
        discipline = cosim.queues.Impatient(patience_s=self.patience_s)
        station = Station(sim, "path", NO_PUBLIC, service, EMPTY, discipline=discipline, keep_packets=True)
        sent: list[tuple[float, Message]] = []
        come = lambda: sent.append((sim.now_s, station.send("client-0000", 1)))  # noqa: E731
        sim.run(poisson(sim, rate_per_s, 1.01 * until_s, come))
        served = Packets.of(station, until_s)
        arrivals_s = np.array([arrival_s for arrival_s, _ in sent if arrival_s <= until_s])
        is_lost = np.array([message.num_served == 0 for arrival_s, message in sent if arrival_s <= until_s])
        departures_s = np.full(len(arrivals_s), np.inf)
        departures_s[~is_lost] = served.departures_s
        zeros = np.zeros(len(arrivals_s))
        packets = Packets(arrivals_s, departures_s, zeros, np.ones(len(arrivals_s), dtype=bool))
        return regenerating(packets.found_empty, {LOST: is_lost, IDLE: packets.found_empty})
