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
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from cosim.training.programs.compiled import compiled
from cosim.training.programs.softmax import Softmax, softmax_into
from cosim.training.programs.steps import CompiledStep, Gradient, Product, Step
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


def forward(
    inputs: list[Tensor],
    weights: list[Tensor],
    biases: list[Tensor],
    scores_RK: Tensor,
    error_RK: Tensor,
    memory: list[Tensor],
) -> None:
    """Compute the outputs of each layer, and the softmax of the last."""
    for depth in range(len(weights)):
        if biases[depth].numel() > 0:
            torch.baddbmm(biases[depth], inputs[depth], weights[depth], out=inputs[depth + 1])
        else:
            torch.bmm(inputs[depth], weights[depth], out=inputs[depth + 1])
        if depth + 1 < len(weights):
            inputs[depth + 1].relu_()
    softmax_into(error_RK, scores_RK, memory)


def backward(
    inputs: list[Tensor], weights: list[Tensor], errors: list[Tensor], bias_totals: list[Tensor]
) -> None:
    """Compute the errors of each layer from the last one's, and the gradients of the biases."""
    for depth in range(len(weights) - 1, 0, -1):
        torch.bmm(errors[depth], weights[depth], out=errors[depth - 1])
        torch.ops.aten.threshold_backward(errors[depth - 1], inputs[depth], 0, grad_input=errors[depth - 1])
    for depth in range(len(weights)):
        if bias_totals[depth].numel() > 0:
            torch.sum(errors[depth], [1], out=bias_totals[depth])


PASSES = softmax_into, forward, backward
"""Functions of a forward and a backward pass."""


def gradients(
    x_ND: Tensor,
    samples_R: Tensor,
    truth_CBK: Tensor,
    x_RD: Tensor,
    inputs: list[Tensor],
    forward_weights: list[Tensor],
    biases: list[Tensor],
    scores_RK: Tensor,
    error_RK: Tensor,
    memory: list[Tensor],
    weights: list[Tensor],
    errors: list[Tensor],
    bias_totals: list[Tensor],
) -> None:
    """Compute all that gradients of the loss on some samples are products of."""
    torch.index_select(x_ND, 0, samples_R, out=x_RD)
    forward(inputs, forward_weights, biases, scores_RK, error_RK, memory)
    errors[-1].sub_(truth_CBK)
    backward(inputs, weights, errors, bias_totals)


def take_steps(
    x_ND: Tensor,
    samples_SR: Tensor,
    truth_SCBK: Tensor,
    x_RD: Tensor,
    inputs: list[Tensor],
    forward_weights: list[Tensor],
    biases: list[Tensor],
    scores_RK: Tensor,
    error_RK: Tensor,
    memory: list[Tensor],
    weights: list[Tensor],
    errors: list[Tensor],
    bias_totals: list[Tensor],
    places: list[list[Tensor]],
    lefts: list[Tensor],
    rights: list[Tensor],
    wholes: list[Tensor],
    numbers: list[list[float]],
) -> None:
    """Take all steps of a `CompiledStep`."""
    for step in range(samples_SR.size(0)):
        gradients(
            x_ND,
            samples_SR[step],
            truth_SCBK[step],
            x_RD,
            inputs,
            forward_weights,
            biases,
            scores_RK,
            error_RK,
            memory,
            weights,
            errors,
            bias_totals,
        )
        move(places, lefts, rights, wholes, numbers)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


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
        inputs, errors = [x_CBD, *outputs], [torch.empty_like(outputs_CBO) for outputs_CBO in outputs]
        self.scores_CBK, self.error_CBK = outputs[-1], errors[-1]
        self._batch_size, self._none = batch_size, x_CBD.new_empty(0)
        biases = [self._none if of.bias_CO is None else of.bias_CO.unsqueeze(1) for of in layers]
        totals = [self._none if of.bias_CO is None else torch.empty_like(of.bias_CO) for of in layers]
        weights = [layer.weight_COI for layer in layers]
        scores_RK = self.scores_CBK.flatten(0, 1)
        out = scores_RK, self.error_CBK.flatten(0, 1), Softmax(scores_RK).memory
        self._forward = inputs, [weight_COI.mT for weight_COI in weights], biases, *out
        self._backward = weights, errors, totals
        self._values: Weights = {}
        self._factors: dict[str, tuple[Tensor, Tensor]] = {}
        """Parameter -> two matrices of which its gradient is the product, or none and a gradient."""
        for layer, x_CBI, error_CBO, total_CO in zip(layers, inputs, errors, totals, strict=False):
            self._values[layer.weight] = layer.weight_COI
            self._factors[layer.weight] = error_CBO.mT, x_CBI
            if layer.bias is not None and layer.bias_CO is not None:
                self._values[layer.bias] = layer.bias_CO
                self._factors[layer.bias] = self._none, total_CO

    @cached_property
    def _gradients(self) -> dict[str, Gradient]:
        return {
            name: Gradient(right, self._batch_size)
            if left is self._none
            else Product(left, right, self._batch_size)
            for name, (left, right) in self._factors.items()
        }

    def forward(self) -> Tensor:
        """Compute the scores, then the probabilities; returns these, to be changed into the error."""
        compiled(softmax_into, forward)(*self._forward)
        return self.error_CBK

    def descend(self, step: Step) -> None:
        """Take one step, in place on the layers of all clients, once the error is there."""
        compiled(backward)(self._forward[0], *self._backward)
        step.by_gradients(self._values, self._gradients)

    def take_steps(self, x_ND: Tensor, samples_SR: Tensor, truth_SCBK: Tensor, step: Step) -> None:
        """Take a step on each row of samples, whose classes are given as probabilities."""
        x_RD, passes = self._forward[0][0].view(-1, *x_ND.shape[1:]), (*self._forward, *self._backward)
        whole_step = step.compiled_step(self._values, self._batch_size)
        if whole_step is not None:
            take = compiled(*PASSES, gradients, *whole_step.functions, take_steps)
            take(x_ND, samples_SR, truth_SCBK, x_RD, *passes, *self._arguments(whole_step))
            return
        for samples_R, truth_CBK in zip(samples_SR, truth_SCBK, strict=True):
            compiled(*PASSES, gradients)(x_ND, samples_R, truth_CBK, x_RD, *passes)
            step.by_gradients(self._values, self._gradients)

    def _arguments(self, step: CompiledStep) -> tuple[Any, ...]:
        """Arguments of its function."""
        lefts, rights = zip(*self._factors.values(), strict=True)
        wholes = [
            torch.empty_like(values_C) if step.needs_wholes and left is not self._none else self._none
            for values_C, left in zip(self._values.values(), lefts, strict=True)
        ]
        return step.places, [*lefts, self._none], [*rights], wholes, step.numbers


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
    x_CBD = x_ND.new_empty((num_clients, batch_size, math.prod(x_ND.shape[1:])))
    passes = ReluPasses(layers, x_CBD, batch_size)
    num_classes = layers[-1].weight_COI.shape[1]
    ones_KK = torch.eye(num_classes, dtype=x_ND.dtype, device=x_ND.device)
    truth_SCBK = ones_KK.index_select(0, y_N[samples_SR].flatten()).view(num_steps, *passes.error_CBK.shape)
    passes.take_steps(x_ND, samples_SR, truth_SCBK, step)
