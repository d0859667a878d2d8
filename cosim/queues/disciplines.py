"""Disciplines: first come first served, messages first, the public first, limited patience and limited room.

Validation: `cosim validate delay-laws`.
"""

from typing_extensions import override

from cosim.clock.instants import deadline_after
from cosim.configuration import Lack, at_least, knob, part, positive
from cosim.configuration.going_together import EVERY_UPDATE
from cosim.queues.port import Discipline, Line, Queue, Queued


@part
class FirstComeFirstServed(Discipline):
    """Service in the order of arrival."""


@part
class MessagesFirst(Discipline):
    """Messages of the learning system before packets of the public; each in the order of arrival."""

    @override
    def queue(self) -> Queue:
        return _TwoLines(messages_first=True)


@part
class PublicFirst(Discipline):
    """Packets of the public before messages of the learning system; each in the order of arrival."""

    @override
    def queue(self) -> Queue:
        return _TwoLines(messages_first=False)


@part
class Impatient(Discipline):
    """Packets, the public's and the messages', leave if their service does not begin in time.

    A service that has begun goes on to its end. A deadline of a protocol (`Waiting`) is different: it
    includes the service, and a packet that its sender gives up stays in the queue.

    Attributes:
        patience_s: Longest wait; a packet whose service begins exactly then is served. [no source]
        order: Order of service of the packets that remain.
    """

    lacks = (Lack(EVERY_UPDATE),)

    patience_s: float = knob(positive, default=1.0)
    order: Discipline = FirstComeFirstServed()

    @override
    def queue(self) -> Queue:
        return _ImpatientQueue(self.order.queue(), self.patience_s)


@part
class FiniteBuffer(Discipline):
    """Packets, the public's and the messages', are lost if they find no room to wait.

    With one server and room for K - 1 packets it is the K of M/M/1/K.

    Attributes:
        num_waiting: Most packets that wait, besides the packets in service. [no source]
        order: Order of service of the packets that wait.
    """

    lacks = (Lack(EVERY_UPDATE),)

    num_waiting: int = knob(at_least(0), default=10)
    order: Discipline = FirstComeFirstServed()

    @override
    def queue(self) -> Queue:
        return _FiniteQueue(self.order.queue(), self.num_waiting)


class _TwoLines(Queue):
    """Queue with a line for messages and one for the public's packets."""

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
    """Queue that removes packets which have given up, when a server becomes free."""

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
            packet.lose()
        return None


class _FiniteQueue(Queue):
    """Queue that loses packets which find it full; one that has given up counts until it is left out."""

    def __init__(self, queue: Queue, room: int) -> None:
        self._queue, self._room, self._num = queue, room, 0

    @override
    def enter(self, packet: Queued) -> None:
        if self._num == self._room:
            packet.lose()
            return
        self._num += 1
        self._queue.enter(packet)

    @override
    def next(self, now_s: float) -> Queued | None:
        packet = self._queue.next(now_s)
        self._num = 0 if packet is None else self._num - 1
        return packet
