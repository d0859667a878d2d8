"""Program: what torch does for a rule of local training, and which updates it trains together."""

from collections.abc import Hashable, Sequence
from typing import Protocol

from torch import nn

from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class Program(Protocol):
    """The program of one rule; it keeps nothing from one cohort to the next."""

    def shared(self, update: PendingUpdate, data: TrainingSet) -> Hashable:
        """What updates must share to be trained together, beside their rule and their shapes."""
        ...

    def train(
        self, network: nn.Module, weights_C: Weights, data: TrainingSet, cohort: Sequence[PendingUpdate]
    ) -> Sequence[Weights]:
        """Train a cohort, in place on its clients' weights.

        Args:
            network: In training mode; no other thread may use the same module meanwhile.
            weights_C: Tensor name -> the clients' values, shape (clients, ...).
            data: What the clients' samples are numbers of.
            cohort: Updates of one rule that share the same.

        Returns:
            The state that each client leaves, in their order; none, where they leave none.
        """
        ...
