"""Described clients: what their table says of each besides its sums (`cosim.records.rows.ClientTotals`).

Validation: tests/recording/test_client_sums.py.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.engine.clients.fleet import Clients, Fleet
from cosim.names import ClientNames
from cosim.protocols.assignment import Route
from cosim.records.columns import Columns, Words

if TYPE_CHECKING:
    from cosim.data.dataset import Dataset


class Described:
    """Devices, places and samples of all clients of a run.

    Args:
        cells: The links of each cell, and its clients.
        dataset: Gives the data set whose samples they have; None if nothing is learned.
    """

    def __init__(
        self,
        fleet: Fleet,
        cells: Sequence[tuple[Route, Clients]],
        dataset: "Callable[[], Dataset] | None",
    ) -> None:
        self._fleet, self._dataset = fleet, dataset
        self._edges = Words(
            [route.edge for route, _ in cells],
            np.repeat(np.arange(len(cells)), [len(clients) for _, clients in cells]),
        )
        self._snr_db = _snrs_db(cells)

    def columns(self, num_jobs: NDArray[np.int64]) -> Columns:
        """Columns by their names, with the samples of this instant; what the run has not is left out.

        Args:
            num_jobs: Jobs of each client so far, shape (clients,).
        """
        devices, num = self._fleet.devices, len(self._fleet.devices)
        kinds = [kind or "" for kind in devices.each("kind")] if not devices.are_plain("kind") else None
        found: Columns = {"client": Words(ClientNames(0, num), np.arange(num)), "edge": self._edges}
        if kinds is not None:
            each = list(dict.fromkeys(kinds))
            place_of = {kind: place for place, kind in enumerate(each)}
            found["kind"] = Words(each, np.array([place_of[kind] for kind in kinds], dtype=np.int64))
        found |= {"frequency_hz": devices.frequency_hz, "tx_power_w": devices.tx_power_w}
        found["distance_m"] = self._fleet.distance_m
        if self._snr_db is not None:
            found["snr_db"] = self._snr_db
        if self._dataset is not None:
            found |= self._of_samples(self._dataset(), np.flatnonzero(num_jobs))
        return found

    def _of_samples(self, dataset: "Dataset", which: NDArray[np.int64]) -> Columns:
        """Numbers of samples, and of distinct labels among them where they are classes.

        Args:
            which: Clients that are asked; a split may draw for each only when it is at work.
        """
        samples = [self._fleet.samples_of(number) for number in which.tolist()]
        counts = {"num_samples": [len(own) for own in samples]}
        if dataset.num_classes is not None:
            counts["num_labels"] = [len(np.unique(dataset.labels_of(own))) for own in samples]
        found: Columns = {name: np.full(len(self._fleet.devices), np.nan) for name in counts}
        for name, numbers in counts.items():
            found[name][which] = numbers
        return found


def _snrs_db(cells: Sequence[tuple[Route, Clients]]) -> NDArray[np.float64] | None:
    """Mean SNR of each client; None unless every cell has them."""
    snrs = [route.uplink.link.mean_snr() for route, _ in cells]
    known = [snr for snr in snrs if snr is not None]
    if len(known) < len(snrs):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # of no signal, and of one that is refused later
        return 10.0 * np.log10(np.concatenate(known))
