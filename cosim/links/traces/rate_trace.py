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

from cosim.configuration import ConfigurationError, configuration
from cosim.files import shown
from cosim.instants import instant_after
from cosim.links.link import Cell, CellLink, Job, Link, Places
from cosim.links.payload import Payload
from cosim.links.traces.course import Course, Rate
from cosim.links.traces.dealing import Dealing, OwnTraces
from cosim.links.traces.past_end import PastEnd, RefusePastEnd, over
from cosim.links.traces.table import read, remarks_on
from cosim.links.upload import Upload, Uploads
from cosim.named_files.checked_rows import named_file
from cosim.simulation import Event, Simulation


@configuration
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
                raise ConfigurationError(f"{where}: never has a rate above 0. Usual fix: leave it out.")
            if end_s == math.inf and rate_bps[-1] == 0.0:
                raise ConfigurationError(
                    f"{where}: ends with a rate of 0, which would hold for ever. Usual fix: past_end = "
                    "RepeatTrace, or a last row above 0."
                )
            course = Course(time_s, end_s, repeats=self.past_end.repeats, offset_s=offset_s)
            found[client] = TracedRate(where, course, rate_bps)
        return found

    def remarks(self) -> tuple[str, ...]:
        """Sentences on what looks like a mistake in the file."""
        path = named_file(RateTrace, self.file)
        return remarks_on(shown(path), read(path))


class TracedRate(Rate):
    """The rate of a client's trace.

    Args:
        where: Which trace it is, for messages.
    """

    def __init__(self, where: str, course: Course, rate_bps: NDArray[np.float64]) -> None:
        super().__init__(course, rate_bps)
        self._where = where

    def check(self, now_s: float) -> None:
        """Refuse to go on where the trace is over."""
        if now_s >= self.course.over_s:
            raise over(self._where, self.course.over_s)


class TracedUpload(Upload):
    """An upload, or a download, at the rate of a trace."""

    def __init__(self, sim: Simulation, rate: TracedRate, bits: float) -> None:
        rate.check(sim.now_s)
        self._sim, self._rate, self._bits, self._start_s = sim, rate, bits, sim.now_s
        self._closed_s: float | None = None
        end_s = rate.end_s(sim.now_s, bits)
        self.done: Event = sim.event() if end_s == math.inf else sim.at(end_s)
        if end_s == math.inf and rate.course.over_s < math.inf:
            sim.at(rate.course.over_s).callbacks.append(self._run_out)  # type: ignore[union-attr]

    @property
    def bits_left(self) -> float:
        """Bits that have not been sent by now, or when it was closed."""
        if self.done.processed:
            return 0.0
        until_s = self._sim.now_s if self._closed_s is None else self._closed_s
        return min(self._bits, max(0.0, self._bits - self._rate.bits(self._start_s, until_s)))

    def close(self) -> None:
        """Note when it has ended, or been cut."""
        self._closed_s = self._sim.now_s

    def _run_out(self, event: Event) -> None:
        if self._closed_s is None:
            self._rate.check(self._sim.now_s)


class TracedUploads(Uploads):
    """Uploads, or downloads, of an edge round at the rates of traces, shape (participants,)."""

    def __init__(self, begins_s: NDArray[np.float64], bits: float, rates: Sequence[TracedRate]) -> None:
        self._begins_s, self._bits, self._rates = begins_s, bits, rates
        each = zip(begins_s.tolist(), rates, strict=True)
        ends_s = [rate.end_s(begin_s, bits) for begin_s, rate in each]
        self.ends_s = instant_after(0.0, np.array(ends_s))

    def bits_left(self, cut_s: float) -> NDArray[np.float64]:
        """What the integral has not reached."""
        each = zip(self._begins_s.tolist(), self._rates, strict=True)
        sent = [rate.bits(begin_s, cut_s) if cut_s > begin_s else 0.0 for begin_s, rate in each]
        left = np.clip(self._bits - np.array(sent), 0.0, self._bits)
        return np.where(self.ends_s <= cut_s, 0.0, left)


@configuration
class TracedLink(Link):
    """A link whose rates follow traces.

    Attributes:
        trace: The rates.
    """

    trace: RateTrace = RateTrace()

    def files(self) -> tuple[str, ...]:
        """That of the rates."""
        return (self.trace.file,)

    def remarks(self) -> tuple[str, ...]:
        """Those on the rates."""
        return self.trace.remarks()

    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> "list[TracedCellLink]":
        """The link of each cell."""
        rates = self.trace.of_clients(sim, [client for cell in cells for client in cell.clients])
        return [TracedCellLink(sim, cell.clients, rates) for cell in cells]


class TracedCellLink(CellLink):
    """What the clients of a cell send over, or receive."""

    def __init__(self, sim: Simulation, clients: Sequence[str], rates: Mapping[str, TracedRate]) -> None:
        self._sim, self._clients, self._rates = sim, clients, rates

    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> TracedUpload:
        """Begin an upload; power and job change nothing."""
        return TracedUpload(self._sim, self._rates[client], payload.bits)

    def uploads(
        self,
        places: Places,
        begins_s: NDArray[np.float64],
        payload: Payload,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> Uploads | None:
        """Each by itself; by events where a trace would be over, which then is an error if it comes to it."""
        order = np.arange(len(self._clients))[places]
        rates = [self._rates[self._clients[int(place)]] for place in order]
        uploads = TracedUploads(begins_s, payload.bits, rates)
        return uploads if np.isfinite(uploads.ends_s).all() else None
