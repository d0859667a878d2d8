"""Network: the nodes of a system, on a clock.

They are made from the ground up: devices, links, the clock that plays their rounds, edge servers, the cloud.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.beforehand.clock import BY_EVENTS, HowPlayed, plays_on
from cosim.beforehand.memory import check_memory
from cosim.beforehand.needs import keeps_rows
from cosim.checkpoint import Checkpoint
from cosim.configuration import ConfigurationError, Port, parts_of
from cosim.data.dataset import Dataset
from cosim.devices.assignment import Route
from cosim.devices.availability import Availability, Cause, Windows
from cosim.devices.charge import Charge
from cosim.devices.device import DeviceArrays
from cosim.devices.fleet import Clients, Fleet
from cosim.devices.presence import Presence
from cosim.devices.rest import Rest
from cosim.draws import Numbers
from cosim.engine.rounds.round_clock import RoundClock
from cosim.engine.ways.of_link import ways_of
from cosim.global_generators import seeded
from cosim.learning.local_training.local_training import LocalTraining
from cosim.learning.own_models import OwnModels
from cosim.links.link import Cell
from cosim.names import CLOUD, ClientNames, client_name, edge_name
from cosim.records import DOWN, UP
from cosim.servers.cloud import Cloud, VersionReport
from cosim.servers.edge import EdgeServer
from cosim.servers.server import Kept
from cosim.servers.workload import Costs, Workload
from cosim.simulation import Simulation
from cosim.system import System

if TYPE_CHECKING:
    from cosim.learning.learner import Learner


def nodes_of(
    system: System,
    sim: Simulation,
    learner: "Learner",
    data: Callable[[], Dataset],
    listener: Callable[[VersionReport], None],
    known: Checkpoint | None = None,
    how: HowPlayed = BY_EVENTS,
) -> Cloud:
    """The nodes of a system on a clock; with a checkpoint, of a run that goes on from there.

    Args:
        data: Gives the data set, read before the clock starts where something is learned.

    Raises:
        ConfigurationError: Parts that do not fit together, or do not go with how the run is to be played.
    """
    fleet = _fleet(system, sim, data)
    cells = _cells(system, sim, fleet)
    workload = _workload(system, sim, learner)
    rounds = _rounds(system, sim, cells, how)
    edges = tuple(
        EdgeServer(
            name=route.edge,
            route=route,
            clients=clients,
            receives_first=not system.downloads_count,
            backhaul=system.topology,
            states=fleet.states,
            kept=Kept(parts_of(system)),
            rounds=rounds,
        )
        for route, clients in cells
    )
    own = [part for part in parts_of(system) if isinstance(part, LocalTraining) and part.keeps_tensors]
    cloud = Cloud(
        edges=edges,
        fleet=fleet,
        learner=learner,
        shape=learner.shape,
        end=system.end,
        workload=workload,
        own_models=OwnModels(shape=learner.shape, rules=own),
        evaluation=system.evaluation,
        listener=listener,
        known=known,
        states=fleet.states,
    )
    _check(system, cloud, data)
    return cloud


def _check(system: System, cloud: Cloud, data: Callable[[], Dataset]) -> None:
    """Refuse nodes that do not fit together.

    Raises:
        ConfigurationError: What does not fit, and the usual fix.
    """
    cloud.workload.check(cloud.fleet.names)
    system.protocol.check(cloud)
    if system.evaluation.learns:
        headline = cloud.learner.task.headline_of(data())
        assert headline is not None
        system.end.check(headline)
    check_memory(system, cloud)


def _fleet(system: System, sim: Simulation, data: Callable[[], Dataset]) -> Fleet:
    """The clients of all cells, with their samples, and what they do between their jobs."""
    sizes = system.sizes()

    @cache
    def held() -> Sequence[Callable[[], NDArray[np.int64]]]:
        dataset = data()
        with seeded(sim.key(CLOUD, "split")):
            return system.data.held(sim, dataset, sizes)

    if system.evaluation.learns or system.data.outline is None:
        held()
    found = system.devices.of_clients(sim, sizes)
    _check_number(system.devices, "of_clients", "devices", len(found), "clients", system.num_clients)
    devices = DeviceArrays.of(found)
    charges = _charges(sim, devices) if devices.have_batteries else {}
    if devices.takes_power_at_rest or charges:
        sim.recorder.follow(Rest(devices, charges, counts=system.evaluation.learns))
    names = Numbers.of(ClientNames(0, len(devices)))
    distance_m = np.asarray(system.topology.distances_m(sim, names), dtype=float)
    _check_number(system.topology, "distances_m", "distances", distance_m.size, "clients", len(devices))
    there = _availabilities(sim, devices, charges)
    asking = [*parts_of(system), *devices.parts]
    history = sim.recorder.remember(len(devices)) if any(part.reads_history for part in asking) else None
    return Fleet(devices, distance_m, lambda number: held()[number](), there, history)


def _cells(system: System, sim: Simulation, fleet: Fleet) -> Sequence[tuple[Route, Clients]]:
    """The links of each cell, and its clients."""
    sizes = system.sizes()
    ends = list(accumulate(sizes))
    clients = [Clients(fleet, slice(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
    cells = [
        Cell(edge_name(cell), own.names, fleet.distance_m[own.which], fleet.devices.tx_power_w[own.which])
        for cell, own in enumerate(clients)
    ]
    uplinks, downlinks = ways_of(sim, system.uplink, cells, UP), [None] * len(cells)
    if system.downlink.takes_time:
        downlinks = ways_of(sim, system.downlink, cells, DOWN)
    routes = [
        Route(cell.edge, uplink, downlink)
        for cell, uplink, downlink in zip(cells, uplinks, downlinks, strict=True)
    ]
    return list(zip(routes, clients, strict=True))


def _workload(system: System, sim: Simulation, learner: "Learner") -> Workload:
    return Workload(
        shape=learner.shape,
        flops=learner.flops,
        codec=system.codec,
        costs=Costs(sim, system.cycles),
        in_parameters=system.cycles.in_parameters,
        model_codec=system.model_codec,
    )


def _rounds(
    system: System,
    sim: Simulation,
    cells: Sequence[tuple[Route, Clients]],
    how: HowPlayed,
) -> RoundClock:
    """What plays the edge rounds of all cells."""
    plays, why = plays_on(system, cells, how)
    if plays == "arrays" and not keeps_rows(how.records, system, sim.recorder.rest_rows):
        sim.recorder.sum_up({route.edge: clients.which for route, clients in cells})
    return RoundClock(on_arrays=plays == "arrays", learns=system.evaluation.learns, why=why)


def _charges(sim: Simulation, devices: DeviceArrays) -> dict[str, Charge]:
    """What the batteries of those who have one hold, by name."""
    found = {}
    at_rest = devices.idle_w.tolist(), devices.sleep_w.tolist(), devices.sleeps_after_s.tolist()
    for number, (battery, *own) in enumerate(zip(devices.each("battery"), *at_rest, strict=True)):
        if battery is not None:
            name = client_name(number)
            found[name] = Charge(sim, name, battery, *own)
    return found


def _availabilities(
    sim: Simulation, devices: DeviceArrays, charges: Mapping[str, Charge]
) -> Sequence[Availability] | None:
    """Whether each client is there; None: all always are."""
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
        found.append(Availability(sim, causes))
    for presence, names in of_kinds.items():
        presence.check(names)
    return found


def _check_number(part: Port, method: str, what: str, num_found: int, whose: str, num_wanted: int) -> None:
    if num_found != num_wanted:
        raise ConfigurationError(
            f"{type(part).__name__}.{method} gives {num_found} {what} for {num_wanted} {whose}. Usual fix: "
            "one for each."
        )
