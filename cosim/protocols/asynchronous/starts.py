"""Starts: who begins a job at an asynchronous server, and when.

The server asks at its beginning, and at the end of every instant at which somebody has reported, after the
versions that were made then. Who is drawn, is drawn from a stream of the server's name.

Idle is who is there and has no job. A client that leaves in the middle of a job has reported; it is idle when
it is back.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import Port, at_least, knob, not_empty, part, positive, refuse


class Idle:
    """Those who are there and have nothing to do, by name.

    Drawing one does not hang on how many there are.
    """

    def __init__(self, names: Sequence[str], rng: np.random.Generator) -> None:
        self._names, self._rng = list(names), rng
        self._places = {name: place for place, name in enumerate(self._names)}

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def add(self, name: str) -> None:
        """Take one in, unless it is there."""
        if name in self._places:
            return
        self._places[name] = len(self._names)
        self._names.append(name)

    def drawn(self) -> str:
        """Take one out, drawn uniformly."""
        return self.take(self._names[int(self._rng.integers(len(self._names)))])

    def take(self, name: str) -> str:
        """Take this one out, if it is in."""
        if name not in self._places:
            return name
        place, last = self._places.pop(name), self._names.pop()
        if last != name:
            self._names[place], self._places[last] = last, place
        return name


class Starter(Protocol):
    """What rules of starting see of a server."""

    @property
    def name(self) -> str:
        """Its own."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Of those who may be given jobs."""
        ...

    @property
    def idle(self) -> Idle:
        """Those of them who are there and have none."""
        ...

    @property
    def num_at_work(self) -> int:
        """How many of them have one, or have reported and are not replaced yet."""
        ...

    def start(self, name: str) -> None:
        """Let one begin a job from the newest version, or queue it behind the job that it has.

        The job of who is away waits for it, and keeps its version.
        """
        ...

    def call(self) -> None:
        """Ask the rule for starts at the end of this instant (`Starts.called`)."""
        ...


@part
class Starts(Port, ABC):
    """Who begins a job, and when."""

    def check(self, num_clients: int) -> None:
        """Refuse so many clients, before the clock starts.

        Raises:
            ConfigurationError: What does not fit, and the usual fix.
        """

    def most_at_once(self, num_clients: int) -> int:
        """How many of so many clients may be at work at the same time."""
        return num_clients

    @abstractmethod
    def begin(self, sim: Simulation, server: Starter) -> None:
        """Let those begin who begin with the run, or start a process that calls."""

    def replace(self, sim: Simulation, server: Starter, reported: Sequence[str]) -> None:
        """Let others begin for those who have reported, who are idle again unless they have left."""

    def came(self, sim: Simulation, server: Starter, came: Sequence[str]) -> None:
        """Let those begin who have come back and are idle, or others; unless a rule says so, nobody."""

    def called(self, sim: Simulation, server: Starter) -> None:
        """Answer a call of the rule's own process."""


@part
class Restarts(Starts):
    """Everyone, and everyone again as soon as it has reported, or is back."""

    @override
    def begin(self, sim: Simulation, server: Starter) -> None:
        """Everyone."""
        self.replace(sim, server, server.names)

    @override
    def replace(self, sim: Simulation, server: Starter, reported: Sequence[str]) -> None:
        """Those who have reported and are there."""
        for name in reported:
            if name in server.idle:
                server.start(server.idle.take(name))

    @override
    def came(self, sim: Simulation, server: Starter, came: Sequence[str]) -> None:
        """Those who have come."""
        self.replace(sim, server, came)


@part
class ConstantConcurrency(Starts):
    """Always so many: who has reported is replaced by one drawn from those idle, itself among them.

    Where nobody is idle, because others are away, a place stays open until one comes.

    Attributes:
        num_in_flight: M clients that are at work at any time. [FedBuff, Section 3: a knob of its own]
    """

    num_in_flight: int = knob(at_least(1), default=10)

    @override
    def check(self, num_clients: int) -> None:
        """Refuse more than there are."""
        if self.num_in_flight > num_clients:
            rule = f"there are {num_clients} clients, each of which has one job at a time"
            raise refuse(
                type(self), "num_in_flight", self.num_in_flight, rule, f"Use at most {num_clients} of them."
            )

    @override
    def most_at_once(self, num_clients: int) -> int:
        """So many, or all."""
        return min(self.num_in_flight, num_clients)

    @override
    def begin(self, sim: Simulation, server: Starter) -> None:
        """So many, or all that are there."""
        while server.num_at_work < self.num_in_flight and len(server.idle):
            server.start(server.idle.drawn())

    @override
    def replace(self, sim: Simulation, server: Starter, reported: Sequence[str]) -> None:
        """One for each place that is open."""
        self.begin(sim, server)

    @override
    def came(self, sim: Simulation, server: Starter, came: Sequence[str]) -> None:
        """One for each place that is open."""
        self.begin(sim, server)


@part
class PoissonStarts(Starts):
    """A Poisson process, each of whose points lets one begin, drawn from those idle; lost where nobody is.

    Attributes:
        rate_per_s: Points in a second. [no source]
    """

    rate_per_s: float = knob(positive, default=1.0)

    @override
    def begin(self, sim: Simulation, server: Starter) -> None:
        """Nobody yet."""
        sim.start(self._points(sim, server))

    def _points(self, sim: Simulation, server: Starter) -> Process:
        rng = sim.stream(server.name, "Poisson starts")
        while True:
            yield sim.timer(float(rng.standard_exponential()) / self.rate_per_s)
            server.call()

    @override
    def called(self, sim: Simulation, server: Starter) -> None:
        """One, if anybody is idle."""
        if len(server.idle):
            server.start(server.idle.drawn())


@part
class Dispatched(Starts):
    """Always so many jobs, each given to one drawn with its probability, where it may have to queue.

    Who is away is drawn as often; the job waits for it.

    Attributes:
        num_in_flight: Jobs m, those that queue among them. [no source]
        shares: Relative probability of each client, in the order of their numbers; none: equal. [no source]
    """

    num_in_flight: int = knob(at_least(1), default=10)
    shares: tuple[float, ...] | None = knob(not_empty, positive, default=None)

    @override
    def check(self, num_clients: int) -> None:
        """Refuse more or fewer probabilities than clients."""
        if self.shares is not None and len(self.shares) != num_clients:
            rule = f"{len(self.shares)} values for {num_clients} clients"
            raise refuse(type(self), "shares", self.shares, rule, "Use one for each, or none.")

    @override
    def most_at_once(self, num_clients: int) -> int:
        """So many, or all."""
        return min(self.num_in_flight, num_clients)

    def probabilities(self, num_clients: int) -> NDArray[np.float64]:
        """Of each client, shape (clients,)."""
        shares = np.ones(num_clients) if self.shares is None else np.array(self.shares)
        return shares / shares.sum()

    @override
    def begin(self, sim: Simulation, server: Starter) -> None:
        """So many."""
        self.replace(sim, server, [server.name] * self.num_in_flight)

    @override
    def replace(self, sim: Simulation, server: Starter, reported: Sequence[str]) -> None:
        """One for each."""
        rng, ends = sim.stream(server.name, "dispatch"), np.cumsum(self.probabilities(len(server.names)))
        for _ in reported:
            place = int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))
            server.start(server.names[place])
