"""Initial model: the global model with which a run begins, drawn when it is read."""

from collections.abc import Sequence

from torch import nn
from typing_extensions import override

from cosim.networks.first_values import initial_weights
from cosim.values.pending import PendingModel, check_key
from cosim.values.submodels import NetworkShape
from cosim.values.weights import Weights


class InitialModel(PendingModel):
    """A network as its own initialisation draws it from a key."""

    __slots__ = ("key", "network")

    def __init__(self, network: nn.Module, key: int) -> None:
        check_key(type(self), key)
        super().__init__()
        self.network, self.key = network, key

    @override
    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        return initial_weights(self.network, self.key, shape)
