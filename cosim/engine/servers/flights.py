"""Flights: the jobs that an asynchronous server has given, and the models that they still need.

A trainee that is given several jobs does one after the other. A job for an absent trainee waits until it is
back.
"""

from collections import Counter, deque
from collections.abc import KeysView, Mapping

import attrs

from cosim.clock.side_by_side import Dropped, outcome_of
from cosim.clock.simulation import Process, Simulation
from cosim.names import by_number
from cosim.protocols.asynchronous.trainee import Flight, Trainee
from cosim.records.rows import END_OF_RUN
from cosim.values.pending import PendingModel


@attrs.define(eq=False, slots=False)
class Flights:
    """Flights of one server, from when a job is given until its update is in a version, or is lost.

    Args:
        living: Where it names the models that it still needs, for checkpoints.
    """

    _sim: Simulation
    _server: str
    _trainees: Mapping[str, Trainee]
    _living: dict[str, PendingModel]

    def __attrs_post_init__(self) -> None:
        self._ended, self._bell = list[Flight](), self._sim.event()
        self._queues: dict[str, deque[Flight]] = {}
        self._num_given: Counter[str] = Counter()
        self._num_started: Counter[int] = Counter()

    @property
    def num_open(self) -> int:
        """Number of flights that are under way, or wait to be applied."""
        return self._num_started.total()

    @property
    def at_work(self) -> KeysView[str]:
        """Names of trainees that have a job."""
        return self._queues.keys()

    def begin(self, name: str, model: PendingModel, version: int) -> None:
        """Give a trainee a job, which it begins at once or after its earlier jobs."""
        self._num_started[version] += 1
        self._living[f"{self._server} {version}"] = model
        flight = Flight(
            client=name, number=self._num_given[name], model=model, version=version, start_s=self._sim.now_s
        )
        self._num_given[name] += 1
        if name in self._queues:
            self._queues[name].append(flight)
        else:
            self._queues[name] = deque([flight])
            self._sim.start(self._jobs(self._trainees[name]))

    def ring(self) -> None:
        """Let `ended` return at the end of this instant."""
        if not self._bell.triggered:
            self._bell.succeed()

    def ended(self) -> Process:
        """Wait until flights end or the bell rings; returns the ended ones in the order of numbers."""
        yield self._bell
        yield self._sim.end_of_own_instant()
        self._bell = self._sim.event()
        flights, self._ended = self._ended, []
        return sorted(flights, key=lambda flight: (by_number(flight.client), flight.number))

    def let_go(self, flight: Flight) -> None:
        """Forget a flight, and the models that are no longer needed."""
        self._num_started[flight.version] -= 1
        if not self._num_started[flight.version]:
            del self._num_started[flight.version]
            del self._living[f"{self._server} {flight.version}"]
        self._living.pop(self._result_name(flight), None)

    def _jobs(self, trainee: Trainee) -> Process:
        """Do the jobs of one, first come first served, until there is none."""
        queue = self._queues[trainee.name]
        while queue:
            while not trainee.is_present:
                yield trainee.availability.change()  # type: ignore[union-attr]
            flight = queue.popleft()
            flight.result = yield from outcome_of(trainee.run(self._sim, flight))
            flight.arrival_s = self._sim.now_s
            if flight.result == Dropped(END_OF_RUN):
                return
            if isinstance(flight.result, PendingModel):
                self._living[self._result_name(flight)] = flight.result
            self._ended.append(flight)
            self.ring()
        del self._queues[trainee.name]

    def _result_name(self, flight: Flight) -> str:
        return f"{self._server} from {flight.client} {flight.number}"
