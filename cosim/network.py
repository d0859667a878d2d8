"""Network: the nodes of a system, on a clock."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.beforehand.memory import check_memory
from cosim.beforehand.needs import ClockKind, RecordsKind, clock_by_size, keeps_rows, rows_of_a_job
from cosim.checkpoint import Checkpoint
from cosim.configuration import ConfigurationError, Port, form_of, parts_of, passed_over
from cosim.data.dataset import Dataset
from cosim.devices.availability import Availability, Cause, Windows
from cosim.devices.charge import Charge
from cosim.devices.client import Route
from cosim.devices.devices import DeviceArrays
from cosim.devices.fleet import Clients, Fleet
from cosim.devices.presence import Presence
from cosim.devices.rest import Rest, Rests
from cosim.draws import Numbers
from cosim.global_generators import seeded
from cosim.learning.local_training.local_training import LocalTraining
from cosim.learning.own_models import OwnModels
from cosim.links.link import ByEvents, Cell, Job
from cosim.names import CLOUD, ClientNames, client_name, edge_name
from cosim.servers.array_round import downloads_of
from cosim.servers.cloud import Cloud, VersionReport
from cosim.servers.edge import EdgeServer, RoundClock
from cosim.servers.played_rounds import PlayedRounds
from cosim.servers.server import Kept
from cosim.servers.workload import Costs, Workload
from cosim.simulation import Simulation
from cosim.system import System
from cosim.topology.topology import Topology

if TYPE_CHECKING:
    from cosim.learning.learner import Learner


def nodes_of(
    system: System,
    sim: Simulation,
    learner: "Learner",
    data: Callable[[], Dataset],
    listener: Callable[[VersionReport], None],
    known: Checkpoint | None = None,
    clock: ClockKind = "events",
    records: RecordsKind = "all",
) -> Cloud:
    """The nodes of a system on a clock; with a checkpoint, of a run that goes on from there.

    Args:
        data: Gives the data set, read before the clock starts where something is learned.
        clock: Whether edge rounds are played by events or on arrays; auto: by the size of the run, and by
            events where a part wants them.
        records: Whether rows of clients are kept, or of edge rounds only, which wants arrays.

    Raises:
        ConfigurationError: Parts that do not fit together.
    """
    sizes = system.sizes()

    @cache
    def held() -> Sequence[Callable[[], NDArray[np.int64]]]:
        dataset = data()
        with seeded(sim.key(CLOUD, "split")):
            return system.data.held(sim, dataset, sizes)

    if system.evaluation.learns or system.data.outline is None:
        held()
    devices = system.devices.of_clients(sim, sizes)
    _check_number(system.devices, "of_clients", "devices", len(devices), "clients", system.num_clients)
    sim.num_nodes = len(devices)
    devices, firsts = DeviceArrays.of(devices), [0, *accumulate(sizes)]
    cells = [
        Cell(edge_name(cell), ClientNames(first, size), distance_m, devices.tx_power_w[first : first + size])
        for cell, (first, size, distance_m) in enumerate(
            zip(firsts, sizes, _distances_m(system.topology, sizes, sim), strict=False)
        )
    ]
    rests = None
    if devices.takes_power_at_rest or devices.have_batteries:
        charges = _charges(sim, devices)
        rests = sim.rests = Rests(
            Rest.of(devices, counts=system.evaluation.learns),
            ClientNames(0, len(devices)),
            sim._trace,
            charges,
        )
    links, downlinks = system.uplink.of_cells(sim, cells), system.downlink.of_cells(sim, cells)
    _check_number(system.uplink, "of_cells", "links", len(links), "cells", len(cells))
    _check_number(system.downlink, "of_cells", "links", len(downlinks), "cells", len(cells))
    edges, states = [], {}
    fleet = Fleet(
        devices,
        lambda number: held()[number](),
        states,
        _availabilities(sim, devices, {} if rests is None else rests.charges),
        None if rests is None else rests.rest,
    )
    rounds = RoundClock(learns=system.evaluation.learns)
    for cell, first, link, downlink in zip(cells, firsts, links, downlinks, strict=False):
        edges.append(
            EdgeServer(
                name=cell.edge,
                route=Route(cell.edge, link, downlink if system.downlink.takes_time else None),
                clients=Clients(fleet, slice(first, first + len(cell.clients))),
                receives_first=not system.downlink.counts_in_round,
                backhaul=system.topology,
                states=states,
                kept=Kept(parts_of(system)),
                rounds=rounds,
            )
        )
    cloud = Cloud(
        edges=tuple(edges),
        fleet=fleet,
        learner=learner,
        shape=learner.shape,
        end=system.end,
        workload=Workload(
            shape=learner.shape,
            flops=learner.flops,
            codec=system.codec,
            costs=Costs(sim, system.cycles),
            in_parameters=system.cycles.in_parameters,
            model_codec=system.downlink.model_codec,
        ),
        own_models=OwnModels(
            shape=learner.shape,
            rules=[
                part for part in parts_of(system) if isinstance(part, LocalTraining) and part.keeps_tensors
            ],
        ),
        evaluation=system.evaluation,
        listener=listener,
        known=known,
        states=states,
    )
    cloud.workload.check(fleet.names)
    system.protocol.check(cloud)
    if system.evaluation.learns:
        headline = learner.task.headline_of(data())
        assert headline is not None
        system.end.check(headline)
    check_memory(system, cloud)
    if clock != "events" or records == "rounds":
        part = needs_events(system, cloud)
        if part is not None and clock == "arrays":
            raise ConfigurationError(
                f"clock = 'arrays': {part} is played by events only. Usual fix: clock = 'auto'."
            )
        if records == "rounds" and (part is not None or clock == "events"):
            part = "a run" if part is None else part
            raise ConfigurationError(
                f"records = 'rounds': {part} is played by events, which keep the rows of all clients. Usual "
                "fix: records = 'all', or clock = 'auto'."
            )
        plays, rounds.why = _by_choice(system, clock, records, part)
        if plays == "arrays":
            rounds.played = PlayedRounds(
                sim._trace,
                keeps_rows=keeps_rows(records, system, rests),
                rows_of_a_job=rows_of_a_job(system, rests),
            )
            if rests is not None:
                rests.written_by = rounds.played
                rounds.played.cells = {edge.name: edge.clients for edge in edges}
    return cloud


def _by_choice(system: System, clock: ClockKind, records: RecordsKind, part: str | None) -> tuple[str, str]:
    """What plays edge rounds, and why.

    Args:
        part: The part that needs events; None: none does.
    """
    if part is not None:
        return "events", f"{part} is played by events only"
    if clock == "arrays":
        return "arrays", "asked for by clock = 'arrays'"
    if records == "rounds":
        return "arrays", "asked for by records = 'rounds'"
    return clock_by_size(system)


def needs_events(system: System, cloud: Cloud) -> str | None:
    """The part that has not said how it is played on arrays; None: all have."""
    if not system.protocol.plays_common_rounds:
        return f"System.protocol = {type(system.protocol).__name__}"
    if (presence := cloud.fleet.devices.come_and_go) is not None:
        return f"{type(presence).__name__}, the presence of clients,"
    if cloud.fleet.devices.have_batteries:
        return f"{type(system.devices).__name__}.battery"
    waiting, payload = system.protocol.waiting, cloud.workload.of().upload
    nobody, nothing, job = np.empty(0, dtype=np.int64), np.empty(0), Job(1, 0, 0)
    if form_of(waiting) == "events":
        return f"{type(waiting).__name__}, the rule of waiting,"
    none = Clients(cloud.fleet, nobody)
    for edge in cloud.edges:
        uplink, downlink = edge.route.uplink, edge.route.downlink
        if downlink is not None and downloads_of(downlink, 0.0, nobody, none, payload, job) is None:
            return _named(system, "downlink", downlink.by_events())
        waits = downlink is not None and edge.receives_first and not downlink.ends_together
        if waits and cloud.fleet.rest is not None:
            return f"System.downlink = {type(system.downlink).__name__}, after which devices rest,"
        uploads = uplink.uploads(nobody, nothing, payload, job)
        if uploads is None:
            return _named(system, "uplink", uplink.by_events())
        if waiting.upload_s is not None and not uploads.stand_alone:
            return f"System.uplink = {type(system.uplink).__name__}, where uploads are given up,"
    return None


def _named(system: System, way: str, why: ByEvents) -> str:
    """The uplink or the downlink of a system, or a field of it, and the method because of which."""
    part = getattr(system, way)
    if why.field is None or not hasattr(part, why.field):
        return f"System.{way} = {_by_method(part, why.method)}"
    own = getattr(part, why.field)
    return f"System.{way}.{why.field} = {_by_method(own, why.method or passed_over(own))}"


def _by_method(part: Port, method: str | None) -> str:
    return type(part).__name__ + ("" if method is None else f" ({method})")


def _charges(sim: Simulation, devices: DeviceArrays) -> dict[str, Charge]:
    """What the batteries of those who have one hold, by name."""
    found = {}
    at_rest = devices.idle_w.tolist(), devices.sleep_w.tolist(), devices.sleeps_after_s.tolist()
    for number, (battery, *own) in enumerate(zip(devices.batteries, *at_rest, strict=True)):
        if battery is not None:
            found[client_name(number)] = Charge(sim, battery, *own)
    return found


def _availabilities(
    sim: Simulation, devices: DeviceArrays, charges: Mapping[str, Charge]
) -> Sequence[Availability] | None:
    """Whether each client is there; None: all always are."""
    if not charges and devices.come_and_go is None:
        return None
    of_kinds: dict[Presence, list[str]] = {}
    found = []
    for number, presence in enumerate(devices.presences):
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


def _distances_m(topology: Topology, sizes: Sequence[int], sim: Simulation) -> Sequence[NDArray[np.float64]]:
    """Distances of each cell's clients to their edge server."""
    clients = Numbers.of(ClientNames(0, sum(sizes)))
    found = np.asarray(topology.distances_m(sim, clients), dtype=float)
    _check_number(topology, "distances_m", "distances", found.size, "clients", len(clients))
    return np.split(found, np.cumsum(sizes)[:-1])


def _check_number(part: Port, method: str, what: str, num_found: int, whose: str, num_wanted: int) -> None:
    if num_found != num_wanted:
        raise ConfigurationError(
            f"{type(part).__name__}.{method} gives {num_found} {what} for {num_wanted} {whose}. Usual fix: "
            "one for each."
        )
