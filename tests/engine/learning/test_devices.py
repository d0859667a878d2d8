"""Devices: no program reads values on a device, nor copies from the host while it takes steps.

The tests have no GPU. torch's device "meta" stands for it: it has no values, so whatever reads one there
raises an error, and so does a tensor of the host among its own. benchmarks/gpu.py checks the same cases on a
GPU.
"""

import runpy
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from cosim.engine.learning.cohorts import WorkingSet
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.resolver import Resolver
from cosim.engine.learning.workers import Workers
from cosim.networks.own_networks import OwnNetworks
from cosim.training.training_set import TrainingSet
from cosim.values.combinations import mean
from cosim.values.pending import StoredModel

pytestmark = pytest.mark.quick

SHARED = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "gpu_cases.py"))
APART = ("gpt2 lora", "resnet18")
"""transformers reads the positions of tokens in every pass; ResNet-18 takes long, and other cases have its
layers."""

CASES = {name: case for name, case in SHARED["CASES"].items() if name not in APART}


class Crossings(TorchDispatchMode):
    """Counts operations on tensors of the host and of a device at once, copies among them."""

    def __init__(self) -> None:
        super().__init__()
        self.num = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, torch.Tensor)]
        self.num += len({tensor.device.type for tensor in tensors}) > 1
        return result


class OnThisThread(Workers):
    """Workers whose tasks run where they are asked for, so that their operations are counted."""

    def in_order(self, tasks: Iterable[Callable[[], Any]]) -> Iterator[Any]:
        for task in tasks:
            with torch.no_grad():
                yield task()


def num_crossings(case: Any, result: Callable[..., Any]) -> int:
    """How often a round on the device without values meets the host."""
    learner = Learner(case.network(), case.dataset())
    data = TrainingSet(case.dataset(), "meta", learner.task)
    assert learner.manner is not None
    largest = WorkingSet(num_bytes=2**40, num_clients=64 if learner.manner.together else 1, num_cohorts=1)
    networks = OwnNetworks(learner._network, "meta")
    networks.of_this_thread()
    resolver = Resolver(networks, learner.shape, data, largest, 1, OnThisThread(1), "meta")
    start = StoredModel({n: torch.empty(size, device="meta") for n, size in learner.shape.tensors.items()})
    model = result(start, learner.shape)
    with Crossings() as crossings:
        resolver.resolve(model)
    shapes = {name: tuple(values.shape) for name, values in model.settled.items()}
    assert shapes.items() >= dict(learner.shape.tensors).items()
    assert {values.device.type for values in model.settled.values()} == {"meta"}
    return crossings.num


@pytest.mark.parametrize("name", CASES)
def test_every_program_codec_and_combination_computes_without_reading_values(name: str):
    assert num_crossings(CASES[name], CASES[name].result) > 0


def stepped(start: Any, shape: Any, num_steps: int) -> Any:
    return mean(SHARED["updates"](start, SHARED["SGD"], num_steps=num_steps))


@pytest.mark.parametrize("name", [name for name in SHARED["STEPPED"] if name in CASES])
def test_more_steps_meet_the_host_no_more_often(name: str):
    few, more = (num_crossings(CASES[name], partial(stepped, num_steps=num)) for num in (2, 4))
    assert few == more


def test_masks_of_dropout_are_drawn_on_the_host_in_every_step():
    """The same values on every device cost a copy each; a program that copies is found so."""
    few, more = (num_crossings(CASES["dropout"], partial(stepped, num_steps=num)) for num in (2, 4))
    assert few < more
