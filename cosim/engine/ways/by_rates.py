"""By rates: links that say what each client's rate is in a job."""

import math

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.links.carried import SteadyUpload, SteadyUploads
from cosim.links.link import Job, Places
from cosim.links.payload import Payload
from cosim.links.way import Way

NO_PLACES = np.empty(0, dtype=np.int64)


class RatesWay(Way):
    """Each client at its rate of the job, which is asked once for all participants of an edge round."""

    _places: Places = NO_PLACES
    _known: tuple[Job, NDArray[np.float64]] | None = None

    def begin_round(self, num_clients: int, ends_s: float = math.inf, places: Places | None = None) -> None:
        super().begin_round(num_clients, ends_s)
        self._places, self._known = NO_PLACES if places is None else places, None

    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> SteadyUpload:
        return SteadyUpload(self._sim, payload.bits, self._rate_bps(self._place_of[client], job, tx_power_w))

    def uploads(
        self,
        places: Places,
        begins_s: NDArray[np.float64],
        payload: Payload,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> SteadyUploads:
        powers_w = self._powers_w(places) if tx_power_w is None else tx_power_w
        return SteadyUploads(begins_s, int(payload.bits), self._rates_bps(places, job, powers_w))

    def _rate_bps(self, place: int, job: Job, tx_power_w: float | None) -> float:
        """That of a client among the participants; by itself with a power of its own, or without rounds."""
        if tx_power_w is None or self._tx_power_w is None or tx_power_w == self._tx_power_w.item(place):
            if self._known is None or self._known[0] != job:
                rows = np.full(len(self._clients), math.nan)
                if len(rows[self._places]):
                    rates_bps = self._rates_bps(self._places, job, self._powers_w(self._places))
                    rows[self._places] = rates_bps
                self._known = job, rows
            found = self._known[1].item(place)
            if not math.isnan(found):
                return found
        powers_w = None if tx_power_w is None else np.array([tx_power_w])
        return self._rates_bps(np.array([place]), job, powers_w).item(0)

    def _powers_w(self, places: Places) -> NDArray[np.float64] | None:
        return None if self._tx_power_w is None else self._tx_power_w[places]

    def _rates_bps(
        self, places: Places, job: Job, tx_power_w: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        clients = self._some(places)
        found = np.asarray(self.link.rates_bps(self._sim, clients, job, tx_power_w), dtype=float)
        if found.shape != (len(clients),) or not (found >= 0.0).all():
            raise ConfigurationError(
                f"{type(self.link).__name__}.rates_bps gives {found!r:.80} for {len(clients)} clients: must "
                "be an array with a rate of 0 or above for each. Usual fix: numbers of numpy, or for_each."
            )
        return found
