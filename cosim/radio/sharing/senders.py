"""Senders: what a machine of a band asks about its senders, by their numbers.

Rates are for the current fading block, and for a client's own payload and job. `OneByOne` has the channel of
each upload; `OfRound` the rates of an edge round, as arrays.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.links.port import Sender, Sent
from cosim.radio.channel import Channel, Met
from cosim.radio.job_rates import Row, Rows
from cosim.radio.redrawn import Block

Fades = tuple[Channel, Block]
"""A channel that may change while a client sends, and its fading block."""
Starting = tuple[float, float | None, float]
"""Bits of an upload; its rate in 1 Hz, or None if rates are not in proportion; instant of its next fade."""
MOST_BLOCKS = 1_000_000
"""Most fading blocks that may pass while a client waits. [no source]"""


class Senders(ABC):
    """Clients that send in a band, or may."""

    @abstractmethod
    def bits(self, number: int) -> float:
        """Bits of an upload."""

    @abstractmethod
    def to_send(self, number: int) -> tuple[float, float]:
        """Bits of an upload, and the instant of its sender's next fade."""

    @abstractmethod
    def starting(self, numbers: Sequence[int]) -> Sequence[Starting]:
        """Data of each upload that starts."""

    @abstractmethod
    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        """Rate of a sender in a bandwidth."""

    @abstractmethod
    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        """Rate of each sender in a bandwidth, shape (numbers,)."""

    def note(self, number: int) -> None:  # noqa: B027
        """Record the channel of a sender for `rates_bps`, when it starts and when it has faded."""

    @abstractmethod
    def fade(self, number: int, now_s: float) -> float:
        """Continue with the fading block of an instant, and return its end."""


class OneByOne(Senders):
    """Clients with payloads and jobs of their own, whose channels may change while they send.

    Args:
        begins_with: Sender -> channel of its upload, and its fading.
    """

    def __init__(self, sent: Sent, begins_with: Callable[[Sender], tuple[Met, Fades]]) -> None:
        self._sent, self._begins_with = sent, begins_with
        self._known: dict[int, tuple[Sender, Met, Fades]] = {}
        self._last: Met | None = None
        """Channel of the last sender that was recorded."""
        self._of_job: set[int] = set()
        """Senders that were recorded for the same job as the last."""
        self._places, self._noted = np.empty(0, dtype=np.int64), [np.empty(0) for _ in range(3)]
        """Place, power, factor and gain of each sender that was recorded."""

    def _of(self, number: int) -> tuple[Sender, Met, Fades]:
        """Sender of a number, and its channel now; the next upload makes a new one."""
        sender, known = self._sent[number], self._known.get(number)
        if known is None or known[0] is not sender:
            known = self._known[number] = (sender, *self._begins_with(sender))
        return known

    @override
    def bits(self, number: int) -> float:
        return float(self._sent[number].payload.bits)

    @override
    def to_send(self, number: int) -> tuple[float, float]:
        sender, _, (channel, block) = self._of(number)
        return float(sender.payload.bits), channel.block_end_s(block)

    @override
    def starting(self, numbers: Sequence[int]) -> Sequence[Starting]:
        return [
            (
                float(sender.payload.bits),
                float(met.rate_bps(1.0)) if met.cell.form == "flat" else None,
                channel.block_end_s(block),
            )
            for sender, met, (channel, block) in map(self._of, numbers)
        ]

    @override
    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        return float(self._of(number)[1].rate_bps(bandwidth_hz))

    @override
    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        if not self._of_job.issuperset(each := numbers.tolist()):
            return np.array([self.rate_bps(number, bandwidth_hz) for number in each])
        assert self._last is not None
        names, cell, job, *_ = self._last
        own = [noted[numbers] for noted in self._noted]
        return Met(names, cell, job, self._places[numbers], *own).rate_bps(bandwidth_hz)

    @override
    def note(self, number: int) -> None:
        _, met, _ = self._of(number)
        if self._last is None or met.job != self._last.job:
            self._of_job = set()
        self._last = met
        self._of_job.add(number)
        if (lacking := number + 1 - len(self._places)) > 0:
            more = max(lacking, len(self._places))
            self._places = np.append(self._places, np.zeros(more, dtype=np.int64))
            self._noted = [np.append(own, np.zeros(more)) for own in self._noted]
        self._places[number] = self._sent[number].place
        powers_w, factors, gains = self._noted
        powers_w[number], factors[number], gains[number] = met.tx_power_w, met.factor, met.gain

    @override
    def fade(self, number: int, now_s: float) -> float:
        sender, met, (channel, block) = self._of(number)
        for _ in range(MOST_BLOCKS):
            block = channel.fading.after(block)
            if (end_s := channel.block_end_s(block)) > now_s:
                met = met._replace(gain=channel.fading.gain(block))
                self._known[number] = sender, met, (channel, block)
                return end_s
        raise ConfigurationError(
            f"{channel.client}: more than {MOST_BLOCKS:,} fading blocks have ended by {now_s:.6g} s "
            "without time passing. Use blocks that each end after the one before, or a longer "
            "coherence time."
        )


