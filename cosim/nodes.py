"""Nodes: what clients, edge servers and the cloud do, and the time that it takes them.

A client trains and sends; an edge server lets its participants play a round and keeps what arrives in time;
the cloud holds the learner and closes global rounds. What they learn is asked for at an instant and computed
when somebody reads it (`cosim.learning`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import attrs
import numpy as np

from cosim.compute import Cpu
from cosim.learning.learner import Learner
from cosim.learning.pending import PendingModel, PendingUpdate
from cosim.learning.submodels import NetworkShape
from cosim.queueing.network import QueuedUplink
from cosim.radio.band import Band
from cosim.radio.uplink import RadioUplink
from cosim.records import Evaluation, Prediction, Round, Transfer
from cosim.simulation import Dropped, Simulation, Story
from cosim.topology import CLOUD, Topology


@attrs.frozen(kw_only=True)
class Work:
    """What a client is asked to do in one edge round.

    Attributes:
        request: Makes the pending update, given client, samples and key.
        cycles: What the training costs the processor.
        payload_bits: What is uploaded.
        upload_deadline_s: How long after its start an upload is given up; None: never.
    """

    global_round: int
    edge_round: int
    request: Callable[..., PendingUpdate]
    cycles: float
    payload_bits: int
    upload_deadline_s: float | None = None


@attrs.frozen(kw_only=True, eq=False)
class Client:
    """A device: processor, uplink, its samples (indices into the training set)."""

    name: str
    edge: str
    cpu: Cpu
    uplink: RadioUplink | QueuedUplink
    tx_power_w: float
    samples: np.ndarray

    def local_round(self, sim: Simulation, work: Work) -> Story:
        """Train, then upload: what one client does in one edge round; returns its update, or `Dropped`."""
        update = yield from self.train(sim, work)
        if work.upload_deadline_s is None:
            yield from self.send(sim, work)
            return update
        (sent,) = yield from sim.with_deadline([self.send(sim, work)], work.upload_deadline_s)
        return sent if isinstance(sent, Dropped) else update

    def train(self, sim: Simulation, work: Work) -> Story:
        """Ask for the learning now, let the time it takes pass."""
        key = sim.key(self.name, "mini-batches", work.global_round, work.edge_round)
        update = work.request(client=self.name, samples=self.samples, key=key)
        yield from sim.spend(self.name, "train", self.cpu.duration_s(work.cycles), self.cpu.power_w)
        return update

    def send(self, sim: Simulation, work: Work) -> Story:
        """Upload until all bits are through or the upload is cut."""
        start_s = sim.now_s
        upload = self.uplink.open(work.payload_bits, work.global_round, work.edge_round)
        try:
            yield from sim.spend(self.name, "send", upload.done, self.tx_power_w)
        finally:
            self.uplink.close(upload)  # type: ignore[arg-type]
            sim.trace.record(
                Transfer(
                    client=self.name,
                    edge=self.edge,
                    global_round=work.global_round,
                    edge_round=work.edge_round,
                    start_s=start_s,
                    end_s=sim.now_s,
                    payload_bits=work.payload_bits,
                    sent_bits=work.payload_bits - upload.bits_left,
                    arrived=upload.done.triggered,
                )
            )


@attrs.frozen(kw_only=True, eq=False)
class EdgeServer:
    """The server of one cell, with its clients in the order of their names."""

    name: str
    clients: tuple[Client, ...]
    band: Band
    backhaul: Topology

    def participants(self, sim: Simulation, num_participants: int | None) -> tuple[Client, ...]:
        """Who takes part in the coming edge round: everyone (None), or so many drawn uniformly."""
        if num_participants is None or num_participants == len(self.clients):
            return self.clients
        rng = sim.stream(self.name, "participants")
        chosen = rng.choice(len(self.clients), size=num_participants, replace=False)
        return tuple(self.clients[index] for index in np.sort(chosen))

    def edge_round(
        self, sim: Simulation, assignments: Sequence[tuple[Client, Work]], deadline_s: float | None
    ) -> Story:
        """Let each participant do its work; returns the updates that arrived, by client name."""
        start_s = sim.now_s
        self.band.divide_among(len(assignments))
        stories = [client.local_round(sim, work) for client, work in assignments]
        work = assignments[0][1]
        outcomes = yield from sim.with_deadline(stories, deadline_s)
        arrived = [update for update in outcomes if not isinstance(update, Dropped)]
        sim.trace.record(
            Round(
                level="edge",
                node=self.name,
                global_round=work.global_round,
                edge_round=work.edge_round,
                start_s=start_s,
                end_s=sim.now_s,
                num_participants=len(assignments),
                num_arrived=len(arrived),
            )
        )
        return arrived

    def receive(self, sim: Simulation, bits: int) -> Story:
        """Get a model from the cloud."""
        yield from sim.spend(self.name, "receive", self.backhaul.backhaul_s(bits))

    def send(self, sim: Simulation, bits: int) -> Story:
        """Send the edge model to the cloud."""
        yield from sim.spend(self.name, "send", self.backhaul.backhaul_s(bits))


class RoundReport(NamedTuple):
    """What a listener hears when a global round has ended."""

    global_round: int
    time_s: float
    evaluation: Evaluation | Prediction | None


@attrs.frozen(kw_only=True, eq=False)
class Cloud:
    """The cloud server: its cells, the learner, and when the global model is evaluated."""

    edges: tuple[EdgeServer, ...]
    learner: Learner
    shape: NetworkShape
    num_global_rounds: int
    step_cycles: float
    bits_per_parameter: int
    evaluate_every: int | None
    listener: Callable[[RoundReport], None]
    name: str = CLOUD

    def initial_model(self, sim: Simulation) -> PendingModel:
        """The global model before the first round, evaluated as round 0."""
        model = self.learner.initial_model(sim.key(self.name, "initial weights"))
        self._report(sim, 0, model)
        return model

    def close_round(self, sim: Simulation, global_round: int, start_s: float, model: PendingModel) -> None:
        """Write down a global round and evaluate its model where it is due."""
        num_edges = len(self.edges)
        sim.trace.record(
            Round("global", self.name, global_round, -1, start_s, sim.now_s, num_edges, num_edges)
        )
        self._report(sim, global_round, model)

    def _report(self, sim: Simulation, global_round: int, model: PendingModel) -> None:
        evaluation = None
        last = global_round == self.num_global_rounds
        if self.evaluate_every is not None and (last or global_round % self.evaluate_every == 0):
            evaluation = self.learner.evaluate(model).record(sim.now_s, global_round)
            sim.trace.record(evaluation)
        self.listener(RoundReport(global_round, sim.now_s, evaluation))
