"""Batching: the port of what clients take a step on, where that is not mini-batches of samples.

A data set names it (`Dataset.batching`), and every rule of steps along gradients is trained by it.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Protocol

from torch import nn

from cosim.training.programs.steps import Begin
from cosim.values.weights import Weights

if TYPE_CHECKING:
    from cosim.tasks.port import Task
    from cosim.training.training_set import TrainingSet
    from cosim.values.pending import PendingUpdate


class Batching(Protocol):
    """How the steps of a cohort are taken."""

    def suits(self, task: "Task") -> bool:
        """Whether the steps of a task can be taken so; else they are taken on mini-batches."""
        ...

    def shared(self, update: "PendingUpdate", data: "TrainingSet") -> Hashable:
        """What updates must share to be trained together, beside their rule and their shapes."""
        ...

    def train(
        self,
        network: nn.Module,
        weights_C: Weights,
        data: "TrainingSet",
        cohort: "Sequence[PendingUpdate]",
        begin: Begin,
    ) -> Sequence[Weights]:
        """Train a cohort, in place on its clients' weights; arguments as of `Program.train`.

        Args:
            begin: Makes what says what is made of the gradients.
        """
        ...
