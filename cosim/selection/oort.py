"""Oort: clients that still have much to teach and are fast enough, and some that nobody knows yet.

A client whose last update arrived in round L(i), after D(i), is worth in round R, from 1::

    (U(i) + sqrt(0.1 ln R / L(i))) (T / D(i))^alpha, the last factor where D(i) > T

where U(i), its statistical utility, is its samples times their loss when it took part; the root makes who has
not been asked for long worth more, and T is how long a round is wanted to last. Of K participants a share
epsilon, which falls from round to round, are clients whose update never arrived, drawn by speed; the others
are drawn by worth among those worth at least 95 % of the last of the best. The pacer makes T longer when the
utilities of the last rounds add up to less than those before.

Scope and limitations: U is n times the mean loss over all samples of the model that the client begins with,
where the paper has n times the root mean square over those that it trained on, and as much for equal losses.
The pacer looks every so many rounds, as the authors' code does. No clipping of utilities, no blacklist. What
a client spends on its loss is its training's forward pass. Losses are read from weights, so each round is
learned before the next begins. Speed is the planned time of training.

Source: Lai et al., "Oort: Efficient federated learning via guided participant selection", OSDI 2021
(arXiv 2010.06081), eqs. 1 to 3, Algorithm 1, Section 4.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import at_least, between, configuration, field, not_negative, positive
from cosim.devices.cell import Clients, Edge
from cosim.going_together import LOSSES_ASKED
from cosim.selection.coming_round import ComingRound
from cosim.selection.selection import SomeClients, drawn
from cosim.simulation import Simulation

CUT_OFF = 0.95
"""Worth of the last of the best that is enough to be drawn. [Lai et al., Section 4.4]"""


@attrs.define(eq=False)
class Memory:
    """What a server knows of its clients; arrays have shape (clients,).

    Attributes:
        wanted_s: T.
        utility: U; not a number: no update has arrived.
        round: L, from 1.
        duration_s: D.
        asked: Utilities of who takes part at present.
        arrived: Sum of the utilities that arrived in each round that is over.
    """

    wanted_s: float
    utility: NDArray[np.float64]
    round: NDArray[np.int64]
    duration_s: NDArray[np.float64]
    asked: NDArray[np.float64]
    arrived: list[float] = attrs.field(factory=list)

    @classmethod
    def of(cls, num_clients: int, wanted_s: float) -> "Memory":
        """At the beginning."""
        unknown = np.full(num_clients, math.nan)
        return cls(wanted_s, unknown, np.zeros(num_clients, dtype=np.int64), unknown.copy(), unknown.copy())

    def worth(self, now: int, alpha: float) -> NDArray[np.float64]:
        """Worth of each client in a round; not a number where no update has arrived."""
        stale = np.sqrt(0.1 * math.log(now) / np.maximum(self.round, 1))
        return (self.utility + stale) * np.minimum(1.0, self.wanted_s / self.duration_s) ** alpha


@configuration
class Oort(SomeClients):
    """Utility, speed and exploration.

    Attributes:
        wanted_s: How long a round is wanted to last at first, T. [no source]
        pacer_step_s: What the pacer adds to it. [no source]
        pacer_rounds: Rounds W that the pacer compares. [Lai et al., Section 7.1: 20]
        slowness_penalty: alpha. [Lai et al., Section 7.1: 2]
        exploration: Share of participants whose update has never arrived, at first. [Lai et al., Section 7.1]
        exploration_decay: What becomes of it from round to round. [Lai et al., Section 7.1]
        least_exploration: What it does not fall below. [Lai et al., Section 7.1]
    """

    asks = (LOSSES_ASKED,)

    wanted_s: float = field(positive, default=1.0)
    pacer_step_s: float = field(not_negative, default=0.2)
    pacer_rounds: int = field(at_least(1), default=20)
    slowness_penalty: float = field(not_negative, default=2.0)
    exploration: float = field(between(0.0, 1.0), default=0.9)
    exploration_decay: float = field(between(0.0, 1.0), default=0.98)
    least_exploration: float = field(between(0.0, 1.0), default=0.2)

    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """A draw; asks those drawn for their samples and losses."""
        memory = edge.kept.setdefault(self, Memory.of(len(edge.clients), self.wanted_s))
        self._observe(memory, edge, coming)
        chosen = edge.clients.some(self._choice(sim, edge, coming, memory))
        memory.asked[chosen.places_in(edge.clients)] = coming.num_samples(chosen) * coming.losses(chosen)
        return chosen

    def _observe(self, memory: Memory, edge: Edge, coming: ComingRound) -> None:
        """Take note of who arrived last, and let the pacer look."""
        last = coming.last
        if last is None:
            return
        who = _places(last.clients, edge)[last.arrived]
        memory.utility[who] = memory.asked[who]
        memory.duration_s[who] = last.durations_s[last.arrived]
        memory.arrived.append(math.fsum(memory.asked[who]))
        memory.round[who] = len(memory.arrived)
        num, window = len(memory.arrived), self.pacer_rounds
        if num % window == 0 and num >= 2 * window:
            before, lately = memory.arrived[-2 * window : -window], memory.arrived[-window:]
            if math.fsum(before) > math.fsum(lately):
                memory.wanted_s += self.pacer_step_s

    def _choice(self, sim: Simulation, edge: Edge, coming: ComingRound, memory: Memory) -> NDArray[np.int64]:
        """Places of the participants."""
        rng = sim.stream(edge.name, "participants", coming.job.number)
        now = len(memory.arrived) + 1
        is_new = np.isnan(memory.utility)
        there = _places(coming.clients, edge)
        known, unknown = there[~is_new[there]], there[is_new[there]]
        num = min(self.num_participants, len(there))
        share = max(self.least_exploration, self.exploration * self.exploration_decay ** (now - 1))
        num_new = min(round(share * num), len(unknown))
        num_best = min(num - num_new, len(known))
        num_new = num - num_best
        worth = memory.worth(now, self.slowness_penalty)[known]
        best = np.empty(0, dtype=np.int64)
        if num_best:
            least = CUT_OFF * np.sort(worth)[-num_best]
            best = known[drawn(rng, np.where(worth >= least, worth, 0.0), num_best)]
        speeds = 1.0 / coming.training_s(edge.clients.some(unknown))
        new = unknown[drawn(rng, speeds, num_new)]
        return np.concatenate([best, new])


def _places(clients: Clients, edge: Edge) -> NDArray[np.int64]:
    """Where they are among the clients of a cell, shape (clients,)."""
    return np.arange(len(edge.clients))[clients.places_in(edge.clients)]
