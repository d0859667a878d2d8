"""Time-triggered federated learning: the server makes a version every so often, of whatever has arrived.

Every dT the model moves along the mean change of the updates that have come since the last tick, each
weighted by how late it comes. Who has reported waits for the tick and starts from the version that it makes;
who is still at work then goes on, and counts for a later tick. Where nothing has come there is no version.

Scope and limitations: the paper's joint selection of users and bandwidths is not built. All updates of a tick
weigh the same unless `staleness` says otherwise; the paper also weighs tiers of users by their samples.

Source: Zhou et al., "Time-triggered federated learning over wireless networks", IEEE Trans. Wireless Commun.
2022, arXiv 2204.12426.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.configuration import knob, lasting, part
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.asynchronous.rule import Arrival
from cosim.protocols.asynchronous.staleness import Constant, Staleness
from cosim.values.combinations import moved_along
from cosim.values.pending import PendingModel


@part
class TimeTriggered(Asynchronous):
    """Time-triggered federated learning.

    Attributes:
        period_s: dT, the time from tick to tick. [no source]
        staleness: Weight of an update by its staleness, in versions. [no source: all the same]
    """

    period_s: float = knob(lasting, default=1.0)  # pyright: ignore[reportIncompatibleMethodOverride]
    staleness: Staleness = Constant()

    @override
    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """The model moved along the mean of the weighted changes."""
        weights = [self.staleness.weight(arrival.staleness) for arrival in arrivals]
        changes = [arrival.change for arrival in arrivals]
        next_model = moved_along(model, changes, weights, len(arrivals))
        return next_model, [weight / len(arrivals) for weight in weights]
