"""Coming round: what a selection rule is given, besides the clock and the edge server.

Usage, in a rule (`selection`)::

    losses = coming.losses(coming.clients)
    done_s = coming.training_s(coming.clients) + coming.upload_s(coming.clients)
    if coming.last is not None:
        slow = coming.last.durations_s > 1.0
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cosim.jobs.cell import Client, Clients
from cosim.jobs.job import Job
from cosim.jobs.past_round import PastRound
from cosim.jobs.payload import Payload
from cosim.recording.history import Past
from cosim.values.pending import PendingModel


class ComingRound(Protocol):
    """An edge round that is about to begin."""

    @property
    def clients(self) -> Clients:
        """Clients of the cell that are present and may be chosen, in the order of their numbers."""
        ...

    @property
    def model(self) -> PendingModel:
        """Model that the cell is going to train."""
        ...

    @property
    def job(self) -> Job:
        """Its global and edge round, and the number of the clients' jobs."""
        ...

    @property
    def payload(self) -> Payload:
        """Content of an upload."""
        ...

    @property
    def last(self) -> PastRound | None:
        """Outcome of the server's last edge round; None if there was none."""
        ...

    def history(self, clients: Sequence[Client]) -> Past:
        """Energies, durations and outcomes of the jobs of each client so far.

        A rule whose class says `reads_history = True` may ask for it.

        Raises:
            ConfigurationError: No class says so.
        """
        ...

    def num_samples(self, clients: Sequence[Client]) -> NDArray[np.int64]:
        """Number of samples that each client has at this instant, shape (clients,)."""
        ...

    def training_s(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        """Planned duration of each client's training if it begins now, shape (clients,)."""
        ...

    def losses(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        """Mean loss of the model on the training samples of each client, shape (clients,); read-only.

        The client's own tensors replace the model's (`System.personal`). Losses are cross entropies in nats,
        or squared errors. The model is computed now, so a rule that asks often learns in small batches; a
        resumed run reads these numbers from its checkpoint.

        Raises:
            ConfigurationError: The run is timing-only, so nothing is learned.
        """
        ...

    def known_snr(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        """SNR of each client at its highest power in an equal share of the band, shape (clients,).

        The values are what a planner knows now, with the share that is left when these clients take
        part.

        Raises:
            ConfigurationError: Nothing is known of the uplink beforehand.
        """
        ...

    def upload_s(self, clients: Sequence[Client], among: int | None = None) -> NDArray[np.float64]:
        """Duration of each client's upload, once it may begin, shape (clients,).

        The values are what a planner knows now, at the highest power.

        Args:
            among: Number of participants; None means these clients.

        Raises:
            ConfigurationError: Nothing is known of the uplink beforehand.
        """
        ...
