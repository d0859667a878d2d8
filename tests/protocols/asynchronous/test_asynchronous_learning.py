"""Asynchronous learning: order and grouping of trainings, stopped runs."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import worlds

from cosim import (
    AfterRounds,
    AfterVersions,
    ClientTraining,
    FedAsync,
    FedBuff,
    HFedAvg,
    Sgd,
    System,
    evolve,
    run,
)
from cosim.configuration import lacks_in, part
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.devices import LogNormalTime
from cosim.ends import EveryVersions
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.resolver import Resolver
from cosim.protocols import (
    AsynchronousTraining,
    ConstantConcurrency,
    Dispatched,
    GeneralisedAsync,
    PoissonStarts,
    TimeTriggered,
    WholeCells,
)
from cosim.testing import check_local_training, check_protocol
from cosim.testing.laws.tables import same_tables
from cosim.training import LocalTraining, Proximal

STEPS = worlds.STEPS
SGD = Sgd(batch_size=10)
CLIENTS = ClientTraining(num_local_steps=STEPS, local=SGD)


# --- Order and grouping -------------------------------------------------------------------------------------


def spread(**changes: Any) -> System:
    """Six clients of other speeds and random times."""
    frequencies_hz = np.geomspace(3e8, 3e9, 6).tolist()
    devices = evolve(worlds.processors(*frequencies_hz), training_time=LogNormalTime(spread=0.5))
    usual: dict[str, Any] = {"devices": devices, "end": AfterVersions(num_versions=24)}
    return worlds.one_cell(*frequencies_hz, **usual | changes)


@pytest.mark.parametrize("protocol", [FedAsync(training=CLIENTS), FedBuff(num_updates=4, training=CLIENTS)])
def test_trained_together_or_one_by_one_as_they_arrive_is_the_same(protocol) -> None:
    one_by_one = run(spread(protocol=protocol, evaluation=EveryVersions()), num_workers=1)
    together = run(spread(protocol=protocol, evaluation=EveryVersions(num_versions=1000)), num_workers=2)
    assert one_by_one.weights is not None
    assert together.weights is not None
    for name, values in one_by_one.weights.items():
        np.testing.assert_allclose(together.weights[name], values, rtol=1e-4, atol=1e-6)


def test_what_is_in_flight_together_is_trained_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six clients of equal times: 24 versions of FedAsync are four levels of six trainings."""
    sizes = []
    trainings = Resolver._trainings

    def counted(self: Resolver, level: Any) -> Any:
        sizes.append(len(level.needs))
        return trainings(self, level)

    monkeypatch.setattr(Resolver, "_trainings", counted)
    protocol, once = FedAsync(training=CLIENTS), EveryVersions(num_versions=24)
    run(worlds.one_cell(*(1e9,) * 6, protocol=protocol, evaluation=once, end=AfterVersions(num_versions=24)))
    assert [size for size in sizes if size] == [6, 6, 6, 6]


# --- Stopped runs -------------------------------------------------------------------------------------------


@part
class Momentum(LocalTraining):
    """SGD whose clients keep their velocity."""

    keeps_state = True

    def train(self, client):
        parameters = dict(client.network.named_parameters())
        velocity = client.state or {name: torch.zeros_like(p) for name, p in parameters.items()}
        for x, y in client.batches(client.num_steps, self.batch_size):
            gradients = torch.autograd.grad(client.loss(client.network(x), y), list(parameters.values()))
            with torch.no_grad():
                for (name, p), gradient in zip(parameters.items(), gradients, strict=True):
                    velocity[name].mul_(0.9).add_(gradient)
                    p.sub_(velocity[name], alpha=self.learning_rate)
        return velocity


EDGE = worlds.training()
KEEPING = evolve(CLIENTS, local=Momentum(batch_size=10))
BUFF = FedBuff(num_updates=2, training=CLIENTS)
PROTOCOLS = {
    "FedAsync": FedAsync(training=CLIENTS),
    "FedBuff": FedBuff(num_updates=3, training=CLIENTS),
    "FedBuff with states": FedBuff(num_updates=3, training=KEEPING),
    "concurrency": FedBuff(num_updates=2, training=CLIENTS, starts=ConstantConcurrency(num_in_flight=3)),
    "Poisson": FedBuff(num_updates=2, training=CLIENTS, starts=PoissonStarts(rate_per_s=100.0)),
    "queues": GeneralisedAsync(training=CLIENTS, starts=Dispatched(num_in_flight=8)),
    "ticks": TimeTriggered(period_s=0.02, training=CLIENTS),
    "cells": FedBuff(num_updates=1, training=WholeCells(training=EDGE)),
    "in cells": HFedAvg(training=AsynchronousTraining(protocol=BUFF, turn=AfterVersions(num_versions=2))),
    "cells of both": FedAsync(
        training=WholeCells(training=AsynchronousTraining(protocol=BUFF, turn=AfterVersions(num_versions=2)))
    ),
}


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_our_asynchronous_systems_keep_the_laws(protocol) -> None:
    check_protocol(protocol)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_run_stopped_after_a_version_ends_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    protocol = PROTOCOLS[name]
    end = AfterVersions(num_versions=5)
    if not lacks_in(protocol, GLOBAL_ROUNDS):
        end = AfterRounds(num_global_rounds=4)
    system = spread(protocol=protocol, end=end, num_cells=2)
    usual = run(system)
    last = int(usual.evaluations["version"].iloc[-1])
    for version in range(0, last, 2):

        def stop(report: Any, version: int = version) -> None:
            assert not report.trained or name in ("FedBuff with states", "cells")
            if report.version == version:
                raise KeyboardInterrupt

        out = tmp_path / str(version)
        with suppress(KeyboardInterrupt):
            run(system, out=out, listener=stop, checkpoint_every=1)
        again = run(system, out=out, resume=True)
        same_tables(f"after version {version}", usual, again, "")


def test_a_resumed_run_learns_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of both parts add up to the whole run's, though older versions are still needed."""
    learners: list[Learner] = []
    made = Learner.__init__

    def noted(self: Learner, *arguments: Any, **named: Any) -> None:
        made(self, *arguments, **named)
        learners.append(self)

    monkeypatch.setattr(Learner, "__init__", noted)
    system = spread(protocol=PROTOCOLS["FedBuff with states"], end=AfterVersions(num_versions=8))
    run(system)

    def stop(report: Any) -> None:
        if report.version == 4:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        run(system, out=tmp_path / "run", listener=stop, checkpoint_every=1)
    run(system, out=tmp_path / "run", resume=True)
    whole, before, after = (learner.num_local_steps for learner in learners)
    assert before + after == whole
    assert before > 4 * 3 * STEPS  # and what has been trained for its state only


# --- Proximal -----------------------------------------------------------------------------------------------


def test_proximal_keeps_the_laws() -> None:
    check_local_training(Proximal(batch_size=7, mu=0.5))
