"""Companions: tensors that travel beside a model, both ways, such as a server's control variate.

A rule of local training says which (`LocalTraining.companions`). They are among the tensors of a pending
model under names that no tensor of the network has, so whatever adds up models, moves or keeps them does the
same with their companions; what evaluates a model, or steps on its gradients, takes the network's tensors
alone (`NetworkShape.tensors`). A model that has none yet counts as one whose companions are zero.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.values.pending import PendingModel
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.values.weights import Weights


class CompanionsHeldBack(PendingModel):
    """A mean whose companions have gone only a share of the way from where they were in a model.

    Args:
        model: Where they were; zero, where it has none.
        mean: Where they would be.
    """

    __slots__ = ("share",)

    def __init__(self, model: PendingModel, mean: PendingModel, share: float) -> None:
        super().__init__((model, mean))
        self.share = share

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        model, mean = models
        own = shape.tensors
        return {
            name: values if name in own else model.get(name, values.new_zeros(())).lerp(values, self.share)
            for name, values in mean.items()
        }
