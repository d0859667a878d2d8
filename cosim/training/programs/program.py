"""Program: the torch code of a rule of local training, and the updates that it trains together."""

from collections.abc import Hashable, Sequence
from typing import Protocol

from torch import nn

from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class Program(Protocol):
    """Program of one rule; it keeps nothing from one cohort to the next."""

    def shared(self, update: PendingUpdate, data: TrainingSet) -> Hashable:
        """Properties that updates must share to be trained together, besides their rule and shapes."""
        ...

    def keeps_bits(self, network: nn.Module, update: PendingUpdate, data: TrainingSet) -> bool:
        """True if an update gets the same bits, however many clients are trained beside it."""
        ...

    def train(
        self, network: nn.Module, weights_C: Weights, data: TrainingSet, cohort: Sequence[PendingUpdate]
    ) -> Sequence[Weights]:
        """Train a cohort, in place on its clients' weights.

        Args:
            network: The network, in training mode; no other thread may use the same module meanwhile.
            weights_C: Tensor name -> the clients' values, shape (clients, ...).
            data: Training set that the clients' samples index.
            cohort: Updates of one rule that share the same.

        Returns:
            State that each client keeps, in their order; empty if they keep none.
        """
        ...
