from cosim.clock.instants import deadline_after, instant_after
from cosim.clock.simulation import Dropped, Simulation

__all__ = [
    "Dropped",
    "Simulation",
    "deadline_after",
    "instant_after",
]
