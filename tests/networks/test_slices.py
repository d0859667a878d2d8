"""Slices of an evaluation: what a pass holds by hand, and that no more samples pass than a slice may hold."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import cosim
import models
from cosim.engine.learning.learner import Learner
from cosim.networks import slices
from cosim.networks.activations import forward_bytes
from cosim.networks.slices import MOST_DOCUMENTS, MOST_SAMPLES, SLICE_BYTES, Slices
from cosim.system import needs

RNG = np.random.default_rng(1)
FLOAT = 4


class Residual(nn.Module):
    """Its samples stay until the end; views and transposed weights take nothing, nor does `+=`."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(12, 12)

    def forward(self, x):
        made = self.layer(x.reshape(-1, 12))
        made += x
        return torch.cat((made, made.relu()), 1)


@pytest.mark.parametrize(
    ("network", "size", "floats"),
    [
        (nn.Linear(12, 4), (12,), 12 + 4),
        (nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4)), (12,), 12 + 8 + 8),
        (nn.Sequential(nn.Linear(12, 8), nn.ReLU(inplace=True), nn.Linear(8, 4)), (12,), 12 + 8 + 4),
        (nn.Sequential(nn.Conv2d(3, 5, 3), nn.Flatten(), nn.Linear(80, 2)), (3, 6, 6), 3 * 36 + 5 * 16 + 2),
        (Residual(), (12,), 12 + 12 + 12 + 24),
    ],
    ids=["layer", "hidden", "in place", "convolution", "residual"],
)
def test_a_pass_holds_what_lives_at_a_time(network, size, floats):
    before = torch.cat([p.detach().flatten() for p in network.parameters()])
    assert forward_bytes(network, np.ones((1, *size), np.float32)) == FLOAT * floats
    assert torch.equal(before, torch.cat([p.detach().flatten() for p in network.parameters()]))


def slices_of(network: nn.Module, test_x: np.ndarray) -> Slices:
    y = np.arange(len(test_x)) % 2
    return Slices(
        network=network, dataset=cosim.data.Dataset.of("own", (test_x, y), (test_x, y), num_classes=10)
    )


def test_slices_of_small_samples_are_as_they_were():
    pictures = np.zeros((2, 784), np.float32)
    for name in ("relu-784-300-10", "lenet5-10", "lenet5padded-10", "resnet18grey-1-28-10"):
        assert slices_of(models.build(name), pictures).num_samples == MOST_SAMPLES == 1000
    tokens = np.zeros((2, 12), np.int64)
    assert slices_of(models.build("window-28-12-8-10"), tokens).num_samples == MOST_DOCUMENTS == 100


def test_slices_of_large_pictures_hold_as_much_as_a_slice_may():
    network = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    found = slices_of(network, np.zeros((2, 3, 224, 224), np.float32))
    assert found.sample_bytes == FLOAT * 224 * 224 * (3 + 64 + 64)
    assert found.num_samples == SLICE_BYTES // found.sample_bytes == 5
    assert found.bytes_at_once(1000, num_threads=2) == 2 * 10 * found.sample_bytes
    assert found.bytes_at_once(3, num_threads=2) == 2 * 3 * found.sample_bytes


def noted(sizes, passed, weights, x):
    """Batches that pass, and how many samples did."""
    sizes.append(len(x))
    return passed(weights, x)


@pytest.mark.parametrize("kind", [cosim.tasks.Classification, cosim.tasks.Regression])
def test_scores_and_losses_do_not_depend_on_the_size_of_slices(monkeypatch, kind):
    x = RNG.standard_normal((50, 12)).astype(np.float32)
    y = x[:, :4].argmax(1) if kind is cosim.tasks.Classification else x[:, :4] + 1
    groups, found = [np.arange(3), np.arange(50), np.arange(10, 37)], []
    for most in (50, 7):
        monkeypatch.setattr(slices, "SLICE_BYTES", most * FLOAT * (12 + 4))
        dataset = cosim.data.Dataset.of("own", (x, y), (x, y))
        learner = Learner(nn.Linear(12, 4), dataset, num_workers=2, task=kind())
        model, sizes = learner.initial_model(key=3), []
        with monkeypatch.context() as noting:
            evaluator, passed = learner._evaluator, learner._evaluator._outputs
            noting.setattr(evaluator, "_outputs", partial(noted, sizes, passed))
            scores, losses = learner.evaluate(model), learner.losses(model, groups)
        assert max(sizes) == most
        assert sum(sizes) == 50 * (2 if kind is cosim.tasks.Regression else 1) + 3 + 50 + 27
        found.append([*scores.values(), *losses])
    assert found[1] == pytest.approx(found[0], rel=1e-6)


class Wide(nn.Module):
    """Each sample takes 64 MiB on its way."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x) + 0 * x.new_zeros((len(x), 2**24)).sum(1, keepdim=True)


def wide():
    return Wide()


def data(_):
    x = np.random.default_rng(1).standard_normal((20, 4)).astype(np.float32)
    y = np.arange(20) % 2
    return (x, y), (x, y)


def test_a_run_whose_evaluation_does_not_fit_is_refused_before_it_starts(monkeypatch, tmp_path):
    system = cosim.System(
        num_cells=1, num_clients=2, model=f"{__name__}:wide", data=cosim.Arrays(source=f"{__name__}:data")
    )
    monkeypatch.setattr(needs, "free_memory_gib", lambda: 0.5)
    told = r"GiB for evaluating a model\), but only .*of memory are free.*--workers 1"
    with pytest.raises(cosim.ConfigurationError, match=told):
        cosim.run(system, out=tmp_path / "run", num_workers=2)
    assert not (tmp_path / "run").exists()
