"""Rate traces: links with rates over time that were measured, or simulated elsewhere.

Each client has a rate of its own that is constant from each stamp of its trace to the next. A message of b
bits that begins at a time has arrived when the integral of the rate since then reaches b; a message that is
cut off has sent the integral up to the cut. While the rate is 0 it waits, and uses the power of sending.

Scope and limitations: rates are for a client that sends alone or beside the others of the measurement:
clients share nothing here, and power changes no rate. No rate is known beforehand, so plans that ask for one
are refused. Uploads run on arrays, too.

Usage::

    trace = RateTrace(file="drive.csv", past_end=RepeatTrace())
    system = System(uplink=TracedLink(trace=trace), downlink=TracedLink(trace=trace))

Records written: the same as for every link.

Validation: tests/links/test_course.py, tests/links/test_rate_trace.py.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.configuration.port import Picture
from cosim.files.on_disk import shown
from cosim.links.port import Cell, CellLink, Course, Link
from cosim.links.traces.course import Course as Stamps
from cosim.links.traces.course import Rate
from cosim.links.traces.dealing import Dealing, OwnTraces
from cosim.links.traces.past_end import PastEnd, RefusePastEnd, over
from cosim.links.traces.table import read, remarks_on
from cosim.tables.faults import reads
from cosim.tables.once import once
from cosim.tables.read import named_file


@part
class RateTrace:
    """Rates over time from a file (`table`).

    Attributes:
        file: Its path, csv or Parquet, or package:path; required. [no source]
        dealing: Rule that gives each client its trace.
        past_end: Rule for a trace after its last row.
    """

    file: str = ""
    dealing: Dealing = OwnTraces()
    past_end: PastEnd = RefusePastEnd()

    @reads("file")
    def of_clients(self, sim: Simulation, clients: Sequence[str]) -> "dict[str, TracedRate]":
        """Rate of each client over time.

        Raises:
            ConfigurationError: The file is missing or wrong, or does not match the clients.
        """
        path = named_file(RateTrace, self.file)
        rows = read(path)
        found = {}
        for client, (device, offset_s) in self.dealing.dealt(sim, shown(path), tuple(rows), clients).items():
            where, (time_s, rate_bps) = f"{shown(path)}, device {device!r}", rows[device]
            end_s = self.past_end.end_s(where, time_s)
            if offset_s >= end_s and not self.past_end.repeats:
                raise ConfigurationError(
                    f"{where}: {client} would begin at {offset_s:g} s of it, and it is over at {end_s:g} s. "
                    f"Use an offset below {end_s:g}, or past_end = RepeatTrace."
                )
            if not rate_bps.any():
                raise ConfigurationError(f"{where}: never has a rate above 0. Leave this device out.")
            if end_s == math.inf and rate_bps[-1] == 0.0:
                raise ConfigurationError(
                    f"{where}: ends with a rate of 0, which would hold forever. Use past_end = "
                    "RepeatTrace, or a last row above 0."
                )
            course = Stamps(time_s, end_s, repeats=self.past_end.repeats, offset_s=offset_s)
            found[client] = TracedRate(where, course, rate_bps)
        return found

    @reads("file")
    def remarks(self) -> tuple[str, ...]:
        """Sentences about probable mistakes in the file."""
        return once(_remarks, named_file(RateTrace, self.file))


def _remarks(path: Path) -> tuple[str, ...]:
    return remarks_on(shown(path), read(path))


class TracedRate(Course):
    """Rate of a client's trace.

    Args:
        where: Name of the trace, for messages.
    """

    def __init__(self, where: str, course: Stamps, rate_bps: NDArray[np.float64]) -> None:
        self._where, self._rate = where, Rate(course, rate_bps)
        self.over_s = course.over_s

    @override
    def end_s(self, start_s: float, bits: float) -> float:
        return self._rate.end_s(start_s, bits)

    @override
    def bits(self, start_s: float, end_s: float) -> float:
        return self._rate.bits(start_s, end_s)

    @override
    def refuse(self) -> ConfigurationError:
        return over(self._where, self.over_s)


@part
class TracedLink(Link):
    """Link with rates from traces.

    Attributes:
        trace: The rates.
    """

    trace: RateTrace = RateTrace()

    @override
    def files(self) -> tuple[str, ...]:
        return (self.trace.file,)

    @override
    def remarks(self) -> tuple[str, ...]:
        return self.trace.remarks()

    @override
    def pictures(self) -> tuple[Picture, ...]:
        return ("rates",)

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> "list[TracedCellLink]":
        rates = self.trace.of_clients(sim, [client for cell in cells for client in cell.clients])
        return [TracedCellLink(rates) for _ in cells]


class TracedCellLink(CellLink):
    """Link of a cell with rates from traces."""

    def __init__(self, rates: Mapping[str, TracedRate]) -> None:
        self._rates = rates

    @override
    def course(self, client: str) -> TracedRate:
        return self._rates[client]
