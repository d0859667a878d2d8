"""Topology: distances between clients and their edge servers, and the backhaul to the cloud.

Clients of a cell are uniform in the disc around their edge server, no nearer than a minimum distance. They
are numbered across all cells; a cell is a block of consecutive clients. `graph_of` gives the network as a
graph.

Usage::

    @part
    class Street(Topology):
        \"\"\"Clients in a row, 10 m from each other.\"\"\"

        @for_each
        def distances_m(self, sim, client):
            return 10.0 * (1 + int(client[-4:]) % 8)

Scope and limitations: one tier of edge servers; clients do not move, and belong to their cell even if another
edge server is nearer. The backhaul is a fixed delay and a rate, without queueing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import Port, knob, not_negative, part, positive, refuse


class Source(NamedTuple):
    """Origin of the distance of a client, for errors.

    Attributes:
        place: Place in a file, or fields with their values.
        field: Field, as Class.field.
    """

    place: str
    field: str


@part
class Topology(Port):
    """Positions of the nodes, and delay and rate between edge and cloud.

    Attributes:
        cell_radius_m: Radius of the disc in which the clients of a cell are placed. [no source]
        min_distance_m: Smallest distance of a client to its edge server. [3GPP TR 38.901, Table 7.2-1, UMa]
        backhaul_delay_s: One-way delay between edge server and cloud. [HIST journal, Section IV-A: none]
        backhaul_rate_bps: Rate between edge server and cloud; None means unlimited. [HIST journal, Section
            IV-A: unlimited]
    """

    cell_radius_m: float = knob(positive, default=500.0)
    min_distance_m: float = knob(not_negative, default=35.0)
    backhaul_delay_s: float = knob(not_negative, default=0.0)
    backhaul_rate_bps: float | None = knob(positive, default=None)

    def __attrs_post_init__(self) -> None:
        if self.min_distance_m >= self.cell_radius_m:
            rule = f"must be below cell_radius_m = {self.cell_radius_m:g}, or there is no place for clients"
            raise refuse("Topology", "min_distance_m", self.min_distance_m, rule, default=35.0)

    def distances_m(self, sim: Simulation, clients: Numbers) -> NDArray[np.float64]:
        """Distances of clients from their edge servers, shape (clients,); here uniform over the ring's area.

        Args:
            clients: All clients of the run, asked for once.
        """
        inner, outer = self.min_distance_m**2, self.cell_radius_m**2
        return np.sqrt(inner + (outer - inner) * sim.of_clients(clients, "position", pairs)[:, 0])

    def source_of(self, client: str) -> Source:
        """Source of the distance of a client, for errors."""
        name = type(self).__name__
        if type(self).distances_m is not Topology.distances_m:
            return Source(f"{name}.distances_m", f"{name}.distances_m")
        ends = f"min_distance_m = {self.min_distance_m:g} and cell_radius_m = {self.cell_radius_m:g}"
        return Source(f"{name}.{ends}", f"{name}.cell_radius_m")

    def backhaul_s(self, bits: float) -> float:
        """Time that a message takes between an edge server and the cloud."""
        return self.backhaul_delay_s + (bits / self.backhaul_rate_bps if self.backhaul_rate_bps else 0.0)


def pairs(rng: np.random.Generator, num: int) -> NDArray[np.float64]:
    """Uniform numbers for the distance and the direction of a client, one row each, shape (num, 2)."""
    return rng.random((num, 2))


def even_cells(num_clients: int, num_cells: int) -> tuple[int, ...]:
    """Cell sizes that differ by at most one, larger cells first."""
    size, larger = divmod(num_clients, num_cells)
    return tuple(size + (cell < larger) for cell in range(num_cells))
