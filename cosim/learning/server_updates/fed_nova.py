"""FedNova: the mean of normalised steps, where clients take different numbers of them.

A client that takes more steps pulls a mean further its own way. FedNova divides each client's way x - y_i by
its number of steps tau_i, averages with weights p_i, and takes tau_eff of these mean steps::

    x <- x - tau_eff sum_i p_i (x - y_i) / tau_i        tau_eff = sum_i p_i tau_i

With w_i = p_i / tau_i this is x + r (m - x), where m is the mean of the y_i weighted by w_i and r = tau_eff
sum w_i: a step from the model through a mean and beyond. With as many steps for all, r = 1: the mean.

Scope and limitations: the normaliser is the number of steps, which is right for plain SGD; the paper divides
momentum and proximal steps by other norms. The running statistics that come out are those of m. p and tau_eff
are of those that arrived. Updates arrive one by one: not over the air.

Validation: tests/learning/test_fed_nova.py, by hand; equal steps against the mean to 1e-6.

Source: Wang et al., "Tackling the objective inconsistency problem in heterogeneous federated optimization",
NeurIPS 2020 (arXiv 2007.07481), eqs. 3, 4 and Algorithm 1, with a_i of ones.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cosim.configuration import configuration, refuse
from cosim.learning.graph.combinations import mean
from cosim.learning.graph.pending import PendingModel, PendingUpdate
from cosim.learning.network.submodels import NetworkShape
from cosim.learning.server_updates.server_update import MeanBySamples, ServerUpdate

if TYPE_CHECKING:
    from cosim.learning.network.weights import Weights


@configuration
class FedNova(ServerUpdate):
    """The mean of normalised steps.

    Attributes:
        weighted: How much each client's steps weigh, p. [Wang et al., Section 2: by samples]
    """

    weighted: ServerUpdate = MeanBySamples()

    def fit(self, system: Any) -> None:
        """Refuse weights that are more than that."""
        kind = type(self.weighted)
        if self.weighted.has_step or kind.mean_of is not ServerUpdate.mean_of:
            rule = "is more than weights"
            raise refuse(type(self), "weighted", kind.__name__, rule, "Mean or MeanBySamples")

    def mean_of(self, model: PendingModel, updates: Sequence[PendingUpdate]) -> PendingModel:
        """What all steps come to."""
        weights, num_steps = self.weighted.weights(updates), [update.num_steps for update in updates]
        weights = [1.0] * len(updates) if weights is None else [float(weight) for weight in weights]
        per_step = [weight / number for weight, number in zip(weights, num_steps, strict=True)]
        effective = math.fsum(w * number for w, number in zip(weights, num_steps, strict=True))
        ratio = effective * math.fsum(per_step) / math.fsum(weights) ** 2
        return ModelBeyond(model, mean(updates, per_step), ratio)


class ModelBeyond(PendingModel):
    """Model + ratio times (mean - model); running statistics are those of the mean."""

    __slots__ = ("ratio",)

    def __init__(self, model: PendingModel, mean: PendingModel, ratio: float) -> None:
        super().__init__((model, mean))
        self.ratio = ratio

    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        model, mean = models
        return {
            name: model[name].lerp(received, self.ratio) if name in shape.parameters else received
            for name, received in mean.items()
        }
