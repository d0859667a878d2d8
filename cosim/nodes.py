"""Nodes: what clients, edge servers and the cloud do, and the time that it takes them.

A client trains and sends; an edge server lets its participants play a round and keeps what arrives in time;
the cloud holds the learner and closes global rounds. What they learn is asked for at an instant and computed
when somebody reads it (`cosim.learning`).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakSet

import attrs
import numpy as np

from cosim.checkpoint import Checkpoint
from cosim.compute import Cpu, CyclesFollow
from cosim.learning.combinations import mean, noisy_mean
from cosim.learning.learner import Learner
from cosim.learning.pending import PendingModel, PendingUpdate
from cosim.learning.submodels import NetworkShape, Part
from cosim.queueing.network import QueuedUplink
from cosim.radio.band import Band
from cosim.radio.over_the_air import OverTheAir
from cosim.radio.resource_blocks import ResourceBlocks
from cosim.radio.uplink import RadioUplink
from cosim.reception import Reception
from cosim.records import Evaluation, Prediction, Round, Transfer
from cosim.simulation import Dropped, Simulation, Story
from cosim.topology import CLOUD, Topology


@attrs.frozen(kw_only=True)
class Work:
    """What a client is asked to do in one edge round.

    Attributes:
        request: Makes a client's pending update, as of the instant at which it is called.
        cycles: What the training costs the processor.
        payload_bits: What is uploaded.
        upload_deadline_s: How long after its start an upload is given up; None: never.
        frequency_hz: CPU frequency; None: the client's highest.
        tx_power_w: Transmit power; None: the client's highest.
        energy_budget_j: What the client may spend, after which it stops; None: without limit.
    """

    global_round: int
    edge_round: int
    request: "Request"
    cycles: float
    payload_bits: int
    upload_deadline_s: float | None = None
    frequency_hz: float | None = None
    tx_power_w: float | None = None
    energy_budget_j: float | None = None


Request = Callable[[Simulation, "Client", Work], PendingUpdate]


@attrs.frozen(kw_only=True, eq=False)
class Client:
    """A device: processor, uplink, samples.

    Attributes:
        cpu: Its processor at the highest frequency.
        tx_power_w: Its highest transmit power.
        samples_now: Gives the samples that it has at this instant, indices into the training set.
    """

    name: str
    edge: str
    cpu: Cpu
    uplink: RadioUplink | QueuedUplink
    tx_power_w: float
    samples_now: Callable[[], np.ndarray]

    @property
    def samples(self) -> np.ndarray:
        """The samples of this instant, indices into the training set, read-only."""
        return self.samples_now()

    def local_round(self, sim: Simulation, work: Work) -> Story:
        """Train, then upload: what one client does in one edge round; returns its update, or `Dropped`."""
        if work.energy_budget_j is not None:
            return (yield from self._local_round_within(sim, work, work.energy_budget_j))
        update = yield from self.train(sim, work)
        if work.upload_deadline_s is None:
            yield from self.send(sim, work)
            return update
        (sent,) = yield from sim.with_deadline([self.send(sim, work)], work.upload_deadline_s)
        return sent if isinstance(sent, Dropped) else update

    def _local_round_within(self, sim: Simulation, work: Work, budget_j: float) -> Story:
        """The same, stopping where the energy is spent."""
        train_w = self.cpu.at(work.frequency_hz).power_w
        start_s = sim.now_s
        (update,) = yield from sim.with_deadline(
            [self.train(sim, work)], _seconds(budget_j, train_w), "energy budget"
        )
        left_j = budget_j - train_w * (sim.now_s - start_s)
        if isinstance(update, Dropped) or left_j <= 0.0:
            return Dropped("energy budget")
        sent = yield from self.send(sim, work, left_j)
        return sent if isinstance(sent, Dropped) else update

    def train(self, sim: Simulation, work: Work) -> Story:
        """Ask for the learning now, let the time it takes pass."""
        update = work.request(sim, self, work)
        cpu = self.cpu.at(work.frequency_hz)
        duration_s = cpu.duration_s(work.cycles)
        if cpu.time_jitter:
            rng = sim.stream(self.name, "time jitter", work.global_round, work.edge_round)
            duration_s *= math.exp(cpu.time_jitter * rng.standard_normal())
        yield from sim.spend(self.name, "train", duration_s, cpu.power_w)
        return update

    def send(self, sim: Simulation, work: Work, most_j: float | None = None) -> Story:
        """Upload until all bits are through or the upload is cut; without power while it waits its turn.

        Args:
            most_j: Energy after which it stops and returns `Dropped`; None: without limit.
        """
        tx_power_w = self.tx_power_w if work.tx_power_w is None else work.tx_power_w
        send_w = tx_power_w + self.cpu.static_power_w
        start_s = sim.now_s
        upload = self.uplink.open(work.payload_bits, tx_power_w, work.global_round, work.edge_round)
        try:
            if upload.granted is not None:
                yield from sim.spend(self.name, "wait", upload.granted)
            sending = sim.spend(self.name, "send", upload.done, send_w)
            if most_j is None:
                yield from sending
            else:
                (sent,) = yield from sim.with_deadline([sending], _seconds(most_j, send_w), "energy budget")
                return sent
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
                    arrived=upload.done.processed,
                )
            )


def _seconds(energy_j: float, power_w: float) -> float | None:
    """How long the energy lasts; None: for ever."""
    return energy_j / power_w if power_w > 0.0 else None


@attrs.frozen(kw_only=True, eq=False)
class EdgeServer:
    """The server of one cell.

    Attributes:
        clients: In the order of their names.
        receptions: Sums over the air that nobody has asked for yet, of all cells.
    """

    name: str
    clients: tuple[Client, ...]
    band: Band | ResourceBlocks | OverTheAir
    backhaul: Topology
    receptions: WeakSet[Reception] = attrs.field(factory=WeakSet)

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
        self.band.begin_round(len(assignments), start_s + (math.inf if deadline_s is None else deadline_s))
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
        """The mean of the updates of an edge round; what adds up in the air arrives with noise."""
        band = self.band
        if not isinstance(band, OverTheAir):
            return mean(updates)
        senders = {update.client for update in updates}
        clients = [client for client in self.clients if client.name in senders]

        def channels() -> np.ndarray:
            uplinks = [(client.uplink, client.tx_power_w) for client in clients]
            return np.array(
                [
                    uplink.received(tx_power_w, global_round, edge_round)
                    for uplink, tx_power_w in uplinks
                    if isinstance(uplink, RadioUplink)
                ]
            )

        reception = Reception(channels, band.settings, self.receptions)
        rate = updates[0].learning_rate
        key = sim.key(self.name, "receiver noise", global_round, edge_round)
        return noisy_mean(updates, lambda: rate * reception.noise_deviation, key)

    def receive(self, sim: Simulation, bits: int) -> Story:
        """Get a model from the cloud."""
        yield from sim.spend(self.name, "receive", self.backhaul.backhaul_s(bits))

    def send(self, sim: Simulation, bits: int) -> Story:
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
    """

    edges: tuple[EdgeServer, ...]
    learner: Learner
    shape: NetworkShape
    num_global_rounds: int
    bits_per_parameter: int
    cycles_follow: CyclesFollow
    evaluate_every: int | None
    listener: Callable[[RoundReport], None]
    known: Checkpoint | None = None
    name: str = CLOUD

    def initial_model(self, sim: Simulation) -> PendingModel:
        """The global model before the first round, evaluated as round 0."""
        model = self.learner.initial_model(sim.key(self.name, "initial weights"))
        return self._report(sim, 0, model)

    def share_of_cycles(self, part: Part | None) -> float:
        """What a local step on a part costs of one on the whole model."""
        if part is None:
            return 1.0
        if self.cycles_follow == "flops":
            return self.learner.training_flops(part) / self.learner.training_flops()
        return self.shape.num_parameters(part) / self.shape.num_parameters()

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
