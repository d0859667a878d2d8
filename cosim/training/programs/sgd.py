"""Programs of steps along gradients: plain SGD, and any other `Step` (`steps`).

| samples | network | loss | program |
|---|---|---|---|
| of a data set with its own batching | any | one that suits it | the data set's (`batching`) |
| any | layers with ReLU between, declared | cross entropy | hand-written products, many clients together |
| any | any other, one client | any | autograd, recorded on a CPU (`recorded`) |
| any | any, several clients | any | autograd under vmap, recorded as well |
"""

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import nn

from cosim.own_code.dropout import keyed_dropout
from cosim.training.programs.relu_layers import relu_layers_of, starts_evenly, train_relu_layers
from cosim.training.programs.sgd_steps import by_use, mini_batches, train_alone, train_by_autograd
from cosim.training.programs.steps import Begin
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class SgdProgram:
    """Steps of many clients along stochastic gradients.

    Args:
        begin: Makes the step that uses a cohort's gradients.
    """

    def __init__(self, begin: Begin) -> None:
        self._begin = begin

    def shared(self, update: PendingUpdate, data: TrainingSet) -> Hashable:
        return update.num_steps if data.batching is None else data.batching.shared(update, data)

    def keeps_bits(self, network: nn.Module, update: PendingUpdate, data: TrainingSet) -> bool:
        """True if layers with ReLU between are trained whose memory starts evenly (`relu_layers`)."""
        if (
            getattr(network, "relu_layers", None) is None
            or not data.is_cross_entropy
            or data.batching is not None
        ):
            return False
        return starts_evenly(update)

    def train(
        self, network: nn.Module, weights_C: Weights, data: TrainingSet, cohort: Sequence[PendingUpdate]
    ) -> Sequence[Weights]:
        """Train a cohort, in place on its clients' weights; returns the clients' states."""
        if data.batching is not None:
            return data.batching.train(network, weights_C, data, cohort, self._begin)
        batch_size = cohort[0].training.batch_size
        batches = np.stack([mini_batches(u.samples, u.num_steps, batch_size, u.key) for u in cohort])
        x_ND, y_N = data.x_ND, data.y_N
        if y_N is None:
            numbers, places = np.unique(batches, return_inverse=True)
            (x_ND, y_N), batches = data.labelled(numbers), places.reshape(batches.shape)
        batches_CSB = torch.from_numpy(batches).to(x_ND.device)
        parameters_C, buffers_C, companions_C = by_use(network, weights_C)
        step = self._begin(parameters_C, companions_C, cohort)
        relu_layers = getattr(network, "relu_layers", None)
        if relu_layers is not None and data.is_cross_entropy:
            layers = relu_layers_of(relu_layers, parameters_C)
            train_relu_layers(layers, x_ND, y_N, batches_CSB, step)
        elif len(cohort) == 1 and relu_layers is None:
            samples = (x_ND, y_N, batches_CSB)
            with keyed_dropout(network, cohort[0].key):
                train_alone(network, parameters_C, buffers_C, *samples, step, data.loss)
        else:
            samples = (x_ND, y_N, batches_CSB)
            train_by_autograd(network, parameters_C, buffers_C, *samples, step, data.loss)
        return step.end(parameters_C, cohort)
