"""By course: links on which each client has a rate that goes on by itself."""

import math

import numpy as np
from numpy.typing import NDArray

from cosim.links.carried import CarriedUpload, CarriedUploads, Courses
from cosim.links.link import Course, Job, Places
from cosim.links.payload import Payload
from cosim.links.way import Way
from cosim.simulation import Event, Simulation


class CourseWay(Way):
    """Each client along its course."""

    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> CarriedUpload:
        return _CourseUpload(self._sim, payload.bits, self.link.course(client))

    def uploads(
        self,
        places: Places,
        begins_s: NDArray[np.float64],
        payload: Payload,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> CarriedUploads | None:
        """By events where a course would be over, which then is an error where an upload needs it longer."""
        courses = Courses([self.link.course(client) for client in self._some(places)])
        uploads = CarriedUploads(begins_s, payload.bits, courses)
        return uploads if np.isfinite(uploads.ends_s).all() else None


class _CourseUpload(CarriedUpload):
    """An upload along a course, which must not be over while it lasts."""

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
