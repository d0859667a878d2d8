"""Processor: the port of a training's duration and power, job by job.

Asked when a training begins, in every protocol and on both clocks: its planned duration, and its power.
Without one a device computes at the frequency that a protocol asks for, else at its highest: cycles take
cycles / f seconds and 0.5 zeta cycles f^2 joules (RawHFL paper, eqs. 10 and 11). A class writes any of the
three methods; if it does not write durations or powers, they follow from the frequency.

Usage::

    @part
    class Throttled(Processor):
        \"\"\"Half the speed from an instant on.\"\"\"

        hot_from_s: float = 10.0

        def frequency_hz(self, sim, clients, jobs):
            return np.where(jobs.begins_s < self.hot_from_s, 1.0, 0.5) * jobs.frequency_hz

Scope and limitations: a training keeps its frequency and power. A plan of frequencies uses the plain
formulas, with the frequencies that it may ask for. Power at rest is in `cosim.engine.clients.rest`.
"""

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import Port, one_of, part
from cosim.jobs.client_jobs import ClientJobs

if TYPE_CHECKING:
    from cosim.devices.device import DeviceNumbers


@attrs.define(eq=False)
class Trainings(ClientJobs):
    """Trainings that some clients begin in a job.

    Attributes:
        cycles: Cycles of each training, shape (clients,).
        asked_hz: Frequency that a protocol asks of each, shape (clients,); None means the highest.
        frequency_hz: The frequency asked for, or the highest, shape (clients,).
    """

    cycles: NDArray[np.float64]
    asked_hz: NDArray[np.float64] | None = None
    frequency_hz: NDArray[np.float64] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        highest = self.asked_hz is None
        self.frequency_hz = self._fleet.devices.frequency_hz[self.which] if highest else self.asked_hz  # type: ignore[assignment]

    def computing_w(self, frequency_hz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Powers while computing at a frequency each (RawHFL paper, eq. 11), including static powers."""
        if self.asked_hz is None and frequency_hz is self.frequency_hz:
            return self._fleet.devices.train_w[self.which]
        return computing_w(self.devices, frequency_hz)


@part
class Processor(Port):
    """Duration and power of trainings."""

    forms = one_of(numbers=("frequency_hz", "duration_s", "power_w"))

    def frequency_hz(self, sim: Simulation, clients: Numbers, jobs: Trainings) -> NDArray[np.float64]:
        """Frequency at which each computes, shape (clients,)."""
        return jobs.frequency_hz

    def duration_s(self, sim: Simulation, clients: Numbers, jobs: Trainings) -> NDArray[np.float64]:
        """Planned duration of each training (RawHFL paper, eq. 10), shape (clients,)."""
        return jobs.cycles / self.frequency_hz(sim, clients, jobs)

    def power_w(self, sim: Simulation, clients: Numbers, jobs: Trainings) -> NDArray[np.float64]:
        """Power of each while it trains, shape (clients,)."""
        return jobs.computing_w(self.frequency_hz(sim, clients, jobs))


def computing_w(devices: "DeviceNumbers[Any]", frequency_hz: Any) -> Any:
    """Power while computing at a frequency (RawHFL paper, eq. 11), with static power; for one or many."""
    if isinstance(frequency_hz, np.ndarray):
        cubes: Any = np.array(
            [hz**3 for hz in frequency_hz.tolist()]
        )  # numpy's cubes differ in the last bits
    else:
        cubes = float(frequency_hz) ** 3
    return 0.5 * devices.capacitance_j_per_hz2 * cubes + devices.static_power_w
