from cosim.clock.instants import deadline_after, instant_after
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Simulation

__all__ = [
    "Dropped",
    "Simulation",
    "deadline_after",
    "instant_after",
]
