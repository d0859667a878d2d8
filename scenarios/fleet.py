"""A fleet: how long do the rounds of a million devices last, what do they cost, how many come too late?

1,000 cells of 1,000 devices, by timing only: 3GPP path loss and shadowing, fading in every edge round, times
of training that vary, and a deadline. Tables keep a row for each edge round of a cell (--records rounds),
since rows of all devices would be hundreds of millions.

    cosim run fleet
    cosim run fleet --num-cells 100 --num-clients 100000 --records all --out runs/city
    cosim study fleet --over deadline_s=30,60,90 --num-cells 100 --num-clients 100000
"""

from cosim import (
    AfterRounds,
    Deadline,
    DrawnDevices,
    EdgeTraining,
    FashionMnist,
    FixedShares,
    HFedAvg,
    Never,
    Radio,
    Rayleigh,
    System,
)
from cosim.data import Sampled
from cosim.devices import CyclesPerStep, LogNormalTime
from cosim.radio import EveryEdgeRound, LinkBudget


def system() -> System:
    """The configuration. [no source: a round number of devices]"""
    return System(
        num_cells=1_000,
        num_clients=1_000_000,
        data=FashionMnist(split=Sampled()),
        devices=DrawnDevices(training_time=LogNormalTime(spread=0.3)),
        cycles=CyclesPerStep(step_cycles=5e8),
        uplink=Radio(
            sharing=FixedShares(bandwidth_hz=100e6),
            link=LinkBudget(),
            fading=Rayleigh(num_antennas=4, redrawn=EveryEdgeRound()),
        ),
        protocol=HFedAvg(training=EdgeTraining(num_edge_rounds=5, waiting=Deadline(deadline_s=50.0))),
        end=AfterRounds(num_global_rounds=20),
        evaluation=Never(),
    )
