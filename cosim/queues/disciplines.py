"""Disciplines: first come first served, messages first, the public first, and patience that ends.

Validation: `cosim validate delay-laws`.
"""

from typing_extensions import override

from cosim.clock.instants import deadline_after
from cosim.configuration import Lack, knob, part, positive
from cosim.configuration.going_together import EVERY_UPDATE
from cosim.queues.port import Discipline, Line, Queue, Queued


@part
class FirstComeFirstServed(Discipline):
    """Who has come first."""


@part
class MessagesFirst(Discipline):
    """Messages of the learning system before packets of the public; among equals who has come first."""

    @override
    def queue(self) -> Queue:
        """A line for each."""
        return _TwoLines(messages_first=True)


@part
class PublicFirst(Discipline):
    """Packets of the public before messages of the learning system; among equals who has come first."""

    @override
    def queue(self) -> Queue:
        """A line for each."""
        return _TwoLines(messages_first=False)


@part
class Impatient(Discipline):
    """Whoever has waited too long for its service to begin leaves, the public's packets as the messages'.

    A service that has begun goes on to its end. A deadline of a protocol (`Waiting`) is another thing: it
    counts the service too, and a packet that its sender gives up stays in the queue.

    Attributes:
        patience_s: Longest wait; whose service begins at its very end is served. [no source]
        order: Who of those that have not left is served next.
    """

    lacks = (Lack(EVERY_UPDATE),)

    patience_s: float = knob(positive, default=1.0)
    order: Discipline = FirstComeFirstServed()

    @override
    def queue(self) -> Queue:
        """That of the order."""
        return _ImpatientQueue(self.order.queue(), self.patience_s)


class _TwoLines(Queue):
    """A line for messages and one for the public's packets."""

    def __init__(self, messages_first: bool) -> None:
        self._messages, self._public = Line(), Line()
        lines = self._messages, self._public
        self._first, self._second = lines if messages_first else lines[::-1]

    @override
    def enter(self, packet: Queued) -> None:
        (self._public if packet.message is None else self._messages).enter(packet)

    @override
    def next(self, now_s: float) -> Queued | None:
        packet = self._first.next(now_s)
        return self._second.next(now_s) if packet is None else packet


class _ImpatientQueue(Queue):
    """A queue without those that have given up, whom nobody misses before a server is free."""

    def __init__(self, queue: Queue, patience_s: float) -> None:
        self._queue, self._patience_s = queue, patience_s

    @override
    def enter(self, packet: Queued) -> None:
        self._queue.enter(packet)

    @override
    def next(self, now_s: float) -> Queued | None:
        while (packet := self._queue.next(now_s)) is not None:
            if deadline_after(packet.arrival_s, self._patience_s) >= now_s:
                return packet
        return None
