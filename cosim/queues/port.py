"""Discipline: the port of who of those that wait in a queue is served next.

A queue is asked when a server becomes free, and is told the instant, so that it can leave out who has given
up by then. Who finds a server free enters none. A service that has begun is not interrupted.

Usage::

    @part
    class LastComeFirstServed(Discipline):
        \"\"\"Who has come last.\"\"\"

        def queue(self):
            return Stack()

    class Stack(Queue):
        def __init__(self):
            self.waiting = []

        def enter(self, packet):
            self.waiting.append(packet)

        def next(self, now_s):
            return self.waiting.pop() if self.waiting else None

Validation: `cosim validate delay-laws`.
"""

from abc import ABC, abstractmethod
from collections import deque
from typing import NamedTuple

from typing_extensions import override

from cosim.configuration import Port, one_of, part
from cosim.queues.message import Message


class Queued(NamedTuple):
    """A packet in a queue.

    Attributes:
        arrival_s: When it has come.
        service_s: How long a server will work on it.
        message: What it is part of; None: the public's.
    """

    arrival_s: float
    service_s: float
    message: Message | None


class Queue(ABC):
    """Packets that wait for a server."""

    @abstractmethod
    def enter(self, packet: Queued) -> None:
        """Let a packet wait."""

    @abstractmethod
    def next(self, now_s: float) -> Queued | None:
        """Take out who is served from this instant on; None: nobody waits."""


class Line(Queue):
    """One line."""

    def __init__(self) -> None:
        self._waiting: deque[Queued] = deque()

    @override
    def enter(self, packet: Queued) -> None:
        self._waiting.append(packet)

    @override
    def next(self, now_s: float) -> Queued | None:
        return self._waiting.popleft() if self._waiting else None


@part
class Discipline(Port):
    """Who of those that wait in a queue is served next."""

    forms = one_of(in_order=(), queue=("queue",))

    def queue(self) -> Queue:
        """An empty queue; here one line."""
        return Line()
