"""FedAsync: asynchronous federated optimisation.

The server mixes every update into the model as it arrives: x_t = (1 - a_t) x_{t-1} + a_t x_client with
a_t = a s(t - tau), where tau is the version that the client started from.

The paper counts the lateness of an update from the version that it makes. An update that started from the
newest version, tau = t - 1, has t - tau = 1 there, and its polynomial gives s(1) = (1 + 1)^-1/2. This
protocol computes the same: s of one plus the staleness in the records, which is then 0.

Scope and limitations: arrivals of one instant are applied one after the other. The proximal term that the
paper adds to the clients' objective is a rule of training, `Proximal`.

Source: Xie, Koyejo, Gupta, "Asynchronous federated optimization", arXiv 1903.03934, Algorithm 1; the weights
in Section 5.2.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.configuration import a_share, knob, part, positive
from cosim.protocols.asynchronous.changes import mixed
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.asynchronous.rule import Arrival
from cosim.protocols.asynchronous.staleness import Polynomial, Staleness
from cosim.protocols.asynchronous.trainers import ClientTraining, Trainers
from cosim.schedules.port import Rate
from cosim.training.sgd import Proximal
from cosim.values.pending import PendingModel


@part
class FedAsync(Asynchronous):
    """Asynchronous federated optimisation.

    Attributes:
        training: Trainers, and their work in a job. [FedAsync, Section 6: mu = 0.005]
        share: a, the weight in the model of an update that is not stale. [FedAsync, Section 6: 0.6]
        staleness: Weight s of an update as a function of its staleness. [FedAsync, Section 6: exponent 0.5]
    """

    training: Trainers = ClientTraining(local=Proximal())
    share: Rate = knob(positive, a_share, default=0.6)
    staleness: Staleness = Polynomial()

    @override
    def is_due(self, num_waiting: int) -> bool:
        """True for every update: each makes a version."""
        return True

    @override
    def moved(
        self, model: PendingModel, arrivals: Sequence[Arrival], num_clients: int
    ) -> tuple[PendingModel, Sequence[float]]:
        """Mix the model with the update."""
        (arrival,) = arrivals
        share = self.share * self.staleness.weight(arrival.staleness + 1)
        return mixed(model, arrival.change, share), [share]
