"""Network: the nodes of a system, on a clock."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from cosim.checkpoint import Checkpoint
from cosim.configuration import ConfigurationError, Port, overrides
from cosim.data.dataset import Dataset
from cosim.devices.client import Client
from cosim.links.uplink import Cell, Job
from cosim.names import client_name, edge_name
from cosim.servers.cloud import Cloud, VersionReport
from cosim.servers.edge import EdgeServer
from cosim.servers.workload import Workload
from cosim.simulation import Simulation
from cosim.system import System

if TYPE_CHECKING:
    from cosim.learning.learner import Learner


ClockKind = Literal["auto", "events", "arrays"]


def nodes_of(
    system: System,
    sim: Simulation,
    learner: "Learner",
    data: Callable[[], Dataset],
    listener: Callable[[VersionReport], None],
    known: Checkpoint | None = None,
    clock: ClockKind = "events",
) -> Cloud:
    """The nodes of a system on a clock; with a checkpoint, of a run that goes on from there.

    Args:
        data: Gives the data set, read before the clock starts where something is learned.
        clock: Whether edge rounds are played by events or on arrays; auto: on arrays, where all parts can.

    Raises:
        ConfigurationError: Parts that do not fit together.
    """
    sizes = system.sizes()
    held = cache(lambda: system.data.held(sim, data(), sizes))
    if system.evaluation.learns or system.data.outline is None:
        held()
    graph = system.topology.graph(sizes, sim)
    devices = system.devices.of_clients(sim, sizes)
    _check_number(system.devices, "of_clients", "devices", len(devices), "clients", system.num_clients)
    cells, first = [], 0
    for cell, size in enumerate(sizes):
        edge, names = edge_name(cell), [client_name(number) for number in range(first, first + size)]
        distance_m = np.array([graph.edges[edge, name]["distance_m"] for name in names])
        powers_w = np.array([float(device.tx_power_w) for device in devices[first : first + size]])
        cells.append(Cell(edge, tuple(names), distance_m, powers_w))
        first += size
    links, downlinks = system.uplink.links(sim, cells), system.downlink.links(sim, cells)
    _check_number(system.uplink, "links", "links", len(links), "cells", len(cells))
    _check_number(system.downlink, "links", "links", len(downlinks), "cells", len(cells))
    edges, numbered, states = [], enumerate(devices), {}
    for cell, link, downlink in zip(cells, links, downlinks, strict=True):
        clients = [
            Client(
                name=name,
                edge=cell.edge,
                device=device,
                downlink=downlink,
                link=link,
                samples_now=partial(_held_now, held, number),
                states=states,
            )
            for name, (number, device) in zip(cell.clients, numbered, strict=False)
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
        workload=Workload(
            shape=learner.shape,
            flops=learner.flops,
            codec=system.codec,
            costs={name: system.cycles.of_client(sim, name) for cell in cells for name in cell.clients},
            in_parameters=system.cycles.in_parameters,
        ),
        evaluation=system.evaluation,
        listener=listener,
        known=known,
        states=states,
    )
    cloud.workload.check(client for edge in edges for client in edge.clients)
    system.protocol.check(cloud)
    if clock != "events":
        part = needs_events(system, cloud)
        if part is not None and clock == "arrays":
            raise ConfigurationError(
                f"clock = 'arrays': {part} is played by events only. Usual fix: clock = 'auto'."
            )
        for edge in edges:
            edge.rounds.on_arrays = part is None
    return cloud


def needs_events(system: System, cloud: Cloud) -> str | None:
    """The part that has not said how it is played on arrays; None: all have."""
    if not system.protocol.plays_common_rounds:
        return f"System.protocol = {type(system.protocol).__name__}"
    if system.downlink.takes_time:
        return f"System.downlink = {type(system.downlink).__name__}"
    waiting = system.protocol.waiting
    if not overrides(waiting, "ending", "wait"):
        return f"{type(waiting).__name__}, the rule of waiting,"
    for edge in cloud.edges:
        powers_w = np.array([client.tx_power_w for client in edge.clients])
        offers = overrides(edge.link, "steady_rates_bps", "open")
        if not offers or edge.link.steady_rates_bps(powers_w, Job(1, 0, 0)) is None:
            return f"System.uplink = {type(system.uplink).__name__}"
    return None


def _check_number(part: Port, method: str, what: str, num_found: int, whose: str, num_wanted: int) -> None:
    if num_found != num_wanted:
        raise ConfigurationError(
            f"{type(part).__name__}.{method} gives {num_found} {what} for {num_wanted} {whose}. Usual fix: "
            "one for each."
        )


def _held_now(
    held: Callable[[], Sequence[Callable[[], NDArray[np.int64]]]], number: int
) -> NDArray[np.int64]:
    """The samples of a client at this instant."""
    return held()[number]()
