"""VFL: vertical federated learning of two agents (Section II-B of the VHFL paper, eqs. 6 to 9).

The server (agent A) holds features of samples whose other features and labels a client (agent B) holds. In
each exchange A sends its outputs u for a mini-batch; B takes a step of its own part (eq. 8) and sends back
the gradient of the loss with respect to u; A takes a step along it (eq. 9). No weights travel, so each step
costs an exchange. A global round is `num_exchanges` of them.

By the chain rule the steps of both agents are one step of SGD on their parts as one network, and are computed
as such. The steps of a round are computed together when they are read, since no model is read between them.

Scope and limitations: one server and one client, which holds all samples; both wait for each other, so
nothing is given up; an exchange from which the client leaves moves neither part; the server's computing takes
no time. Eq. 6 prints the sum over the samples; here the loss is their mean, which is a matter of the step
size, and mini-batches stand for all samples. With `batch_size` at the number of samples a step is of all of
them. Encryption is not modelled.

Source: Wan et al., "How global observation works in federated learning", Section II-B.

Validation: tests/papers/vhfl/test_vfl.py, against two networks that hand over u and its gradient.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs
from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import ConfigurationError, Lack, at_least, knob, part, refuse
from cosim.configuration.going_together import ONE_MODEL
from cosim.devices.load import Load
from cosim.jobs.job import Job
from cosim.protocols.assignment import Assignment
from cosim.protocols.port import ONE_BY_ONE_ASKED, Protocol
from cosim.protocols.servers import Cloud
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel


@part
class Vfl(Protocol):
    """Vertical federated learning of a server and one client.

    Attributes:
        num_exchanges: Exchanges in a global round: the slots t of eqs. 8 and 9. [no source]
        local: Steps of both agents, with one learning rate as in eqs. 8 and 9.
    """

    lacks = (*Protocol.lacks, Lack(ONE_MODEL))
    asks = (ONE_BY_ONE_ASKED,)

    num_exchanges: int = knob(at_least(1), default=80)
    local: Sgd = Sgd()

    @override
    def fit(self, system: Any) -> None:
        """Refuse codecs, since what travels is no model."""
        if system.codec.form != "uncoded":
            kind = type(system.codec).__name__
            rule = f"{kind} codes changes of a model, but outputs and their gradients travel"
            raise refuse("System", "codec", kind, rule, "Use Uncompressed.")

    @override
    def check(self, cloud: Cloud) -> None:
        sizes = [len(edge.clients) for edge in cloud.edges]
        if sizes != [1]:
            raise ConfigurationError(
                f"System.num_clients = {sum(sizes)}, System.num_cells = {len(sizes)}: VFL has one client "
                "beside the server. Use num_cells = 1, num_clients = 1, or Vhfl.",
                "System.num_clients",
            )
        if not (cloud.learner.num_global_features and cloud.shape.num_central_outputs):
            raise ConfigurationError(
                "System.model: VFL needs a part of the network and features for the server. Use a vertical "
                "network, and global_features = true.",
                "System.model",
            )
        self.local.check(cloud.learner)

    @override
    def loads(self, cloud: Cloud) -> Sequence[Load]:
        return [self.exchange(cloud)]

    def exchange(self, cloud: Cloud) -> Load:
        """Load of an exchange: outputs of the server come, as many gradients go; the client's part trains."""
        num_values = self.local.batch_size * cloud.shape.num_central_outputs
        payload = cloud.workload.codec.payload(num_values)
        return attrs.evolve(cloud.workload.of_clients_part(0), download=payload, upload=payload)

    @override
    def run(self, sim: Simulation, cloud: Cloud) -> Process:
        return cloud.global_rounds(sim, partial(self.global_round, sim, cloud))

    def global_round(self, sim: Simulation, cloud: Cloud, model: PendingModel, number: int) -> Process:
        """Exchange outputs and gradients, as often as asked; returns the next model."""
        (server,), moved, num_steps = cloud.edges, model, 0
        for exchange in range(self.num_exchanges):
            yield from server.gathered(sim)
            clients = server.participants(sim, None)
            load = self.exchange(cloud)
            work = Assignment(
                route=server.route,
                job=Job.of_round(number, exchange, self.num_exchanges),
                request=cloud.request(model, num_steps + 1, self.local),
                cycles=load.cycles(clients[0], 1, self.local.batch_size),
                download=load.download,
                payload=load.upload,
            )
            _, updates = yield from server.run_round(sim, clients, work, {}, self.waiting)
            if updates:
                num_steps, moved = num_steps + 1, mean(updates, weights=[1.0])
        return moved
