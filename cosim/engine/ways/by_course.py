"""By course: links on which each client has a rate that goes on by itself."""

import math

import numpy as np
from typing_extensions import override

from cosim.clock.simulation import Event, Simulation
from cosim.links.carried import CarriedUpload, CarriedUploads, Courses
from cosim.links.port import Course, InRound, Sender
from cosim.links.way import Way


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
