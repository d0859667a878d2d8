"""Lakeside: a stranger's distribution, one part for every port and a system of them."""

from lakeside.bars import Bars
from lakeside.convolutions import network
from lakeside.cyclic import Cyclic
from lakeside.momentum import KeptMomentum
from lakeside.relay import Relay
from lakeside.service import Gamma
from lakeside.turns import Turns

__all__ = ["Bars", "Cyclic", "Gamma", "KeptMomentum", "Relay", "Turns", "network", "report", "system"]

import cosim


def system():
    """Bars are learned by the lake: everything of it is Lakeside's."""
    training = cosim.EdgeTraining(
        num_edge_rounds=2,
        steps=cosim.SameSteps(num_local_steps=2),
        local=KeptMomentum(batch_size=4),
        selection=Turns(num_participants=2),
    )
    return cosim.System(
        num_cells=2,
        num_clients=6,
        model="lakeside:network",
        data=Bars(),
        uplink=Relay(),
        protocol=Cyclic(training=training),
        end=cosim.AfterRounds(num_global_rounds=3),
    )


def report(result):
    """Last lines of the terminal."""
    return f"by the lake: {result.summary.time_s:.6f} s"
