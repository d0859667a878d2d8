"""Observed constants against gradients by numpy, batches by brute force, and limits that are exact."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
import torch

import models
from analysis.closed_forms.hist_convergence import HistBound
from cosim.configuration import ConfigurationError
from cosim.learning import gradients
from cosim.learning.datasets import Dataset
from cosim.learning.gradients import Constants, estimate, variance_factor
from cosim.learning.local_training import mini_batches

CLOSELY = {"rel": 1e-10, "abs": 1e-20}
NUM_SAMPLES, NUM_FEATURES, NUM_CLASSES = 90, 4, 3

Samples = np.ndarray
Cells = list[list[Samples]]


def of_classes(num_classes: int | None = NUM_CLASSES) -> Dataset:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(NUM_SAMPLES, NUM_FEATURES)).astype(np.float32)
    y = rng.integers(0, NUM_CLASSES, NUM_SAMPLES) if num_classes else rng.normal(size=NUM_SAMPLES)
    y = y.astype(np.int64 if num_classes else np.float32)
    return Dataset(name="drawn", train_x=x, train_y=y, test_x=x, test_y=y, num_classes=num_classes)


def drawn_models(network: torch.nn.Module, num_models: int = 3) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(9)
    shapes = {name: tuple(values.shape) for name, values in network.named_parameters()}
    return [
        {n: rng.normal(size=shape).astype(np.float32) for n, shape in shapes.items()}
        for _ in range(num_models)
    ]


def unlike_cells() -> Cells:
    """Cells of 2, 3 and 1 clients, clients of 5 to 35 samples."""
    cuts = np.split(np.random.default_rng(4).permutation(NUM_SAMPLES), [20, 25, 60, 70, 82])
    return [cuts[:2], cuts[2:5], cuts[5:]]


def by_hand(
    per_sample: Callable[[dict[str, np.ndarray], Samples], np.ndarray],
    given: list[dict[str, np.ndarray]],
    cells: Cells,
    batch_size: int,
) -> dict[str, float]:
    """The definitions, word by word; per_sample gives gradients of shape (samples, parameters)."""
    slopes, sigma, delta_1, delta_2 = [], [], [], []
    before = None
    for model in given:
        g = [[per_sample(model, samples) for samples in clients] for clients in cells]
        full = [np.array([g_i.mean(0) for g_i in g_j]) for g_j in g]
        for g_j, full_j in zip(g, full, strict=True):
            for g_i, full_i in zip(g_j, full_j, strict=True):
                spread = ((g_i - full_i) ** 2).sum(1).mean()
                sigma.append(spread * variance_factor(len(g_i), batch_size))
        of_cells = np.array([full_j.mean(0) for full_j in full])
        delta_1.append(((of_cells - of_cells.mean(0)) ** 2).sum(1).mean())
        delta_2 += [((full_j - full_j.mean(0)) ** 2).sum(1).mean() for full_j in full]
        at, clients = np.concatenate([w.astype(float).ravel() for w in model.values()]), np.vstack(full)
        if before is not None:
            moved = np.linalg.norm(at - before[0])
            slopes += list(np.linalg.norm(clients - before[1], axis=1) / moved)
        before = at, clients
    return dict(zip(Constants._fields, map(max, (slopes, sigma, delta_1, delta_2)), strict=True))


# --- Against numpy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["relu", "mlp"])
@pytest.mark.parametrize("by", ["layers", "autograd"])
def test_softmax_regression_by_numpy(family: str, by: str):
    dataset, cells = of_classes(), unlike_cells()
    network: Any = models.build(f"{family}-{NUM_FEATURES}-{NUM_CLASSES}")
    if by == "autograd":
        network.relu_layers = None

    def per_sample(model: dict[str, np.ndarray], samples: Samples) -> np.ndarray:
        x = dataset.train_x[samples].astype(float)
        assert dataset.train_y is not None
        scores = x @ model["layers.0.weight"].T + model.get("layers.0.bias", 0.0)
        error = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        error -= np.eye(NUM_CLASSES)[dataset.train_y[samples]]
        weight = np.einsum("so,si->soi", error, x).reshape(len(x), -1)
        return weight if family == "relu" else np.hstack([weight, error])

    given = drawn_models(network)
    found = estimate(network, dataset, given, cells, batch_size=8)
    assert found._asdict() == pytest.approx(by_hand(per_sample, given, cells, 8), **CLOSELY)


@pytest.mark.parametrize("family", ["relu", "mlp"])
def test_hidden_layers_agree_with_autograd(family: str):
    """Two programs, one result; autograd is that of the test above, one class of it by numpy."""
    dataset, cells = of_classes(), unlike_cells()
    network: Any = models.build(f"{family}-{NUM_FEATURES}-7-6-{NUM_CLASSES}")
    given = drawn_models(network)
    layers = estimate(network, dataset, given, cells, batch_size=8)
    network.relu_layers = None
    autograd = estimate(network, dataset, given, cells, batch_size=8)
    assert layers == pytest.approx(autograd, **CLOSELY)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch):
    dataset, cells = of_classes(), unlike_cells()
    network: Any = models.build(f"mlp-{NUM_FEATURES}-7-{NUM_CLASSES}")
    given = drawn_models(network)
    whole = estimate(network, dataset, given, cells, batch_size=8)
    monkeypatch.setattr(gradients, "CHUNK_SAMPLES", 7)
    monkeypatch.setattr(gradients, "CHUNK_BYTES", 3 * 8 * 59)  # three of its 59 parameters
    assert estimate(network, dataset, given, cells, batch_size=8) == pytest.approx(whole, **CLOSELY)
    network.relu_layers = None
    assert estimate(network, dataset, given, cells, batch_size=8) == pytest.approx(whole, **CLOSELY)


def test_least_squares_whose_constants_are_known():
    """F = mean (x w + b - y)^2 has the Hessian 2 Z'Z / M, Z = (x, 1), at every model.

    Its largest eigenvalue is L: seen exactly by a step along that client's eigenvector, else from below.
    """
    dataset, cells = of_classes(num_classes=None), unlike_cells()
    network = models.build(f"mlp-{NUM_FEATURES}-1")

    def inputs(samples: Samples) -> np.ndarray:
        return np.hstack([dataset.train_x[samples].astype(float), np.ones((len(samples), 1))])

    def per_sample(model: dict[str, np.ndarray], samples: Samples) -> np.ndarray:
        z, w = inputs(samples), np.concatenate([v.astype(float).ravel() for v in model.values()])
        assert dataset.train_y is not None
        return 2.0 * (z @ w - dataset.train_y[samples])[:, None] * z

    given = drawn_models(network)
    found = estimate(network, dataset, given, cells, batch_size=8)
    assert found._asdict() == pytest.approx(by_hand(per_sample, given, cells, 8), **CLOSELY)
    hessians = [2.0 * inputs(s).T @ inputs(s) / len(s) for clients in cells for s in clients]
    smoothness, direction = max(
        ((float(values[-1]), vectors[:, -1]) for values, vectors in map(np.linalg.eigh, hessians)),
        key=lambda pair: pair[0],
    )
    assert 0.3 * smoothness < found.smoothness < smoothness
    along = direction.astype(np.float32)
    stepped = [
        {"layers.0.weight": step * along[None, :-1], "layers.0.bias": step * along[-1:]}
        for step in (np.float32(0.0), np.float32(1.0))
    ]
    exact = estimate(network, dataset, stepped, cells, batch_size=8)
    assert exact.smoothness == pytest.approx(smoothness, rel=1e-6)  # float32 direction


def test_rows_that_recur_with_several_labels():
    """Samples row * num_classes + label are the same samples as rows with a label of their own."""
    plain, cells = of_classes(), unlike_cells()
    assert plain.train_y is not None
    table = attrs.evolve(plain, train_y=None)
    numbers = [[s * NUM_CLASSES + plain.train_y[s] for s in clients] for clients in cells]
    network = models.build(f"mlp-{NUM_FEATURES}-7-{NUM_CLASSES}")
    given = drawn_models(network)
    found = estimate(network, table, given, numbers, batch_size=8)
    assert found == estimate(network, plain, given, cells, batch_size=8)


# --- Batches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", range(1, 9))
def test_variance_of_a_batch_by_all_permutations(batch_size: int):
    """Three samples, all orders of up to four epochs, every place in the epoch at which a batch begins."""
    values = np.array([0.0, 1.0, 5.0])
    orders = list(itertools.permutations(values))
    variances = []
    for start in {batch_size * step % 3 for step in range(3)}:
        num_epochs = math.ceil((start + batch_size) / 3)
        drawn = np.array([np.concatenate(epochs) for epochs in itertools.product(orders, repeat=num_epochs)])
        variances.append(drawn[:, start : start + batch_size].mean(axis=1).var())
    assert variance_factor(3, batch_size) * values.var() == pytest.approx(max(variances), **CLOSELY)


def test_variance_of_the_learners_batches():
    """Five samples in batches of three, 4000 draws: 3 % of standard error."""
    values = np.array([0.0, 1.0, 5.0, 2.0, -3.0])
    batches = np.stack([mini_batches(np.arange(5), 5, 3, key) for key in range(4000)])
    variances = values[batches].mean(axis=2).var(axis=0)
    assert variances.max() == pytest.approx(variance_factor(5, 3) * values.var(), rel=0.1)


def test_few_samples_of_many_are_as_if_drawn_with_replacement():
    assert variance_factor(10**6, 50) == pytest.approx(1 / 50, rel=1e-4)
    assert variance_factor(1000, 50) == pytest.approx(950 / (999 * 50), **CLOSELY)


# --- Limits -------------------------------------------------------------------------------------------------


def test_alike_cells_and_clients_and_whole_batches():
    dataset, network = of_classes(), models.build(f"mlp-{NUM_FEATURES}-7-{NUM_CLASSES}")
    given = drawn_models(network)
    one, other = np.arange(0, 30), np.arange(30, 60)

    def found(cells: Cells, batch_size: int = 8) -> Constants:
        return estimate(network, dataset, given, cells, batch_size=batch_size)

    same_cells = found([[one, other], [one, other], [other, one]])
    assert same_cells.cell_dissimilarity == pytest.approx(0.0, abs=1e-25)
    assert same_cells.client_dissimilarity > 1e-3
    same_clients = found([[one, one], [other, other, other]])
    assert same_clients.client_dissimilarity == pytest.approx(0.0, abs=1e-25)
    assert same_clients.cell_dissimilarity == pytest.approx(same_cells.client_dissimilarity, **CLOSELY)
    assert found([[one], [other]], batch_size=30).gradient_variance == 0.0
    assert found([[one], [other]], batch_size=60).gradient_variance == 0.0
    assert found([[one], [other]], batch_size=15).gradient_variance > 1e-3
    assert found([[np.full(9, 5)]]).gradient_variance == pytest.approx(0.0, abs=1e-12)


def test_smoothness_needs_two_different_models():
    dataset, network = of_classes(), models.build(f"relu-{NUM_FEATURES}-{NUM_CLASSES}")
    first, second = drawn_models(network, 2)
    still = [first, first], [first]
    for given in still:
        assert math.isnan(estimate(network, dataset, given, unlike_cells(), batch_size=8).smoothness)
    pair = estimate(network, dataset, [first, second], unlike_cells(), batch_size=8)
    paused = estimate(network, dataset, [first, first, second, second], unlike_cells(), batch_size=8)
    assert paused == pair
    assert math.isfinite(pair.smoothness)


def test_constants_are_called_as_in_the_bound():
    assert set(Constants._fields) < {field.name for field in attrs.fields(HistBound)}


def test_the_callers_network_and_threads_stay_as_they_are():
    dataset, network = of_classes(), models.build(f"relu-{NUM_FEATURES}-{NUM_CLASSES}")
    num_threads, before = torch.get_num_threads(), [p.clone() for p in network.parameters()]
    estimate(network, dataset, drawn_models(network), unlike_cells(), batch_size=8)
    assert torch.get_num_threads() == num_threads
    for p, q in zip(network.parameters(), before, strict=True):
        assert p.dtype == torch.float32
        assert torch.equal(p, q)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"models": []}, "0 models"),
        ({"cells": [[np.arange(3)], []]}, r"cells of \[1, 0\] clients"),
        ({"batch_size": 0}, "batch_size = 0"),
        ({"models": [{"layers.0.weight": np.zeros((2, 4), np.float32)}]}, r"models\[0\] is"),
        ({"models": [{"layers.0.weight": np.full((3, 4), np.nan, np.float32)}]}, "training diverged"),
        ({"cells": [[np.arange(3), np.array([90])]]}, r"cells\[0\]\[1\] must hold"),
        ({"cells": [[np.arange(0)]]}, r"cells\[0\]\[0\] must hold"),
    ],
)
def test_what_cannot_be_is_refused(broken: dict[str, Any], rule: str):
    network = models.build(f"relu-{NUM_FEATURES}-{NUM_CLASSES}")
    usual: dict[str, Any] = {"models": drawn_models(network), "cells": unlike_cells(), "batch_size": 8}
    with pytest.raises(ConfigurationError, match=rule):
        estimate(network, of_classes(), **(usual | broken))
