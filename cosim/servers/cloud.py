"""Cloud: the server that holds the learner and closes global rounds."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import attrs

from cosim.checkpoint import Checkpoint
from cosim.devices.client import Assignment, Client, Request
from cosim.devices.compute import CyclesFollow
from cosim.journal import Journal
from cosim.learning.graph.pending import PendingModel, PendingState, PendingUpdate
from cosim.learning.local_training import LocalTraining
from cosim.learning.network.submodels import NetworkShape, Part
from cosim.links.codec import Codec, Payload
from cosim.records import Evaluation, Round
from cosim.servers.edge import EdgeServer
from cosim.simulation import Simulation
from cosim.topology.topology import CLOUD

if TYPE_CHECKING:
    from cosim.learning.learner import Learner


class RoundReport(NamedTuple):
    """What a listener hears when a global round has ended.

    With an evaluation, the model and what the nodes keep (`states`) are computed.
    """

    global_round: int
    time_s: float
    evaluation: Evaluation | None
    model: PendingModel
    states: Mapping[str, PendingState]


@attrs.frozen(kw_only=True, eq=False)
class Cloud:
    """The cloud server: its cells, the learner, and when the global model is evaluated.

    Attributes:
        known: A checkpoint of this very run, up to which nothing is learned again; None: from the beginning.
        states: What each node keeps from one training to its next, by name; the nodes' own dictionary.
        journal: What is read from weights on the way.
    """

    edges: tuple[EdgeServer, ...]
    learner: "Learner"
    shape: NetworkShape
    num_global_rounds: int
    codec: Codec
    cycles_follow: CyclesFollow
    evaluate_every: int | None
    listener: Callable[[RoundReport], None]
    known: Checkpoint | None = None
    states: dict[str, PendingState] = attrs.field(factory=dict)
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
        """Cycles of one local step of a client, by the rule of `cosim.devices.compute`.

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

    def request(self, start: PendingModel, num_steps: int, training: LocalTraining) -> Request:
        """What clients are asked for: so many steps by a rule, from a model.

        Where nothing is learned one update stands for all, since nobody will read it.
        """
        update = partial(PendingUpdate, start=start, num_steps=num_steps, training=training)
        if self.evaluate_every is None:
            stand_in = update(client=self.name, samples=[0], key=0)
            return lambda sim, client, assignment: stand_in

        def of_client(sim: Simulation, client: Client, assignment: Assignment) -> PendingUpdate:
            key = sim.key(client.name, "mini-batches", assignment.job.global_round, assignment.job.edge_round)
            state = client.states.get(client.name) if training.keeps_state else None
            return update(client=client.name, samples=client.samples, key=key, state=state)

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
            self.states.clear()
            self.states.update({name: self.learner.stored_state(of) for name, of in known.states.items()})
        if self.evaluate_every is None:
            model = PendingModel()  # nobody will read it, so let go of what it would be made of
        evaluation = None
        last = global_round == self.num_global_rounds
        if self.evaluate_every is not None and (last or global_round % self.evaluate_every == 0):
            if known:
                evaluation = next(row for row in known.evaluations if row.version == global_round)
            else:
                self.learner.compute(model, *self.states.values())
                scores, measures = self.learner.evaluate(model), self.learner.task.measures()
                evaluation = Evaluation(sim.now_s, global_round, scores, measures)
            sim.trace.record(evaluation)
        self.listener(RoundReport(global_round, sim.now_s, evaluation, model, dict(self.states)))
        return model
