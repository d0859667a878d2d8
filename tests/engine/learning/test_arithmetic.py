"""Arithmetic: settings of torch that a caller has changed change no result, or are refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

import cosim
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning.arithmetic import exact
from cosim.engine.learning.learner import Learner
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from scenarios.quickstart import system

pytestmark = pytest.mark.quick


@contextmanager
def products_as(precision: str) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def trained() -> dict[str, np.ndarray]:
    """Weights after a round whose products are large enough to be rounded where that is allowed."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((64, 256), np.float32), rng.integers(0, 10, 64)
    data = Dataset(name="some", train_x=x, train_y=y, test_x=x, test_y=y, num_classes=10)
    learner = Learner(nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 10)), data)
    start, rule = learner.initial_model(key=1), Sgd(batch_size=32, learning_rate=0.1)
    updates = [
        PendingUpdate(
            client=f"client{i}", model=start, samples=np.arange(64), num_steps=2, training=rule, key=i
        )
        for i in range(2)
    ]
    scores = learner.evaluate(model := mean(updates))
    return learner.weights(model) | {name: np.array(score) for name, score in scores.items()}


def test_a_caller_that_allows_rounded_products_gets_the_same_bits():
    expected = trained()
    with products_as("medium"):
        rounded = torch.ones(300, 300).mul(1 / 3) @ torch.ones(300, 300).mul(1 / 7)
        found = trained()
        assert torch.get_float32_matmul_precision() == "medium"  # the caller's own
        after = torch.ones(300, 300).mul(1 / 3) @ torch.ones(300, 300).mul(1 / 7)
    assert torch.equal(rounded, after)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_settings_come_back_when_the_last_of_several_runs_ends():
    with products_as("medium"):
        with exact("cpu"):
            with exact("cpu"):
                pass
            x = torch.full((300, 300), 1 / 3)
            inside = x @ x
        outside = torch.get_float32_matmul_precision()
    assert outside == "medium"
    assert torch.equal(inside, x @ x)


def cuda_rounding() -> set[object]:
    """Settings by which a GPU rounds: of its matrix products, and of cuDNN's convolutions and recurrences."""
    products, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    if not hasattr(products, "fp32_precision"):  # before torch 2.9
        return {products.allow_tf32, cudnn.allow_tf32}
    return {part.fp32_precision for part in (products, cudnn.conv, cudnn.rnn)}


def test_a_gpu_rounds_nothing_to_tf32_nor_does_cudnn_and_both_repeat(monkeypatch):
    """The settings can be read where there is no GPU."""
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    with products_as("high"):
        before = cuda_rounding()
        with exact("cuda"):
            inside = cuda_rounding()
            assert torch.are_deterministic_algorithms_enabled()
            assert not torch.backends.cudnn.benchmark
        assert cuda_rounding() == before
    assert before <= {"tf32", True}
    assert inside <= {"ieee", False}
    assert torch.backends.cudnn.benchmark
    assert not torch.are_deterministic_algorithms_enabled()


@contextmanager
def wide_by_default() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def elsewhere_by_default() -> Iterator[None]:
    torch.set_default_device("meta")
    try:
        yield
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize(
    ("around", "told"),
    [
        (wide_by_default, "default type is torch.float64"),
        (elsewhere_by_default, "default device is meta"),
        (torch.inference_mode, "inference mode"),
    ],
    ids=["type", "device", "inference"],
)
def test_defaults_under_which_no_run_learns_are_refused(around: Callable, told: str):
    with around(), pytest.raises(ConfigurationError, match=told):
        cosim.run(system())
