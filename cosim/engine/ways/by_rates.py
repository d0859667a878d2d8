"""By rates: links on which each client has a rate of its own, in a job or along a course."""

import math

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.instants import NEVER_SHORT_S, is_short
from cosim.clock.simulation import Event, Simulation, too_short
from cosim.clock.small_arrays import least_of, most_of
from cosim.configuration import ConfigurationError
from cosim.jobs.job import Job, Places
from cosim.links.carried import CarriedUpload, CarriedUploads, Courses, SteadyUpload, SteadyUploads
from cosim.links.port import Course, InRound, Sender
from cosim.links.way import Way


class RatesWay(Way):
    """Each client at its rate of the job, which is asked once for all participants of an edge round."""

    _places: Places | None = None
    _known: tuple[Job, NDArray[np.float64]] | None = None

    @override
    def begin_round(self, num_clients: int, ends_s: float = math.inf, places: Places | None = None) -> None:
        super().begin_round(num_clients, ends_s)
        self._places, self._known = places, None

    @override
    def _open(self, sender: Sender) -> SteadyUpload:
        bits, rate_bps = sender.payload.bits, self._rate_bps(sender)
        if bits < NEVER_SHORT_S * rate_bps and is_short(sender.begins_s, lasts_s := bits / rate_bps):
            activity = "receive" if sender.tx_power_w is None else "send"
            raise too_short(sender.client, activity, lasts_s, sender.begins_s)
        return SteadyUpload(self._sim, bits, rate_bps)

    @override
    def _uploads(self, of: InRound) -> SteadyUploads | None:
        """By events where an upload may be too short for the clock, which then is refused."""
        rates_bps, bits = self._rates_bps(self._some(of.places), of.job, of.tx_power_w), int(of.payload.bits)
        if most_of(rates_bps) * NEVER_SHORT_S > bits:
            is_fast = rates_bps * NEVER_SHORT_S > bits
            if is_short(of.begins_s[is_fast], bits / rates_bps[is_fast]).any():
                return None
        return SteadyUploads(of.begins_s, bits, rates_bps)

    def _rate_bps(self, sender: Sender) -> float:
        """Rate of a client among the participants; alone with a power of its own, or without rounds."""
        place, job, tx_power_w = sender.place, sender.job, sender.tx_power_w
        if self._places is not None and (
            self._tx_power_w is None or tx_power_w == self._tx_power_w.item(place)
        ):
            if self._known is None or (self._known[0] is not job and self._known[0] != job):
                rows, participants = np.full(len(self._clients), math.nan), self._some(self._places)
                rows[self._places] = self._rates_bps(participants, job, self._powers_w(self._places))
                self._known = job, rows
            found = self._known[1].item(place)
            if not math.isnan(found):
                return found
        powers_w = None if tx_power_w is None else np.array([tx_power_w])
        return self._rates_bps(self._one(place), job, powers_w).item(0)

    def _rates_bps(
        self, clients: Numbers, job: Job, tx_power_w: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        found = np.asarray(self.link.rates_bps(self._sim, clients, job, tx_power_w), dtype=float)
        if found.shape != (len(clients),) or not least_of(found) >= 0.0:
            raise ConfigurationError(
                f"{type(self.link).__name__}.rates_bps gives {found!r:.80} for {len(clients)} clients: "
                "must be an array with a rate of 0 or above for each. Return a numpy array, or use "
                "for_each."
            )
        return found


class CourseWay(Way):
    """Each client along its course."""

    @override
    def _open(self, sender: Sender) -> CarriedUpload:
        return _CourseUpload(self._sim, sender.payload.bits, self.link.course(sender.client))

    @override
    def _uploads(self, of: InRound) -> CarriedUploads | None:
        """By events where a course would be over, which then is an error where an upload needs it longer."""
        courses = Courses([self.link.course(client) for client in self._some(of.places)])
        uploads = CarriedUploads(of.begins_s, of.payload.bits, courses)
        return uploads if np.isfinite(uploads.ends_s).all() else None


class _CourseUpload(CarriedUpload):
    """An upload along a course, which must not be over while it lasts."""

    takes_time = True

    def __init__(self, sim: Simulation, bits: float, course: Course) -> None:
        if sim.now_s >= course.over_s:
            raise course.refuse()
        super().__init__(sim, bits, course)
        self._course = course
        if not self.done.triggered and course.over_s < math.inf:
            sim.at(course.over_s).callbacks.append(self._run_out)  # type: ignore[union-attr]

    def _run_out(self, _event: Event) -> None:
        if self._closed_s is None:
            raise self._course.refuse()
