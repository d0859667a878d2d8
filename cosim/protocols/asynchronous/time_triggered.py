"""Time-triggered federated learning: a version at regular intervals, from all arrived updates.

Every dT the model moves along the mean change of the updates that have arrived since the last tick, each
weighted by its staleness. A client that has reported waits for the tick and starts from the version that it
makes; a client that is still working then goes on, and counts for a later tick. If no update has arrived,
there is no version.

Scope and limitations: the paper's joint selection of users and bandwidths is not built. All updates of a tick
have equal weights unless `staleness` says otherwise; the paper also weighs tiers of users by their samples.

Source: Zhou et al., "Time-triggered federated learning over wireless networks", IEEE Trans. Wireless Commun.
2022, arXiv 2204.12426.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.configuration import knob, lasting, part
from cosim.protocols.asynchronous.changes import moved_along
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.asynchronous.rule import Arrival
from cosim.protocols.asynchronous.staleness import Constant, Staleness
from cosim.values.pending import PendingModel


@part
class TimeTriggered(Asynchronous):
    """Time-triggered federated learning.

    Attributes:
        period_s: dT, the time from tick to tick. [no source]
        staleness: Weight of an update by its staleness, in versions. [no source: equal]
    """

    period_s: float = knob(lasting, default=1.0)  # pyright: ignore[reportIncompatibleMethodOverride]
    staleness: Staleness = Constant()

    @override
    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """Move the model along the mean of the weighted changes."""
        weights = [self.staleness.weight(arrival.staleness) for arrival in arrivals]
        changes = [arrival.change for arrival in arrivals]
        next_model = moved_along(model, changes, weights, len(arrivals))
        return next_model, [weight / len(arrivals) for weight in weights]
