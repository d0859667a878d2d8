"""The contract with presence: all of ours keep the laws where clients come and go, and faults are caught."""

import attrs
import pytest
import worlds

import cosim
from cosim import ClientTraining, FedAsync, FedBuff, HFedAvg
from cosim.devices import OnOff
from cosim.protocols import ConstantConcurrency, Dispatched, GeneralisedAsync
from cosim.testing import BrokenLaw, check_presence, check_system, small_system
from scenarios.papers.rawhfl import Algorithm2, ResourceAware, Unconstrained

SMALL, VERSIONS = small_system(), small_system(has_rounds=False)
TRAINING = SMALL.protocol.training
CLIENTS = ClientTraining(num_local_steps=3, local=cosim.Sgd(batch_size=10))
RAWHFL = worlds.rawhfl()


def choosing(rule: cosim.Selection) -> cosim.System:
    return attrs.evolve(SMALL, protocol=HFedAvg(training=attrs.evolve(TRAINING, selection=rule)))


def asynchronous(kind: type, **knobs: object) -> cosim.System:
    return attrs.evolve(VERSIONS, protocol=kind(training=CLIENTS, **knobs))


SYSTEMS = {
    "HFedAvg": SMALL,
    "HIST": attrs.evolve(SMALL, protocol=cosim.Hist(training=TRAINING)),
    "VHFL": worlds.vhfl(),
    "RawHFL": RAWHFL,
    "RawHFL without limits": attrs.evolve(
        RAWHFL, protocol=attrs.evolve(RAWHFL.protocol, policy=Unconstrained())
    ),
    "RawHFL by Algorithm 2": attrs.evolve(
        RAWHFL,
        protocol=attrs.evolve(RAWHFL.protocol, policy=ResourceAware(solver=Algorithm2())),
    ),
    "over the air": worlds.over_the_air(),
    "redivided": attrs.evolve(
        SMALL, uplink=cosim.Radio(sharing=cosim.radio.RedividedShares(bandwidth_hz=1e6))
    ),
    "blocks": attrs.evolve(SMALL, uplink=cosim.Radio(sharing=cosim.radio.ResourceBlocks(num_blocks=2))),
    "queues": attrs.evolve(SMALL, uplink=cosim.QueuedLink()),
    "FedAsync": asynchronous(FedAsync),
    "FedBuff": asynchronous(FedBuff, num_updates=2, starts=ConstantConcurrency(num_in_flight=3)),
    "Poisson": asynchronous(FedBuff, num_updates=2, starts=cosim.protocols.PoissonStarts(rate_per_s=50.0)),
    "dispatched": asynchronous(GeneralisedAsync, starts=Dispatched(num_in_flight=4)),
    "ticks": asynchronous(
        cosim.protocols.TimeTriggered, period_s=0.05, starts=ConstantConcurrency(num_in_flight=3)
    ),
    "cells": attrs.evolve(
        VERSIONS, protocol=FedAsync(training=cosim.protocols.WholeCells(training=TRAINING))
    ),
    "asynchronous cells": attrs.evolve(
        SMALL,
        protocol=HFedAvg(
            training=cosim.protocols.AsynchronousTraining(protocol=FedBuff(training=CLIENTS, num_updates=2))
        ),
    ),
    "Uniform": choosing(cosim.selection.Uniform(num_participants=2)),
    "BySamples": choosing(cosim.selection.BySamples(num_participants=2)),
    "RoundRobin": choosing(cosim.selection.RoundRobin(num_participants=2)),
    "FedCs": choosing(cosim.selection.FedCs()),
    "DeadlineFeasible": choosing(cosim.selection.DeadlineFeasible(num_participants=2)),
    "Oort": choosing(cosim.selection.Oort(num_participants=2)),
    "PowerOfChoice": choosing(cosim.selection.PowerOfChoice(num_participants=1, num_candidates=2)),
    "ProportionalFair": choosing(cosim.selection.ProportionalFair(num_participants=2)),
}


LEARNED = ("HFedAvg", "RawHFL", "FedBuff", "asynchronous cells", "Oort", "PowerOfChoice")
"""Systems whose stopped runs go on, too; the others are of times alone."""


@pytest.mark.parametrize("name", SYSTEMS)
def test_all_of_ours_keep_the_laws_where_clients_come_and_go(name: str) -> None:
    """A client that stays about as long as a job lasts, and is away for half of that, leaves often."""
    system = SYSTEMS[name]
    fates = cosim.run(system).fates
    job_s = float((fates["end_s"] - fates["start_s"]).mean())
    presence = OnOff(
        on=cosim.queues.Exponential(rate_per_s=1.0 / job_s),
        off=cosim.queues.Exponential(rate_per_s=2.0 / job_s),
    )
    present = attrs.evolve(system, devices=attrs.evolve(system.devices, presence=presence))
    if name not in LEARNED:
        present = attrs.evolve(present, evaluation=cosim.Never())
    assert (cosim.run(present).fates["outcome"] == "left").any()
    check_system(present)


LAWS = {
    "on and off": OnOff(),
    "as one has just left": OnOff(off=cosim.queues.Deterministic(duration_s=0.01), initial_state="off"),
    "two stages": OnOff(on=cosim.queues.HyperExponential(), off=cosim.queues.Erlang()),
}


@pytest.mark.parametrize("presence", LAWS.values(), ids=LAWS)
def test_our_presences_keep_the_laws(presence: cosim.devices.Presence) -> None:
    check_presence(presence)


class Shared(cosim.devices.OnOff):
    """Draws for everybody from one stream."""

    def windows(self, sim, client):
        rng, now_s = sim.stream("edge-00", "presence"), 0.0
        while True:
            from_s = now_s + rng.random()
            now_s = from_s + rng.random()
            yield from_s, now_s


class Backwards(cosim.devices.Presence):
    """Comes before it has left."""

    def windows(self, sim, client):
        yield from ((0.0, 2.0), (1.0, 3.0))


@pytest.mark.parametrize(("kind", "law"), [(Shared, "own draws"), (Backwards, "order")])
def test_a_presence_that_breaks_a_law_is_caught(kind: type[cosim.devices.Presence], law: str) -> None:
    with pytest.raises(BrokenLaw, match=f"^{law}"):
        check_presence(kind())
