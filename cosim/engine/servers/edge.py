"""Edge server: runs edge rounds with the clients of its cell (`cosim.protocols.servers`)."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Process, Simulation
from cosim.engine.clients.fleet import Clients
from cosim.engine.rounds import by_events, on_arrays
from cosim.engine.rounds.edge_round import EdgeRound
from cosim.engine.servers.server import Server
from cosim.jobs.job import Job
from cosim.jobs.past_round import PastRound
from cosim.names import by_number
from cosim.protocols.assignment import Assignment, Route
from cosim.records.rows import Round
from cosim.schedules.port import in_round
from cosim.server_updates.port import ServerUpdate
from cosim.topology.port import Topology
from cosim.values.combinations import NoisyMean
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.waiting.port import Waiting


@attrs.define(kw_only=True, eq=False)
class EdgeServer(Server):
    """The server of one cell.

    Attributes:
        route: Links between it and its clients.
        clients: Clients that the links of the route know by their places, in the order of their numbers.
        on_arrays: True if edge rounds run on arrays, where clients differ in cycles at most; else by events.
        learns: True if what is learned is read.
        receives_first: True if all participants have received before a round's clock starts.
        last_round: Outcome of its last edge round. None means that there was none.
    """

    route: Route
    clients: Clients
    backhaul: Topology
    on_arrays: bool
    learns: bool
    receives_first: bool
    last_round: PastRound | None = attrs.field(default=None, init=False)

    def gathered(self, sim: Simulation) -> Process:
        while not (present := self.clients.present):
            changes = [one.availability.change() for one in self.clients if one.availability is not None]
            yield from sim.spend(self.name, "gather", sim.any_of(changes))
        return present

    def participants(self, sim: Simulation, num_participants: int | None) -> Clients:
        present = self.clients.present
        if num_participants is None or num_participants >= (num_present := len(present)):
            return present
        rng = sim.stream(self.name, "participants")
        return present.some(rng.choice(num_present, size=num_participants, replace=False))

    def run_round(
        self,
        sim: Simulation,
        clients: Clients,
        work: Assignment,
        each: Mapping[str, Sequence[Any] | NDArray[Any]],
        waiting: Waiting,
        num_wanted: int | None = None,
    ) -> Process:
        asked = EdgeRound(clients=clients, work=work, each=each, waiting=waiting)
        start_s, num_present, job = sim.now_s, len(self.clients.present), work.job
        rounds = on_arrays if self.on_arrays and each.keys() <= {"cycles"} else by_events
        opened = sim.recorder.open_round(start_s)
        try:
            past, updates = yield from rounds.run_round(sim, self, asked)
        finally:
            sim.recorder.close_round(opened)
        self.last_round, num = past, len(past.arrived)
        sim.recorder.record(
            Round(
                level="edge",
                node=self.name,
                global_round=job.global_round,
                edge_round=job.edge_round,
                start_s=start_s,
                end_s=sim.now_s,
                num_wanted=num if num_wanted is None else num_wanted,
                num_present=num_present,
                num_participants=num,
                num_arrived=int(np.count_nonzero(past.arrived)),
            )
        )
        return past, updates

    def received(
        self,
        sim: Simulation,
        server: ServerUpdate,
        model: PendingModel,
        updates: Sequence[PendingUpdate],
        job: Job,
    ) -> PendingModel:
        rule = updates[0].training
        if rule.keeps_state and rule.keeps_what_arrived:
            self.states.update({update.client: update.next_state for update in updates})
        senders = np.unique([by_number(update.client)[1] for update in updates])
        places = Clients(self.clients.fleet, senders).places_in(self.clients)
        deviation = self.route.uplink.link.deviation_of_mean(places, job)
        if deviation is None:
            mean = in_round(server, model.round).averaging.mean_of(model, updates)
        else:  # only their mean arrives, with noise
            rate, key = rule.learning_rate, sim.key(self.name, "receiver noise", job.number)
            mean = NoisyMean(updates, lambda: rate * deviation(), key)
        return rule.received(model, mean, len(updates) / len(self.clients))

    def receive(self, sim: Simulation, bits: float) -> Process:
        yield from sim.spend(self.name, "receive", self.backhaul.backhaul_s(bits))

    def send(self, sim: Simulation, bits: float) -> Process:
        yield from sim.spend(self.name, "send", self.backhaul.backhaul_s(bits))
