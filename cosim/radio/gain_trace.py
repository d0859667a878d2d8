"""Gain traces: channels whose power gains over time were measured, or computed by a ray tracer.

An npz file with the arrays

| array | shape | |
|---|---|---|
| time_s | (rows,) | stamps, the first 0, ascending |
| gain or gain_db | (rows, clients) or (rows, clients, antennas) | linear power gain, or that in dB |

A gain holds from its stamp to the next, even while a client sends; the server combines all antennas (maximum
ratio), so gains add up over them. For gains of the whole link, use `NoiseOnly`; for gains with a mean of 1,
any other link. Bandwidth, power and noise are the radio's.

Scope and limitations: the file has the gains to one edge server for each client, in the order of the clients'
numbers. Gains have no phases, so sums over the air are refused, as with all channels that change during
uploads. Plans know the current gain, not future ones. A round in which the trace would end runs by events.

Usage::

    np.savez("street.npz", time_s=time_s, gain_db=gain_db)
    radio = Radio(link=NoiseOnly(), fading=GainTrace(file="street.npz", past_end=RepeatTrace()))

Validation: tests/radio/test_gain_trace.py.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import LATEST_S
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.configuration.port import Picture
from cosim.files.on_disk import shown
from cosim.links.traces.course import Course, remarks_on_steps
from cosim.links.traces.past_end import PastEnd, RefusePastEnd, over
from cosim.names import by_number
from cosim.radio.fading import Fading
from cosim.radio.redrawn import Block, Blocks
from cosim.tables.arrays import Arrays
from cosim.tables.faults import reads
from cosim.tables.once import once
from cosim.tables.read import named_file
from cosim.tables.table import LARGEST

GAINS = ("gain", "gain_db")
_of_runs: WeakKeyDictionary[Simulation, dict[str, NDArray[np.float64]]] = WeakKeyDictionary()
"""Gains by file as each run has read them: a file that changes meanwhile does not change it halfway."""
STRONG_DB = 10.0
"""Gains above it are no fading around a mean, but path losses with the wrong sign. [no source]"""


@part
class GainTrace(Fading):
    """Power gains over time from a file.

    Attributes:
        file: Its path, npz, or package:path; required. [no source]
        past_end: Rule for the gains after their last row.
    """

    file: str = ""
    past_end: PastEnd = RefusePastEnd()

    @override
    def pictures(self) -> tuple[Picture, ...]:
        return ("rates",)

    @property
    @override
    def redrawn(self) -> Blocks:
        return Rows(self)

    @override
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    @override
    @reads("file")
    def check(self, clients: Sequence[str]) -> None:
        """Refuse a number of clients other than the file's."""
        where, time_s, gain = self._read()
        numbers = {by_number(client)[1] for client in clients}
        if numbers != set(range(gain.shape[1])):
            raise ConfigurationError(
                f"{where}: has gains of {gain.shape[1]} clients, but the system has {len(clients)}. "
                f"Use num_clients = {gain.shape[1]}."
            )
        silent = ~gain.any(axis=(0, 2))
        if self.past_end.end_s(where, time_s) == math.inf:
            silent |= ~gain[-1].any(axis=1)
        if silent.any():
            raise ConfigurationError(
                f"{where}: the gain of client {silent.argmax()} stays 0, so nothing that it sends ever "
                "arrives. Use past_end = RepeatTrace, or a gain above 0."
            )

    @override
    def remarks(self) -> tuple[str, ...]:
        where, time_s, gain = self._read()
        return (*_on_gains(where, gain[gain > 0.0]), *remarks_on_steps(f"{where}, array", np.diff(time_s)))

    @override
    def gains(self, sim: Simulation, clients: Sequence[str], block: Block) -> NDArray[np.float64]:
        of_run = _of_runs.setdefault(sim, {})
        if self.file not in of_run:
            of_run[self.file] = self._read().gain
        gain, numbers = of_run[self.file], [by_number(client)[1] for client in clients]
        return gain[block[0] % len(gain), numbers].sum(axis=-1)

    @reads("file")
    def _read(self) -> "Gains":
        return once(_gains, named_file(GainTrace, self.file, (".npz",)))


