"""Asynchronous server: applies what arrives, when a rule says so, and lets others start meanwhile.

It stands at the cloud or at an edge, and what it hands its model to are clients or whole cells (`Trainee`). A
trainee that starts gets the newest version of its model. At the end of every instant at which a trainee has
reported, come or left, the updates are applied in the order of numbers, each as the rule has it, and then
other trainees start.

Records written: `Version`, one per version, and `Applied`, one per update that is in one.

Scope and limitations: the server's computing takes no time. What has arrived and is in no version when the
run ends is not applied.
"""

from collections import deque
from collections.abc import Callable, Sequence

from cosim.clock.instants import instant_after
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Process, Simulation
from cosim.configuration import ConfigurationError
from cosim.engine.servers.flights import Flights
from cosim.jobs.cell import Availability
from cosim.names import by_number
from cosim.protocols.asynchronous.changes import Change
from cosim.protocols.asynchronous.rule import Arrival, Rule
from cosim.protocols.asynchronous.starts import Idle
from cosim.protocols.asynchronous.trainee import Flight, Trainee
from cosim.records.rows import Applied, Version
from cosim.schedules.port import in_rounds
from cosim.values.pending import PendingModel

MANY_JOBS, MANY_EACH = 100_000, 100
"""Lost jobs in a row, in all and per trainee, after which no update is expected any more."""


class AsynchronousServer:
    """State and steps of an asynchronous server (`cosim.protocols.servers`, `Starter`).

    Args:
        model: Version 0.
        trainees: Trainees that may be given jobs, in the order of their numbers.
        living: Where it names the models that it still needs, for checkpoints.
        new_version: Records a version; returns the model that training continues from.
    """

    def __init__(
        self,
        sim: Simulation,
        name: str,
        rule: Rule,
        model: PendingModel,
        trainees: Sequence[Trainee],
        living: dict[str, PendingModel],
        new_version: Callable[[PendingModel], PendingModel],
    ) -> None:
        self.name, self.model, self.version = name, model, 0
        self.version_s, self.num_applied = sim.now_s, 0
        there = [trainee.name for trainee in trainees if trainee.is_present]
        self.idle = Idle(there, sim.stream(name, "starts"))
        self._sim, self._rule, self._new_version = sim, rule, new_version
        self._rule_in = in_rounds(rule)
        self._trainees = {trainee.name: trainee for trainee in trainees}
        self.names = list(self._trainees)
        self._places = {trainee: place for place, trainee in enumerate(self.names)}
        self._flights = Flights(sim, name, self._trainees, living)
        self._arrived: deque[Flight] = deque()
        self._waiting: list[Flight] = []
        self._reported: list[str] = []
        self._changed: list[str] = []
        self._num_calls = self._num_lost = 0
        self._why_lost = ""
        self._is_tick = self._is_released = self._is_stopped = self._has_begun = False

    @property
    def num_at_work(self) -> int:
        return len(self._flights.at_work) + len(self._reported)

    def serve(self, is_over: Callable[[], bool], *, ends_anyway: bool) -> Process:
        self._is_stopped = False
        while True:
            self._apply(is_over)
            if self._is_stopped or is_over():
                return self.model
            if not ends_anyway:
                self._check_progress()
            self._let_start()
            self._arrived += yield from self._flights.ended()

    def stop(self) -> None:
        self._is_stopped = True
        self._flights.ring()

    def take(self, model: PendingModel) -> None:
        self.model, self.version, self.version_s = model, self.version + 1, self._sim.now_s
        self._record_version(num_updates=0)

    def start(self, name: str) -> None:
        self._flights.begin(name, self.model, self.version)

    def call(self) -> None:
        self._num_calls += 1
        self._flights.ring()

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
            self._flights.let_go(flight)
        else:
            self._num_lost = 0
            self._waiting.append(flight)

    def _check_progress(self) -> None:
        if self._num_lost >= max(MANY_JOBS, MANY_EACH * len(self.names)):
            last = f'(at {self._sim.now_s:.4g} s, the last of them: "{self._why_lost}")'
            raise ConfigurationError(
                f"{self.name}: the last {self._num_lost:,} jobs brought no update {last}, so the run "
                "would never end. Use batteries and deadlines that leave time for a job, or end = "
                "AfterSeconds."
            )

    def _make_version(self) -> None:
        """Apply what waits; nothing here holds its updates any more when they are first read."""
        self.model = self._new_version(self._moved())

    def _moved(self) -> PendingModel:
        flights, self._waiting = self._waiting, []
        arrivals = [
            Arrival(self._places[f.client], Change(f.model, f.result), self.version - f.version)  # type: ignore[arg-type]
            for f in flights
        ]
        self.version, self.version_s = self.version + 1, self._sim.now_s
        self.num_applied += len(flights)
        rule, before = self._rule_in(self.model.round), self.model
        model, weights = rule.moved(before, arrivals, len(self.names))
        model.version = before.version  # also where nothing of it is left in the next
        for flight, arrival, weight in zip(flights, arrivals, weights, strict=True):
            self._sim.recorder.record(
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
            self._flights.let_go(flight)
        self._record_version(len(flights))
        return model

    def _record_version(self, num_updates: int) -> None:
        num_open = self._flights.num_open
        self._sim.recorder.record(Version(self.name, self.version, self.version_s, num_updates, num_open))

    def _let_start(self) -> None:
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
                if name not in self._flights.at_work and self._trainees[name].is_present:
                    self.idle.add(name)
            rule.starts.replace(sim, self, reported)
        self._is_released = False
        if came := self._came():
            rule.starts.came(sim, self, came)
        for _ in range(self._num_calls):
            self._num_calls -= 1
            rule.starts.called(sim, self)

    def _comings_and_goings(self, name: str, availability: Availability) -> Process:
        while True:
            yield availability.change()
            self._changed.append(name)
            self._flights.ring()

    def _came(self) -> list[str]:
        """Trainees that have come back and are idle now; the ones that have left are forgotten."""
        changed, self._changed = set(self._changed), []
        came = []
        for name in sorted(changed - self._flights.at_work - set(self._reported), key=by_number):
            if not self._trainees[name].is_present:
                self.idle.take(name)
            elif name not in self.idle:
                self.idle.add(name)
                came.append(name)
        return came

    def _ticks(self, period_s: float) -> Process:
        """Ticks, until one after which no trainee is ever there again."""
        start_s, number, is_last = self._sim.now_s, 0, False
        while not is_last:
            number, is_last = number + 1, all(trainee.is_gone for trainee in self._trainees.values())
            yield self._sim.at(instant_after(start_s, number * period_s))
            self._is_tick = True
            self._flights.ring()
