"""Shared: links on which uploads change each other."""

import numpy as np
from numpy.typing import NDArray

from cosim.links.link import Job, Places
from cosim.links.payload import Payload
from cosim.links.upload import Upload, Uploads
from cosim.links.way import Way


class SharedWay(Way):
    """As the link shares itself among them."""

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
