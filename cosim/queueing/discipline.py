"""Discipline: the port of who of those that wait in a queue is served next.

A queue is asked when a server becomes free, and is told the instant, so that it can leave out who has given
up by then. Who finds a server free enters none. A service that has begun is not interrupted.

Usage::

    @configuration
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

from cosim.configuration import Port, configuration, field, positive, stand_for
from cosim.instants import deadline_after
from cosim.queueing.message import Message


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


@configuration
class Discipline(Port, ABC):
    """Who of those that wait in a queue is served next."""

    shortcuts = stand_for(in_order=("queue",))

    @property
    def in_order(self) -> bool:
        """Whether all are served, in the order in which they have come."""
        return False

    @property
    def loses_packets(self) -> bool:
        """Whether some leave without service; then an upload may never end."""
        return False

    @abstractmethod
    def queue(self) -> Queue:
        """An empty queue."""


@configuration
class FirstComeFirstServed(Discipline):
    """Who has come first."""

    @property
    def in_order(self) -> bool:
        """It is."""
        return True

    def queue(self) -> Queue:
        """One line."""
        return _Line()


@configuration
class MessagesFirst(Discipline):
    """Messages of the learning system before packets of the public; among equals who has come first."""

    def queue(self) -> Queue:
        """A line for each."""
        return _TwoLines(messages_first=True)


@configuration
class PublicFirst(Discipline):
    """Packets of the public before messages of the learning system; among equals who has come first."""

    def queue(self) -> Queue:
        """A line for each."""
        return _TwoLines(messages_first=False)


@configuration
class Impatient(Discipline):
    """Whoever has waited too long for its service to begin leaves, the public's packets as the messages'.

    A service that has begun goes on to its end. A deadline of a protocol (`Waiting`) is another thing: it
    counts the service too, and a packet that its sender gives up stays in the queue.

    Attributes:
        patience_s: Longest wait; whose service begins at its very end is served. [no source]
        order: Who of those that have not left is served next.
    """

    patience_s: float = field(positive, default=1.0)
    order: Discipline = FirstComeFirstServed()

    @property
    def loses_packets(self) -> bool:
        """Those that leave."""
        return True

    def queue(self) -> Queue:
        """That of the order."""
        return _ImpatientQueue(self.order.queue(), self.patience_s)


class _Line(Queue):
    """One line."""

    def __init__(self) -> None:
        self._waiting: deque[Queued] = deque()

    def enter(self, packet: Queued) -> None:
        self._waiting.append(packet)

    def next(self, now_s: float) -> Queued | None:
        return self._waiting.popleft() if self._waiting else None


class _TwoLines(Queue):
    """A line for messages and one for the public's packets."""

    def __init__(self, messages_first: bool) -> None:
        self._messages, self._public = _Line(), _Line()
        lines = self._messages, self._public
        self._first, self._second = lines if messages_first else lines[::-1]

    def enter(self, packet: Queued) -> None:
        (self._public if packet.message is None else self._messages).enter(packet)

    def next(self, now_s: float) -> Queued | None:
        packet = self._first.next(now_s)
        return self._second.next(now_s) if packet is None else packet


class _ImpatientQueue(Queue):
    """A queue without those that have given up, whom nobody misses before a server is free."""

    def __init__(self, queue: Queue, patience_s: float) -> None:
        self._queue, self._patience_s = queue, patience_s

    def enter(self, packet: Queued) -> None:
        self._queue.enter(packet)

    def next(self, now_s: float) -> Queued | None:
        while (packet := self._queue.next(now_s)) is not None:
            if deadline_after(packet.arrival_s, self._patience_s) >= now_s:
                return packet
        return None
