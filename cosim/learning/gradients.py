"""Gradients of clients at given models: what the constants of convergence theorems are in a run.

    constant               estimate                                                            HIST journal
    gradient_variance      sigma^2: largest, over clients, E||g - grad F_i||^2 of a batch      Assumption 4
    cell_dissimilarity     delta_1^2: (1 / N) sum_j ||grad f_j - grad f||^2                    eq. 10
    client_dissimilarity   delta_2^2: largest, over cells, (1 / n_j) sum_i ||grad F_i - grad f_j||^2   eq. 11
    smoothness             L: largest, over clients, ||grad F_i(y) - grad F_i(x)|| / ||y - x||   eq. 8

each the largest over the given models, L over consecutive ones. F_i is the mean loss of client i's samples,
f_j the plain mean over the clients of a cell, f that over cells (eq. 1), whatever their numbers of samples.

Scope and limitations: all four are lower estimates. The assumptions ask for all models, and L for all pairs:
models far apart average the curvature on the way, and across its edges a ReLU network has no L at all. A
theorem checked with them is checked for the models seen. Batches are those of `mini_batches`, without
replacement within an epoch: a batch by itself is an unbiased estimate with the variance given here (0 where a
batch is the client's whole data), but not independent of the epoch's earlier ones, as theorems assume; with
replacement the variance of a batch would be that of a sample over the batch size. Full models: the constants
of a submodel are those at the masked model, which may be given as one.

Per-sample gradients are never kept. Where the network declares `relu_layers` and classifies, the squared
gradient of a sample is, layer by layer, the product of the squares of its error and of its input, exactly;
else torch.func computes them in chunks, about 50 times slower for 784-300-10 (a model with 60 clients of 1000
samples: 2 s through the layers). All in float64, on one torch thread, on the CPU; of two models one gradient
per client is kept.

Usage::

    models = [learner.weights(model) for model in global_models]
    constants = estimate(network, dataset, models, samples_of_cells, batch_size=50)
    HistBound(**constants._asdict(), ...)  # analysis.closed_forms.hist_convergence

Validation: tests/learning against least squares and softmax regression by numpy, and against batches drawn.

Source: HIST journal paper, Section III-A.

Shape suffixes: S samples, D features, K classes, I inputs and O outputs of a layer, P parameters of the
network, C clients of a cell, N cells.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from cosim.configuration import ConfigurationError
from cosim.learning.datasets import Dataset
from cosim.learning.local_training import forward, relu_layers_of
from cosim.learning.scores import cross_entropy, squared_error
from cosim.learning.weights import Weights
from cosim.learning.workers import one_torch_thread

CHUNK_SAMPLES = 1000
"""Samples through the layers at once."""

CHUNK_BYTES = 2**26
"""Per-sample gradients held at once where torch.func computes them. [no source]"""

Totals = Callable[[Weights, Tensor, Tensor], tuple[Weights, float]]
"""From weights, samples and labels: the sums over the samples of their gradients and of these squared."""


class Constants(NamedTuple):
    """Observed constants; squares where the theorems have squares.

    Attributes:
        smoothness: L, largest observed; nan without two different models.
        gradient_variance: sigma^2, of a mini-batch.
        cell_dissimilarity: delta_1^2.
        client_dissimilarity: delta_2^2.
    """

    smoothness: float
    gradient_variance: float
    cell_dissimilarity: float
    client_dissimilarity: float


def estimate(
    network: nn.Module,
    dataset: Dataset,
    models: Sequence[Mapping[str, NDArray[np.float32]]],
    cells: Sequence[Sequence[NDArray[np.int64]]],
    *,
    batch_size: int,
) -> Constants:
    """The constants at the given models.

    Args:
        network: Its forward pass.
        dataset: Its training set.
        models: Parameter name -> values, as `Learner.weights` gives, in the order of the rounds.
        cells: Training samples of every client of every cell.
        batch_size: Samples per mini-batch.

    Raises:
        ConfigurationError: no model, cell, client or sample; weights that are not the network's, or not
            finite; samples that the training set does not have; a batch size below 1.
    """
    _check(network, dataset, models, cells, batch_size)
    network = copy.deepcopy(network).double()
    of_samples = _totals(network, dataset)
    factors = [[variance_factor(len(samples), batch_size) for samples in clients] for clients in cells]
    slopes: list[float] = []
    variance = of_cells = in_cells = 0.0
    before_P, before = None, []
    with one_torch_thread(), torch.no_grad():
        for model in models:
            weights = {name: torch.tensor(model[name]).double() for name, _ in network.named_parameters()}
            model_P, gradients = _flat(weights), []
            for j, clients in enumerate(cells):
                found = [_client(of_samples, weights, dataset, samples) for samples in clients]
                gradients.append(torch.stack([gradient_P for gradient_P, _ in found]))
                spreads = [factor * spread for factor, (_, spread) in zip(factors[j], found, strict=True)]
                variance = max(variance, *spreads)
                in_cells = max(in_cells, _spread(gradients[j]))
            of_cells = max(of_cells, _spread(torch.stack([gradient_CP.mean(0) for gradient_CP in gradients])))
            if before_P is not None and not torch.equal(model_P, before_P):
                moved = float((model_P - before_P).norm())
                turned = max(
                    float((after_CP - before_CP).norm(dim=1).max())
                    for after_CP, before_CP in zip(gradients, before, strict=True)
                )
                slopes.append(turned / moved)
            before_P, before = model_P, gradients
    return Constants(max(slopes, default=math.nan), variance, of_cells, in_cells)


def variance_factor(num_samples: int, batch_size: int) -> float:
    """Variance of a batch's mean over that of one sample, for the batch of `mini_batches` with the largest.

    A batch takes the rest of an epoch, whole epochs, and the head of one more. Of M samples, h drawn without
    replacement have a sum of variance h (M - h) / (M - 1) times that of one; epochs are independent. Batches
    that divide the epoch give (M - B) / ((M - 1) B), one that crosses its end gives up to
    (M - B / 2) / ((M - 1) B).
    """
    if num_samples == 1:
        return 0.0
    starts = np.arange(0, num_samples, math.gcd(num_samples, batch_size))
    rest = np.minimum(num_samples - starts, batch_size)
    head = (batch_size - rest) % num_samples
    largest = np.max(rest * (num_samples - rest) + head * (num_samples - head))
    return float(largest) / ((num_samples - 1) * batch_size**2)


def _totals(network: nn.Module, dataset: Dataset) -> Totals:
    relu_layers = getattr(network, "relu_layers", None)
    if relu_layers is None or dataset.num_classes is None:
        return _by_autograd(network, squared_error if dataset.num_classes is None else cross_entropy)
    return _through_layers(relu_layers)


def _through_layers(names: Sequence[tuple[str, str | None]]) -> Totals:
    def totals(weights: Weights, x_SD: Tensor, y_S: Tensor) -> tuple[Weights, float]:
        layers = relu_layers_of(names, {name: values.unsqueeze(0) for name, values in weights.items()})
        inputs, probabilities_1SK = forward(layers, x_SD.unsqueeze(0))
        error_SO = probabilities_1SK[0]
        error_SO[torch.arange(len(y_S)), y_S] -= 1.0
        sums: Weights = {}
        squares = 0.0
        for (weight, bias), input_1SI in zip(reversed(names), reversed(inputs), strict=True):
            input_SI = input_1SI[0]
            sums[weight] = error_SO.mT @ input_SI
            norm_S = input_SI.square().sum(1)
            if bias is not None:
                sums[bias] = error_SO.sum(0)
                norm_S = norm_S + 1.0
            squares += float(error_SO.square().sum(1) @ norm_S)
            if weight != names[0][0]:
                error_SO = (error_SO @ weights[weight]) * (input_SI > 0.0)
        return sums, squares

    return totals


def _by_autograd(network: nn.Module, mean_loss: Callable[[Tensor, Tensor], Tensor]) -> Totals:
    def loss(weights: Weights, x_D: Tensor, y: Tensor) -> Tensor:
        return mean_loss(functional_call(network, weights, (x_D.unsqueeze(0),)), y.unsqueeze(0))

    gradients = vmap(grad(loss), in_dims=(None, 0, 0))

    def totals(weights: Weights, x_SD: Tensor, y_S: Tensor) -> tuple[Weights, float]:
        chunk = max(1, CHUNK_BYTES // (8 * sum(values.numel() for values in weights.values())))
        sums = {name: torch.zeros_like(values) for name, values in weights.items()}
        squares = 0.0
        for x_BD, y_B in zip(x_SD.split(chunk), y_S.split(chunk), strict=True):
            for name, gradient_B in gradients(weights, x_BD, y_B).items():
                sums[name] += gradient_B.sum(0)
                squares += float(gradient_B.square().sum())
        return sums, squares

    return totals


def _client(
    of_samples: Totals, weights: Weights, dataset: Dataset, samples: NDArray[np.int64]
) -> tuple[Tensor, float]:
    """The gradient of a client's loss, shape (P,), and the variance of one sample's about it."""
    x_SD, y_S = _samples(dataset, samples)
    gradient_P, squares = torch.zeros_like(_flat(weights)), 0.0
    for x_BD, y_B in zip(x_SD.split(CHUNK_SAMPLES), y_S.split(CHUNK_SAMPLES), strict=True):
        sums, more = of_samples(weights, x_BD, y_B)
        gradient_P += _flat({name: sums[name] for name in weights})
        squares += more
    gradient_P /= len(samples)
    return gradient_P, max(0.0, squares / len(samples) - float(gradient_P.square().sum()))


def _samples(dataset: Dataset, samples: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """Features, and classes or targets."""
    if dataset.num_classes is None:
        assert dataset.train_y is not None
        rows, y_S = samples, torch.from_numpy(dataset.train_y[samples]).double()
    elif dataset.train_y is None:
        rows, labels = np.divmod(samples, dataset.num_classes)
        y_S = torch.from_numpy(labels)
    else:
        rows, y_S = samples, torch.from_numpy(dataset.train_y[samples])
    return torch.from_numpy(dataset.train_x[rows]).double(), y_S


def _flat(weights: Weights) -> Tensor:
    """All values in one vector, shape (P,)."""
    return torch.cat([values.flatten() for values in weights.values()])


def _spread(vectors_MP: Tensor) -> float:
    """Mean squared distance from their mean."""
    return float((vectors_MP - vectors_MP.mean(0)).square().sum(1).mean())


def _check(
    network: nn.Module,
    dataset: Dataset,
    models: Sequence[Mapping[str, NDArray[np.float32]]],
    cells: Sequence[Sequence[NDArray[np.int64]]],
    batch_size: int,
) -> None:
    if not models or not cells or not all(cells) or batch_size < 1:
        raise ConfigurationError(
            f"estimate: {len(models)} models, cells of {list(map(len, cells))} clients and batch_size = "
            f"{batch_size}: there must be one of each at least. Usual fix: leave out empty cells."
        )
    wanted = {name: tuple(values.shape) for name, values in network.named_parameters()}
    for i, model in enumerate(models):
        given = {name: np.shape(values) for name, values in model.items()}
        if given != wanted:
            raise ConfigurationError(
                f"estimate: models[{i}] is {given}, the network has {wanted}. Usual fix: Learner.weights of "
                "an assembled model."
            )
        if not all(np.isfinite(values).all() for values in model.values()):
            raise ConfigurationError(
                f"estimate: models[{i}] holds weights that are not finite: training diverged. Usual fix: a "
                "smaller learning rate."
            )
    for j, clients in enumerate(cells):
        for i, samples in enumerate(clients):
            if not len(samples) or samples.min() < 0 or samples.max() >= dataset.num_sample_numbers:
                raise ConfigurationError(
                    f"estimate: cells[{j}][{i}] must hold training samples from 0 to "
                    f"{dataset.num_sample_numbers - 1}, at least one. Usual fix: leave out who has none."
                )
