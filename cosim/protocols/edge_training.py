"""Edge training: what one cell does in a global round.

The edge server gets a model from the cloud, plays E edge rounds of H local steps with its clients, replaces
its model by the mean of what arrived (HIST journal paper, eqs. 5 and 6), and sends the last one back.

Scope and limitations: every client takes the same number of steps. If nothing arrived the edge model stays,
and the round's record says so (num_arrived 0).
"""

from collections.abc import Iterable
from typing import Any

from cosim.configuration import ConfigurationError, at_least, configuration, field, refuse
from cosim.devices.client import Assignment, Client
from cosim.learning.graph.pending import PendingModel
from cosim.learning.local_training import LocalTraining, Sgd
from cosim.learning.network.submodels import Part
from cosim.learning.server_update import Mean, ServerUpdate
from cosim.links.uplink import Job
from cosim.protocols.cell_training import CellTraining
from cosim.servers.cloud import Cloud
from cosim.servers.edge import EdgeServer
from cosim.servers.selection import ComingRound
from cosim.servers.waiting import WaitForAll, Waiting
from cosim.servers.workload import Load
from cosim.simulation import Process, Simulation


@configuration
class EdgeTraining(CellTraining):
    """Rounds and steps within a cell.

    Attributes:
        num_edge_rounds: Edge rounds E in a global round. [HIST journal, Section VI-B]
        num_local_steps: Local steps H in an edge round. [HIST journal, Section VI-B]
        local: The rule by which clients train. [HIST journal, eq. 5: SGD]
        server: The rule by which an edge server moves its model, where updates have arrived. [HIST journal,
            eq. 6: their mean]
        num_participants: Clients of a cell that take part in an edge round, drawn uniformly; none: all. [HIST
            journal, Section VI-B]
        waiting: How long an edge server waits for them. [HIST journal: for all]
    """

    num_edge_rounds: int = field(at_least(1), default=5)
    num_local_steps: int = field(at_least(1), default=20)
    local: LocalTraining = Sgd()
    server: ServerUpdate = Mean()
    num_participants: int | None = field(at_least(1), default=None)
    waiting: Waiting = WaitForAll()  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def takes_sums(self) -> bool:
        """Means are all that a cell takes."""
        return True

    @property
    def plays_common_rounds(self) -> bool:
        """Unless it is played in a way of its own."""
        return type(self).play is EdgeTraining.play

    def fit(self, system: Any) -> None:
        """Refuse more participants than the smallest cell has, and parts that do not go together."""
        smallest = min(system.sizes())
        if self.num_participants is not None and self.num_participants > smallest:
            raise ConfigurationError(
                f"EdgeTraining.num_participants = {self.num_participants}: the smallest cell has {smallest} "
                f"clients. Usual fix: at most {smallest}, or none for all."
            )
        self.waiting.fit_round(self.num_participants or smallest)
        if not self.server.weighs_equally and system.uplink.adds_up:
            kind = type(self.server).__name__
            rule = f"{kind} weighs updates one by one, and over the air only their mean arrives"
            raise refuse("EdgeTraining", "server", kind, rule, "Mean, or sharing = FixedShares")

    def num_jobs(self, num_clients: int) -> int:
        """Local rounds of so many clients of a cell in a global round, at most."""
        return self.num_edge_rounds * (self.num_participants or num_clients)

    def check(self, cloud: Cloud) -> None:
        """Refuse a network that the clients cannot train, before the clock starts."""
        self.local.check(cloud.learner)

    def participants(
        self, sim: Simulation, edge: EdgeServer, coming: ComingRound
    ) -> Iterable[Client] | Process:
        """Who takes part in the coming edge round: clients, or a process that waits and returns them."""
        return edge.participants(sim, self.num_participants)

    def model_s(self, edge: EdgeServer, load: Load, global_round: int) -> float:
        """What training and carrying a load adds to a global round (eqs. 18, 38, times E).

        That of the slowest client, by the channels at the beginning of the round; clients that are drawn anew
        in every edge round count as all.
        """
        num_clients = self.num_participants or len(edge.clients)
        job = Job.of_round(global_round, 0, self.num_edge_rounds)
        link = edge.link.known_to(type(self).__name__)
        slowest_s = 0.0
        for client in edge.clients:
            cycles = load.cycles(client, self.num_local_steps, self.local.batch_size)
            upload_s = link.upload_s(client.name, load.upload, client.tx_power_w, num_clients, job)
            slowest_s = max(slowest_s, client.cpu.duration_s(cycles) + upload_s)
        backhaul_s = sum(
            edge.backhaul.backhaul_s(payload.bits) - edge.backhaul.backhaul_s(0)
            for payload in (load.download, load.upload)
        )
        return self.num_edge_rounds * slowest_s + backhaul_s

    def play(
        self,
        sim: Simulation,
        cloud: Cloud,
        edge: EdgeServer,
        model: PendingModel,
        part: Part | None,
        global_round: int,
    ) -> Process:
        """One cell's global round; returns the edge model as it reaches the cloud.

        Args:
            model: What the cell trains: the part, or the whole model for None.
            global_round: Its number, from 1.
        """
        load = cloud.workload.of(part)
        cycles = load.cycles_of(edge.clients, self.num_local_steps, self.local.batch_size)
        yield from edge.receive(sim, load.download.bits)
        for edge_round in range(self.num_edge_rounds):
            request = cloud.request(model, self.num_local_steps, self.local)
            job = Job.of_round(global_round, edge_round, self.num_edge_rounds)
            coming = ComingRound(
                cloud=cloud,
                edge=edge,
                model=model,
                job=job,
                payload=load.upload,
            )
            choice = self.participants(sim, edge, coming)
            participants = yield from coming.chosen(sim, choice, type(self).__name__)
            work = Assignment(
                job=job, request=request, cycles=0.0, download=load.download, payload=load.upload
            )
            updates = yield from edge.common_round(
                sim, participants, work, cycles[participants.places], self.waiting
            )
            if updates and edge.rounds.learns:
                received = edge.mean(sim, self.server, model, updates, job)
                model = edge.moved(sim, self.server, model, received, job.number)
                cloud.living[edge.name] = model
        yield from edge.send(sim, load.upload.bits)
        cloud.living.pop(edge.name, None)
        return model
