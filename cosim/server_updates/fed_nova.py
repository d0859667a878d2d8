"""FedNova: the mean of normalised steps, for clients that take different numbers of steps.

A client that takes more steps pulls a mean further in its own direction. FedNova divides each client's change
x - y_i by the number of gradients |a_i| that its steps add up to, averages with weights p_i, and takes as
many of these mean gradients as clients have taken on average::

    x <- x - tau_eff sum_i p_i (x - y_i) / |a_i|        tau_eff = sum_i p_i |a_i|

With w_i = p_i / |a_i| this is x + r (m - x), where m is the mean of the y_i weighted by w_i and r = tau_eff
sum w_i: a step from the model through a mean and beyond. With the same number of steps for all, r = 1: the
mean.

The rule by which a client trains says what |a_i| is (`LocalTraining.num_gradients`): the number of steps of
plain SGD; more with momentum, which repeats a gradient in later steps; less in proximal steps, which forget.
A rule that does not know it is refused, for instance Adam, whose steps are not sums of gradients, or
SCAFFOLD, whose variates would be averaged by w and not by p.

Scope and limitations: the next running statistics come from m. p and tau_eff cover the updates that
arrived. Updates must arrive one by one, not as sums over the air.

Validation: tests/server_updates/test_fed_nova.py, by hand, with |a_i| from torch.optim's own steps; equal
steps against the mean to 1e-6.

Source: Wang et al., "Tackling the objective inconsistency problem in heterogeneous federated optimization",
NeurIPS 2020 (arXiv 2007.07481), eqs. 3, 4 and Algorithm 1.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from cosim.configuration import ConfigurationError, part, parts_of, refuse
from cosim.schedules.port import in_extreme_rounds
from cosim.server_updates.means import MeanBySamples
from cosim.server_updates.port import ServerUpdate
from cosim.training.port import LocalTraining
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.values.weights import Weights


@part
class FedNova(ServerUpdate):
    """Mean of normalised steps.

    Attributes:
        weighted: Weight p of each client's steps. [Wang et al., Section 2: by samples]
    """

    weighted: ServerUpdate = MeanBySamples()

    @override
    def fit(self, system: Any) -> None:
        """Refuse weights that are more than a mean, and rules with an unknown number of gradients."""
        if self.weighted.form not in ("mean", "weights"):
            kind, rule = type(self.weighted), "is more than a rule of weights"
            raise refuse(type(self), "weighted", kind.__name__, rule, "Use Mean or MeanBySamples.")
        if system.codec.step is not None:
            kind = type(system.codec)
            rule = f"{kind.__name__} moves weights by a common step, which says nothing about gradients"
            raise refuse("System", "codec", kind.__name__, rule, "Use Qsgd, or Mean at the server.")
        for one in parts_of(system):
            if isinstance(one, LocalTraining):
                for rule in in_extreme_rounds(one, system):
                    _num_gradients(rule, 1)

    @override
    def mean_of(self, model: PendingModel, updates: Sequence[PendingUpdate]) -> PendingModel:
        weights = self.weighted.weights(updates)
        weights = [1.0] * len(updates) if weights is None else [float(weight) for weight in weights]
        numbers = [_num_gradients(update.training, update.num_steps) for update in updates]
        per_gradient = [weight / number for weight, number in zip(weights, numbers, strict=True)]
        effective = math.fsum(weight * number for weight, number in zip(weights, numbers, strict=True))
        ratio = effective * math.fsum(per_gradient) / math.fsum(weights) ** 2
        return ModelBeyond(model, mean(updates, per_gradient), ratio)


def _num_gradients(rule: LocalTraining, num_steps: int) -> float:
    """Number of gradients that the steps add up to, as the local rule counts them."""
    number = rule.num_gradients(num_steps)
    if number is None:
        kind = type(rule).__name__
        raise ConfigurationError(
            f"FedNova with local = {kind}: it does not say how many gradients its steps add up to, so "
            "updates of different steps cannot be weighed. Use Sgd, Momentum without keeps_state, or "
            f"Proximal with learning_rate times mu at most 1; or, if {kind} is yours, define "
            "num_gradients in it."
        )
    if not 0.0 < number < math.inf:
        raise ConfigurationError(
            f"{type(rule).__name__}.num_gradients({num_steps}) = {number}: must be a finite number "
            "above 0. Return the sum of the weights that the gradients have in the steps."
        )
    return number


class ModelBeyond(PendingModel):
    """Model + ratio times (mean - model); running statistics come from the mean."""

    __slots__ = ("ratio",)

    def __init__(self, model: PendingModel, mean: PendingModel, ratio: float) -> None:
        super().__init__((model, mean))
        self.ratio = ratio

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        model, mean = models
        return {
            name: model[name].lerp(received, self.ratio) if name in shape.parameters else received
            for name, received in mean.items()
        }
