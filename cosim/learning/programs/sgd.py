"""SGD's programs, plain or with weights that are pulled back to where they started.

| samples | network | loss | program |
|---|---|---|---|
| feature rows without labels of their own | any | cross entropy, plain | `recurring_rows` |
| any | layers with ReLU between, declared | cross entropy | products by hand, many clients together |
| any | any other, one client | any | autograd |
| any | any, several clients | any | autograd under vmap |
"""

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import nn

from cosim.learning.graph.pending import PendingUpdate
from cosim.learning.network.dropout import keyed_dropout
from cosim.learning.network.weights import Weights
from cosim.learning.programs.recurring_rows import program_on_rows, train_on_rows
from cosim.learning.programs.sgd_steps import (
    Pull,
    mini_batches,
    relu_layers_of,
    train_alone,
    train_by_autograd,
    train_relu_layers,
)
from cosim.learning.training_set import TrainingSet


class SgdProgram:
    """SGD steps of many clients.

    Args:
        pull: Share of the way back to its start that a step takes the weights, besides the gradient's.
    """

    def __init__(self, pull: float = 0.0) -> None:
        self._pull = pull

    def _is_on_rows(self, data: TrainingSet) -> bool:
        return data.y_N is None and data.is_cross_entropy and not self._pull

    def shared(self, update: PendingUpdate, data: TrainingSet) -> Hashable:
        """The number of steps; on rows about the number of rows."""
        if not self._is_on_rows(data):
            return update.num_steps
        assert data.num_classes is not None
        return program_on_rows(update, data.num_classes)

    def train(
        self, network: nn.Module, weights_C: Weights, data: TrainingSet, cohort: Sequence[PendingUpdate]
    ) -> Sequence[Weights]:
        """Train a cohort, in place on its clients' weights; no client leaves a state."""
        if self._is_on_rows(data):
            assert data.num_classes is not None
            train_on_rows(network, weights_C, data.x_ND, data.num_classes, cohort)
            return ()
        rule = cohort[0].training
        batches = np.stack([mini_batches(u.samples, u.num_steps, rule.batch_size, u.key) for u in cohort])
        x_ND, y_N = data.x_ND, data.y_N
        if y_N is None:
            numbers, places = np.unique(batches, return_inverse=True)
            (x_ND, y_N), batches = data.labelled(numbers), places.reshape(batches.shape)
        batches_CSB = torch.from_numpy(batches).to(x_ND.device)
        starts_C = {name: values_C.clone() for name, values_C in weights_C.items()} if self._pull else {}
        relu_layers = getattr(network, "relu_layers", None)
        if relu_layers is not None and data.is_cross_entropy:
            layers = relu_layers_of(relu_layers, weights_C)
            pull = Pull(self._pull, relu_layers_of(relu_layers, starts_C)) if starts_C else None
            train_relu_layers(layers, x_ND, y_N, batches_CSB, rule.learning_rate, pull)
        elif len(cohort) == 1 and relu_layers is None:
            weights = {name: values_C[0] for name, values_C in weights_C.items()}
            starts = {name: values_C[0] for name, values_C in starts_C.items()}
            pull = Pull(self._pull, starts) if starts else None
            samples = (x_ND, y_N, batches_CSB[0])
            with keyed_dropout(network, cohort[0].key):
                train_alone(network, weights, *samples, rule.learning_rate, data.loss, pull)
        else:
            pull = Pull(self._pull, starts_C) if starts_C else None
            samples = (x_ND, y_N, batches_CSB)
            train_by_autograd(network, weights_C, *samples, rule.learning_rate, data.loss, pull)
        return ()
