"""Step from a mean: the base of server rules that step from any mean of the arrived updates."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from cosim.configuration import part, refuse
from cosim.server_updates.means import Mean
from cosim.server_updates.port import ServerUpdate, ServerView

if TYPE_CHECKING:
    from cosim.values.weights import Weights


@part
class StepFromMean(ServerUpdate, ABC):
    """Base of the rules that step from a mean.

    Attributes:
        mean: Rule that averages the updates: Mean, MeanBySamples, FedNova, ...
    """

    keeps_state = True

    mean: ServerUpdate = Mean()

    @override
    def fit(self, system: Any) -> None:
        """Refuse a step after another step."""
        if self.mean.form in ("step", "moved"):
            kind = type(self.mean).__name__
            raise refuse(type(self), "mean", kind, "takes a step of its own", "Use Mean or MeanBySamples.")

    @property
    @override
    def averaging(self) -> ServerUpdate:
        return self.mean

    @abstractmethod
    @override
    def step(self, server: ServerView) -> "Weights":
        """Move the server's model from the mean; returns what is kept."""
