"""Server update: what a server makes of its model when updates have arrived.

A rule is a mean, by `weights` of the updates or a `mean_of` of its own, or it goes on from one: one of your
own has a method `step`, a plain torch function of the model and the mean (`ServerView`), whose model at the
end is what comes out::

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

From another mean than the equal one go rules below `StepFromMean`, which have a field for it.

A rule with `keeps_state = True` in its class gets what it returned last as `server.state`, empty at first; it
is in the checkpoint, as what clients keep. A round in which nothing arrives has no step.

Running statistics and other state in buffers are no part of a step: those of the mean come out; nor is what
clients keep to themselves (`System.personal`).

Scope and limitations: the mean is rounded to float32 before a step. What adds up in the air arrives with
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
        keeps_state: Whether what `step` returns is kept for the server's next one; a class says so.
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
        """Relative weight of each update in their mean; None: equal."""
        return None

    def mean_of(self, model: PendingModel, updates: Sequence[PendingUpdate]) -> PendingModel:
        """Mean of the updates, at least one, that have arrived where they arrive one by one.

        Args:
            model: Where they start.
        """
        return mean(updates, self.weights(updates))

    def step(self, server: "ServerView") -> "Mapping[str, Tensor] | None":
        """Move the server's model, in place in its dictionary; returns what the server keeps."""
        raise NotImplementedError

    @property
    def averaging(self) -> "ServerUpdate":
        """The rule of the mean from which this one goes on: itself, or a part of it."""
        return self

    def moved(
        self, model: PendingModel, mean: PendingModel, state: PendingState | None, key: int
    ) -> tuple[PendingModel, PendingState | None]:
        """The server's next model, and what it keeps: after its step; without one the mean.

        Args:
            model: Where it was.
            mean: Of the updates that have arrived.
            state: What it has kept; None: nothing.
            key: Determines what a step draws, 0 to 2**64 - 1.
        """
        return stepped(self, model, mean, state, key) if self.form == "step" else (mean, None)


class ServerView(Protocol):
    """What a rule's step is given.

    Attributes:
        model: Parameter -> values of the server's model, its own; what it holds at the end comes out.
        mean: Parameter -> mean of the updates that arrived.
        state: Name -> what the last step returned; empty at first.
        round: Of the step, from 1, as that of a training (`cosim.schedules.port`).
    """

    model: "Weights"
    mean: "Weights"
    state: "Weights"
    round: int

    @property
    def generator(self) -> "torch.Generator":
        """The source of what is drawn, from its beginning."""
        ...
