"""Senders: what a machine of a band asks of those who send in it, by their numbers.

Rates are those of the fading block of the instant, and of a client's own payload and job. `OneByOne` holds
the channels of uploads that come one after the other; `OfRound` the rates of an edge round, as arrays.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.radio.channel import Channel, bps_per_hz, no_snr
from cosim.radio.redrawn import Block

Starting = tuple[Sequence[float], Sequence[float | None], Sequence[float]]
"""Of each: its bits; its rate in 1 Hz, or None where that is not in proportion; when it fades."""
MOST_BLOCKS = 1_000_000
"""Fading blocks that pass while a client waits. [no source]"""


class Senders(ABC):
    """Clients that send in a band, or may."""

    @abstractmethod
    def bits(self, number: int) -> float:
        """Bits of one's upload."""

    @abstractmethod
    def starting(self, numbers: Sequence[int]) -> Starting:
        """What those have that start."""

    @abstractmethod
    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        """Rate of one in a bandwidth."""

    @abstractmethod
    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        """Rate of each in a bandwidth, shape (numbers,)."""

    @abstractmethod
    def fade(self, number: int, now_s: float) -> float:
        """Go on with the fading block of an instant, and say when that ends."""


class OneByOne(Senders):
    """Clients whose uploads come one after the other, each with its own payload and job."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[float, Channel, Block]] = {}

    def add(self, number: int, bits: float, channel: Channel, block: Block) -> None:
        """Let a client send next in a fading block."""
        self._of[number] = float(bits), channel, block

    def bits(self, number: int) -> float:
        return self._of[number][0]

    def starting(self, numbers: Sequence[int]) -> Starting:
        own = [self._of[number] for number in numbers]
        return (
            [bits for bits, _, _ in own],
            [channel.rate_bps(1.0, block) if channel.is_flat else None for _, channel, block in own],
            [channel.block_end_s(block) for _, channel, block in own],
        )

    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        _, channel, block = self._of[number]
        return channel.rate_bps(bandwidth_hz, block)

    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        own = [self._of[number] for number in numbers.tolist()]
        met = [channel.met for _, channel, _ in own]
        first = met[0] if met else None
        if first is None or any(of is None or of.job is not first.job for of in met):
            return np.array([channel.rate_bps(bandwidth_hz, block) for _, channel, block in own])
        _, _, places, powers_w, factors = zip(*met, strict=True)  # type: ignore[arg-type]
        gains = np.array([channel.fading.gain(block) for _, channel, block in own])
        each = np.array(places), np.array(powers_w), np.array(factors)
        snr = first.cell.snr_in(*each, bandwidth_hz, first.job) * gains
        if np.count_nonzero(fits := snr >= 0.0) < len(own):
            wrong = int(fits.argmin())
            raise no_snr(own[wrong][1].client, snr.item(wrong))
        return bandwidth_hz * bps_per_hz(snr)

    def fade(self, number: int, now_s: float) -> float:
        bits, channel, block = self._of[number]
        for _ in range(MOST_BLOCKS):
            block = channel.fading.after(block)
            if (end_s := channel.block_end_s(block)) > now_s:
                self._of[number] = bits, channel, block
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

    def starting(self, numbers: Sequence[int]) -> Starting:
        num = len(numbers)
        flat_bps: Sequence[float | None] = [None] * num
        if self._is_flat and num:
            flat_bps = self._rates_bps(1.0)[np.asarray(numbers)].tolist()
        return [self._bits] * num, flat_bps, [math.inf] * num

    def rate_bps(self, number: int, bandwidth_hz: float) -> float:
        if bandwidth_hz not in self._in:
            self._in[bandwidth_hz] = self._rates_bps(bandwidth_hz).tolist()
        return self._in[bandwidth_hz][number]

    def rates_bps(self, numbers: NDArray[np.int64], bandwidth_hz: float) -> NDArray[np.float64]:
        return self._rates_bps(bandwidth_hz)[numbers]

    def fade(self, number: int, now_s: float) -> float:
        raise AssertionError("a channel that stays does not fade")


class SendersOfRound(NamedTuple):
    """The participants of an edge round, as a link knows them.

    Attributes:
        rates_bps: Bandwidth -> rate of each in it, shape (participants,), where channels stay while clients
            send; None: they may change.
        make: Gives them as they are when the round begins.
    """

    rates_bps: Callable[[float], NDArray[np.float64]] | None
    make: Callable[[], Senders]
