"""Server update: what a server makes of its model when updates have arrived.

A rule says how much each update weighs in their mean, and may go on from there: one of your own has a method
`step`, a plain torch function of the model and the mean (`ServerView`), whose model at the end is what comes
out::

    @configuration
    class ServerMomentum(ServerUpdate):
        keeps_state = True
        momentum: float = field(not_negative, default=0.9)

        def step(self, server):
            velocity = {}
            for name, mean in server.mean.items():
                kept = server.state.get(name, 0.0)
                velocity[name] = self.momentum * kept + (mean - server.model[name])
                server.model[name] += velocity[name]
            return velocity

A rule with `keeps_state = True` in its class gets what it returned last as `server.state`, empty at first; it
is in the checkpoint, as what clients keep. A round in which nothing arrives has no step.

Running statistics and other state in buffers are no part of a step: those of the mean come out; nor is what
clients keep to themselves (`System.personal`).

Scope and limitations: the mean is rounded to float32 before a step. What adds up in the air arrives with
equal weights.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from cosim.configuration import Port, configuration, stand_for
from cosim.learning.graph.combinations import mean
from cosim.learning.graph.pending import NextState, PendingModel, PendingState, PendingUpdate
from cosim.learning.network.submodels import NetworkShape

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from cosim.learning.network.weights import Weights


@configuration
class ServerUpdate(Port):
    """A rule by which a server moves its model.

    Attributes:
        keeps_state: Whether what `step` returns is kept for the server's next one; a class says so.
    """

    shortcuts = stand_for(moved=("step",), weighs_equally=("weights", "mean_of"))
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
    def weighs_equally(self) -> bool:
        """Whether all updates weigh the same, whatever they are, so that their mean is enough."""
        kind = type(self)
        return (kind.weights, kind.mean_of) == (ServerUpdate.weights, ServerUpdate.mean_of)

    @property
    def has_step(self) -> bool:
        """Whether it goes on from the mean."""
        kind = type(self)
        return (kind.step, kind.moved) != (ServerUpdate.step, ServerUpdate.moved)

    def moved(
        self, model: PendingModel, mean: PendingModel, state: PendingState | None, key: int
    ) -> tuple[PendingModel, PendingState | None]:
        """The server's next model, and what it keeps; without a step the mean.

        Args:
            model: Where it was.
            mean: Of the updates that have arrived.
            state: What it has kept; None: nothing.
            key: Determines what a step draws, 0 to 2**64 - 1.
        """
        if type(self).step is ServerUpdate.step:
            return mean, None
        made = SteppedModel(self, model, mean, state, key)
        return made, made.next_state if self.keeps_state else None


@configuration
class Mean(ServerUpdate):
    """The mean of what arrived, equal weights."""


@configuration
class MeanBySamples(ServerUpdate):
    """The mean of what arrived, weighted by numbers of samples."""

    def weights(self, updates: Sequence[PendingUpdate]) -> Sequence[float]:
        """Samples that each update was trained on."""
        return [len(update.samples) for update in updates]


class ServerView:
    """What a rule's step is given.

    Attributes:
        model: Parameter -> values of the server's model, its own; what it holds at the end comes out.
        mean: Parameter -> mean of the updates that arrived.
        state: Name -> what the last step returned; empty at first.
        round: Of the step, from 1, as that of a training; what that is, `schedules/schedule.py` says.
    """

    def __init__(self, key: int, model: "Weights", mean: "Weights", state: "Weights", round: int = 1) -> None:
        self._key, self.model, self.mean, self.state = key, model, mean, state
        self.round = round

    @property
    def generator(self) -> "torch.Generator":
        """The source of what is drawn, from its beginning."""
        from cosim.learning.own_functions import generator

        return generator(self._key, "server update", next(iter(self.model.values())).device)


class SteppedModel(PendingModel):
    """A server's model after a step of its rule."""

    __slots__ = ("key", "left", "rule", "started_round")

    def __init__(
        self,
        rule: ServerUpdate,
        model: PendingModel,
        mean: PendingModel,
        state: PendingState | None,
        key: int,
    ) -> None:
        super().__init__((model, mean) if state is None else (model, mean, state))
        self.rule, self.key, self.left = rule, key, NextState()
        self.started_round = model.round  # of this instant: a round without updates may keep a model

    @property
    def next_state(self) -> PendingState:
        """What the server keeps of this step; asked for before the model is read."""
        assert self.tensors is None, "the model is computed, and its state was not asked for"
        return self.left.of(lambda: PendingState((self,)))

    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        import torch

        from cosim.learning.own_functions import kept_copies, without_shared_draws

        trained = [name for name in models[0] if name in shape.parameters.keys() - shape.personal]
        function = f"{type(self.rule).__name__}.step"

        def stepped() -> "tuple[ServerView, Weights]":
            model, mean = ({name: of[name].clone() for name in trained} for of in models[:2])
            kept = [{name: values.clone() for name, values in of.items()} for of in models[2:]]
            view = ServerView(self.key, model, mean, kept[0] if kept else {}, self.started_round)
            with torch.no_grad():
                return view, kept_copies(function, self.rule.keeps_state, self.rule.step(view))

        view, state = without_shared_draws(function, "server.generator", stepped)
        if (wanted := self.left.wanted) is not None:
            wanted.settle(state)
        return {name: view.model.get(name, values) for name, values in models[1].items()}
