"""Described clients: what their table says of each besides its sums (`cosim.records.rows.ClientTotals`).

Validation: tests/recording/test_client_sums.py.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.engine.clients.fleet import Fleet
from cosim.names import ClientNames
from cosim.records.columns import Columns, Words

if TYPE_CHECKING:
    from cosim.data.dataset import Dataset
    from cosim.engine.servers.edge import EdgeServer


def described(
    edges: Sequence["EdgeServer"], dataset: "Callable[[], Dataset] | None"
) -> Callable[[NDArray[np.int64]], Columns]:
    """Gives devices, places and samples of all clients, by column; what the run has not is left out.

    Args:
        edges: Their edge servers, one for each cell.
        dataset: Gives the data set whose samples they have; None if nothing is learned.

    Returns:
        Function of the number of jobs of each client so far, shape (clients,).
    """
    fleet = edges[0].clients.fleet
    devices, num = fleet.devices, len(fleet.devices)
    sizes = [len(edge.clients) for edge in edges]
    found: Columns = {
        "client": Words(ClientNames(0, num), np.arange(num)),
        "edge": Words([edge.name for edge in edges], np.repeat(np.arange(len(edges)), sizes)),
    }
    if not devices.are_plain("kind"):
        kinds = [kind or "" for kind in devices.each("kind")]
        place_of = {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
        found["kind"] = Words(list(place_of), np.array([place_of[kind] for kind in kinds], dtype=np.int64))
    found |= {"frequency_hz": devices.frequency_hz, "tx_power_w": devices.tx_power_w}
    found["distance_m"] = fleet.distance_m
    if (snr_db := _snrs_db(edges)) is not None:
        found["snr_db"] = snr_db
    if dataset is None:
        return lambda num_jobs: found
    return lambda num_jobs: found | _of_samples(fleet, dataset(), np.flatnonzero(num_jobs))


def _of_samples(fleet: Fleet, dataset: "Dataset", which: NDArray[np.int64]) -> Columns:
    """Numbers of samples at this instant, and of distinct labels among them where they are classes.

    Args:
        which: Clients that are asked; a split may draw for each only when it is at work.
    """
    samples = [fleet.samples_of(number) for number in which.tolist()]
    counts = {"num_samples": [len(own) for own in samples]}
    if dataset.num_classes is not None:
        counts["num_labels"] = [len(np.unique(dataset.labels_of(own))) for own in samples]
    found: Columns = {name: np.full(len(fleet.devices), np.nan) for name in counts}
    for name, numbers in counts.items():
        found[name][which] = numbers
    return found


def _snrs_db(edges: Sequence["EdgeServer"]) -> NDArray[np.float64] | None:
    """Mean SNR of each client; None unless every cell has them."""
    snrs = [edge.route.uplink.link.mean_snr() for edge in edges]
    known = [snr for snr in snrs if snr is not None]
    if len(known) < len(snrs):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # of no signal, and of one that is refused later
        return 10.0 * np.log10(np.concatenate(known))
