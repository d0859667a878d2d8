"""Generalised asynchronous SGD: jobs in a closed network of queues.

There are always m jobs under way. When a job ends, the model moves along its change divided by n p_i, so that
clients that are asked more often count less each time: x <- x - (eta / (n p_i)) delta_i, with n clients, and
p_i the probability that client i is asked. Then the next job is given to a client drawn by these
probabilities, with the newest version; it queues there behind the client's other jobs, first come first
served.

With one local step, delta_i is the client's learning rate times its gradient, which is the paper's step.

Scope and limitations: the paper takes one gradient in a job; more local steps are an extension. For clients
at the cloud, the backhaul's time belongs to the service. The first m jobs are drawn like all others.

Source: Leconte et al., "Queueing dynamics of asynchronous federated learning", arXiv 2405.00017, Algorithm 1.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.configuration import knob, part, positive
from cosim.protocols.asynchronous.changes import moved_along
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.asynchronous.rule import Arrival
from cosim.protocols.asynchronous.starts import Dispatched
from cosim.schedules.port import Rate
from cosim.values.pending import PendingModel


@part
class GeneralisedAsync(Asynchronous):
    """Generalised asynchronous SGD.

    Attributes:
        starts: Rule for the number of jobs and for the clients that get them.
        server_rate: Factor of every step, besides the clients' learning rate. [no source: none]
    """

    starts: Dispatched = Dispatched()
    server_rate: Rate = knob(positive, default=1.0)

    @override
    def is_due(self, num_waiting: int) -> bool:
        """True for every job: each makes a version."""
        return True

    @override
    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """Move the model along the change, less for clients that are asked more often."""
        (arrival,) = arrivals
        asked = num_clients * float(self.starts.probabilities(num_clients)[arrival.place])
        return moved_along(model, [arrival.change], [self.server_rate], asked), [self.server_rate / asked]
