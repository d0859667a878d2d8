"""Server update: a server's next model when updates have arrived.

A rule is a mean, by `weights` of the updates or a `mean_of` of its own, or a step from a mean. A step of your
own is a method `step`, a plain torch function of the model and the mean (`ServerView`), which changes the
model in place::

    @part
    class ServerMomentum(ServerUpdate):
        keeps_state = True
        momentum: float = knob(not_negative, default=0.9)

        def step(self, server):
            velocity = {}
            for name, mean in server.mean.items():
                kept = server.state.get(name, 0.0)
                velocity[name] = self.momentum * kept + (mean - server.model[name])
                server.model[name] += velocity[name]
            return velocity

Rules that step from a mean other than the equal one inherit from `StepFromMean`, which has a field for it.

A rule with `keeps_state = True` in its class gets what it returned last as `server.state`, empty at first; it
is in the checkpoint, like the clients' state. A round in which nothing arrives has no step.

Running statistics and other state in buffers are not part of a step: they come from the mean. Nor are the
clients' personal tensors (`System.personal`).

Scope and limitations: the mean is rounded to float32 before a step. Updates that add up over the air have
equal weights.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from cosim.configuration import Ask, Port, one_of, part
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.server_updates.stepped import stepped
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingState, PendingUpdate

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from cosim.values.weights import Weights


@part
class ServerUpdate(Port):
    """A rule by which a server moves its model.

    Attributes:
        keeps_state: True if what `step` returns is kept for the server's next one; set in the class.
    """

    asks = (
        Ask(
            ONE_BY_ONE,
            "needs them one by one",
            "server = Mean",
            "updates that do not all weigh the same",
            lambda own: own.averaging.form not in ("mean", "step"),
        ),
    )

    forms = one_of(mean=(), weights=("weights",), own_mean=("mean_of",), step=("step",), moved=("moved",))
    keeps_state: ClassVar[bool] = False

    def weights(self, updates: Sequence[PendingUpdate]) -> Sequence[float] | None:
        """Relative weight of each update in their mean; None means equal weights."""
        return None

    def mean_of(self, model: PendingModel, updates: Sequence[PendingUpdate]) -> PendingModel:
        """Mean of the updates, at least one, that have arrived one by one.

        Args:
            model: Model from which they start.
        """
        return mean(updates, self.weights(updates))

    def step(self, server: "ServerView") -> "Mapping[str, Tensor] | None":
        """Move the server's model, in place in its dictionary; returns what the server keeps."""
        raise NotImplementedError

    @property
    def averaging(self) -> "ServerUpdate":
        """Rule of the mean from which this one steps: itself, or a part of it."""
        return self

    def moved(
        self, model: PendingModel, mean: PendingModel, state: PendingState | None, key: int
    ) -> tuple[PendingModel, PendingState | None]:
        """Server's next model and state, after its step; without a step the mean.

        Args:
            model: The server's model before.
            mean: Mean of the updates that have arrived.
            state: What the server has kept; None means nothing.
            key: Determines what a step draws, 0 to 2**64 - 1.
        """
        return stepped(self, model, mean, state, key) if self.form == "step" else (mean, None)


class ServerView(Protocol):
    """Model, mean and state that a rule's step is given.

    Attributes:
        model: Parameter -> values of the server's model, to be changed; its final values are the next model.
        mean: Parameter -> mean of the updates that arrived.
        state: Name -> what the last step returned; empty at first.
        round: Round of the step, from 1, like that of a training (`cosim.schedules.port`).
    """

    model: "Weights"
    mean: "Weights"
    state: "Weights"
    round: int

    @property
    def generator(self) -> "torch.Generator":
        """Generator of the random draws, on the CPU, from its beginning."""
        ...
