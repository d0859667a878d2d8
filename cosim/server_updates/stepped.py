"""Stepped: a server's model after a step of its rule, computed when it is read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.values.pending import NextState, PendingModel, PendingState
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    import torch

    from cosim.server_updates.port import ServerUpdate
    from cosim.values.weights import Weights


def stepped(
    rule: "ServerUpdate", model: PendingModel, mean: PendingModel, state: PendingState | None, key: int
) -> tuple[PendingModel, PendingState | None]:
    """Model after a step of a rule, and what the server keeps; arguments as in `ServerUpdate.moved`."""
    made = SteppedModel(rule, model, mean, state, key)
    return made, made.next_state if rule.keeps_state else None


class _Server:
    def __init__(self, key: int, model: "Weights", mean: "Weights", state: "Weights", round: int = 1) -> None:
        self._key, self.model, self.mean, self.state = key, model, mean, state
        self.round = round

    @property
    def generator(self) -> "torch.Generator":
        from cosim.own_code.own_functions import generator

        return generator(self._key, "server update")


class SteppedModel(PendingModel):
    """A server's model after a step of its rule."""

    __slots__ = ("key", "left", "rule", "started_round")

    def __init__(
        self,
        rule: "ServerUpdate",
        model: PendingModel,
        mean: PendingModel,
        state: PendingState | None,
        key: int,
    ) -> None:
        super().__init__((model, mean) if state is None else (model, mean, state))
        self.rule, self.key, self.left = rule, key, NextState()
        self.started_round = model.round  # the current round: a round without updates may keep a model

    @property
    def next_state(self) -> PendingState:
        """State that the server keeps of this step; asked for before the model is read."""
        assert self.tensors is None, "the model is computed, and its state was not asked for"
        return self.left.of(lambda: PendingState((self,)))

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        import torch

        from cosim.own_code.own_functions import kept_copies, without_shared_draws

        trained = [name for name in models[0] if name in shape.parameters.keys() - shape.personal]
        function = f"{type(self.rule).__name__}.step"

        def stepped() -> "tuple[_Server, Weights]":
            model, mean = ({name: of[name].clone() for name in trained} for of in models[:2])
            kept = [{name: values.clone() for name, values in of.items()} for of in models[2:]]
            view = _Server(self.key, model, mean, kept[0] if kept else {}, self.started_round)
            with torch.no_grad():
                return view, kept_copies(function, self.rule.keeps_state, self.rule.step(view))

        view, state = without_shared_draws(function, "server.generator", stepped)
        if (wanted := self.left.wanted) is not None:
            wanted.settle(state)
        return {name: view.model.get(name, values) for name, values in models[1].items()}
