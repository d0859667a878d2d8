"""Compiled steps: the bits of the same calls in Python, without Python's lock."""

import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
import torch
from data_sets import loaded
from equal import assert_same_bits
from torch import Tensor
from typing_extensions import override

import models
from cosim.data import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.training import Adam, LocalTraining, Momentum, Proximal, Scaffold, Sgd
from cosim.training.programs import relu_layers
from cosim.training.programs.adam import AdamStep
from cosim.training.programs.descents import SgdStep
from cosim.training.programs.moves import MovesStep
from cosim.training.programs.relu_layers import relu_layers_of, train_relu_layers
from cosim.training.programs.steps import Gradient
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate

pytestmark = pytest.mark.quick

DATA = loaded(Synthetic())
USUAL: dict[str, Any] = {"batch_size": 8, "learning_rate": 0.1, "weight_decay": 0.03}
RULES: dict[str, LocalTraining] = {
    "sgd": Sgd(**USUAL),
    "proximal": Proximal(**USUAL, mu=0.2),
    "momentum": Momentum(**USUAL, keeps_state=True),
    "nesterov": Momentum(**USUAL, nesterov=True),
    "adam": Adam(**USUAL, keeps_state=True),
    "scaffold": Scaffold(**USUAL),
}


def weights_after_two_rounds(rule: LocalTraining, network: str) -> dict[str, np.ndarray]:
    learner = Learner(models.build(network), DATA, num_workers=1)
    model, states = learner.initial_model(key=1), [None] * 5
    for number in range(2):
        updates = [
            PendingUpdate(
                client=f"client-{i}",
                model=model,
                samples=np.arange(i, i + 30),
                num_steps=4,
                training=rule,
                key=10 * number + i,
                state=state,
            )
            for i, state in enumerate(states)
        ]
        if rule.keeps_state:
            states = [update.next_state for update in updates]
        model = mean(updates)
    return learner.weights(model)


@pytest.mark.parametrize("network", ["relu-12-8-4", "mlp-12-9-7-4", "mlp-12-4"])
@pytest.mark.parametrize("rule", RULES)
def test_compiled_steps_have_the_bits_of_steps_in_python(monkeypatch, rule: str, network: str):
    compiled = weights_after_two_rounds(RULES[rule], network)
    for step in (MovesStep, AdamStep):
        monkeypatch.setattr(step, "compiled_step", lambda *_: None)
    assert_same_bits(compiled, weights_after_two_rounds(RULES[rule], network))


def test_a_step_that_overrides_how_a_parameter_moves_is_not_compiled():
    class Still(SgdStep):
        @override
        def by_gradient(self, name: str, values_C: Tensor, gradient: Gradient) -> None:
            pass

    weights_C = {"weight": torch.ones(1, 4, 12), "bias": torch.zeros(1, 4)}
    batches_CSB, y_N = torch.arange(16).view(1, 2, 8), torch.zeros(16, dtype=torch.int64)
    layers = relu_layers_of([("weight", "bias")], weights_C)
    train_relu_layers(layers, torch.ones(16, 12), y_N, batches_CSB, Still(weights_C, {}, (), rate=0.1))
    assert weights_C["weight"].eq(1.0).all()


def test_a_step_of_adam_that_overrides_how_parameters_move_is_not_compiled():
    class Still(AdamStep):
        @override
        def by_gradients(self, values_C: Any, gradients: Any) -> None:
            pass

    weights_C = {"weight": torch.ones(1, 4, 12), "bias": torch.zeros(1, 4)}
    batches_CSB, y_N = torch.arange(16).view(1, 2, 8), torch.zeros(16, dtype=torch.int64)
    numbers = {"rate": 0.1, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "decay": 0.0}
    layers = relu_layers_of([("weight", "bias")], weights_C)
    train_relu_layers(layers, torch.ones(16, 12), y_N, batches_CSB, Still(weights_C, {}, (), **numbers))
    assert weights_C["weight"].eq(1.0).all()


def test_steps_are_taken_while_another_thread_holds_pythons_lock(monkeypatch):
    weights_C = {"weight": torch.zeros(1, 4, 12), "bias": torch.zeros(1, 4)}
    batches_CSB = torch.arange(160).view(1, 20, 8)
    x_ND, y_N = torch.from_numpy(DATA.train_x[:160]), torch.tensor(DATA.train_y)[:160]

    def trained(weights_C: dict[str, Tensor]) -> None:
        step = SgdStep(weights_C, {}, (), rate=0.1)
        train_relu_layers(relu_layers_of([("weight", "bias")], weights_C), x_ND, y_N, batches_CSB, step)

    expected_C = {name: values_C.clone() for name, values_C in weights_C.items()}
    trained(expected_C)
    begins, compiled = threading.Event(), relu_layers.compiled

    def begun(*functions: Any) -> Any:
        def call(*arguments: Any) -> None:
            begins.set()
            compiled(*functions)(*arguments)

        return call

    monkeypatch.setattr(relu_layers, "compiled", begun)
    one, last = weights_C["bias"].numpy(), float(expected_C["bias"][0, 0])
    worker, usual = threading.Thread(target=trained, args=(weights_C,)), sys.getswitchinterval()
    sys.setswitchinterval(1000.0)  # no thread has to give the lock away
    try:
        worker.start()
        begins.wait()
        until_s = time.monotonic() + 60.0
        while one.item(0) != last and time.monotonic() < until_s:
            pass
        is_trained = one.item(0) == last
    finally:
        sys.setswitchinterval(usual)
    worker.join()
    assert is_trained
