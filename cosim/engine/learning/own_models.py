"""Own models: what each client has in place of tensors of the global model.

That is what it keeps to itself (`System.personal`, `cosim.networks.personal`), and what a rule of
local training that keeps tensors by hand finds in its state (`LocalTraining.personal_tensors`). A client that
has not trained yet has the global model.

Metrics of personal models (`Metric.is_personal`) and losses by client (`ComingRound.losses`) read them.

Validation: tests/tasks/test_personal_metrics.py.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from cosim.configuration import ConfigurationError
from cosim.names import client_number, personal_of
from cosim.training.port import LocalTraining
from cosim.values.pending import PendingState
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.values.weights import Weights


@attrs.frozen(kw_only=True, eq=False)
class OwnModels:
    """Own models of the clients of a run.

    Attributes:
        rules: Rules of local training that keep tensors by hand.
    """

    shape: NetworkShape
    rules: Sequence[LocalTraining]

    def states(self, client: str, states: Mapping[str, PendingState]) -> list[PendingState]:
        """States of nodes that must be computed before `tensors` of a client."""
        names = [personal_of(client)] * bool(self.shape.personal) + [client] * bool(self.rules)
        return [states[name] for name in names if name in states]

    def tensors(self, client: str, states: Mapping[str, PendingState]) -> "Weights":
        """Name -> what a client has in place of the global model's; none, before it has trained.

        Raises:
            ConfigurationError: A rule gives something else than tensors of the network.
        """
        found: Weights = {}
        if self.shape.personal and (own := states.get(personal_of(client))) is not None:
            found |= own.settled
        if (kept := states.get(client)) is not None:
            for rule in self.rules:
                found |= self._by_hand(rule, kept.settled)
        return found

    def of_all(self, states: Mapping[str, PendingState]) -> "dict[int, Weights]":
        """Number of a client -> its tensors, of all that have any."""
        clients = dict.fromkeys(name.partition(" ")[0] for name in states)
        numbers = {name: client_number(name) for name in clients}
        each = {n: self.tensors(name, states) for name, n in numbers.items() if n is not None}
        return {number: tensors for number, tensors in each.items() if tensors}

    def _by_hand(self, rule: LocalTraining, state: "Weights") -> "Weights":
        found, sizes = dict(rule.personal_tensors(state)), self.shape.tensors
        for name, values in found.items():
            if sizes.get(name) != tuple(values.shape):
                raise ConfigurationError(
                    f"{type(rule).__name__}.personal_tensors gives {name!r:.80}, {tuple(values.shape)}: "
                    f"must be a tensor of the network, which has {sizes}. Use the names and values of "
                    "client.network.state_dict()."
                )
        return found
