"""Shared: links on which uploads change each other."""

import numpy as np
from numpy.typing import NDArray

from cosim.links.link import ByEvents, Job, Places
from cosim.links.payload import Payload
from cosim.links.upload import Upload, Uploads
from cosim.links.way import Way

NOBODY, NEVER = np.empty(0, dtype=np.int64), np.empty(0)


class SharedWay(Way):
    """As the link shares itself among them."""

    @property
    def needs_events(self) -> ByEvents | None:
        return self.link.by_events() if self._of_nobody() is None else None

    @property
    def stand_alone(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        uploads = self._of_nobody()
        return uploads is None or uploads.stand_alone

    def _of_nobody(self) -> Uploads | None:
        return self.link.uploads(NOBODY, NEVER, Payload(1, 1), Job(1, 0, 0))

    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> Upload:
        return self.link.start(client, payload, job, tx_power_w)

    def uploads(
        self,
        places: Places,
        begins_s: NDArray[np.float64],
        payload: Payload,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> Uploads | None:
        return self.link.uploads(places, begins_s, payload, job, tx_power_w)
