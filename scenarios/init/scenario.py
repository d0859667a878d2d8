"""Does it pay to leave the slow clients of a cell out?

Twenty clients in two cells learn scikit-learn's handwritten digits. In each round the three quickest of seven
clients that are drawn take part. Takes seconds.

    cosim run scenario.py
"""

import cosim
from quickest import Quickest


def system() -> cosim.System:
    """The configuration."""
    digits, fading = cosim.Digits(split=cosim.data.Dirichlet()), cosim.radio.EveryEdgeRound()
    cells = cosim.System(num_cells=2, num_clients=20, model="relu-64-32-10", protocol=cosim.HFedAvg())
    cells = cells.but(data=digits, num_edge_rounds=2, num_global_rounds=30, batch_size=10, learning_rate=0.1)
    cells = cells.but(bandwidth_hz=1e6, redrawn=fading)
    return cells.but(selection=Quickest(num_participants=3, num_spare=4))
