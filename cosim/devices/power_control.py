"""Power control: the port of the power at which a client sends in a job.

Asked when an upload begins, in every protocol and on both clocks. Without one a client sends at the power
that a protocol asks for, else at its highest.

Usage::

    @part
    class Fractional(PowerControl):
        \"\"\"Compensation of half of the path loss, in dB.\"\"\"

        full_at_m: float = 500.0

        def power_w(self, sim, clients, jobs):
            return jobs.power_w * np.minimum(1.0, (jobs.distance_m / self.full_at_m) ** 1.9)

Scope and limitations: an upload keeps its power. Plans and selection rules assume the highest power, and so
does the noise of over-the-air means and of known links.
"""

from abc import ABC, abstractmethod

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import Port, part
from cosim.jobs.client_jobs import ClientJobs


@attrs.define(eq=False)
class Sendings(ClientJobs):
    """Uploads that some clients begin in a job.

    Attributes:
        payload_bits: Bits of each upload.
        asked_w: Power that a protocol asks of each, shape (clients,); None means the highest.
        power_w: The power asked for, or the highest, shape (clients,).
    """

    payload_bits: float
    asked_w: NDArray[np.float64] | None = None
    power_w: NDArray[np.float64] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        highest = self.asked_w is None
        self.power_w = self._fleet.devices.tx_power_w[self.which] if highest else self.asked_w  # type: ignore[assignment]


@part
class PowerControl(Port, ABC):
    """Power at which a client sends."""

    @abstractmethod
    def power_w(self, sim: Simulation, clients: Numbers, jobs: Sendings) -> NDArray[np.float64]:
        """Transmit power of each client, shape (clients,)."""
