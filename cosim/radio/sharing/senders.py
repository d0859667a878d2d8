"""Senders: what a machine of a band asks of those who send in it, by their numbers.

Rates are those of the fading block of the instant, and of a client's own payload and job. `OneByOne` has the
channel of each upload; `OfRound` the rates of an edge round, as arrays.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.links.link import Job, Sender, Sent
from cosim.radio.channel import Channel, bps_per_hz, no_snr
from cosim.radio.redrawn import Block

Starting = tuple[float, float | None, float]
"""Of one: its bits; its rate in 1 Hz, or None where that is not in proportion; when it fades."""
MOST_BLOCKS = 1_000_000
"""Fading blocks that pass while a client waits. [no source]"""


class Senders(ABC):
    """Clients that send in a band, or may."""

    @abstractmethod
    def bits(self, number: int) -> float:
        """Bits of one's upload."""

    @abstractmethod
    def fade_s(self, number: int) -> float:
        """When one fades next."""

    @abstractmethod
    def starting(self, numbers: Sequence[int]) -> Sequence[Starting]:
        """What each has of those that start."""

    @abstractmethod
    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        """Rate of one in a bandwidth."""

    @abstractmethod
    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        """Rate of each in a bandwidth, shape (numbers,)."""

    def note(self, number: int) -> None:  # noqa: B027
        """Note the channel of one that sends, for `rates_bps`: when it starts, and when it has faded."""

    @abstractmethod
    def fade(self, number: int, now_s: float) -> float:
        """Go on with the fading block of an instant, and say when that ends."""


class OneByOne(Senders):
    """Clients with a channel each, and with payloads and jobs of their own.

    Args:
        begins_with: Sender -> the channel that its upload meets, and the fading block in which it begins.
    """

    def __init__(self, sent: Sent, begins_with: Callable[[Sender], tuple[Channel, Block]]) -> None:
        self._sent, self._begins_with = sent, begins_with
        self._known: dict[int, tuple[Sender, Channel, Block]] = {}
        self._jobs: dict[int, Job | None] = {}
        self._places, self._met = np.empty(0, dtype=np.int64), np.empty((3, 0))
        """Of each that has been noted: its place, and in rows its power, its factor and its gain."""

    def _of(self, number: int) -> tuple[Sender, Channel, Block]:
        """The sender of a number, and what it meets now; another one by the next upload."""
        sender, known = self._sent[number], self._known.get(number)
        if known is None or known[0] is not sender:
            known = self._known[number] = (sender, *self._begins_with(sender))
        return known

    def bits(self, number: int) -> float:
        return float(self._sent[number].payload.bits)

    def fade_s(self, number: int) -> float:
        _, channel, block = self._of(number)
        return channel.block_end_s(block)

    def starting(self, numbers: Sequence[int]) -> Sequence[Starting]:
        return [
            (
                float(sender.payload.bits),
                channel.rate_bps(1.0, block) if channel.is_flat else None,
                channel.block_end_s(block),
            )
            for sender, channel, block in map(self._of, numbers)
        ]

    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        _, channel, block = self._of(number)
        return channel.rate_bps(bandwidth_hz, block)

    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        each = numbers.tolist()
        jobs = set(map(self._jobs.__getitem__, each))
        job = jobs.pop() if len(jobs) == 1 else None
        met = None if job is None else self._of(each[0])[1].met
        if job is None or met is None:
            return np.array([self.rate_bps(number, bandwidth_hz) for number in each])
        powers_w, factors, gains = self._met.take(numbers, axis=1)
        snr = met.cell.snr_in(self._places.take(numbers), powers_w, factors, bandwidth_hz, job) * gains
        if np.count_nonzero(fits := snr >= 0.0) < len(each):
            wrong = int(fits.argmin())
            raise no_snr(self._sent[each[wrong]].client, snr.item(wrong))
        return bandwidth_hz * bps_per_hz(snr)

    def note(self, number: int) -> None:
        _, channel, block = self._of(number)
        met = channel.met
        self._jobs[number] = None if met is None else met.job
        if met is None:
            return
        if (lacking := number + 1 - len(self._places)) > 0:
            more = max(lacking, len(self._places))
            self._places = np.append(self._places, np.zeros(more, dtype=np.int64))
            self._met = np.append(self._met, np.zeros((3, more)), axis=1)
        self._places[number] = met.place
        self._met[:, number] = met.tx_power_w, met.factor, channel.fading.gain(block)

    def fade(self, number: int, now_s: float) -> float:
        sender, channel, block = self._of(number)
        for _ in range(MOST_BLOCKS):
            block = channel.fading.after(block)
            if (end_s := channel.block_end_s(block)) > now_s:
                self._known[number] = sender, channel, block
                return end_s
        raise ConfigurationError(
            f"{channel.client}: {MOST_BLOCKS:,} fading blocks have passed by {now_s:.6g} s, and so has the "
            "next. Usual fix: blocks that end later than those before, or a longer coherence time."
        )


class OfRound(Senders):
    """Participants of an edge round, by their places in it, whose channels stay while they send.

    Args:
        bits: Of each upload.
        rates_bps: Bandwidth -> rate of each in it, shape (participants,).
        is_flat: True if they are in proportion to it.
    """

    def __init__(
        self, bits: float, rates_bps: Callable[[float], NDArray[np.float64]], *, is_flat: bool
    ) -> None:
        self._bits, self._rates_bps, self._is_flat = float(bits), rates_bps, is_flat
        self._in: dict[float, list[float]] = {}

    def bits(self, number: int) -> float:
        return self._bits

    def fade_s(self, number: int) -> float:
        return math.inf

    def starting(self, numbers: Sequence[int]) -> Sequence[Starting]:
        if not self._is_flat or not len(numbers):
            return [(self._bits, None, math.inf)] * len(numbers)
        flat_bps = self._rates_bps(1.0)[np.asarray(numbers)].tolist()
        return [(self._bits, own_bps, math.inf) for own_bps in flat_bps]

    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        if bandwidth_hz not in self._in:
            self._in[bandwidth_hz] = self._rates_bps(bandwidth_hz).tolist()
        return self._in[bandwidth_hz][number]

    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        return self._rates_bps(bandwidth_hz)[numbers]

    def fade(self, number: int, now_s: float) -> float:
        raise AssertionError("a channel that stays does not fade")
