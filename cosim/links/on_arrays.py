"""On arrays: the uploads of an edge round, by a machine that nobody else uses."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cosim.links.machine import Machine
from cosim.links.upload import Uploads


class MachineUploads(Uploads):
    """Uploads of an edge round, shape (participants,); their numbers are their places.

    Args:
        make: Makes the machine, as it is when the round begins.
        begins_s: When each begins.
        bits: Of each.
        until_s: When the round has ended at the latest: what would end later never does.
    """

    def __init__(
        self, make: Callable[[], Machine], begins_s: NDArray[np.float64], bits: float, until_s: float
    ) -> None:
        self._make, self._begins_s, self._bits, self._until_s = make, begins_s, float(bits), until_s
        order = np.argsort(begins_s, kind="stable")
        self._sorted_s, self._numbers = begins_s[order].tolist(), order.tolist()
        machine = self._machine = self._played(until_s)
        self.ends_s = _instants(machine.ends_s, len(begins_s))
        if machine.has_turns:
            self.granted_s = _instants(machine.granted_s, len(begins_s))
        self._left: tuple[float, NDArray[np.float64]] | None = None

    def _played(self, until_s: float) -> Machine:
        machine = self._make()
        machine.play(self._sorted_s, self._numbers, until_s)
        return machine

    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """What is left when all are stopped then: the machine goes on from the end, or from the beginning."""
        assert isinstance(cut_s, float), "one that is stopped changes others"
        if self._left is None or self._left[0] != cut_s:
            has_ended = self.ends_s <= cut_s
            left_bits = np.where(has_ended, 0.0, self._bits)
            stops = np.flatnonzero(~has_ended & (self._begins_s <= cut_s)).tolist()
            if stops:
                machine = self._machine if cut_s == self._until_s else None
                if machine is None:
                    machine = self._played(cut_s)
                machine.play((), (), cut_s, stops)
                left_bits[list(machine.left_bits)] = list(machine.left_bits.values())
            self._machine, self._left = None, (cut_s, left_bits)
        return self._left[1]


def _instants(known_s: dict[int, float], num: int) -> NDArray[np.float64]:
    found_s = np.full(num, math.inf)
    found_s[list(known_s)] = list(known_s.values())
    return found_s
