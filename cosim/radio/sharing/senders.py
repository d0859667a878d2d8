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
from cosim.radio.channel import Channel
from cosim.radio.redrawn import Block

Numbers = Sequence[int] | NDArray[np.int64]
MOST_BLOCKS = 1_000_000
"""Fading blocks that pass while a client waits. [no source]"""


class Senders(ABC):
    """Clients that send in a band, or may."""

    @abstractmethod
    def bits(self, numbers: Sequence[int]) -> Sequence[float]:
        """Bits of each one's upload."""

    @abstractmethod
    def flat_bps(self, numbers: Sequence[int]) -> Sequence[float | None]:
        """Rate of each in 1 Hz; None: its rate is not in proportion to its bandwidth."""

    @abstractmethod
    def rates_bps(self, numbers: Numbers, bandwidth_hz: float) -> NDArray[np.float64]:
        """Rate of each in a bandwidth, shape (numbers,)."""

    @abstractmethod
    def until_s(self, numbers: Sequence[int]) -> Sequence[float]:
        """When the channel of each changes by itself."""

    @abstractmethod
    def fade(self, number: int, now_s: float) -> float:
        """Go on with the fading block of an instant, and say when that ends."""


class OneByOne(Senders):
    """Clients whose uploads come one after the other, each with its own payload and job."""

    def __init__(self) -> None:
        self._bits: dict[int, float] = {}
        self._channels: dict[int, tuple[Channel, Block]] = {}

    def add(self, number: int, bits: float, channel: Channel, block: Block) -> None:
        """Let a client send next in a fading block."""
        self._bits[number], self._channels[number] = float(bits), (channel, block)

    def bits(self, numbers: Sequence[int]) -> Sequence[float]:
        return [self._bits[number] for number in numbers]

    def flat_bps(self, numbers: Sequence[int]) -> Sequence[float | None]:
        channels = (self._channels[number] for number in numbers)
        return [channel.rate_bps(1.0, block) if channel.is_flat else None for channel, block in channels]

    def rates_bps(self, numbers: Numbers, bandwidth_hz: float) -> NDArray[np.float64]:
        channels = (self._channels[number] for number in numbers)
        return np.array([channel.rate_bps(bandwidth_hz, block) for channel, block in channels])

    def until_s(self, numbers: Sequence[int]) -> Sequence[float]:
        channels = (self._channels[number] for number in numbers)
        return [channel.block_end_s(block) for channel, block in channels]

    def fade(self, number: int, now_s: float) -> float:
        channel, block = self._channels[number]
        for _ in range(MOST_BLOCKS):
            block = channel.fading.after(block)
            if (end_s := channel.block_end_s(block)) > now_s:
                self._channels[number] = channel, block
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

    def bits(self, numbers: Sequence[int]) -> Sequence[float]:
        return [self._bits] * len(numbers)

    def flat_bps(self, numbers: Sequence[int]) -> Sequence[float | None]:
        return self.rates_bps(numbers, 1.0).tolist() if self._is_flat else [None] * len(numbers)

    def rates_bps(self, numbers: Numbers, bandwidth_hz: float) -> NDArray[np.float64]:
        return self._rates_bps(bandwidth_hz)[np.asarray(numbers, dtype=np.int64)]

    def until_s(self, numbers: Sequence[int]) -> Sequence[float]:
        return [math.inf] * len(numbers)

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
