"""Selection: the port of the rule that chooses the participants of an edge round.

A rule is given the clock, the edge server and the edge round that is about to begin (`coming_round`). It
returns some of the clients that are present (`coming.clients`), or is a process that lets time pass and then
returns them. It keeps its memory in `edge.kept[self]`, which no other rule of the system shares, not even an
equal one: a resumed run replays its rounds, with the same result.

Usage::

    @part
    class Fastest(SomeClients):
        \"\"\"Clients with the fastest processors.\"\"\"

        def participants(self, sim, edge, coming):
            ranked = sorted(coming.clients, key=lambda client: -client.device.frequency_hz)
            return ranked[: self.num_participants]

A rule that returns `coming.clients.some(places)` asks no client one by one, which matters in large cells. If
fewer clients are present than a rule wants, all of them take part; if none is present, the edge round begins
when the next one comes.

Validation: tests/selection, each rule by hand; tests/systems/test_clocks.py: the same on both clocks.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import Ask, Port, at_least, knob, part, refuse
from cosim.configuration.going_together import LEARNING
from cosim.jobs.cell import Client, Clients, Edge
from cosim.selection.coming_round import ComingRound

LOSSES_ASKED = Ask(LEARNING, "reads losses", "another selection")


@part
class Selection(Port, ABC):
    """Rule that chooses participants; a rule that reads losses asks for learning (`LOSSES_ASKED`)."""

    def most(self, num_clients: int) -> int:
        """Most participants of an edge round in a cell of `num_clients`."""
        return num_clients

    @abstractmethod
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Iterable[Client] | Process:
        """Participants of the coming edge round: clients, or a process that waits and returns them."""


@part
class Everyone(Selection):
    """All clients of the cell that are present."""

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        return coming.clients


@part
class SomeClients(Selection, ABC):
    """Base of the rules that choose a given number.

    Attributes:
        num_participants: Number of clients of a cell that take part in an edge round; all present clients if
            there are fewer. [no source]
    """

    num_participants: int = knob(at_least(1), default=5)

    @override
    def fit(self, system: Any) -> None:
        """Refuse more participants than the smallest cell has."""
        smallest = min(system.sizes())
        if self.num_participants > smallest:
            rule = f"the smallest cell has {smallest} clients"
            fix = f"Use at most {smallest}, or Everyone."
            raise refuse(type(self), "num_participants", self.num_participants, rule, fix)

    @override
    def most(self, num_clients: int) -> int:
        return self.num_participants


def drawn(rng: np.random.Generator, weights: NDArray[Any], num: int) -> NDArray[np.int64]:
    """Places drawn one after the other without replacement, with probabilities in proportion to weights.

    The order in which clocks ring with the weights as rates is such a draw; places of weight 0 come last.
    [Efraimidis and Spirakis, Inf. Process. Lett. 2006]
    """
    with np.errstate(divide="ignore"):
        rings = rng.exponential(size=len(weights)) / weights
    return np.argsort(rings, kind="stable")[:num]
