"""By events: links with uploads of their own."""

import numpy as np
from numpy.typing import NDArray

from cosim.links.link import Job, Places
from cosim.links.payload import Payload
from cosim.links.upload import Upload
from cosim.links.way import Way


class EventsWay(Way):
    """Each upload as its link begins it."""

    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> Upload:
        return self.link.open(client, payload, job, tx_power_w)

    def uploads(
        self,
        places: Places,
        begins_s: NDArray[np.float64],
        payload: Payload,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> None:
        return None
