"""Cloud: the server that holds the learner and closes global rounds (`cosim.protocols.servers`)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakValueDictionary

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Process, Simulation, process_of
from cosim.configuration import ConfigurationError
from cosim.ends.evaluation_times import EvaluationTimes
from cosim.ends.port import End, Progress
from cosim.engine.clients.fleet import Clients, Fleet
from cosim.engine.learning.own_models import OwnModels
from cosim.engine.servers.asynchronous import AsynchronousServer
from cosim.engine.servers.edge import EdgeServer
from cosim.engine.servers.next_round import NextRound
from cosim.engine.servers.server import Server
from cosim.engine.servers.workload import Workload
from cosim.engine.store.checkpoint import Checkpoint
from cosim.engine.store.journal import Journal
from cosim.jobs.cell import Client
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.names import CLOUD, codec_of, personal_of
from cosim.protocols.assignment import Assignment, Request
from cosim.protocols.asynchronous.rule import Rule
from cosim.protocols.asynchronous.trainee import Trainee
from cosim.recording.digest import Digest
from cosim.recording.kept_rows import Moment
from cosim.records.rows import Evaluation, Round
from cosim.tasks.metric import named_metrics
from cosim.training.port import LocalTraining
from cosim.values.combinations import ReceivedModel
from cosim.values.pending import PendingModel, PendingState, PendingUpdate
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.engine.learning.learner import Learner


ONE_SAMPLE = np.zeros(1, dtype=np.int64)
"""Samples of an update that stands for others; read-only, so none copies it."""
ONE_SAMPLE.flags.writeable = False


class StandIn:
    """Request of updates that are never read: one update, made when it is first asked for, stands for all."""

    def __init__(self, make: Callable[[], PendingUpdate]) -> None:
        self._make = make
        self._update: PendingUpdate | None = None

    def __call__(self, sim: Simulation, client: Client, assignment: Assignment) -> PendingUpdate:
        if self._update is None:
            self._update = self._make()
        return self._update


class VersionReport(NamedTuple):
    """Report to a listener about a new version of the global model, again if it turns out to be the last.

    With an evaluation, the model, what the nodes keep (`states`) and other models that are still needed
    (`living`) are computed; `trained` has the weights of updates that are trained and still needed. Which
    rows were whole then says `moment`.
    """

    progress: Progress
    evaluation: Evaluation | None
    model: PendingModel
    states: Mapping[str, PendingState] = MappingProxyType({})
    living: Mapping[str, PendingModel] = MappingProxyType({})
    trained: Mapping[str, Any] = MappingProxyType({})
    moment: Moment = Moment()

    @property
    def version(self) -> int:
        """The version; the global round, where each makes one."""
        return self.progress.version


@attrs.define(kw_only=True, eq=False)
class Cloud(Server):
    """The cloud server: its cells, the learner, and when the global model is evaluated.

    Attributes:
        own_models: What clients have in place of tensors of the global model.
        clock: What runs the edge rounds, events or arrays, and why.
        resumed: The checkpoint from which the run is resumed; nothing before it is learned again. None means
            a run from time 0.
        digest: Digest of the rows of the run, which its replay up to the checkpoint must repeat. None means
            that none is kept.
        listener: Called with a report on every version.
        journal: Numbers that events have read from weights.
        living: Other models than the global one from which a node has started or on which it works, by name.
    """

    edges: tuple[EdgeServer, ...]
    fleet: Fleet
    learner: "Learner"
    shape: NetworkShape
    end: End
    workload: Workload
    own_models: OwnModels
    evaluation: EvaluationTimes
    clock: tuple[Literal["events", "arrays"], str]
    resumed: Checkpoint | None = None
    digest: Digest | None = None
    name: str = CLOUD
    listener: Callable[[VersionReport], None] = attrs.field(default=lambda report: None, init=False)
    journal: Journal = attrs.field(init=False)
    living: dict[str, PendingModel] = attrs.field(factory=dict, init=False)
    last: VersionReport = attrs.field(init=False)
    _evaluated: Progress | None = attrs.field(default=None, init=False)
    _rest_j: float = attrs.field(default=0.0, init=False)
    _asked: WeakValueDictionary[str, PendingUpdate] = attrs.field(factory=WeakValueDictionary, init=False)

    def __attrs_post_init__(self) -> None:
        self.journal = Journal(self.resumed.journal if self.resumed else {})
        self.last = VersionReport(Progress(), None, PendingModel())

    @property
    def progress(self) -> Progress:
        return self.last.progress

    @property
    def is_over(self) -> bool:
        return self.end.is_reached(self.progress)

    def initial_model(self, sim: Simulation) -> PendingModel:
        model = self.learner.initial_model(sim.key(self.name, "initial weights"))
        return self._new_version(sim, Progress(evaluations=sim.recorder.evaluations), model)

    def global_rounds(self, sim: Simulation, one_round: Callable[[PendingModel, int], Process]) -> Process:
        model = self.initial_model(sim)
        while not self.is_over:
            start_s, number = sim.now_s, self.progress.num_global_rounds + 1
            process = process_of(one_round(model, number), "the function of a global round")
            model = self.close_round(sim, number, start_s, (yield from process))
        return model

    def sent_down(self, model: PendingModel) -> PendingModel:
        codec = self.workload.model_codec
        return model if codec is None or not self.evaluation.learns else ReceivedModel(model, codec)

    def request(
        self, model: PendingModel, num_steps: int | Callable[[str], int], training: LocalTraining
    ) -> Request:
        codec = self.workload.codec if self.workload.codec.form != "uncoded" else None
        training = training.in_round(model.round)
        update = partial(PendingUpdate, model=model, round=model.round, training=training, codec=codec)
        if not self.evaluation.learns:
            return StandIn(partial(update, client=self.name, num_steps=1, samples=ONE_SAMPLE, key=0))

        if self.workload.model_codec is not None and not isinstance(model, ReceivedModel):
            raise ConfigurationError(
                "Cloud.request: clients would start from a model that was not sent down, but "
                f"{type(self.workload.model_codec).__name__} changes models that are sent. Call model "
                "= cloud.sent_down(model) before a round."
            )

        nothing_yet = PendingState.of({}) if self.shape.personal else None

        def of_client(sim: Simulation, client: Client, assignment: Assignment) -> PendingUpdate:
            key = sim.key(client.name, "mini-batches", assignment.job.number)
            asked = update(
                client=client.name,
                samples=client.samples,
                num_steps=num_steps if isinstance(num_steps, int) else num_steps(client.name),
                key=key,
                state=self.states.get(client.name) if training.keeps_state else None,
                codec_state=self.states.get(codec_of(client.name)),
                own=self.states.get(personal_of(client.name), nothing_yet),
            )
            self._asked[f"{client.name} {assignment.job.number}"] = asked
            return asked

        return of_client

    def coming_round(
        self,
        edge: EdgeServer,
        clients: Clients,
        model: PendingModel,
        job: Job,
        payload: Payload,
        training_s_of: Callable[[Clients], NDArray[np.float64]],
    ) -> NextRound:
        return NextRound(self, edge, clients, model, job, payload, training_s_of)

    def asynchronous_server(
        self,
        sim: Simulation,
        name: str,
        rule: Rule,
        model: PendingModel,
        trainees: Sequence[Trainee],
    ) -> AsynchronousServer:
        noted = partial(self.new_version, sim) if name == self.name else lambda model: model
        return AsynchronousServer(sim, name, rule, model, trainees, self.living, noted)

    def losses(self, model: PendingModel, clients: Sequence[Client]) -> NDArray[np.float64]:
        needed = [self.own_models.states(client.name, self.states) for client in clients]
        self.learner.compute(model, *chain.from_iterable(needed))
        own = [self.own_models.tensors(client.name, self.states) for client in clients]
        return self.learner.losses(model, [client.samples for client in clients], own)

    def close_round(
        self, sim: Simulation, global_round: int, start_s: float, model: PendingModel
    ) -> PendingModel:
        num_edges = len(self.edges)
        sim.recorder.record(
            Round("global", self.name, global_round, -1, start_s, sim.now_s, *[num_edges] * 4)
        )
        return self.new_version(sim, model, num_global_rounds=global_round)

    def new_version(
        self, sim: Simulation, model: PendingModel, *, num_global_rounds: int | None = None
    ) -> PendingModel:
        before = self.progress
        progress = Progress(
            version=before.version + 1,
            num_global_rounds=before.num_global_rounds if num_global_rounds is None else num_global_rounds,
            num_updates=sim.recorder.num_arrived,
            time_s=sim.now_s,
            evaluations=sim.recorder.evaluations,
        )
        return self._new_version(sim, progress, model)

    def _new_version(self, sim: Simulation, progress: Progress, model: PendingModel) -> PendingModel:
        resumed = self.resumed
        if self.evaluation.learns:
            others = {name: other for name, other in self.living.items() if other is not model}
        else:
            others = dict(self.living)
            model = PendingModel()  # it is never read, so drop what it would be made of
        model.version = progress.version
        moment = sim.recorder.moment(progress.time_s, progress.num_global_rounds)
        if resumed and progress.version == resumed.version:
            resumed.check_rows(progress.time_s, {} if self.digest is None else self.digest.at(moment))
            resumed.restore(self.learner, model, self.states, others, self._asked)
        self.last = VersionReport(progress, None, model, dict(self.states), others, moment=moment)
        if self.evaluation.learns:
            self._rest_j = sim.recorder.rest_j(sim.now_s)
        before = self._evaluated
        if before is None or self.is_over or self.evaluation.is_due(progress, before):
            self._evaluate(sim)
        sim.recorder.end_stretch(progress.time_s)
        self.listener(self.last)
        return model

    def _evaluate(self, sim: Simulation) -> None:
        """Evaluate the last version, where anything is learned."""
        resumed, last = self.resumed, self.last
        progress = self._evaluated = last.progress
        if not self.evaluation.learns:
            return
        if resumed and progress.version <= resumed.version:
            evaluation = resumed.evaluation_of(progress.version, progress.time_s)
        else:
            self.learner.compute(last.model, *last.states.values(), *last.living.values())
            metrics = named_metrics(self.learner.task.metrics)
            are_asked = any(metric.is_personal for metric in metrics)
            own = self.own_models.of_all(last.states) if are_asked else None
            scores, measures = self.learner.evaluate(last.model, own), self.learner.measures
            evaluation = Evaluation(progress.time_s, progress.version, scores, measures, self._rest_j)
        sim.recorder.record(evaluation)
        trained = self.learner.trained(self._asked)
        self.last = last._replace(evaluation=evaluation, trained=trained)

    def finish(self, sim: Simulation) -> None:
        """Evaluate the last version where it was not known that it would be the last."""
        if self.evaluation.learns and self._evaluated != self.progress:
            self._evaluate(sim)
            self.listener(self.last)
