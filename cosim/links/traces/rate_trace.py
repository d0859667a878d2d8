"""Rate traces: links whose rates over time were measured, or simulated elsewhere.

Each client has a rate of its own that stays from each stamp of its trace to the next. A message of b bits
that begins at a time has arrived when the integral of the rate since then reaches b; one that is cut has
sent the integral up to the cut. Where the rate is 0 it waits, and draws the power of sending.

Scope and limitations: rates are those of a client that sends alone or beside the others of the measurement:
clients do not share anything here, and power changes no rate. Nobody knows a rate beforehand, so plans that
ask for one are refused. Uploads are played on arrays too.

Usage::

    trace = RateTrace(file="drive.csv", past_end=RepeatTrace())
    system = System(uplink=TracedLink(trace=trace), downlink=TracedLink(trace=trace))

Records written: those of every link.

Validation: tests/links/test_course.py, tests/links/test_rate_trace.py.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.files.on_disk import shown
from cosim.files.tables.read import named_file
from cosim.links.port import Cell, CellLink, Course, Link
from cosim.links.traces.course import Course as Stamps
from cosim.links.traces.course import Rate
from cosim.links.traces.dealing import Dealing, OwnTraces
from cosim.links.traces.past_end import PastEnd, RefusePastEnd, over
from cosim.links.traces.table import read, remarks_on


@part
class RateTrace:
    """Rates over time from a file (`table`).

    Attributes:
        file: Its path, csv or Parquet, or package:path; it must be given. [no source]
        dealing: Whose trace a client has.
        past_end: What becomes of a trace when its last row is over.
    """

    file: str = ""
    dealing: Dealing = OwnTraces()
    past_end: PastEnd = RefusePastEnd()

    def of_clients(self, sim: Simulation, clients: Sequence[str]) -> "dict[str, TracedRate]":
        """The rate of each client.

        Raises:
            ConfigurationError: A file that is missing or wrong, or does not go with the clients.
        """
        path = named_file(RateTrace, self.file)
        rows = read(path)
        found = {}
        for client, (device, offset_s) in self.dealing.dealt(sim, shown(path), tuple(rows), clients).items():
            where, (time_s, rate_bps) = f"{shown(path)}, device {device!r}", rows[device]
            end_s = self.past_end.end_s(where, time_s)
            if not rate_bps.any():
                raise ConfigurationError(f"{where}: never has a rate above 0. Leave it out.")
            if end_s == math.inf and rate_bps[-1] == 0.0:
                raise ConfigurationError(
                    f"{where}: ends with a rate of 0, which would hold for ever. Use past_end = "
                    "RepeatTrace, or a last row above 0."
                )
            course = Stamps(time_s, end_s, repeats=self.past_end.repeats, offset_s=offset_s)
            found[client] = TracedRate(where, course, rate_bps)
        return found

    def remarks(self) -> tuple[str, ...]:
        """Sentences on what looks like a mistake in the file."""
        path = named_file(RateTrace, self.file)
        return remarks_on(shown(path), read(path))


class TracedRate(Course):
    """The rate of a client's trace.

    Args:
        where: Which trace it is, for messages.
    """

    def __init__(self, where: str, course: Stamps, rate_bps: NDArray[np.float64]) -> None:
        self._where, self._rate = where, Rate(course, rate_bps)
        self.over_s = course.over_s

    @override
    def end_s(self, start_s: float, bits: float) -> float:
        """By the integral of the rate."""
        return self._rate.end_s(start_s, bits)

    @override
    def bits(self, start_s: float, end_s: float) -> float:
        """The integral of the rate."""
        return self._rate.bits(start_s, end_s)

    @override
    def refuse(self) -> ConfigurationError:
        """The trace is too short."""
        return over(self._where, self.over_s)


@part
class TracedLink(Link):
    """A link whose rates follow traces.

    Attributes:
        trace: The rates.
    """

    trace: RateTrace = RateTrace()

    @override
    def files(self) -> tuple[str, ...]:
        """That of the rates."""
        return (self.trace.file,)

    @override
    def remarks(self) -> tuple[str, ...]:
        """Those on the rates."""
        return self.trace.remarks()

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> "list[TracedCellLink]":
        """The link of each cell."""
        rates = self.trace.of_clients(sim, [client for cell in cells for client in cell.clients])
        return [TracedCellLink(rates) for _ in cells]


class TracedCellLink(CellLink):
    """What the clients of a cell send over, or receive."""

    def __init__(self, rates: Mapping[str, TracedRate]) -> None:
        self._rates = rates

    @override
    def course(self, client: str) -> TracedRate:
        """Its trace."""
        return self._rates[client]
