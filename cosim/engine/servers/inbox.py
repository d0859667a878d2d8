"""Inbox: what has come to a server, instant by instant.

Usage, in a process::

    while True:
        for item in (yield from inbox.received()):
            ...
"""

from typing import Generic, TypeVar

from cosim.clock.simulation import Process, Simulation

T = TypeVar("T")


class Inbox(Generic[T]):
    """Items that others put in, taken out together when an instant is over."""

    def __init__(self, sim: Simulation) -> None:
        self._sim, self._items, self._bell = sim, list[T](), sim.event()

    def put(self, item: T) -> None:
        """Let something come in."""
        self._items.append(item)
        self.ring()

    def ring(self) -> None:
        """Wake the waiting process at the end of this instant."""
        if not self._bell.triggered:
            self._bell.succeed()

    def received(self) -> Process:
        """Wait until the bell rings and the instant is over; returns what has come in, possibly nothing."""
        yield self._bell
        yield self._sim.end_of_own_instant()
        self._bell = self._sim.event()
        items, self._items = self._items, []
        return items
