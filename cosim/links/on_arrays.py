"""On arrays: the uploads of an edge round, by a machine of their own."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import LATEST_S
from cosim.links.machine import Machine
from cosim.links.upload import Uploads


class MachineUploads(Uploads):
    """Uploads of an edge round, shape (participants,); their numbers are their places.

    Args:
        make: Makes the machine in its state at the beginning of the round.
        begins_s: Start of each.
        bits: Bits of each.
        until_s: Latest end of the round; uploads that would end later never do.
    """

    takes_time = True

    def __init__(
        self, make: Callable[[], Machine], begins_s: NDArray[np.float64], bits: float, until_s: float
    ) -> None:
        self._make, self._begins_s, self._bits, self._until_s = make, begins_s, float(bits), until_s
        order = np.argsort(begins_s, kind="stable")
        self._sorted_s, self._numbers = begins_s[order].tolist(), order.tolist()
        self._left: tuple[float, NDArray[np.float64]] | None = None
        self._machine: Machine | None = make()
        self._go_on(self._machine, -math.inf, until_s)
        self.ends_s = _instants(self._machine.ends_s, len(begins_s))
        if self._machine.has_turns:
            self.granted_s = _instants(self._machine.granted_s, len(begins_s))

    def _go_on(self, machine: Machine, since_s: float, until_s: float) -> None:
        """Process the starts between two instants."""
        first, last = (bisect_right(self._sorted_s, time_s) for time_s in (since_s, min(until_s, LATEST_S)))
        machine.advance(self._sorted_s[first:last], self._numbers[first:last], until_s)

    @override
    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(cut_s, np.ndarray):
            return self._left_at(np.unique(cut_s).tolist(), cut_s)
        if self._left is None or self._left[0] != cut_s:
            self._left = cut_s, self._left_at([float(cut_s)], np.full(len(self.ends_s), cut_s))
        return self._left[1]

    def _left_at(self, cuts_s: Sequence[float], cut_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bits left of each, by the machine as it is, or by a new one from the beginning."""
        has_ended = self.ends_s <= cut_s
        left_bits = np.where(has_ended, 0.0, self._bits)
        is_stopped = ~has_ended & (self._begins_s <= cut_s)
        if not is_stopped.any():
            return left_bits
        machine, since_s, self._machine = self._machine, self._until_s, None
        if machine is None or cuts_s != [self._until_s]:
            machine, since_s = self._make(), -math.inf
        for own_s in cuts_s:
            if own_s > since_s:
                self._go_on(machine, since_s, own_s)
            since_s, stops = own_s, np.flatnonzero(is_stopped & (cut_s == own_s)).tolist()
            machine.advance((), (), own_s, stops)
        left_bits[list(machine.left_bits)] = list(machine.left_bits.values())
        return left_bits


def _instants(known_s: dict[int, float], num: int) -> NDArray[np.float64]:
    found_s = np.full(num, math.inf)
    found_s[list(known_s)] = list(known_s.values())
    return found_s
