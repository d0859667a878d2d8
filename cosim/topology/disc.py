"""Disc: clients uniform in the disc around their edge server, no nearer than a minimum distance."""

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import knob, not_negative, part, refuse
from cosim.topology.port import Source, Topology


@part
class Disc(Topology):
    """Clients uniform in the disc of their cell.

    Attributes:
        min_distance_m: Smallest distance of a client to its edge server. [3GPP TR 38.901, Table 7.2-1, UMa]
    """

    min_distance_m: float = knob(not_negative, default=35.0)

    def __attrs_post_init__(self) -> None:
        if self.min_distance_m >= self.cell_radius_m:
            rule = f"must be below cell_radius_m = {self.cell_radius_m:g}, or there is no place for clients"
            raise refuse("Disc", "min_distance_m", self.min_distance_m, rule, default=35.0)

    @override
    def distances_m(self, sim: Simulation, clients: Numbers) -> NDArray[np.float64]:
        inner, outer = self.min_distance_m**2, self.cell_radius_m**2
        return np.sqrt(inner + (outer - inner) * sim.of_client(clients, "position", pairs)[:, 0])

    @override
    def source_of(self, client: str) -> Source:
        name = type(self).__name__
        ends = f"min_distance_m = {self.min_distance_m:g} and cell_radius_m = {self.cell_radius_m:g}"
        return Source(f"{name}.{ends}", f"{name}.cell_radius_m")


def pairs(rng: np.random.Generator, num: int) -> NDArray[np.float64]:
    """Uniform numbers for the distance and the direction of a client, one row each, shape (num, 2)."""
    return rng.random((num, 2))
