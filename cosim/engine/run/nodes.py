"""Network: the nodes of a system, on a clock.

They are made from the ground up: the clock and the devices (`cosim.engine.run.ground`), the clients and links
of each cell and the clock of its rounds, edge servers and the cloud.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, parts_of
from cosim.configuration.rules import check_number
from cosim.data.dataset import Dataset
from cosim.devices.device import DeviceArrays
from cosim.devices.presence import Presence
from cosim.engine.clients.availability import Availabilities, Availability, Cause, Windows
from cosim.engine.clients.fleet import Clients, Fleet
from cosim.engine.learning.own_models import OwnModels
from cosim.engine.run.clock import clock_of
from cosim.engine.run.ground import Ground
from cosim.engine.servers.cloud import Cloud
from cosim.engine.servers.edge import EdgeServer
from cosim.engine.servers.server import Kept
from cosim.engine.servers.workload import Costs, Workload
from cosim.engine.store.checkpoint import Checkpoint
from cosim.engine.ways.of_link import ways_of
from cosim.links.port import Cell, WrongDistance
from cosim.names import CLOUD, ClientNames, client_name
from cosim.own_code.global_generators import seeded
from cosim.protocols.assignment import Route
from cosim.recording.digest import Digest
from cosim.records.rows import DOWN, UP
from cosim.system.memory import check_memory
from cosim.system.system import System
from cosim.training.port import LocalTraining

if TYPE_CHECKING:
    from cosim.engine.learning.learner import Learner


def nodes_of(
    system: System,
    ground: Ground,
    learner: "Learner",
    data: Callable[[], Dataset],
    resumed: Checkpoint | None = None,
    digest: Digest | None = None,
) -> Cloud:
    """The cloud of a system, with its edge servers; with a checkpoint, of a run that goes on from there.

    Args:
        data: Gives the data set, read before the clock starts where something is learned.
        digest: Of the rows of a run, by which a replay is checked.

    Raises:
        ConfigurationError: Parts that do not fit together, or do not suit the clock of the run.
    """
    fleet = _fleet(system, ground, data)
    cells = _linked(system, ground, fleet)
    clock, why = clock_of(system, ground, cells)
    parts = {id(part): part for part in parts_of(system)}
    edges = tuple(
        EdgeServer(
            name=route.edge,
            route=route,
            clients=clients,
            receives_first=not system.downloads_count,
            backhaul=system.topology,
            states=fleet.states,
            kept=Kept(parts),
            on_arrays=clock == "arrays",
            learns=system.evaluation.learns,
        )
        for route, clients in cells
    )
    rules = [part for part in parts.values() if isinstance(part, LocalTraining)]
    by_hand = [rule for rule in rules if rule.personal_tensors is not None]
    cloud = Cloud(
        edges=edges,
        fleet=fleet,
        learner=learner,
        shape=learner.shape,
        end=system.end,
        workload=Workload(
            shape=learner.shape,
            flops=learner.flops,
            codec=system.codec,
            costs=Costs(ground.sim, system.cycles),
            model_codec=system.model_codec,
        ),
        own_models=OwnModels(shape=learner.shape, rules=by_hand),
        evaluation=system.evaluation,
        resumed=resumed,
        digest=digest,
        states=fleet.states,
        clock=(clock, why),
    )
    _check(system, cloud, data)
    return cloud


def _check(system: System, cloud: Cloud, data: Callable[[], Dataset]) -> None:
    """Refuse nodes that do not fit together."""
    cloud.workload.check(cloud.fleet.names)
    system.protocol.check(cloud)
    if system.evaluation.learns:
        headline = cloud.learner.task.headline_of(data())
        assert headline is not None
        system.end.check(headline)
    if np.isfinite(cloud.fleet.devices.memory_bits).any():
        for edge, load in zip(cloud.edges, system.protocol.loads(cloud), strict=True):
            check_memory(system, edge.clients, load)


def _fleet(system: System, ground: Ground, data: Callable[[], Dataset]) -> Fleet:
    """The clients of all cells, with their samples."""
    sim, devices, sizes = ground.sim, ground.devices, system.sizes()

    @cache
    def held() -> Sequence[Callable[[], NDArray[np.int64]]]:
        dataset = data()
        with seeded(sim.key(CLOUD, "split")):
            return system.data.held(sim, dataset, sizes)

    if system.evaluation.learns or system.data.outline is None:
        held()
    names = Numbers.of(ClientNames(0, len(devices)))
    distance_m = np.asarray(system.topology.distances_m(sim, names), dtype=float)
    check_number(system.topology, "distances_m", "distances", distance_m.size, "clients", len(devices))
    there = _availabilities(sim, devices)
    return Fleet(devices, distance_m, lambda number: held()[number](), there, sim.recorder.history)


def _linked(system: System, ground: Ground, fleet: Fleet) -> Sequence[tuple[Route, Clients]]:
    """The links of each cell, and its clients."""
    sim = ground.sim
    clients = [Clients(fleet, which) for which in ground.cells.values()]
    cells = [
        Cell(edge, own.names, fleet.distance_m[own.which], fleet.devices.tx_power_w[own.which])
        for edge, own in zip(ground.cells, clients, strict=True)
    ]
    try:
        uplinks, downlinks = ways_of(sim, system.uplink, cells, UP), [None] * len(cells)
        if system.downlink.takes_time:
            downlinks = ways_of(sim, system.downlink, cells, DOWN)
    except WrongDistance as error:
        source = system.topology.source_of(error.client)
        raise ConfigurationError(f"{source.place}: {error}", source.field) from None
    routes = [
        Route(cell.edge, uplink, downlink)
        for cell, uplink, downlink in zip(cells, uplinks, downlinks, strict=True)
    ]
    return list(zip(routes, clients, strict=True))


def _availabilities(sim: Simulation, devices: DeviceArrays) -> Availabilities:
    charges = {} if sim.recorder.rest is None else sim.recorder.rest.charges
    if not charges and devices.come_and_go is None:
        return None
    of_kinds: dict[Presence, list[str]] = {}
    found = []
    for number, presence in enumerate(devices.each("presence")):
        name = client_name(number)
        causes: list[Cause] = []
        if presence is not None:
            of_kinds.setdefault(presence, []).append(name)
            whose = f"{type(presence).__name__}.windows of {name}"
            causes.append(Windows(sim, presence.windows(sim, name), whose))
        if name in charges:
            causes.append(charges[name])
        found.append(Availability(sim, causes) if causes else None)
    for presence, names in of_kinds.items():
        presence.check(names)
    return found