class Staying(OneByOne):
    """Clients with payloads and jobs of their own, whose channels stay while they send.

    Args:
        rows: Rates of a job, kept for many clients at their highest powers.
        is_flat: True if rates are in proportion to the bandwidth.
    """

    def __init__(
        self,
        sent: Sent,
        begins_with: Callable[[Sender], tuple[Met, Fades]],
        rows: Rows,
        *,
        is_flat: bool,
    ) -> None:
        super().__init__(sent, begins_with)
        self._rows, self._is_flat = rows, is_flat
        self._row: Row | None = None
        """Row of the last sender that was recorded."""
        self._of_row: set[int] = set()
        """Senders that were recorded with the same row as the last."""

    @override
    def to_send(self, number: int) -> tuple[float, float]:
        return float(self._sent[number].payload.bits), math.inf

    @override
    def starting(self, numbers: Sequence[int]) -> Sequence[Starting]:
        rates_bps = [self.rate_bps(number, 1.0) if self._is_flat else None for number in numbers]
        return [
            (self.bits(number), own_bps, math.inf) for number, own_bps in zip(numbers, rates_bps, strict=True)
        ]

    @override
    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        sender = self._sent[number]
        return self._rows.rate_bps(sender.place, sender.tx_power_w, sender.job, bandwidth_hz)

    @override
    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        each = numbers.tolist()
        if self._row is not None and self._of_row.issuperset(each):
            found = self._rows.rates_bps(self._row, numbers, bandwidth_hz)
            if found is not None:
                return found
        note, rate_bps = super().note, super().rate_bps
        if len({self._sent[number].job for number in each}) > 1:
            return np.array([rate_bps(number, bandwidth_hz) for number in each])
        for number in each:
            if number not in self._of_job:
                note(number)
        return super().rates_bps(numbers, bandwidth_hz)

    @override
    def note(self, number: int) -> None:
        sender = self._sent[number]
        row = self._rows.row_of(sender.place, sender.tx_power_w, sender.job)
        if row != self._row:
            self._row, self._of_row = row, set()
        self._of_row.add(number)
        self._of_job.discard(number)


class OfRound(Senders):
    """Participants of an edge round, by their places in it, with channels that are constant while they send.

    Args:
        bits: Bits of each upload.
        rates_bps: Bandwidth -> rate of each in it, shape (participants,).
        is_flat: True if rates are in proportion to the bandwidth.
    """

    def __init__(
        self, bits: float, rates_bps: Callable[[float], NDArray[np.float64]], *, is_flat: bool
    ) -> None:
        self._bits, self._rates_bps, self._is_flat = float(bits), rates_bps, is_flat
        self._in: dict[float, list[float]] = {}

    @override
    def bits(self, number: int) -> float:
        return self._bits

    @override
    def to_send(self, number: int) -> tuple[float, float]:
        return self._bits, math.inf

    @override
    def starting(self, numbers: Sequence[int]) -> Sequence[Starting]:
        if not self._is_flat or not len(numbers):
            return [(self._bits, None, math.inf)] * len(numbers)
        flat_bps = self._rates_bps(1.0)[np.asarray(numbers)].tolist()
        return [(self._bits, own_bps, math.inf) for own_bps in flat_bps]

    @override
    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        if bandwidth_hz not in self._in:
            self._in[bandwidth_hz] = self._rates_bps(bandwidth_hz).tolist()
        return self._in[bandwidth_hz][number]

    @override
    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        return self._rates_bps(bandwidth_hz)[numbers]

    @override
    def fade(self, number: int, now_s: float) -> float:
        raise AssertionError("a channel that stays does not fade")
