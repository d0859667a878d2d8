"""Topology: the cloud, its edge servers and their clients, as a networkx graph with positions.

Edge servers stand on a hexagonal grid, spiralling outwards from the origin; the clients of a cell are
uniform in the disc around their edge server, no nearer than a minimum distance. Nodes are named "cloud",
"edge-00", "client-0000"; clients are numbered through all cells, a cell is a block of consecutive clients.

Scope and limitations: one tier of edge servers; nobody moves; a client belongs to its cell, also where
another edge server is nearer. The backhaul is a fixed delay and a rate, without queueing.

Usage::

    graph = Topology().graph(cell_sizes=(15, 15), sim=sim)
    graph.edges["edge-00", "client-0003"]["distance_m"]
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import configuration, field, not_negative, positive, refuse
from cosim.draws import Numbers
from cosim.names import CLOUD, ClientNames, client_name, edge_name
from cosim.simulation import Simulation

if TYPE_CHECKING:
    import networkx as nx


@configuration
class Topology:
    """Where the nodes stand, and what the way between edge and cloud costs.

    Attributes:
        cell_radius_m: Radius of the disc in which the clients of a cell are placed. [no source]
        min_distance_m: Smallest distance of a client to its edge server. [3GPP TR 38.901, Table 7.2-1, UMa]
        backhaul_delay_s: One-way delay between edge server and cloud. [HIST journal, Section IV-A: none]
        backhaul_rate_bps: Rate between edge server and cloud; None: unlimited. [HIST journal, Section IV-A:
            unlimited]
    """

    cell_radius_m: float = field(positive, default=500.0)
    min_distance_m: float = field(not_negative, default=35.0)
    backhaul_delay_s: float = field(not_negative, default=0.0)
    backhaul_rate_bps: float | None = field(positive, default=None)

    def __attrs_post_init__(self) -> None:
        if self.min_distance_m >= self.cell_radius_m:
            rule = f"must lie below cell_radius_m = {self.cell_radius_m:g}, else no place is left for clients"
            raise refuse("Topology", "min_distance_m", self.min_distance_m, rule, 35.0)

    def graph(self, cell_sizes: Sequence[int], sim: Simulation) -> "nx.Graph":
        """The network: nodes with `kind`, `position_m`, `cell` (not the cloud); links with `distance_m`."""
        import networkx as nx  # not before there is a graph

        graph = nx.Graph()
        graph.add_node(CLOUD, kind="cloud", position_m=(0.0, 0.0))
        client, distances_m = 0, self.distances_m(cell_sizes, sim)
        for cell, site in enumerate(
            islice(_hexagonal_grid(math.sqrt(3.0) * self.cell_radius_m), len(cell_sizes))
        ):
            edge = edge_name(cell)
            graph.add_node(edge, kind="edge", cell=cell, position_m=site)
            graph.add_edge(CLOUD, edge, distance_m=math.hypot(*site))
            for distance_m in distances_m[cell].tolist():
                name = client_name(client)
                x_m, y_m = self._offset_m(distance_m, sim.of_client(name, "position", _pairs))
                graph.add_node(name, kind="client", cell=cell, position_m=(site[0] + x_m, site[1] + y_m))
                graph.add_edge(edge, name, distance_m=distance_m)
                client += 1
        return graph

    def distances_m(self, cell_sizes: Sequence[int], sim: Simulation) -> list[NDArray[np.float64]]:
        """How far the clients of each cell stand from their edge server, as in the graph."""
        firsts = accumulate(cell_sizes, initial=0)
        cells = [ClientNames(first, size) for first, size in zip(firsts, cell_sizes, strict=False)]
        return [
            self._distance_m(sim.of_clients(Numbers.of(names), "position", _pairs)) if names else np.empty(0)
            for names in cells
        ]

    def _distance_m(self, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distances to the edge server, uniform over the ring's area, of a draw or many."""
        inner, outer = self.min_distance_m**2, self.cell_radius_m**2
        return np.sqrt(inner + (outer - inner) * drawn[..., 0])

    def _offset_m(self, distance_m: float, drawn: NDArray[np.float64]) -> tuple[float, float]:
        """Offset from the edge server, in any direction."""
        turn = 2.0 * math.pi * float(drawn[1])
        return distance_m * math.cos(turn), distance_m * math.sin(turn)

    def backhaul_s(self, bits: float) -> float:
        """Time that a message takes between an edge server and the cloud."""
        return self.backhaul_delay_s + (bits / self.backhaul_rate_bps if self.backhaul_rate_bps else 0.0)


def _pairs(rng: np.random.Generator, num: int) -> NDArray[np.float64]:
    return rng.random((num, 2))


def even_cells(num_clients: int, num_cells: int) -> tuple[int, ...]:
    """Cell sizes as even as they go, larger cells first."""
    size, larger = divmod(num_clients, num_cells)
    return tuple(size + (cell < larger) for cell in range(num_cells))


def _hexagonal_grid(spacing_m: float) -> Iterator[tuple[float, float]]:
    """Sites of a hexagonal grid, ring by ring around the origin."""
    axes = [(math.cos(math.pi / 3 * k), math.sin(math.pi / 3 * k)) for k in range(6)]
    yield 0.0, 0.0
    ring = 1
    while True:
        for side in range(6):
            (x, y), (turn_x, turn_y) = axes[side], axes[(side + 2) % 6]
            for step in range(ring):
                yield spacing_m * (ring * x + step * turn_x), spacing_m * (ring * y + step * turn_y)
        ring += 1
