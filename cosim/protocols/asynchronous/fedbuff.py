"""FedBuff: federated learning with buffered asynchronous aggregation.

The server keeps updates in a buffer. When it holds K updates, the model moves along their mean change, each
weighted by its staleness: x <- x - eta_g (1 / K) sum s(u_i) delta_i, where delta_i is the model that client i
started from minus its trained model, u_i the number of versions made since it started, and s(u) = (1 +
u)^-1/2. Then the buffer is emptied. A client that started from the newest version has u = 0.

Scope and limitations: no secure aggregation, no differential privacy. The sum is divided by K, not by the sum
of the weights, as in the paper.

Source: Nguyen et al., "Federated learning with buffered asynchronous aggregation", arXiv 2106.06639,
Algorithm 1; the scaling in Section 5.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.configuration import at_least, knob, part, positive
from cosim.protocols.asynchronous.changes import moved_along
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.asynchronous.rule import Arrival
from cosim.protocols.asynchronous.staleness import Polynomial, Staleness
from cosim.schedules.port import Rate
from cosim.values.pending import PendingModel


@part
class FedBuff(Asynchronous):
    """Federated learning with buffered asynchronous aggregation.

    Attributes:
        num_updates: Updates K that make a version. [FedBuff, Section 5: 10]
        staleness: Weight s of an update by its staleness. [FedBuff, Section 5]
        server_rate: eta_g, the step along the mean. [no source: the full mean]
    """

    num_updates: int = knob(at_least(1), default=10)
    staleness: Staleness = Polynomial()
    server_rate: Rate = knob(positive, default=1.0)

    @override
    def is_due(self, num_waiting: int) -> bool:
        """True if the buffer is full."""
        return num_waiting >= self.num_updates

    @override
    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """Move the model along the mean of the weighted changes."""
        weights = [self.server_rate * self.staleness.weight(arrival.staleness) for arrival in arrivals]
        changes = [arrival.change for arrival in arrivals]
        next_model = moved_along(model, changes, weights, self.num_updates)
        return next_model, [weight / self.num_updates for weight in weights]
