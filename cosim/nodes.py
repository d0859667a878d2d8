"""Servers: what edge servers and the cloud do, and the time that it takes them.

An edge server lets its participants (`cosim.client`) play a round and keeps what arrives in time; the cloud
holds the learner and closes global rounds.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import attrs
import numpy as np

from cosim.checkpoint import Checkpoint
from cosim.client import Client, Request, Work
from cosim.codec import Codec, Payload
from cosim.compute import CyclesFollow
from cosim.journal import Journal
from cosim.learning.combinations import mean, noisy_mean
from cosim.learning.learner import Learner
from cosim.learning.pending import PendingModel, PendingUpdate
from cosim.learning.submodels import NetworkShape, Part
from cosim.records import Evaluation, Prediction, Round
from cosim.simulation import Dropped, Simulation, Story
from cosim.topology import CLOUD, Topology
from cosim.uplink import Job, Link


@attrs.frozen(kw_only=True, eq=False)
class EdgeServer:
    """The server of one cell.

    Attributes:
        clients: In the order of their names.
        link: What they send over.
    """

    name: str
    clients: tuple[Client, ...]
    link: Link
    backhaul: Topology

    def participants(self, sim: Simulation, num_participants: int | None) -> tuple[Client, ...]:
        """Who takes part in the coming edge round: everyone (None), or so many drawn uniformly."""
        if num_participants is None or num_participants == len(self.clients):
            return self.clients
        rng = sim.stream(self.name, "participants")
        chosen = rng.choice(len(self.clients), size=num_participants, replace=False)
        return tuple(self.clients[index] for index in np.sort(chosen))

    def edge_round(
        self,
        sim: Simulation,
        assignments: Sequence[tuple[Client, Work]],
        deadline_s: float | None,
        *,
        global_round: int,
        edge_round: int,
        least_s: float = 0.0,
        num_wanted: int | None = None,
    ) -> Story:
        """Let each participant do its work.

        Args:
            assignments: Participants in the order of their names, possibly none.
            deadline_s: When late updates are dropped; None: never.
            least_s: How long the round lasts at least, though all have arrived.
            num_wanted: Participants that were wanted, where there may be fewer; None: those there are.

        Returns:
            For each participant its update, or `Dropped`, in the same order.
        """
        start_s = sim.now_s
        ends_s = start_s + (math.inf if deadline_s is None else deadline_s)
        self.link.begin_round(len(assignments), ends_s)
        stories = [client.local_round(sim, work) for client, work in assignments]
        pace = [sim.spend(self.name, "collect", least_s)] if least_s else []
        outcomes = yield from sim.with_deadline([*stories, *pace], deadline_s)
        outcomes = outcomes[: len(stories)]
        sim.trace.record(
            Round(
                level="edge",
                node=self.name,
                global_round=global_round,
                edge_round=edge_round,
                start_s=start_s,
                end_s=sim.now_s,
                num_wanted=len(assignments) if num_wanted is None else num_wanted,
                num_participants=len(assignments),
                num_arrived=sum(not isinstance(outcome, Dropped) for outcome in outcomes),
            )
        )
        return outcomes

    def mean(
        self, sim: Simulation, updates: Sequence[PendingUpdate], global_round: int, edge_round: int
    ) -> PendingModel:
        """The mean of the updates of an edge round, with noise where only their mean arrives."""
        senders = {update.client for update in updates}
        powers_w = {client.name: client.tx_power_w for client in self.clients if client.name in senders}
        deviation = self.link.deviation_of_mean(powers_w, Job(global_round, edge_round))
        if deviation is None:
            return mean(updates)
        rate = updates[0].learning_rate
        key = sim.key(self.name, "receiver noise", global_round, edge_round)
        return noisy_mean(updates, lambda: rate * deviation(), key)

    def receive(self, sim: Simulation, bits: float) -> Story:
        """Get a model from the cloud."""
        yield from sim.spend(self.name, "receive", self.backhaul.backhaul_s(bits))

    def send(self, sim: Simulation, bits: float) -> Story:
        """Send the edge model to the cloud."""
        yield from sim.spend(self.name, "send", self.backhaul.backhaul_s(bits))


class RoundReport(NamedTuple):
    """What a listener hears when a global round has ended; a model that was evaluated is computed."""

    global_round: int
    time_s: float
    evaluation: Evaluation | Prediction | None
    model: PendingModel


@attrs.frozen(kw_only=True, eq=False)
class Cloud:
    """The cloud server: its cells, the learner, and when the global model is evaluated.

    Attributes:
        known: A checkpoint of this very run, up to which nothing is learned again; None: from the beginning.
        journal: What is read from weights on the way.
    """

    edges: tuple[EdgeServer, ...]
    learner: Learner
    shape: NetworkShape
    num_global_rounds: int
    codec: Codec
    cycles_follow: CyclesFollow
    evaluate_every: int | None
    listener: Callable[[RoundReport], None]
    known: Checkpoint | None = None
    journal: Journal = attrs.field(
        default=attrs.Factory(lambda self: Journal(self.known.journal if self.known else {}), takes_self=True)
    )
    name: str = CLOUD
    _shares: WeakKeyDictionary[Part, float] = attrs.field(factory=WeakKeyDictionary, init=False)

    def initial_model(self, sim: Simulation) -> PendingModel:
        """The global model before the first round, evaluated as round 0."""
        model = self.learner.initial_model(sim.key(self.name, "initial weights"))
        return self._report(sim, 0, model)

    def payload(self, part: Part | None = None) -> Payload:
        """What an update of a part is on its way; of None: of the whole model."""
        return self.codec.payload(self.shape.num_values(part))

    def step_cycles(
        self, client: Client, batch_size: int, part: Part | None = None, *, local_only: bool = False
    ) -> float:
        """Cycles of one local step of a client, by the rule of `cosim.compute`.

        Args:
            batch_size: Samples in its mini-batch.
            part: What it trains; None: the whole model.
            local_only: Of a network in two parts it trains the clients' part, on outputs of the server's.
                Only operations tell the two apart: what is fixed or counted by bits is a client's step.
        """
        whole = client.cpu.cycles(batch_size)
        if local_only and self.cycles_follow == "flops":
            return whole * (self.learner.flops.of_clients_part() / self.learner.flops.of())
        return whole if part is None else whole * self._share(part)

    def _share(self, part: Part) -> float:
        """What a local step on a part costs of one on the whole model."""
        if part not in self._shares:
            count = self.learner.flops.of if self.cycles_follow == "flops" else self.shape.num_parameters
            self._shares[part] = count(part) / count()
        return self._shares[part]

    def request(self, update: Callable[..., PendingUpdate]) -> Request:
        """What clients are asked for.

        Where nothing is learned one update stands for all, since nobody will read it.

        Args:
            update: Makes a pending update, given client, samples and key.
        """
        if self.evaluate_every is None:
            stand_in = update(client=self.name, samples=[0], key=0)
            return lambda sim, client, work: stand_in

        def of_client(sim: Simulation, client: Client, work: Work) -> PendingUpdate:
            key = sim.key(client.name, "mini-batches", work.global_round, work.edge_round)
            return update(client=client.name, samples=client.samples, key=key)

        return of_client

    def close_round(
        self, sim: Simulation, global_round: int, start_s: float, model: PendingModel
    ) -> PendingModel:
        """Write down a global round, evaluate its model where it is due; returns the model to go on with."""
        num_edges = len(self.edges)
        sim.trace.record(
            Round("global", self.name, global_round, -1, start_s, sim.now_s, num_edges, num_edges, num_edges)
        )
        return self._report(sim, global_round, model)

    def _report(self, sim: Simulation, global_round: int, model: PendingModel) -> PendingModel:
        known = self.known if self.known and global_round <= self.known.global_round else None
        if known and global_round == known.global_round:
            model = self.learner.stored_model(known.weights)
        if self.evaluate_every is None:
            model = PendingModel()  # nobody will read it, so let go of what it would be made of
        evaluation = None
        last = global_round == self.num_global_rounds
        if self.evaluate_every is not None and (last or global_round % self.evaluate_every == 0):
            if known:
                evaluation = next(row for row in known.evaluations if row.global_round == global_round)
            else:
                evaluation = self.learner.evaluate(model).record(sim.now_s, global_round)
            sim.trace.record(evaluation)
        self.listener(RoundReport(global_round, sim.now_s, evaluation, model))
        return model
