"""Systems with every way of taking part, on which laws of devices are held: in rounds, in turn, without."""

import attrs
import worlds

import cosim
from cosim import Never


def timed(system: cosim.System) -> cosim.System:
    return attrs.evolve(system, evaluation=Never())


def asynchronous(protocol: cosim.Protocol, **changes) -> cosim.System:
    usual = {"protocol": protocol, "end": cosim.AfterVersions(num_versions=12)}
    return unlike(**(usual | changes))


def unlike(**changes) -> cosim.System:
    """Five clients in two cells, who train from 1 to 10 ms."""
    return worlds.alike(3, 2, **({"devices": worlds.processors(3e9, 2e9, 1e9, 5e8, 3e8)} | changes))


IN_CELLS = cosim.protocols.AsynchronousTraining(
    protocol=cosim.FedAsync(), turn=cosim.AfterVersions(num_versions=2)
)
ALWAYS_AT_WORK = "asynchronous, again and again"
WORLDS = {
    "everybody": unlike(),
    "somebody late": worlds.somebody_late(
        protocol=cosim.HFedAvg(training=worlds.training(waiting=worlds.DEADLINE))
    ),
    "submodels, somebody late": worlds.somebody_late(
        protocol=cosim.Hist(training=worlds.training(waiting=worlds.DEADLINE))
    ),
    "one of a cell": unlike(protocol=cosim.HFedAvg(training=worlds.training(selection=worlds.selection(1)))),
    "the first": unlike(
        protocol=cosim.HFedAvg(training=worlds.training(waiting=cosim.waiting.FirstK(num_updates=1)))
    ),
    "in turn": unlike(uplink=worlds.still(3.0, sharing=cosim.radio.ResourceBlocks(num_blocks=1))),
    "cut at 15 ms": unlike(end=cosim.AfterSeconds(duration_s=15e-3)),
    "over the air": worlds.over_the_air(),
    "digits": worlds.digits(),
    "traffic": worlds.vhfl(),
    "planned": worlds.rawhfl(),
    ALWAYS_AT_WORK: asynchronous(cosim.FedAsync()),
    "asynchronous, now and then": asynchronous(
        cosim.FedAsync(starts=cosim.protocols.PoissonStarts(rate_per_s=300.0))
    ),
    "asynchronous, few at once": asynchronous(
        cosim.FedBuff(num_updates=2, starts=cosim.protocols.ConstantConcurrency(num_in_flight=2))
    ),
    "asynchronous, cut at 9 ms": asynchronous(
        cosim.FedAsync(starts=cosim.protocols.PoissonStarts(rate_per_s=300.0)),
        end=cosim.AfterSeconds(duration_s=9e-3),
    ),
    "asynchronous cells": asynchronous(
        cosim.FedAsync(training=cosim.protocols.Cells(training=worlds.training()))
    ),
    "asynchronous in cells": unlike(protocol=cosim.HFedAvg(training=IN_CELLS)),
}
