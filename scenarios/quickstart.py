"""Quickstart: which clients miss the deadline, and what does it cost?

24 clients in 3 cells learn scikit-learn's handwritten digits by HIST, over a narrow band and with a
deadline that the slowest do not always meet. Takes seconds.

    cosim run quickstart
"""

from cosim import AfterRounds, Deadline, Digits, EdgeTraining, FixedShares, Hist, Radio, Rayleigh, Sgd, System
from cosim.radio import EveryEdgeRound
from cosim.training.local_steps import SameSteps


def system() -> System:
    """The configuration."""
    return System(
        num_cells=3,
        num_clients=24,
        model="relu-64-32-10",
        data=Digits(),
        uplink=Radio(sharing=FixedShares(bandwidth_hz=1e6), fading=Rayleigh(redrawn=EveryEdgeRound())),
        protocol=Hist(
            training=EdgeTraining(
                num_edge_rounds=3,
                steps=SameSteps(num_local_steps=20),
                local=Sgd(batch_size=10, learning_rate=0.1),
                waiting=Deadline(deadline_s=0.022),
            ),
        ),
        end=AfterRounds(num_global_rounds=40),
    )
