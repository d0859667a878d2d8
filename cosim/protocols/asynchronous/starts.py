"""Starts: the port of the rule that starts jobs at an asynchronous server.

The server asks when it begins, and at the end of every instant at which a trainee has reported, after the
versions of that instant were made. Draws are from a stream of the server's name.

A trainee is idle if it is present and has no job. A client that leaves during a job has reported; it is idle
when it is back.
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
    """Trainees that are present and have no job, by name.

    The time of a draw does not depend on their number.
    """

    def __init__(self, names: Sequence[str], rng: np.random.Generator) -> None:
        self._names, self._rng = list(names), rng
        self._places = {name: place for place, name in enumerate(self._names)}

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def add(self, name: str) -> None:
        """Add a trainee, unless it is already in."""
        if name in self._places:
            return
        self._places[name] = len(self._names)
        self._names.append(name)

    def drawn(self) -> str:
        """Remove a trainee, drawn uniformly, and return it."""
        return self.take(self._names[int(self._rng.integers(len(self._names)))])

    def take(self, name: str) -> str:
        """Remove this trainee, if it is in."""
        if name not in self._places:
            return name
        place, last = self._places.pop(name), self._names.pop()
        if last != name:
            self._names[place], self._places[last] = last, place
        return name


class Starter(Protocol):
    """An asynchronous server as rules for starts see it."""

    @property
    def name(self) -> str:
        """Name of the server."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Names of all trainees that may be given jobs."""
        ...

    @property
    def idle(self) -> Idle:
        """Trainees that are present and have no job."""
        ...

    @property
    def num_at_work(self) -> int:
        """Number of trainees that have a job, or have reported and are not replaced yet."""
        ...

    def start(self, name: str) -> None:
        """Start a trainee's job from the newest version, or queue it behind the job that the trainee has.

        A job for a trainee that is away waits for it, and keeps its version.
        """
        ...

    def call(self) -> None:
        """Ask the rule for starts at the end of this instant (`Starts.called`)."""
        ...


@part
class Starts(Port, ABC):
    """Rule that starts jobs at an asynchronous server."""

    def check(self, num_clients: int) -> None:
        """Refuse a number of clients, before the clock starts.

        Raises:
            ConfigurationError: The rule does not suit the number; the message says why and what to use.
        """

    def most_at_once(self, num_clients: int) -> int:
        """Most trainees, of a given number, that may be active at the same time."""
        return num_clients

    @abstractmethod
    def begin(self, sim: Simulation, server: Starter) -> None:
        """Start jobs at the beginning of the run, or start a process that calls."""

    def replace(self, sim: Simulation, server: Starter, reported: Sequence[str]) -> None:
        """Start jobs in place of trainees that have reported, which are idle again unless they have left."""

    def came(self, sim: Simulation, server: Starter, came: Sequence[str]) -> None:
        """Start jobs when trainees have come back and are idle; by default none."""

    def called(self, sim: Simulation, server: Starter) -> None:
        """Answer a call of the rule's own process."""


@part
class Restarts(Starts):
    """A job for every client, and another as soon as it has reported or is back."""

    @override
    def begin(self, sim: Simulation, server: Starter) -> None:
        self.replace(sim, server, server.names)

    @override
    def replace(self, sim: Simulation, server: Starter, reported: Sequence[str]) -> None:
        for name in reported:
            if name in server.idle:
                server.start(server.idle.take(name))

    @override
    def came(self, sim: Simulation, server: Starter, came: Sequence[str]) -> None:
        self.replace(sim, server, came)


@part
class ConstantConcurrency(Starts):
    """A constant number of jobs: a trainee that reports is replaced by a draw from all idle trainees.

    If none is idle, because others are away, a place stays open until one comes.

    Attributes:
        num_in_flight: M clients that are active at any time. [FedBuff, Section 3: a knob of its own]
    """

    num_in_flight: int = knob(at_least(1), default=10)

    @override
    def check(self, num_clients: int) -> None:
        """Refuse more jobs than clients."""
        if self.num_in_flight > num_clients:
            rule = f"each of the {num_clients} clients has one job at a time"
            raise refuse(type(self), "num_in_flight", self.num_in_flight, rule, f"Use at most {num_clients}.")

    @override
    def most_at_once(self, num_clients: int) -> int:
        return min(self.num_in_flight, num_clients)

    @override
    def begin(self, sim: Simulation, server: Starter) -> None:
        while server.num_at_work < self.num_in_flight and len(server.idle):
            server.start(server.idle.drawn())

    @override
    def replace(self, sim: Simulation, server: Starter, reported: Sequence[str]) -> None:
        self.begin(sim, server)

    @override
    def came(self, sim: Simulation, server: Starter, came: Sequence[str]) -> None:
        self.begin(sim, server)


@part
class PoissonStarts(Starts):
    """A Poisson process that starts a job of an idle trainee at each point; a point is lost if none is idle.

    Attributes:
        rate_per_s: Points in a second. [no source]
    """

    rate_per_s: float = knob(positive, default=1.0)

    @override
    def begin(self, sim: Simulation, server: Starter) -> None:
        """Start the Poisson process, and no job yet."""
        sim.start(self._points(sim, server))

    def _points(self, sim: Simulation, server: Starter) -> Process:
        rng = sim.stream(server.name, "Poisson starts")
        while True:
            yield sim.timer(float(rng.standard_exponential()) / self.rate_per_s)
            server.call()

    @override
    def called(self, sim: Simulation, server: Starter) -> None:
        if len(server.idle):
            server.start(server.idle.drawn())


@part
class Dispatched(Starts):
    """A constant number of jobs, each given to a client drawn by its probability, where it may have to queue.

    Clients that are away are drawn as often; the job waits for them.

    Attributes:
        num_in_flight: Jobs m, including queued ones. [no source]
        shares: Relative probability of each client, in the order of their numbers; None means equal. [no
            source]
    """

    num_in_flight: int = knob(at_least(1), default=10)
    shares: tuple[float, ...] | None = knob(not_empty, positive, default=None)

    @override
    def check(self, num_clients: int) -> None:
        """Refuse more or fewer probabilities than clients."""
        if self.shares is not None and len(self.shares) != num_clients:
            rule = f"{len(self.shares)} values for {num_clients} clients"
            raise refuse(type(self), "shares", self.shares, rule, "Give one for each, or None.")

    @override
    def most_at_once(self, num_clients: int) -> int:
        return min(self.num_in_flight, num_clients)

    def probabilities(self, num_clients: int) -> NDArray[np.float64]:
        """Probability of each client, shape (clients,)."""
        shares = np.ones(num_clients) if self.shares is None else np.array(self.shares)
        return shares / shares.sum()

    @override
    def begin(self, sim: Simulation, server: Starter) -> None:
        self.replace(sim, server, [server.name] * self.num_in_flight)

    @override
    def replace(self, sim: Simulation, server: Starter, reported: Sequence[str]) -> None:
        rng, ends = sim.stream(server.name, "dispatch"), np.cumsum(self.probabilities(len(server.names)))
        for _ in reported:
            place = int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))
            server.start(server.names[place])
