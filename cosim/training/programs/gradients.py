"""Gradients: gradients of plain SGD for some clients, by the program that would train them."""

from collections.abc import Sequence

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from typing_extensions import override

from cosim.training.programs.sgd import SgdProgram
from cosim.training.programs.steps import EachParameter, Gradient
from cosim.training.sgd import Sgd
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.weights import Weights


class _Noted(EachParameter):
    """Step that keeps gradients and does not move, so that all are at the same weights."""

    def __init__(self) -> None:
        super().__init__({})
        self.gradients: dict[str, list[Tensor]] = {}

    @override
    def by_gradient(self, name: str, values_C: Tensor, gradient: Gradient) -> None:
        self.gradients.setdefault(name, []).append(gradient.values_C.clone())

    @override
    def of_first(self, num_clients: int) -> "_Noted":
        return self


def gradients_of(
    network: nn.Module,
    weights: Sequence[Weights],
    data: TrainingSet,
    samples: Sequence[NDArray],
    keys: Sequence[int],
    *,
    num_steps: int,
    batch_size: int,
) -> dict[str, list[Tensor]]:
    """Name -> final values of a statistic, or a parameter's values and its gradient in every step.

    Clients are trained together, so shapes are (clients, ...).

    Args:
        network: The network, in training mode.
        weights: Weights of each client, by name.
        samples: Numbers of each client's samples, shape (samples,).
        keys: Key of each client's mini-batches.
    """
    noted = _Noted()
    cohort = [
        PendingUpdate(
            client=f"client-{key}",
            model=PendingModel(),
            samples=own,
            num_steps=num_steps,
            training=Sgd(batch_size=batch_size),
            key=key,
        )
        for own, key in zip(samples, keys, strict=True)
    ]
    weights_C = {name: torch.stack([of[name] for of in weights]) for name in weights[0]}
    with torch.no_grad():
        SgdProgram(lambda *_: noted).train(network, weights_C, data, cohort)
    return {name: [values_C, *noted.gradients.get(name, ())] for name, values_C in weights_C.items()}
