"""Server: a node that moves a model by a rule, and what it keeps for it."""

from typing import Any

import attrs

from cosim.learning.graph.pending import PendingModel, PendingState
from cosim.learning.server_updates.server_update import ServerUpdate
from cosim.simulation import Simulation


@attrs.frozen(kw_only=True, eq=False)
class Server:
    """What an edge server and the cloud share.

    Attributes:
        states: What each node of the run keeps from one training to its next, by name; the nodes' own
            dictionary.
        kept: What a part that plays at this server keeps from one turn to the next, by the part.
    """

    name: str
    states: dict[str, PendingState] = attrs.field(factory=dict)
    kept: dict[Any, Any] = attrs.field(factory=dict, init=False)

    def moved(
        self, sim: Simulation, rule: ServerUpdate, model: PendingModel, mean: PendingModel, number: int
    ) -> PendingModel:
        """What a rule makes of a model and the mean of what has arrived.

        Args:
            number: Which of the server's steps it is.
        """
        key = sim.key(self.name, "server update", number)
        model, state = rule.moved(model, mean, self.states.get(self.name), key)
        if state is not None:
            self.states[self.name] = state
        return model
