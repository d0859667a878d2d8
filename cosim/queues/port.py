"""Discipline: the port of the order of service in a queue.

A queue is asked when a server becomes free, and is told the instant, so that it can leave out packets that
have given up by then; what it leaves out, or does not take, it loses (`Queued.lose`). A packet that finds a
server free enters no queue. A service that has begun is not interrupted.

Usage::

    @part
    class LastComeFirstServed(Discipline):
        \"\"\"The latest arrival first.\"\"\"

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
from collections.abc import Callable
from typing import NamedTuple

from typing_extensions import override

from cosim.configuration import Port, one_of, part
from cosim.queues.message import Message


class Queued(NamedTuple):
    """A packet in a queue.

    Attributes:
        arrival_s: Instant of its arrival.
        service_s: Duration of its service.
        message: Message to which it belongs; None means the public's.
        on_loss: Told of the packet if it leaves without service.
    """

    arrival_s: float
    service_s: float
    message: Message | None
    on_loss: Callable[["Queued"], None]

    def lose(self) -> None:
        """Count the packet as lost; whatever drops it calls this."""
        self.on_loss(self)


class Queue(ABC):
    """Packets that wait for a server."""

    @abstractmethod
    def enter(self, packet: Queued) -> None:
        """Add a packet to the queue."""

    @abstractmethod
    def next(self, now_s: float) -> Queued | None:
        """Remove the packet to be served from this instant on; None means that no packet waits."""


class Line(Queue):
    """A single line."""

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
    """Order of service in a queue."""

    forms = one_of(in_order=(), queue=("queue",))

    def queue(self) -> Queue:
        """An empty queue; here a single line."""
        return Line()
