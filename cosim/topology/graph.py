"""Graph: the cloud, its edge servers and their clients, as a networkx graph with positions.

Edge servers stand on a hexagonal grid, spiralling outwards from the origin; clients are at the distances that
the topology gives, each in a random direction. Nodes are named "cloud", "edge-00", "client-0000".

Usage::

    graph = graph_of(Disc(), cell_sizes=(15, 15), sim=sim)
    graph.edges["edge-00", "client-0003"]["distance_m"]
"""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.names import CLOUD, ClientNames, client_name, edge_name
from cosim.topology.disc import pairs
from cosim.topology.port import Topology

if TYPE_CHECKING:
    import networkx as nx


def graph_of(topology: Topology, cell_sizes: Sequence[int], sim: Simulation) -> "nx.Graph":
    """The network: nodes with `kind`, `position_m`, `cell` (not the cloud); links with `distance_m`."""
    import networkx as nx  # slow to import

    graph = nx.Graph()
    graph.add_node(CLOUD, kind="cloud", position_m=(0.0, 0.0))
    numbers = Numbers.of(ClientNames(0, sum(cell_sizes)))
    distances_m = topology.distances_m(sim, numbers).tolist()
    turns = (2.0 * math.pi * sim.of_client(numbers, "position", pairs)[:, 1]).tolist()
    sites = islice(_hexagonal_grid(math.sqrt(3.0) * topology.cell_radius_m), len(cell_sizes))
    client = 0
    for cell, (site, size) in enumerate(zip(sites, cell_sizes, strict=True)):
        edge = edge_name(cell)
        graph.add_node(edge, kind="edge", cell=cell, position_m=site)
        graph.add_edge(CLOUD, edge, distance_m=math.hypot(*site))
        for number in range(client, client + size):
            name, distance_m, turn = client_name(number), distances_m[number], turns[number]
            position_m = site[0] + distance_m * math.cos(turn), site[1] + distance_m * math.sin(turn)
            graph.add_node(name, kind="client", cell=cell, position_m=position_m)
            graph.add_edge(edge, name, distance_m=distance_m)
        client += size
    return graph


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
