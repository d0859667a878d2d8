"""Gain traces: channels whose power gains over time were measured, or computed by a ray tracer.

An npz file with the arrays

| array | shape | |
|---|---|---|
| time_s | (rows,) | stamps, the first 0, ascending |
| gain or gain_db | (rows, clients) or (rows, clients, antennas) | linear power gain, or that in dB |

A gain holds from its stamp to the next, also while somebody sends; the server combines all antennas (maximum
ratio), so gains add up over them. Where they are those of the whole link, `NoiseOnly` is the link that goes
with them; where they are around a mean of 1, any other. Bandwidth, power and noise stay those of the radio.

Scope and limitations: one edge server for each client, whose gains the file has; clients go by number. Gains
have no phases, so sums over the air are refused, as with all channels that change within uploads. Plans know
the gain of the instant, not those to come. A round in which the trace would be over is played by events.

Usage::

    np.savez("street.npz", time_s=time_s, gain_db=gain_db)
    radio = Radio(link=NoiseOnly(), fading=GainTrace(file="street.npz", past_end=RepeatTrace()))

Validation: tests/radio/test_gain_trace.py.
"""

import math
import zipfile
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import LATEST_S
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.files.checked_rows import named_file, unreadable
from cosim.files.on_disk import shown
from cosim.files.room import check_npz
from cosim.links.traces.course import Course
from cosim.links.traces.past_end import PastEnd, RefusePastEnd, over
from cosim.names import by_number
from cosim.radio.fading import Fading
from cosim.radio.redrawn import Block, Blocks

NAMES = ("time_s", "gain", "gain_db")
LARGEST = 1e30
"""As for the numbers of a configuration."""


@part
class GainTrace(Fading):
    """Power gains over time from a file.

    Attributes:
        file: Its path, npz, or package:path; it must be given. [no source]
        past_end: What becomes of the gains when their last row is over.
    """

    file: str = ""
    past_end: PastEnd = RefusePastEnd()

    @property
    @override
    def redrawn(self) -> Blocks:
        """With every row."""
        return Rows(self)

    @override
    def files(self) -> tuple[str, ...]:
        """That of the gains."""
        return (self.file,)

    @override
    def check(self, clients: Sequence[str]) -> None:
        """Refuse another number of clients than the file has."""
        where, time_s, gain = self._read()
        numbers = {by_number(client)[1] for client in clients}
        if numbers != set(range(gain.shape[1])):
            raise ConfigurationError(
                f"{where}: has gains of {gain.shape[1]} clients, and the system has {len(clients)}. Usual "
                f"fix: num_clients = {gain.shape[1]}."
            )
        silent = ~gain.any(axis=(0, 2))
        if self.past_end.end_s(where, time_s) == math.inf:
            silent |= ~gain[-1].any(axis=1)
        if silent.any():
            raise ConfigurationError(
                f"{where}: the gain of client {silent.argmax()} stays 0, so nothing that it sends ever "
                "arrives. Usual fix: past_end = RepeatTrace, or a gain above 0."
            )

    @override
    def gains(self, sim: Simulation, clients: Sequence[str], block: Block) -> NDArray[np.float64]:
        """The sum over antennas."""
        gain, numbers = self._read().gain, [by_number(client)[1] for client in clients]
        return gain[block[0] % len(gain), numbers].sum(axis=-1)

    def _read(self) -> "Gains":
        path = named_file(GainTrace, self.file, (".npz",))
        found = path.stat()
        return _read(path, found.st_mtime_ns, found.st_size)


class Gains(NamedTuple):
    """What a file says: its name, stamps (rows,), and linear gains (rows, clients, antennas)."""

    where: str
    time_s: NDArray[np.float64]
    gain: NDArray[np.float64]


@lru_cache(maxsize=4)
def _read(path: Path, _written: int, _size: int) -> Gains:
    try:
        check_npz(path)
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: np.asarray(arrays[name], dtype=np.float64) for name in NAMES if name in arrays}
    except (OSError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise unreadable(path, error) from None
    where = shown(path)
    if len(found) != 2 or "time_s" not in found:
        raise ConfigurationError(
            f"{where}: has {', '.join(found) or 'none'} of the arrays {', '.join(NAMES)}. Usual fix: time_s, "
            "and either gain or gain_db."
        )
    time_s, name = found.pop("time_s"), next(iter(found))
    gain = found[name][..., None] if found[name].ndim == 2 else found[name]
    if time_s.ndim != 1 or gain.ndim != 3 or len(time_s) != len(gain) or 0 in gain.shape:
        raise ConfigurationError(
            f"{where}: time_s has shape {time_s.shape}, and {name} {found[name].shape}. Usual fix: (rows,), "
            "and (rows, clients) or (rows, clients, antennas)."
        )
    _check(where, "time_s", np.append(time_s[0] != 0.0, ~(np.diff(time_s) > 0.0)), "from 0 on, and ascending")
    _check(where, "time_s", time_s >= LATEST_S, "below 1e9, when the clock ends")
    with np.errstate(over="ignore"):
        gain = 10.0 ** (gain / 10.0) if name == "gain_db" else gain
    lowest, highest = gain.min(axis=(1, 2)), gain.max(axis=(1, 2))  # NaN where one is
    fits: NDArray[np.bool_] = (lowest >= 0.0) & (highest <= LARGEST)
    _check(where, name, np.logical_not(fits), f"finite, 0 or above where linear, and at most {LARGEST:g}")
    for values in (time_s, gain):
        values.flags.writeable = False
    return Gains(where, time_s, gain)


def _check(where: str, name: str, is_wrong: NDArray[np.bool_], rule: str) -> None:
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise ConfigurationError(f"{where}, {name}[{row}]: must be {rule}. Usual fix: leave the row out.")


class Rows(Blocks):
    """The rows of a trace, counted on where it is repeated."""

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
        """The row of an instant."""
        if now_s >= self._course.over_s:
            raise over(self._where, self._course.over_s)
        turn, within_s = self._course.turn(now_s)
        return (turn * len(self._course.time_s) + self._course.row(within_s),)

    @override
    def end_s(self, block: Block) -> float:
        """When the next row begins."""
        turn, row = divmod(block[0], len(self._course.time_s))
        return self._course.clock_s(turn, self._course.row_end_s(row))

    @override
    def after(self, block: Block) -> Block:
        """The next row."""
        if not self._course.repeats and block[0] + 1 == len(self._course.time_s):
            raise over(self._where, self._course.over_s)
        return (block[0] + 1,)