def _on_gains(where: str, gain: NDArray[np.float64]) -> tuple[str, ...]:
    """Sentence on gains above 0 that look like losses; a channel around its mean has a median of about 1."""
    median_db = 10.0 * math.log10(float(np.median(gain))) if gain.size else -math.inf
    if median_db <= STRONG_DB:
        return ()
    what = f"{where}: the median of its gains is {median_db:.3g} dB, and no channel amplifies"
    return (f"{what}. Use gain_db = -loss if these are path losses in dB.",)


class Gains(NamedTuple):
    """Content of a file: its name, stamps (rows,), and linear gains (rows, clients, antennas)."""

    where: str
    time_s: NDArray[np.float64]
    gain: NDArray[np.float64]


def _gains(path: Path) -> Gains:
    arrays, where = Arrays(path), shown(path)
    given = [name for name in GAINS if name in arrays.names]
    if len(given) != 1 or "time_s" not in arrays.names:
        raise ConfigurationError(
            f"{where}: has the arrays {', '.join(arrays.names)}. Give time_s, and either gain or gain_db."
        )
    (name,) = given
    time_s, values = arrays.numbers("time_s"), arrays.numbers(name)
    gain = values[..., None] if values.ndim == 2 else values
    if time_s.ndim != 1 or gain.ndim != 3 or len(time_s) != len(gain) or 0 in gain.shape:
        raise ConfigurationError(
            f"{where}: time_s has shape {time_s.shape}, and {name} {values.shape}. Use the shapes "
            "(rows,), and (rows, clients) or (rows, clients, antennas)."
        )
    arrays.check("time_s", ~np.isfinite(time_s), "is not finite", "times since the first stamp")
    first = np.arange(len(time_s)) == 0
    arrays.check("time_s", first & (time_s != 0.0), "is the first stamp and not 0", "time_s - time_s[0]")
    arrays.check("time_s", time_s >= LATEST_S, "is 1e9 or more, when the clock ends", "time_s - time_s[0]")
    goes_back = np.append(False, np.diff(time_s) <= 0.0)
    arrays.check("time_s", goes_back, "is not after the stamp before it", "ascending stamps, each once")
    with np.errstate(over="ignore"):
        gain = 10.0 ** (gain / 10.0) if name == "gain_db" else gain
    fits = (gain >= 0.0) & (gain <= LARGEST)
    rule = "is no gain: must be 0 or above where linear, and at most 1e30"
    arrays.check(name, ~fits.reshape(values.shape), rule, "power gains, 0 where there is no path")
    for kept in (time_s, gain):
        kept.flags.writeable = False
    return Gains(where, time_s, gain)


class Rows(Blocks):
    """Rows of a trace, counted on when it repeats."""

    def __init__(self, trace: GainTrace) -> None:
        self._trace = trace

    @cached_property
    def _where(self) -> str:
        return self._trace._read().where

    @cached_property
    def _course(self) -> Course:
        where, time_s, _ = self._trace._read()
        past_end = self._trace.past_end
        return Course(time_s, past_end.end_s(where, time_s), repeats=past_end.repeats)

    @override
    def at(self, now_s: float) -> Block:
        if now_s >= self._course.over_s:
            raise over(self._where, self._course.over_s)
        turn, within_s = self._course.turn(now_s)
        return (turn * len(self._course.time_s) + self._course.row(within_s),)

    @override
    def end_s(self, block: Block) -> float:
        turn, row = divmod(block[0], len(self._course.time_s))
        return self._course.clock_s(turn, self._course.row_end_s(row))

    @override
    def after(self, block: Block) -> Block:
        if not self._course.repeats and block[0] + 1 == len(self._course.time_s):
            raise over(self._where, self._course.over_s)
        return (block[0] + 1,)
