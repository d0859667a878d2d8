"""Batching: the port of the batches of clients' steps, if they are not mini-batches of samples.

A data set names it (`Dataset.batching`), and every rule of steps along gradients uses it.
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
    """Batches of a cohort's steps."""

    def suits(self, task: "Task") -> bool:
        """True if it suits a task; else steps are taken on mini-batches."""
        ...

    def shared(self, update: "PendingUpdate", data: "TrainingSet") -> Hashable:
        """Properties that updates must share to be trained together, besides their rule and shapes."""
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
            begin: Makes the step that uses the gradients.
        """
        ...
