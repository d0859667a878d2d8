"""Means: the mean of the arrived updates, weighted equally or by samples, with no further step."""

from collections.abc import Sequence

from typing_extensions import override

from cosim.configuration import part
from cosim.server_updates.port import ServerUpdate
from cosim.values.pending import PendingUpdate


@part
class Mean(ServerUpdate):
    """Mean of the arrived updates, with equal weights."""


@part
class MeanBySamples(ServerUpdate):
    """Mean of the arrived updates, weighted by numbers of samples."""

    @override
    def weights(self, updates: Sequence[PendingUpdate]) -> Sequence[float]:
        """Number of samples that each update was trained on."""
        return [len(update.samples) for update in updates]
