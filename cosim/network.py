"""Network: the nodes of a system, on a clock."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.checkpoint import Checkpoint
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.devices.client import Client
from cosim.links.uplink import Cell
from cosim.servers.cloud import Cloud, VersionReport
from cosim.servers.edge import EdgeServer
from cosim.simulation import Simulation
from cosim.system import System
from cosim.topology.topology import client_name, edge_name

if TYPE_CHECKING:
    from cosim.learning.learner import Learner


def nodes_of(
    system: System,
    sim: Simulation,
    learner: "Learner",
    data: Callable[[], Dataset],
    listener: Callable[[VersionReport], None],
    known: Checkpoint | None = None,
) -> Cloud:
    """The nodes of a system on a clock; with a checkpoint, of a run that goes on from there.

    Args:
        data: Gives the data set, read before the clock starts where something is learned.

    Raises:
        ConfigurationError: Parts that do not fit together.
    """
    sizes = system.sizes()
    held = cache(lambda: system.data.held(sim, data(), sizes))
    if system.evaluation.learns or system.data.outline is None:
        held()
    graph = system.topology.graph(sizes, sim)
    sample_flops = learner.flops.of() if system.compute.cycles_follow == "flops" else 0
    cells, first = [], 0
    for cell, size in enumerate(sizes):
        edge, names = edge_name(cell), [client_name(number) for number in range(first, first + size)]
        distance_m = np.array([graph.edges[edge, name]["distance_m"] for name in names])
        powers_w = [system.compute.tx_power.highest_w(sim.stream(name, "transmit power")) for name in names]
        cells.append(Cell(edge, tuple(names), distance_m, np.array(powers_w)))
        first += size
    links = system.uplink.links(sim, cells)
    if len(links) != len(cells):
        raise ConfigurationError(
            f"{type(system.uplink).__name__}.links gives {len(links)} links for {len(cells)} cells. Usual "
            "fix: one for each."
        )
    lowest_hz = system.compute.min_frequency_hz.of_clients(sizes)
    highest_hz = system.compute.max_frequency_hz.of_clients(sizes)
    edges, numbers, states = [], count(), {}
    for cell, link, *range_hz in zip(cells, links, lowest_hz, highest_hz, strict=True):
        clients = [
            Client(
                name=name,
                edge=cell.edge,
                cpu=system.compute.cpu(low_hz, high_hz, sim.stream(name, "cpu"), sample_flops),
                link=link,
                tx_power_w=float(power_w),
                samples_now=partial(_held_now, held, next(numbers)),
                states=states,
            )
            for name, power_w, low_hz, high_hz in zip(cell.clients, cell.tx_power_w, *range_hz, strict=True)
        ]
        edges.append(
            EdgeServer(
                name=cell.edge,
                clients=tuple(clients),
                link=link,
                backhaul=system.topology,
                states=states,
            )
        )
    cloud = Cloud(
        edges=tuple(edges),
        learner=learner,
        shape=learner.shape,
        end=system.end,
        codec=system.codec,
        cycles_follow=system.compute.cycles_follow,
        evaluation=system.evaluation,
        listener=listener,
        known=known,
        states=states,
    )
    system.protocol.check(cloud)
    return cloud


def _held_now(
    held: Callable[[], Sequence[Callable[[], NDArray[np.int64]]]], number: int
) -> NDArray[np.int64]:
    """The samples of a client at this instant."""
    return held()[number]()
