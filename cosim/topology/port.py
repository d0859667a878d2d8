"""Topology: the port of the distances between clients and their edge servers; the backhaul to the cloud.

Clients are numbered across all cells; a cell is a block of consecutive clients. `graph_of` gives the network
as a graph.

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

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import Port, knob, not_negative, part, positive


class Source(NamedTuple):
    """Origin of the distance of a client, for errors.

    Attributes:
        place: Place in a file, or fields with their values.
        field: Field, as Class.field.
    """

    place: str
    field: str


@part
class Topology(Port, ABC):
    """Positions of the nodes, and delay and rate between edge and cloud.

    Attributes:
        cell_radius_m: Radius of a cell; edge servers stand on a hexagonal grid sqrt(3) times as far from each
            other. [no source]
        backhaul_delay_s: One-way delay between edge server and cloud. [HIST journal, Section IV-A: none]
        backhaul_rate_bps: Rate between edge server and cloud; None means unlimited. [HIST journal, Section
            IV-A: unlimited]
    """

    cell_radius_m: float = knob(positive, default=500.0)
    backhaul_delay_s: float = knob(not_negative, default=0.0)
    backhaul_rate_bps: float | None = knob(positive, default=None)

    @abstractmethod
    def distances_m(self, sim: Simulation, clients: Numbers) -> NDArray[np.float64]:
        """Distances of clients from their edge servers, shape (clients,).

        Args:
            clients: All clients of the run, asked for once.
        """

    def source_of(self, client: str) -> Source:
        """Source of the distance of a client, for errors."""
        method = f"{type(self).__name__}.distances_m"
        return Source(method, method)

    def backhaul_s(self, bits: float) -> float:
        """Time that a message takes between an edge server and the cloud."""
        return self.backhaul_delay_s + (bits / self.backhaul_rate_bps if self.backhaul_rate_bps else 0.0)


def even_cells(num_clients: int, num_cells: int) -> tuple[int, ...]:
    """Cell sizes that differ by at most one, larger cells first."""
    size, larger = divmod(num_clients, num_cells)
    return tuple(size + (cell < larger) for cell in range(num_cells))
