"""Devices: no program reads values on a device, nor copies from the host while it takes steps.

The tests have no GPU. torch's device "meta" stands for it: it has no values, so whatever reads one there
raises an error, and so does a tensor of the host among its own. benchmarks/gpu.py checks the same cases on a
GPU.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from typing_extensions import override

from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.configuration import Port, parts_of
from cosim.configuration.kinds import kinds_of
from cosim.engine.learning.cohorts import WORKING_SETS, WorkingSet, working_set
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.resolver import Resolver
from cosim.engine.learning.workers import Workers
from cosim.networks.initial_model import InitialModel
from cosim.networks.own_networks import OwnNetworks
from cosim.networks.probe.buffers import shape_of
from cosim.server_updates.port import ServerUpdate
from cosim.training.port import LocalTraining
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingModel, PendingValue

pytestmark = pytest.mark.quick

BENCHMARKS = str(Path(__file__).parents[3] / "benchmarks")


def of_benchmarks(name: str) -> Any:
    """A module of the benchmarks, which are no package."""
    sys.path.insert(0, BENCHMARKS)
    try:
        return import_module(name)
    finally:
        sys.path.remove(BENCHMARKS)


APART = ("gpt2 lora", "resnet18", "residual block")
"""transformers reads the positions of tokens in every pass; residual networks take long, and other cases have
their layers."""

CASES = {name: case for name, case in of_benchmarks("gpu_cases").CASES.items() if name not in APART}


class Crossings(TorchDispatchMode):
    """Counts operations on tensors of the host and of a device at once, copies among them."""

    def __init__(self) -> None:
        super().__init__()
        self.num = 0

    @override
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, torch.Tensor)]
        self.num += len({tensor.device.type for tensor in tensors}) > 1
        return result


class OnThisThread(Workers):
    """Workers whose tasks run where they are asked for, so that their operations are counted."""

    @override
    def in_order(self, tasks: Iterable[Callable[[], Any]]) -> Iterator[Any]:
        for task in tasks:
            with torch.no_grad():
                yield task()


def num_crossings(case: Any, *nums_of_steps: int) -> list[int]:
    """How often rounds of these numbers of steps, on the device without values, meet the host."""
    learner = Learner(case.network(), case.dataset(), personal=case.personal)
    data = TrainingSet(case.dataset(), "meta", learner.task)
    assert learner.manner is not None
    largest = WorkingSet(num_bytes=2**40, num_clients=64 if learner.manner.together else 1, num_cohorts=1)
    networks = OwnNetworks(learner._network, "meta")
    networks.of_this_thread()
    found = []
    for num_steps in nums_of_steps:
        resolver = Resolver(networks, learner.shape, data, largest, 1, OnThisThread(1), "meta")
        start = PendingModel.of(
            {n: torch.empty(size, device="meta") for n, size in learner.shape.tensors.items()}
        )
        model = case.result(start, learner.shape, num_steps)
        with Crossings() as crossings:
            resolver.resolve(model)
        shapes = {name: tuple(values.shape) for name, values in model.settled.items()}
        assert shapes.items() >= dict(learner.shape.tensors).items()
        assert {values.device.type for values in model.settled.values()} == {"meta"}
        found.append(crossings.num)
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_case_computes_without_reading_values_and_its_steps_do_not_meet_the_host(name: str):
    """Steps of cases that say why do: the same masks on every device cost a copy each."""
    few, more = num_crossings(CASES[name], 2, 4)
    assert few > 0  # mini-batches are drawn on the host
    assert (few < more) if CASES[name].host_in_steps else (few == more)


def test_a_cohort_takes_at_most_a_quarter_of_a_small_card(monkeypatch):
    """Other programs in its memory have no effect, else results would depend on them."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    of_card = SimpleNamespace(total_memory=2**32)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: of_card)
    assert working_set(True, "cuda").num_bytes == 2**30
    assert working_set(False, "cuda").num_clients == 1
    of_card.total_memory = 2**40
    assert working_set(True, "cuda") == WORKING_SETS["cuda"]


def parts_in(case: Any) -> Iterator[Port]:
    """The parts that a case names, and their parts."""
    for part in case.result.keywords.values():
        if isinstance(part, Port):
            yield part
            yield from parts_of(part)


WITHOUT_TENSORS = {"Uncompressed"}
"""Kinds that compute nothing."""


@pytest.mark.parametrize("port", [LocalTraining, Codec, ModelCodec, ServerUpdate])
def test_every_kind_that_computes_has_a_case(port: type[Port]):
    """A kind that is added needs a case in benchmarks/gpu_cases.py."""
    there = {port, *(type(part) for case in CASES.values() for part in parts_in(case))}
    assert {kind.__name__ for kind in kinds_of(port) if kind not in there} - WITHOUT_TENSORS == set()


def made_of(model: PendingModel) -> set[type]:
    """Classes of the values that a model is made of, itself included."""
    found: dict[PendingValue, None] = {}
    stack: list[PendingValue] = [model]
    while stack:
        value = stack.pop()
        if value not in found:
            found[value] = None
            stack += [*value.parents, *(input for update in value.updates for input in update.inputs)]
    return {type(value) for value in found}


def below(cls: type) -> set[type]:
    return {cls, *(other for sub in cls.__subclasses__() for other in below(sub))}


def test_every_combination_has_a_case():
    """A subclass of `PendingModel` that is added needs a case in benchmarks/gpu_cases.py."""
    there: set[type] = {PendingModel}  # which are not computed
    for case in CASES.values():
        network = case.network()
        shape = shape_of(network, case.dataset().test_x)
        there |= made_of(case.result(InitialModel(network, 1), shape))
    ours = {cls for cls in below(PendingModel) if not cls.__module__.startswith("test_")}
    assert {cls.__name__ for cls in ours - there} == set()
