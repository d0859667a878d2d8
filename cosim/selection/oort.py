"""Oort: clients that are fast and whose data are still useful, and some that are not known yet.

A client whose last update arrived in round L(i), after D(i), is worth in round R, from 1::

    (U(i) + sqrt(0.1 ln R / L(i))) (T / D(i))^alpha, the last factor where D(i) > T

where U(i), its statistical utility, is its samples times their loss when it took part; the root raises the
worth of clients that have not been asked for long, and T is the wanted duration of a round. Of K participants
a share epsilon, which falls from round to round, are clients whose update never arrived, drawn by speed; the
others are drawn by worth among clients worth at least 95 % of the last of the best. The pacer makes T longer
when the utilities of the last rounds add up to less than in the rounds before.

Scope and limitations: U is n times the mean loss over all samples of the model that the client begins with,
while the paper has n times the root mean square over the samples that it trained on; both are the same for
equal losses. The pacer looks at fixed intervals of rounds, as the authors' code does. There is no clipping of
utilities and no blacklist. The loss costs a client nothing, because it is its training's forward pass. Losses
are read from weights, so each round is learned before the next begins. Speed is the planned time of training.

Source: Lai et al., "Oort: Efficient federated learning via guided participant selection", OSDI 2021
(arXiv 2010.06081), eqs. 1 to 3, Algorithm 1, Section 4.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import a_share, at_least, between, knob, not_negative, part, positive
from cosim.jobs.cell import Clients, Edge
from cosim.selection.by_client import ByClient
from cosim.selection.coming_round import ComingRound
from cosim.selection.port import LOSSES_ASKED, SomeClients, drawn

CUT_OFF = 0.95
"""Share of the worth of the last of the best that is enough to be drawn. [Lai et al., Section 4.4]"""


@attrs.define(eq=False)
class Memory:
    """Knowledge of a server about its clients.

    Attributes:
        wanted_s: T, the wanted duration of a round.
        arrived: Sum of the utilities that arrived in each past round.
        clients: Columns `utility`, U (nan if no update has arrived); `round`, L, from 1; `duration_s`, D;
            `asked`, the utility of a client that takes part at present.
    """

    wanted_s: float
    arrived: list[float] = attrs.field(factory=list)
    clients: ByClient = attrs.field(
        factory=lambda: ByClient(utility=math.nan, round=0, duration_s=math.nan, asked=math.nan)
    )

    def worth(self, places: NDArray[np.int64], now: int, alpha: float) -> NDArray[np.float64]:
        """Worth in a round of clients whose updates have arrived, shape (clients,)."""
        of = self.clients
        stale = np.sqrt(0.1 * math.log(now) / np.maximum(of["round"][places], 1))
        speed = np.minimum(1.0, self.wanted_s / of["duration_s"][places])
        return (of["utility"][places] + stale) * speed**alpha


@part
class Oort(SomeClients):
    """Utility, speed and exploration.

    Attributes:
        wanted_s: Wanted duration T of a round at first. [no source]
        pacer_step_s: Time that the pacer adds to it. [no source]
        pacer_rounds: Rounds W that the pacer compares. [Lai et al., Section 7.1: 20]
        slowness_penalty: alpha. [Lai et al., Section 7.1: 2]
        exploration: Initial share of participants whose update has never arrived. [Lai et al., Section 7.1]
        exploration_decay: Factor of that share from round to round. [Lai et al., Section 7.1]
        least_exploration: Lowest value of that share. [Lai et al., Section 7.1]
    """

    asks = (LOSSES_ASKED,)

    wanted_s: float = knob(positive, default=1.0)
    pacer_step_s: float = knob(not_negative, default=0.2)
    pacer_rounds: int = knob(at_least(1), default=20)
    slowness_penalty: float = knob(not_negative, default=2.0)
    exploration: float = knob(a_share, default=0.9)
    exploration_decay: float = knob(between(0.0, 1.0), default=0.98)
    least_exploration: float = knob(a_share, default=0.2)

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """Draw participants; asks the drawn clients for their samples and losses."""
        memory = edge.kept.setdefault(self, Memory(self.wanted_s))
        self._observe(memory, coming)
        chosen = coming.clients.some(self._choice(sim, edge, coming, memory))
        places = memory.clients.places(chosen)
        memory.clients["asked"][places] = coming.num_samples(chosen) * coming.losses(chosen)
        return chosen

    def _observe(self, memory: Memory, coming: ComingRound) -> None:
        """Record the clients that arrived last, and let the pacer look."""
        last = coming.last
        if last is None:
            return
        of = memory.clients
        arrived = of.places(last.clients)[last.arrived]
        asked = of["asked"][arrived]
        of["utility"][arrived] = asked
        of["duration_s"][arrived] = last.durations_s[last.arrived]
        memory.arrived.append(math.fsum(asked))
        of["round"][arrived] = len(memory.arrived)
        num, window = len(memory.arrived), self.pacer_rounds
        if num % window == 0 and num >= 2 * window:
            before, lately = memory.arrived[-2 * window : -window], memory.arrived[-window:]
            if math.fsum(before) > math.fsum(lately):
                memory.wanted_s += self.pacer_step_s

    def _choice(self, sim: Simulation, edge: Edge, coming: ComingRound, memory: Memory) -> NDArray[np.int64]:
        """Places of the participants among the clients that are present."""
        rng = sim.stream(edge.name, "participants", coming.job.number)
        now = len(memory.arrived) + 1
        places = memory.clients.places(coming.clients)
        is_new = np.isnan(memory.clients["utility"][places])
        known, unknown = np.flatnonzero(~is_new), np.flatnonzero(is_new)
        num = min(self.num_participants, len(places))
        share = max(self.least_exploration, self.exploration * self.exploration_decay ** (now - 1))
        num_new = min(round(share * num), len(unknown))
        num_best = min(num - num_new, len(known))
        num_new = num - num_best
        worth = memory.worth(places[known], now, self.slowness_penalty)
        best = np.empty(0, dtype=np.int64)
        if num_best:
            least = CUT_OFF * np.sort(worth)[-num_best]
            best = known[drawn(rng, np.where(worth >= least, worth, 0.0), num_best)]
        speeds = 1.0 / coming.training_s(coming.clients.some(unknown))
        new = unknown[drawn(rng, speeds, num_new)]
        return np.concatenate([best, new])
