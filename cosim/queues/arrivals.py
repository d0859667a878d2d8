"""Arrivals: the port of the instants at which packets of the public come to a station.

| kind | packets come |
|---|---|
| `PoissonArrivals` | in a Poisson stream |
| `OnOffArrivals` | in two Poisson streams that take turns for exponential times (an MMPP of two states) |
| `TraceArrivals` | at the times of a file |

Asked: `mean_rate_per_s`, from which the load follows, and `gaps_s`. Given: the generator of the station,
which is named after it, so that no other draw moves with it.

Usage::

    @part
    class Clockwork(Arrivals):
        \"""One packet after the other, evenly.

        Attributes:
            gap_s: Time between two packets. [no source]
        \"""

        gap_s: float = knob(positive, default=0.5)

        @property
        def mean_rate_per_s(self):
            return 1.0 / self.gap_s

        def gaps_s(self, rng):
            return itertools.repeat(self.gap_s)

Scope and limitations: arrivals are independent of the state of the queue and of the services; a packet has no
size of its own, but a service drawn by the law of the station.

Source: MMPP: Fischer and Meier-Hellstern, Performance Evaluation 18 (1993).
Validation: `cosim validate delay-laws --laws on-off finite-buffer`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import LATEST_S
from cosim.configuration import Port, knob, lasting, not_negative, part, positive, refuse
from cosim.files.on_disk import shown
from cosim.tables.faults import reads
from cosim.tables.once import once
from cosim.tables.read import named_file, table_of

BLOCK_SIZE = 1024
"""Number of draws from a stream at once, for any length of the run."""


@part
class Arrivals(Port, ABC):
    """Instants at which packets of the public come.

    Attributes:
        is_poisson: True if they are a Poisson stream; set in the class. `StationaryWork` needs one.
    """

    is_poisson: ClassVar[bool] = False

    @property
    @abstractmethod
    def mean_rate_per_s(self) -> float:
        """Packets per second in the long run."""

    @abstractmethod
    def gaps_s(self, rng: np.random.Generator) -> Iterator[float]:
        """Time from 0 to the first packet, and from each to the next, 0 or above; ends after the last one."""


@part
class PoissonArrivals(Arrivals):
    """Poisson stream.

    Attributes:
        rate_per_s: Packets per second lambda_N; 0 means none. [VHFL, Section V-E]
    """

    is_poisson: ClassVar[bool] = True
    rate_per_s: float = knob(not_negative, default=2.0)

    @property
    @override
    def mean_rate_per_s(self) -> float:
        return self.rate_per_s

    @override
    def gaps_s(self, rng: np.random.Generator) -> Iterator[float]:
        while self.rate_per_s > 0.0:
            yield from (rng.standard_exponential(BLOCK_SIZE) / self.rate_per_s).tolist()


@part
class OnOffArrivals(Arrivals):
    """Bursts: a Poisson stream of one rate, then of another, for exponential times; an MMPP of two states.

    It begins as if it had gone on for ever.

    Attributes:
        on_rate_per_s: Packets per second in a burst. [no source]
        off_rate_per_s: Packets per second between bursts. [no source]
        mean_on_s: Mean duration of a burst. [no source]
        mean_off_s: Mean time between bursts. [no source]
    """

    on_rate_per_s: float = knob(positive, default=8.0)
    off_rate_per_s: float = knob(not_negative, default=0.0)
    mean_on_s: float = knob(positive, default=1.0)
    mean_off_s: float = knob(positive, default=3.0)

    @property
    def on_share(self) -> float:
        """Share of time in bursts."""
        return self.mean_on_s / (self.mean_on_s + self.mean_off_s)

    @property
    @override
    def mean_rate_per_s(self) -> float:
        return self.on_share * self.on_rate_per_s + (1.0 - self.on_share) * self.off_rate_per_s

    @override
    def gaps_s(self, rng: np.random.Generator) -> Iterator[float]:
        is_on, since_s = bool(rng.random() < self.on_share), 0.0
        while True:
            lasts_s = float(rng.exponential(self.mean_on_s if is_on else self.mean_off_s))
            mean_num = lasts_s * (self.on_rate_per_s if is_on else self.off_rate_per_s)
            places_s = np.sort(rng.random(int(rng.poisson(mean_num)))) * lasts_s
            before_s = 0.0
            for place_s in places_s.tolist():
                yield since_s + place_s - before_s
                since_s, before_s = 0.0, place_s
            since_s += lasts_s - before_s
            is_on = not is_on
            if since_s > LATEST_S:  # no packet will come before the clock ends
                return


@part
class TraceArrivals(Arrivals):
    """Measured instants.

    Attributes:
        file: A csv or Parquet file with the column time_s: instants from the start of the run, in order, two
            of which may be equal; required. [no source]
        period_s: Period after which the trace repeats; None means that no packet comes after the last.
            [no source]
        is_shifted: True if each station begins at a random place of the period, so that stations are
            independent. [no source]
    """

    file: str = ""
    period_s: float | None = knob(lasting, default=None)
    is_shifted: bool = False

    def __attrs_post_init__(self) -> None:
        if self.is_shifted and self.period_s is None:
            rule = "a trace that ends has no other place to begin"
            raise refuse("TraceArrivals", "is_shifted", True, rule, "Use a period_s, or is_shifted = False.")

    @override
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    @property
    @reads("file")
    def instants_s(self) -> NDArray[np.float64]:
        """Instants of the file, read-only, shape (packets,).

        Raises:
            ConfigurationError: The file is none of instants in order, within the period.
        """
        instants_s = once(_instants_s, named_file(TraceArrivals, self.file))
        if self.period_s is not None and instants_s[-1] >= self.period_s:
            last = f"its last packet comes at {instants_s[-1]:g} s"
            raise refuse("TraceArrivals", "period_s", self.period_s, last, "Use a longer period_s.")
        return instants_s

    @property
    @override
    def mean_rate_per_s(self) -> float:
        """Packets per second of the period, or until the last one."""
        instants_s = self.instants_s
        return len(instants_s) / (float(instants_s[-1]) if self.period_s is None else self.period_s)

    @override
    def gaps_s(self, rng: np.random.Generator) -> Iterator[float]:
        instants_s = self.instants_s
        if self.period_s is None:
            yield from np.diff(instants_s, prepend=0.0).tolist()
            return
        first_s = self.period_s * float(rng.random()) if self.is_shifted else 0.0
        before_s = first_s
        for turn in count():
            for instant_s in (turn * self.period_s + instants_s).tolist():
                if instant_s >= before_s:
                    yield instant_s - before_s
                    before_s = instant_s


def _instants_s(path: Path) -> NDArray[np.float64]:
    table = table_of(path)
    found_s = table.numbers("time_s")
    if not len(found_s) or found_s[-1] == 0.0:
        rule = "has no packet after time 0"
        raise refuse(
            "TraceArrivals", "file", shown(path), rule, "Use instants in s from the start of the run."
        )
    table.check("time_s", np.diff(found_s, prepend=0.0) < 0.0, "is before the row above", "rows in order")
    late = found_s >= LATEST_S
    table.check("time_s", late, "is 1e9 or more, when the clock ends", "times since the start of the run")
    found_s.flags.writeable = False
    return found_s
