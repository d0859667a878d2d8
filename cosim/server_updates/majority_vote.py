"""Majority vote: a server moves every value by a common step where most of the updates point.

Of the n updates that arrived, u say up and n - u down; the value moves by step sign(u - (n - u)), and stays
if they are even. The votes are counted from the mean of the updates, whose distance to the model is (2 u - n)
step / n, and rounded to whole numbers, so that the rounding of the weights has no effect. Running statistics
and state are not voted on: they become their mean.

Scope and limitations: updates must arrive as signs (`Codec.step`) and start from the server's model: at the
edge servers of rounds, not at a cloud, which gets means. The downlink carries a model, while the paper sends
signs.

Source: Bernstein et al., "signSGD", ICML 2018, arXiv 1802.04434, Algorithm 3.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from cosim.configuration import ConfigurationError, part, refuse
from cosim.server_updates.port import ServerUpdate
from cosim.values.pending import PendingModel, PendingState, PendingUpdate
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.values.weights import Weights


@part
class MajorityVote(ServerUpdate):
    """A step of every value, in the direction of most updates."""

    @override
    def fit(self, system: Any) -> None:
        """Refuse updates that are not signs."""
        if system.codec.step is None:
            kind = type(system.codec).__name__
            rule = f"{kind} sends more than signs, but MajorityVote counts signs"
            raise refuse("System", "codec", kind, rule, "Use Signs, or server = Mean.")

    @override
    def moved(
        self, model: PendingModel, mean: PendingModel, state: PendingState | None, key: int
    ) -> tuple[PendingModel, PendingState | None]:
        """Model after the vote of the updates in the mean, and no state."""
        if not mean.updates or any(update.model is not model for update in mean.updates):
            raise ConfigurationError(
                "MajorityVote: what arrives is not an update of this server's model, so it cannot "
                "vote. Use MajorityVote as EdgeTraining.server, and Mean here."
            )
        return VotedModel(model, mean.updates), None


class VotedModel(PendingModel):
    """Model after a vote of updates that start from it."""

    __slots__ = ("num_votes", "step")

    def __init__(self, model: PendingModel, updates: Sequence[PendingUpdate]) -> None:
        super().__init__((model,), updates, [1.0 / len(updates)] * len(updates))
        codec = updates[0].codec
        assert codec is not None
        assert codec.step is not None
        self.num_votes, self.step = len(updates), codec.step

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        assert update_sum is not None
        (model,) = models
        moved = {name: update_sum[name] for name in shape.moving}
        for name, start in model.items():
            if name in moved:
                continue
            votes = ((update_sum[name] - start) * (self.num_votes / self.step)).round()
            moved[name] = start + self.step * votes.sign()
        return moved
