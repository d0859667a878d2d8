"""Coming round: what a rule that chooses clients is given, besides the clock and the edge server.

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
        """Clients of the cell that are there, in the order of their numbers: those that may be chosen."""
        ...

    @property
    def model(self) -> PendingModel:
        """The model that the cell is going to train."""
        ...

    @property
    def job(self) -> Job:
        """Its global and edge round, and the number of the clients' jobs."""
        ...

    @property
    def payload(self) -> Payload:
        """What an upload carries."""
        ...

    @property
    def last(self) -> PastRound | None:
        """What became of the server's last edge round; None: there was none."""
        ...

    def history(self, clients: Sequence[Client]) -> Past:
        """What has become of the jobs of each client so far: energies, durations and outcomes.

        A rule whose class says `reads_history = True` may ask for it.

        Raises:
            ConfigurationError: No class says so.
        """
        ...

    def num_samples(self, clients: Sequence[Client]) -> NDArray[np.int64]:
        """Samples that each client has at this instant, shape (clients,)."""
        ...

    def training_s(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        """How long each client is planned to train if it begins now, shape (clients,)."""
        ...

    def losses(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        """Mean loss of the model on the training samples of each client, shape (clients,); read-only.

        With the client's own tensors in place of the model's (`System.personal`). Cross entropies in nats, or
        squared errors. The model is computed now, so a rule that asks often learns in small pieces; a run
        that is resumed reads these numbers from its checkpoint.

        Raises:
            ConfigurationError: Only times are asked for, so nothing is learned.
        """
        ...

    def known_snr(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        """SNR of each client at its highest power in an equal share of the band, shape (clients,).

        As a planner knows it at this instant, and with the share that is left when these clients take part.

        Raises:
            ConfigurationError: An uplink of which nothing is known beforehand.
        """
        ...

    def upload_s(self, clients: Sequence[Client], among: int | None = None) -> NDArray[np.float64]:
        """How long the upload of each client takes, once it may begin, shape (clients,).

        At its highest power, as a planner knows it at this instant.

        Args:
            among: How many take part; None: these.

        Raises:
            ConfigurationError: An uplink of which nothing is known beforehand.
        """
        ...
