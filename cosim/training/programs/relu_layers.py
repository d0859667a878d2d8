"""Layers with ReLU between: gradients of cross entropy derived by hand, for many clients at a time.

For fully connected layers, with or without biases. A step can add such a gradient straight into the weights
inside the matrix product, which autograd cannot. Small networks take most of their time in calls, so
everything that a step computes has its place from the beginning (`ReluPasses`); benchmarks/learner.py shows
the gain.

Shape suffixes: C clients of the cohort, S steps, B batch, R samples of all clients, D features, I inputs and
O outputs of a layer, K classes, N training samples.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from cosim.training.programs.softmax import Softmax
from cosim.training.programs.steps import Gradient, Product, Step
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights

ReluLayers = Sequence[tuple[str, str | None]]
"""Declaration of a network: the names of every layer's weight, shape (outputs, inputs), and bias, or None."""


class ReluLayer(NamedTuple):
    """One layer of all clients, the same tensors as the weights.

    Attributes:
        weight: Name of the weights.
        weight_COI: Their values.
        bias: Name of the biases; None if there are none.
        bias_CO: Their values.
    """

    weight: str
    weight_COI: Tensor
    bias: str | None
    bias_CO: Tensor | None

    def into(self, outputs_CBO: Tensor, x_CBI: Tensor) -> None:
        """Write the outputs of the layer, without ReLU."""
        if self.bias_CO is None:
            torch.bmm(x_CBI, self.weight_COI.mT, out=outputs_CBO)
        else:
            torch.baddbmm(self.bias_CO.unsqueeze(1), x_CBI, self.weight_COI.mT, out=outputs_CBO)


def relu_layers_of(names: ReluLayers, weights_C: Weights) -> list[ReluLayer]:
    """Layers that a network declares, from weights of shape (clients, ...)."""
    return [
        ReluLayer(weight, weights_C[weight], bias, None if bias is None else weights_C[bias])
        for weight, bias in names
    ]


EVEN = 4
"""Numbers of float32 after which memory begins at 16 bytes again."""


def starts_evenly(update: PendingUpdate) -> bool:
    """True if weights and activations of every client of a cohort begin at 16 bytes.

    Products of matrices that begin elsewhere may be rounded otherwise, so there a client's bits depend on its
    place in a cohort.
    """
    batch_size, shapes = update.training.batch_size, [of.shape for of in update.model.settled.values()]
    of_client = [math.prod(shape) for shape in shapes] + [batch_size * of for shape in shapes for of in shape]
    return all(num % EVEN == 0 for num in of_client)


class ReluPasses:
    """Forward and backward passes of all clients, in memory of their own.

    Args:
        layers: Layers from the input on.
        x_CBD: Inputs of the first, which may change between passes.
        batch_size: Samples of which the loss is the mean.

    Attributes:
        scores_CBK: Outputs of the last layer.
        error_CBK: Probabilities of the classes; to be made the gradient of the loss's sum over the batch with
            respect to the scores.
    """

    def __init__(self, layers: Sequence[ReluLayer], x_CBD: Tensor, batch_size: int) -> None:
        outputs = [x_CBD.new_empty((*x_CBD.shape[:2], layer.weight_COI.shape[1])) for layer in layers]
        *hidden, self.scores_CBK = outputs
        errors = [torch.empty_like(outputs_CBO) for outputs_CBO in outputs]
        self.error_CBK = errors[-1]
        self._layers, self._values = [*zip(layers, (x_CBD, *hidden), outputs, strict=True)], {}
        self._gradients, self._sums = {}, []
        self._softmax = Softmax(self.scores_CBK.flatten(0, 1))
        for (layer, x_CBI, _), error_CBO in zip(self._layers, errors, strict=True):
            self._values[layer.weight] = layer.weight_COI
            self._gradients[layer.weight] = Product(error_CBO.mT, x_CBI, batch_size)
            if layer.bias is not None and layer.bias_CO is not None:
                self._values[layer.bias], total_CO = layer.bias_CO, torch.empty_like(layer.bias_CO)
                self._gradients[layer.bias] = Gradient(total_CO, batch_size)
                self._sums.append((error_CBO, total_CO))
        self._back = [
            (error_CBO, layer.weight_COI, hidden_CBI, error_CBI)
            for layer, hidden_CBI, (error_CBI, error_CBO) in zip(
                layers[1:], hidden, pairwise(errors), strict=True
            )
        ][::-1]

    def forward(self) -> Tensor:
        """Compute the scores, then the probabilities; returns these, to be changed into the error."""
        for layer, x_CBI, outputs_CBO in self._layers:
            layer.into(outputs_CBO, x_CBI)
            if outputs_CBO is not self.scores_CBK:
                outputs_CBO.relu_()
        self._softmax.into(self.error_CBK.flatten(0, 1), self.scores_CBK.flatten(0, 1))
        return self.error_CBK

    def descend(self, step: Step) -> None:
        """Take one step, in place on the layers of all clients, once the error is there."""
        for error_CBO, weight_COI, hidden_CBI, error_CBI in self._back:
            torch.bmm(error_CBO, weight_COI, out=error_CBI)
            _pass_back(error_CBI, hidden_CBI, 0, grad_input=error_CBI)
        for error_CBO, total_CO in self._sums:
            torch.sum(error_CBO, 1, out=total_CO)
        step.by_gradients(self._values, self._gradients)


_pass_back = torch.ops.aten.threshold_backward.grad_input


def train_relu_layers(
    layers: Sequence[ReluLayer], x_ND: Tensor, y_N: Tensor, batches_CSB: Tensor, step: Step
) -> None:
    """Take steps on cross entropy, in place on the layers of all clients, with ReLU between the layers.

    Args:
        layers: Layers from the input on.
        x_ND: Training samples.
        y_N: Their classes.
        batches_CSB: Sample indices.
        step: Step that uses the gradients.
    """
    num_clients, num_steps, batch_size = batches_CSB.shape
    samples_SR = batches_CSB.transpose(0, 1).reshape(num_steps, num_clients * batch_size)
    x_RD = x_ND.new_empty((num_clients * batch_size, *x_ND.shape[1:]))
    passes = ReluPasses(layers, x_RD.view(num_clients, batch_size, -1), batch_size)
    num_classes = layers[-1].weight_COI.shape[1]
    ones_KK = torch.eye(num_classes, dtype=x_ND.dtype, device=x_ND.device)
    truth_SCBK = ones_KK.index_select(0, y_N[samples_SR].flatten()).view(num_steps, *passes.error_CBK.shape)
    for samples_R, truth_CBK in zip(samples_SR, truth_SCBK, strict=True):
        torch.index_select(x_ND, 0, samples_R, out=x_RD)
        passes.forward().sub_(truth_CBK)
        passes.descend(step)
