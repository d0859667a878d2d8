"""Trainers: the port of the clients or cells that train for an asynchronous server, and of their jobs.

At the cloud these are the clients of all cells (`ClientTraining`), which report to it through their edge
servers, or the cells themselves (`WholeCells`), each of which does an edge training from the version that it
got.

Scope and limitations: a model or an update takes the backhaul's time between cloud and edge, in a client's
job as in a cell's; updates do not queue there.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

from typing_extensions import override

from cosim.clock.instants import instant_after
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Process, Simulation
from cosim.configuration import Lack, Port, at_least, knob, lasting, optional, part
from cosim.configuration.going_together import COMMON_ROUNDS, EDGE_ROUNDS, MEANS
from cosim.jobs.cell import Client
from cosim.jobs.job import Job
from cosim.protocols.assignment import Assignment
from cosim.protocols.asynchronous.starts import Starts
from cosim.protocols.asynchronous.trainee import Flight, Trainee
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.port import EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED
from cosim.protocols.servers import Cloud, EdgeServer
from cosim.records.rows import NO_ROUND
from cosim.training.port import LocalTraining
from cosim.training.sgd import Sgd
from cosim.waiting.deadlines import UploadDeadline
from cosim.waiting.port import WaitForAll, Waiting


@part
class Trainers(Port, ABC):
    """Clients or cells that train for an asynchronous server."""

    lacks = (Lack(EDGE_ROUNDS), Lack(MEANS), Lack(COMMON_ROUNDS))
    asks = (EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED)

    @property
    def waiting(self) -> Waiting:
        """Waiting rule for an update."""
        return WaitForAll()

    def check(self, cloud: Cloud) -> None:
        """Refuse nodes that do not suit, before the clock starts."""

    @abstractmethod
    def of(self, cloud: Cloud, edges: Sequence[EdgeServer], starts: Starts) -> Sequence[Trainee]:
        """Trainees in these cells, in the order of their numbers, for a server at the cloud."""

    @optional
    def of_cell(
        self, cloud: Cloud, edge: EdgeServer, starts: Starts, global_round: Callable[[], int]
    ) -> Sequence[Trainee]:
        """Trainees in a cell, for its own server.

        Args:
            global_round: Gives the global round in which a job begins.
        """
        ...


@part
class ClientTraining(Trainers):
    """Clients that do some local steps in each job.

    Attributes:
        num_local_steps: Local steps H in a job. [no source]
        local: The rule by which clients train. [FedBuff, Algorithm 1: SGD]
        upload_deadline_s: Time limit of an upload from its own start; None means no limit. [no source]
    """

    num_local_steps: int = knob(at_least(1), default=20)
    local: LocalTraining = Sgd()
    upload_deadline_s: float | None = knob(lasting, default=None)

    @property
    @override
    def waiting(self) -> Waiting:
        deadline_s = self.upload_deadline_s
        return WaitForAll() if deadline_s is None else UploadDeadline(upload_deadline_s=deadline_s)

    @override
    def check(self, cloud: Cloud) -> None:
        """Refuse a network that the clients cannot train, before the clock starts."""
        self.local.check(cloud.learner)

    @override
    def of(self, cloud: Cloud, edges: Sequence[EdgeServer], starts: Starts) -> Sequence[Trainee]:
        return [
            Trainee(
                name=client.name,
                edge=edge.name,
                run=self._through(cloud, edge, client),
                availability=client.availability,
            )
            for edge in edges
            for client in self._ready(edge, starts)
        ]

    @override
    def of_cell(
        self, cloud: Cloud, edge: EdgeServer, starts: Starts, global_round: Callable[[], int]
    ) -> Sequence[Trainee]:
        def run(client: Client) -> Callable[[Simulation, Flight], Process]:
            return lambda sim, flight: self._job(sim, cloud, edge, client, flight, global_round())

        clients = self._ready(edge, starts)
        return [
            Trainee(name=one.name, edge=edge.name, run=run(one), availability=one.availability)
            for one in clients
        ]

    def _ready(self, edge: EdgeServer, starts: Starts) -> Iterable[Client]:
        """Clients of a cell, with its band prepared for as many as may send at the same time."""
        num_at_once = starts.most_at_once(len(edge.clients))
        edge.route.uplink.begin_round(num_at_once, math.inf)
        if edge.route.downlink is not None:
            edge.route.downlink.begin_round(num_at_once, math.inf)
        return iter(edge.clients)

    def _through(
        self, cloud: Cloud, edge: EdgeServer, client: Client
    ) -> Callable[[Simulation, Flight], Process]:
        """Process of a job with a model from the cloud and an update to the cloud."""
        load = cloud.workload.of()

        def run(sim: Simulation, flight: Flight) -> Process:
            yield from _backhaul(sim, client, edge.backhaul.backhaul_s(load.model.bits))
            update = yield from self._job(sim, cloud, edge, client, flight, NO_ROUND)
            if not isinstance(update, Dropped):
                yield from _backhaul(sim, client, edge.backhaul.backhaul_s(load.upload.bits))
            return update

        return run

    def _job(
        self,
        sim: Simulation,
        cloud: Cloud,
        edge: EdgeServer,
        client: Client,
        flight: Flight,
        global_round: int,
    ) -> Process:
        """Run a client's job between its edge server's download and upload."""
        load, flight.model = cloud.workload.of(), cloud.sent_down(flight.model)
        return client.local_round(
            sim,
            Assignment(
                route=edge.route,
                job=Job(global_round, NO_ROUND, flight.number),
                request=cloud.request(flight.model, self.num_local_steps, self.local),
                cycles=load.cycles(client, self.num_local_steps, self.local.batch_size),
                download=load.download,
                payload=load.upload,
                upload_deadline_s=self.upload_deadline_s,
            ),
        )


def _backhaul(sim: Simulation, client: Client, lasts_s: float) -> Process:
    """Let a model travel between cloud and edge while the client idles, or is away."""
    end_s = instant_after(sim.now_s, lasts_s)
    idling = sim.spend(client.name, "backhaul", lasts_s, client.device.idle_w)
    if client.availability is None:
        yield from idling
        return
    yield from client.availability.within(idling)
    if sim.now_s < end_s:
        yield sim.at(end_s)


@part
class WholeCells(Trainers):
    """Cells that do their edge training in each job.

    Attributes:
        training: Training of a cell. [no source]
    """

    lacks = ()
    asks = ()

    training: CellTraining = EdgeTraining()

    @property
    @override
    def waiting(self) -> Waiting:
        return self.training.waiting

    @override
    def check(self, cloud: Cloud) -> None:
        """Refuse a network that the clients cannot train, before the clock starts."""
        self.training.check(cloud)

    @override
    def of(self, cloud: Cloud, edges: Sequence[EdgeServer], starts: Starts) -> Sequence[Trainee]:
        return [Trainee(name=edge.name, edge=edge.name, run=self._turn(cloud, edge)) for edge in edges]

    def _turn(self, cloud: Cloud, edge: EdgeServer) -> Callable[[Simulation, Flight], Process]:
        return lambda sim, flight: self.training.run(sim, cloud, edge, flight.model, None, flight.number + 1)
