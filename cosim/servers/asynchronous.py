"""Asynchronous server: applies what arrives, when a rule says so, and lets others start meanwhile.

It stands at the cloud or at an edge, and what it hands its model to are clients or whole cells (`Trainee`).
Whoever starts gets the newest version of its model. At the end of every instant at which somebody has
reported, come or left, the updates are applied in the order of numbers, each as the rule has it, and then
others start. A job that is given to somebody who is away waits for him.

Records written: `Version`, one per version, and `Applied`, one per update that is in one.

Scope and limitations: the server's computing takes no time. What has arrived and is in no version when the
run ends is not applied.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import attrs

from cosim.configuration import ConfigurationError
from cosim.devices.availability import Availability
from cosim.learning.graph.combinations import Change
from cosim.learning.graph.pending import PendingModel, PendingUpdate
from cosim.names import by_number
from cosim.records import END_OF_RUN, Applied, Version
from cosim.servers.inbox import Inbox
from cosim.servers.starts import Idle, Starts
from cosim.simulation import Dropped, Process, Simulation, outcome_of

MANY_JOBS, MANY_EACH = 100_000, 100
"""Jobs in a row, in all and for each who may be given some, after which nobody expects an update any more."""


@attrs.define(eq=False, kw_only=True)
class Flight:
    """A job that somebody has been given.

    Attributes:
        client: Who has it: a client, or the edge server of a cell.
        number: Which of its jobs, from 0.
        start: The model that it starts from.
        version: Which of the server's versions that is.
        result: What came of it; None: it is under way.
    """

    client: str
    number: int
    start: PendingModel
    version: int
    start_s: float
    arrival_s: float = 0.0
    result: PendingUpdate | PendingModel | Dropped | None = None


@attrs.frozen(kw_only=True, eq=False)
class Trainee:
    """Who may be given jobs.

    Attributes:
        edge: The edge server of its cell; itself, where it is one.
        play: Does a job; returns an update or a model, as it reaches the server, or `Dropped`.
        availability: Whether it is there; None: it always is.
    """

    name: str
    edge: str
    play: Callable[[Simulation, Flight], Process]
    availability: Availability | None = None

    @property
    def is_there(self) -> bool:
        """Whether it is there at this instant."""
        return self.availability is None or self.availability.is_there


class Arrival(NamedTuple):
    """An update that is about to be applied.

    Attributes:
        place: Which of those who may be given jobs has made it, from 0.
        staleness: Versions made since it started.
    """

    place: int
    change: Change
    staleness: int


class Rule(Protocol):
    """What makes an asynchronous server one of its kind."""

    @property
    def starts(self) -> Starts:
        """Who begins, and when."""
        ...

    @property
    def period_s(self) -> float | None:
        """Time between versions, for which those wait who have reported; None: `is_due` says when."""
        ...

    def is_due(self, num_waiting: int) -> bool:
        """Whether so many updates make a version."""
        ...

    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """The next version, and the weight of each update in it.

        Args:
            arrivals: In the order in which they came, at least one.
            num_clients: Those who may be given jobs.
        """
        ...


class AsynchronousServer:
    """What an asynchronous server keeps, and what it does.

    Args:
        name: Of the server that it is.
        model: Version 0.
        trainees: Who may be given jobs, in the order of their numbers.
        living: Where it names the models that it still needs, for checkpoints.
        new_version: Takes note of a version; returns the model to go on with.

    Attributes:
        names: Of the trainees.
        idle: Those that are there and have no job.
        version: Of the model.
        version_s: When it was made.
        num_applied: Updates in its versions.
    """

    def __init__(
        self,
        sim: Simulation,
        name: str,
        rule: Rule,
        model: PendingModel,
        trainees: Sequence[Trainee],
        living: dict[str, PendingModel],
        new_version: Callable[[PendingModel], PendingModel] = lambda model: model,
    ) -> None:
        self.name, self.model, self.version = name, model, 0
        self.version_s, self.num_applied = sim.now_s, 0
        self.names = [trainee.name for trainee in trainees]
        there = [trainee.name for trainee in trainees if trainee.is_there]
        self.idle = Idle(there, sim.stream(name, "starts"))
        self._sim, self._rule, self._new_version, self._living = sim, rule, new_version, living
        self._trainees: Mapping[str, Trainee] = {trainee.name: trainee for trainee in trainees}
        self._places = {trainee: place for place, trainee in enumerate(self.names)}
        self._inbox: Inbox[Flight] = Inbox(sim)
        self._queues: dict[str, deque[Flight]] = {}
        self._num_jobs: Counter[str] = Counter()
        self._num_started: Counter[int] = Counter()
        self._arrived: deque[Flight] = deque()
        self._waiting: list[Flight] = []
        self._reported: list[str] = []
        self._changed: list[str] = []
        self._num_calls = self._num_lost = 0
        self._why_lost = ""
        self._is_tick = self._is_released = self._is_stopped = self._has_begun = False

    @property
    def num_at_work(self) -> int:
        """Those who have a job, or wait for the next tick after one."""
        return len(self._queues) + len(self._reported)

    def serve(self, is_over: Callable[[], bool], *, ends_anyway: bool) -> Process:
        """Apply what arrives and let others start, until it is over; returns the model.

        What is under way then goes on, and is waited for when the server serves again.

        Args:
            is_over: Asked whenever there is a version; `stop` ends it at another instant.
            ends_anyway: Somebody ends it by the clock, whether updates arrive or not.

        Raises:
            ConfigurationError: Updates have to end it, and of very many jobs in a row none has brought one.
        """
        self._is_stopped = False
        while True:
            self._apply(is_over)
            if self._is_stopped or is_over():
                return self.model
            if not ends_anyway:
                self._check_progress()
            self._let_start()
            self._arrived += _in_order((yield from self._inbox.received()))

    def stop(self) -> None:
        """Let it be over at the end of this instant."""
        self._is_stopped = True
        self._inbox.ring()

    def take(self, model: PendingModel) -> None:
        """Go on from another model, which is a version of its own."""
        self.model, self.version, self.version_s = model, self.version + 1, self._sim.now_s
        self._record_version(num_updates=0)

    def start(self, name: str) -> None:
        """Let one begin a job from the newest version, or queue it behind the job that it has."""
        self._num_started[self.version] += 1
        self._living[f"{self.name} {self.version}"] = self.model
        flight = Flight(
            client=name,
            number=self._num_jobs[name],
            start=self.model,
            version=self.version,
            start_s=self._sim.now_s,
        )
        self._num_jobs[name] += 1
        if name in self._queues:
            self._queues[name].append(flight)
        else:
            self._queues[name] = deque([flight])
            self._sim.start(self._jobs(self._trainees[name]))

    def call(self) -> None:
        """Ask the rule for starts at the end of this instant."""
        self._num_calls += 1
        self._inbox.ring()

    def _jobs(self, trainee: Trainee) -> Process:
        """Do the jobs of one, first come first served, until there is none."""
        queue = self._queues[trainee.name]
        while queue:
            while not trainee.is_there:
                yield trainee.availability.change()  # type: ignore[union-attr]
            flight = queue.popleft()
            flight.result = yield from outcome_of(trainee.play(self._sim, flight))
            flight.arrival_s = self._sim.now_s
            if flight.result == Dropped(END_OF_RUN):
                return
            if isinstance(flight.result, PendingModel):
                self._living[self._result_name(flight)] = flight.result
            self._inbox.put(flight)
        del self._queues[trainee.name]

    def _result_name(self, flight: Flight) -> str:
        return f"{self.name} from {flight.client} {flight.number}"

    def _apply(self, is_over: Callable[[], bool]) -> None:
        """Apply what has arrived, one after the other, as long as it is not over."""
        while self._arrived and not is_over():
            self._take_in(self._arrived.popleft())
            if self._waiting and self._rule.is_due(len(self._waiting)):
                self._make_version()
        if self._is_tick and not is_over():
            self._is_tick, self._is_released = False, True
            if self._waiting:
                self._make_version()

    def _take_in(self, flight: Flight) -> None:
        self._reported.append(flight.client)
        if isinstance(flight.result, Dropped):
            self._num_lost, self._why_lost = self._num_lost + 1, flight.result.reason
            self._let_go(flight)
        else:
            self._num_lost = 0
            self._waiting.append(flight)

    def _check_progress(self) -> None:
        if self._num_lost >= max(MANY_JOBS, MANY_EACH * len(self.names)):
            last = f'(at {self._sim.now_s:.4g} s, the last of them: "{self._why_lost}")'
            raise ConfigurationError(
                f"{self.name}: the last {self._num_lost:,} jobs brought no update {last}, so the run does "
                "not come to its end. Usual fix: batteries and deadlines that leave time for a job, or end = "
                "AfterSeconds."
            )

    def _make_version(self) -> None:
        """Apply what waits; nothing here holds its updates any more when they are first read."""
        self.model = self._new_version(self._moved())

    def _moved(self) -> PendingModel:
        flights, self._waiting = self._waiting, []
        arrivals = [
            Arrival(self._places[f.client], Change(f.start, f.result), self.version - f.version)  # type: ignore[arg-type]
            for f in flights
        ]
        self.version, self.version_s = self.version + 1, self._sim.now_s
        self.num_applied += len(flights)
        model, weights = self._rule.moved(self.model, arrivals, len(self.names))
        for flight, arrival, weight in zip(flights, arrivals, weights, strict=True):
            self._sim.trace.record(
                Applied(
                    server=self.name,
                    client=flight.client,
                    edge=self._trainees[flight.client].edge,
                    job=flight.number,
                    started_version=flight.version,
                    made_version=self.version,
                    staleness=arrival.staleness,
                    weight=weight,
                    start_s=flight.start_s,
                    arrival_s=flight.arrival_s,
                    applied_s=self._sim.now_s,
                )
            )
            self._let_go(flight)
        self._record_version(len(flights))
        return model

    def _record_version(self, num_updates: int) -> None:
        in_flight = self._num_started.total()
        self._sim.trace.record(Version(self.name, self.version, self.version_s, num_updates, in_flight))

    def _let_go(self, flight: Flight) -> None:
        """Forget the versions that nobody needs any more."""
        self._num_started[flight.version] -= 1
        if not self._num_started[flight.version]:
            del self._num_started[flight.version]
            del self._living[f"{self.name} {flight.version}"]
        self._living.pop(self._result_name(flight), None)

    def _let_start(self) -> None:
        """Let others begin for those who have reported."""
        rule, sim = self._rule, self._sim
        if not self._has_begun:
            self._has_begun = True
            if rule.period_s is not None:
                sim.start(self._ticks(rule.period_s))
            for trainee in self._trainees.values():
                if trainee.availability is not None:
                    sim.start(self._comings_and_goings(trainee.name, trainee.availability))
            rule.starts.begin(sim, self)
        if rule.period_s is None or self._is_released:
            reported, self._reported = self._reported, []
            for name in reported:
                if name not in self._queues and self._trainees[name].is_there:
                    self.idle.add(name)
            rule.starts.replace(sim, self, reported)
        self._is_released = False
        if came := self._came():
            rule.starts.came(sim, self, came)
        for _ in range(self._num_calls):
            self._num_calls -= 1
            rule.starts.called(sim, self)

    def _comings_and_goings(self, name: str, availability: Availability) -> Process:
        """Take note of when somebody comes or leaves."""
        while True:
            yield availability.change()
            self._changed.append(name)
            self._inbox.ring()

    def _came(self) -> list[str]:
        """Those who have come and are idle now; forgets who has left."""
        changed, self._changed = set(self._changed), []
        came = []
        for name in sorted(changed - self._queues.keys() - set(self._reported), key=by_number):
            if not self._trainees[name].is_there:
                self.idle.take(name)
            elif name not in self.idle:
                self.idle.add(name)
                came.append(name)
        return came

    def _ticks(self, period_s: float) -> Process:
        start_s, number = self._sim.now_s, 0
        while True:
            number += 1
            yield self._sim.at(start_s + number * period_s)
            self._is_tick = True
            self._inbox.ring()


def _in_order(flights: list[Flight]) -> list[Flight]:
    """By numbers."""
    return sorted(flights, key=lambda flight: (by_number(flight.client), flight.number))
