"""Power of choice: the candidates with samples that the model fits worst.

Candidates are drawn without replacement in proportion to their samples. They get the model, compute their
losses and report them.

Scope and limitations: the candidates' time and energy for that are not counted: a forward pass over their
samples, and sending a number. Losses are read from weights, so each round is learned before the next begins.

Source: Cho, Wang, Joshi, "Towards understanding biased client selection in federated learning", AISTATS 2022
(arXiv 2010.01243), Section 4: pi_pow-d.
"""

from typing import Any

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import at_least, knob, part, refuse
from cosim.jobs.cell import Clients, Edge
from cosim.selection.coming_round import ComingRound
from cosim.selection.port import LOSSES_ASKED, SomeClients, drawn


@part
class PowerOfChoice(SomeClients):
    """Candidates with the largest losses.

    Attributes:
        num_candidates: Clients d that report their losses. [Cho et al., Section 6: twice the participants and
            more]
    """

    asks = (LOSSES_ASKED,)

    num_candidates: int = knob(at_least(1), default=10)

    def __attrs_post_init__(self) -> None:
        if self.num_candidates < self.num_participants:
            rule = f"must not be below num_participants = {self.num_participants}"
            fix = f"Use at least {self.num_participants}."
            raise refuse(type(self), "num_candidates", self.num_candidates, rule, fix)

    @override
    def fit(self, system: Any) -> None:
        """Refuse more candidates than the smallest cell has."""
        super().fit(system)
        smallest = min(system.sizes())
        if self.num_candidates > smallest:
            rule, fix = f"the smallest cell has {smallest} clients", f"Use at most {smallest}."
            raise refuse(type(self), "num_candidates", self.num_candidates, rule, fix)

    @override
    def participants(self, sim: Simulation, edge: Edge, coming: ComingRound) -> Clients:
        """Choose candidates with the largest losses; asks clients for samples, and candidates for losses."""
        rng, clients = sim.stream(edge.name, "participants", coming.job.number), coming.clients
        candidates = clients.some(drawn(rng, coming.num_samples(clients), self.num_candidates))
        losses = coming.losses(candidates)
        return candidates.some(np.argsort(-losses, kind="stable")[: self.num_participants])
