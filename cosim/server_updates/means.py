"""Means: the mean of what arrived, weighted equally or by samples, and no step beyond it."""

from collections.abc import Sequence

from typing_extensions import override

from cosim.configuration import part
from cosim.server_updates.port import ServerUpdate
from cosim.values.pending import PendingUpdate


@part
class Mean(ServerUpdate):
    """The mean of what arrived, equal weights."""


@part
class MeanBySamples(ServerUpdate):
    """The mean of what arrived, weighted by numbers of samples."""

    @override
    def weights(self, updates: Sequence[PendingUpdate]) -> Sequence[float]:
        """Samples that each update was trained on."""
        return [len(update.samples) for update in updates]
