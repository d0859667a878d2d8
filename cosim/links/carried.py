"""Carried: uploads with independent rates, on a clock and as arrays of an edge round.

Both follow from the same two methods of a rate: the instant at which it has carried a number of bits, and the
bits that it has carried by an instant.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import instant_after
from cosim.clock.simulation import Event, Simulation
from cosim.clock.small_arrays import least_of
from cosim.links.port import Course
from cosim.links.upload import Upload, Uploads


class Carrier(Protocol):
    """A rate over time, of one client, or of several as arrays of shape (clients,)."""

    def end_s(self, start_s: Any, bits: float) -> Any:
        """Instant at which `bits` have been carried since a start; infinite if never."""

    def bits(self, start_s: Any, end_s: Any) -> Any:
        """Bits that are carried from one instant to another, which may be earlier."""


class Steady:
    """Constant rates.

    Args:
        rate_bps: Rate of one client, or of several, shape (clients,).
    """

    def __init__(self, rate_bps: Any) -> None:
        self._rate_bps = rate_bps

    def end_s(self, start_s: Any, bits: float) -> Any:
        """Start plus bits over rate."""
        if isinstance(self._rate_bps, np.ndarray):
            if least_of(self._rate_bps) > 0.0:
                return instant_after(start_s, bits / self._rate_bps)
            with np.errstate(divide="ignore"):
                return instant_after(start_s, bits / self._rate_bps)
        return instant_after(start_s, bits / self._rate_bps) if self._rate_bps else math.inf

    def bits(self, start_s: Any, end_s: Any) -> Any:
        """Rate times duration."""
        with np.errstate(invalid="ignore"):
            return self._rate_bps * (end_s - start_s)


class Courses:
    """Courses of several clients, shape (clients,)."""

    def __init__(self, courses: Sequence[Course]) -> None:
        self._courses = courses

    def end_s(self, start_s: NDArray[np.float64], bits: float) -> NDArray[np.float64]:
        """End for each client, shape (clients,)."""
        each = zip(self._courses, start_s.tolist(), strict=True)
        ends_s = [course.end_s(own_s, bits) for course, own_s in each]
        return instant_after(0.0, np.array(ends_s, dtype=float))

    def bits(self, start_s: NDArray[np.float64], end_s: Any) -> NDArray[np.float64]:
        """Bits for each client, shape (clients,)."""
        until_s = np.broadcast_to(end_s, start_s.shape)
        each = zip(self._courses, start_s.tolist(), until_s.tolist(), strict=True)
        return np.array([one.bits(own_s, last_s) if last_s > own_s else 0.0 for one, own_s, last_s in each])


class CarriedUpload(Upload):
    """Upload at a rate that depends on no other upload; it never ends if the rate stays 0.

    Args:
        wait_s: Time that the client waits before it sends.
    """

    _closed_s: float | None = None

    def __init__(self, sim: Simulation, bits: float, carrier: Carrier, wait_s: float = 0.0) -> None:
        start_s = instant_after(sim.now_s, wait_s) if wait_s else sim.now_s
        end_s = carrier.end_s(start_s, bits)
        self.granted = sim.at(start_s) if wait_s > 0.0 else None
        self.done: Event = sim.event() if end_s == math.inf else sim.at(end_s)
        self._sim, self._bits, self._carrier, self._start_s = sim, float(bits), carrier, start_s

    @property
    def sent_s(self) -> float:
        """Time that it has been sending."""
        return max(0.0, self._sim.now_s - self._start_s)

    @property
    @override
    def bits_left(self) -> float:
        """Bits that have not been sent by now, or by the time when it was closed."""
        if self.done.processed:
            return 0.0
        until_s = self._sim.now_s if self._closed_s is None else self._closed_s
        if until_s <= self._start_s:
            return self._bits
        return min(self._bits, max(0.0, self._bits - self._carrier.bits(self._start_s, until_s)))

    @override
    def close(self) -> None:
        self._closed_s = self._sim.now_s


class SteadyUpload(CarriedUpload):
    """Upload at a constant rate; it never ends if that is 0.

    Args:
        wait_s: Time that the client waits before it sends.
    """

    def __init__(self, sim: Simulation, bits: float, rate_bps: float, wait_s: float = 0.0) -> None:
        lasts_s = bits / rate_bps if rate_bps else math.inf
        if wait_s or lasts_s == math.inf:
            super().__init__(sim, bits, Steady(rate_bps), wait_s)
            return
        self._sim, self._bits, self._rate_bps, self._start_s = sim, float(bits), rate_bps, sim.now_s
        self.done = sim.timer(lasts_s)  # comes when the carrier says, with fewer steps on the way

    @cached_property
    def _carrier(self) -> Steady:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Steady(self._rate_bps)  # only for an upload that is cut


class CarriedUploads(Uploads):
    """Uploads that begin at once, each at its own rate; the end is infinite if that stays 0.

    Args:
        begins_s: Start of each, shape (participants,).
        bits: Bits of each.
        carrier: Their rates, shape (participants,).
    """

    takes_time = True

    def __init__(self, begins_s: NDArray[np.float64], bits: float, carrier: Carrier) -> None:
        self._begins_s, self._bits, self._carrier = begins_s, bits, carrier
        self.ends_s = carrier.end_s(begins_s, bits)

    @override
    def bits_left(self, cut_s: float | NDArray[np.float64]) -> NDArray[np.float64]:
        left = np.maximum(0.0, self._bits - self._carrier.bits(self._begins_s, cut_s))
        return np.where(self.ends_s <= cut_s, 0.0, np.minimum(left, self._bits))


class SteadyUploads(CarriedUploads):
    """Uploads that begin at once, each at a constant rate; the end is infinite if that is 0.

    Args:
        begins_s: Start of each, shape (participants,).
        rate_bps: Rate of each, shape (participants,).
    """

    takes_time = False  # at an infinite rate

    def __init__(self, begins_s: NDArray[np.float64], bits: float, rate_bps: NDArray[np.float64]) -> None:
        super().__init__(begins_s, bits, Steady(rate_bps))
