"""VHFL: vertical-horizontal federated learning (Algorithm 1 of the VHFL paper).

The server keeps a model of its own for features that only it observes, and sends its outputs for a client's
samples along with the federated weights. In every global round K_0 clients, drawn uniformly, train E_l local
epochs on these outputs and their own features, then upload weights and, per sample, the gradient with respect
to the outputs. The server waits T_p for each upload, takes the mean of the weights that arrived (eq. 10) and
moves its own model along the gradients that came with the weights (eq. 17; `vertical` in
`cosim.engine.learning`).

Clients that are away are not drawn; if all are away, a global round begins when the next one comes. Late
uploads, and uploads of clients that have left, are lost; their packets stay in the network. Clients are
weighted by their numbers of samples, renormalised over the arrived updates (eq. 10 is N / K times a part of
weights that add up to 1, which is right only on average); if none arrived both models stay, and the round's
record has num_arrived 0.

With a network that has no server's part this is horizontal federated learning in local epochs.

Scope and limitations: one server, so one cell; T_p is a number, which a scenario may take from a closed form;
the server's computing takes no time. Encryption and privacy are not modelled.

Source: Wan et al., "How global observation works in federated learning", Sections II-C and IV.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import ConfigurationError, Lack, at_least, knob, part, refuse
from cosim.configuration.going_together import ONE_MODEL
from cosim.devices.load import Load
from cosim.jobs.cell import Clients
from cosim.jobs.job import Job
from cosim.protocols.assignment import Assignment
from cosim.protocols.port import ONE_BY_ONE_ASKED, Protocol
from cosim.protocols.servers import Cloud, EdgeServer
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.waiting.port import WaitForAll, Waiting
from scenarios.papers.vhfl.vertical import VerticalSgd


@part
class Vhfl(Protocol):
    """Vertical-horizontal federated learning.

    Attributes:
        num_local_epochs: Local epochs E_l in a global round. [VHFL, Section V-D: 20]
        local: The rule by which clients train. [VHFL, Algorithm 1]
        num_senders: Clients K_0 that may upload in a global round, drawn uniformly; None means all. [no
            source]
        num_needed: Updates K that a global round should collect; only reported. None means as many as may
            upload. [no source]
        waiting: Rule for how long the server waits for them. [VHFL, Section IV: T_p for each upload]
    """

    lacks = (*Protocol.lacks, Lack(ONE_MODEL))
    asks = (ONE_BY_ONE_ASKED,)

    num_local_epochs: int = knob(at_least(1), default=20)
    local: VerticalSgd = VerticalSgd()
    num_senders: int | None = knob(at_least(1), default=None)
    num_needed: int | None = knob(at_least(1), default=None)
    waiting: Waiting = WaitForAll()  # pyright: ignore[reportIncompatibleMethodOverride]

    @override
    def fit(self, system: Any) -> None:
        """Refuse waiting rules that do not suit its rounds."""
        self.waiting.fit_round(self.num_senders or min(system.sizes()))
        if system.codec.form != "uncoded":
            kind = type(system.codec).__name__
            rule = (
                f"{kind} changes what arrives, but the server's model moves by the gradients that come "
                "with it"
            )
            raise refuse("System", "codec", kind, rule, "Use Uncompressed.")

    @override
    def check(self, cloud: Cloud) -> None:
        if len(cloud.edges) != 1:
            raise ConfigurationError(
                f"System.num_cells = {len(cloud.edges)}: VHFL has one server. Use num_cells = 1.",
                "System.num_cells",
            )
        num_clients = len(cloud.edges[0].clients)
        num_senders = num_clients if self.num_senders is None else self.num_senders
        num_needed = num_senders if self.num_needed is None else self.num_needed
        if not num_needed <= num_senders <= num_clients:
            raise ConfigurationError(
                f"Vhfl.num_needed = {num_needed}, Vhfl.num_senders = {num_senders}, System.num_clients "
                f"= {num_clients}: must be K <= K_0 <= N. Use fewer senders, or fewer needed updates.",
                "Vhfl.num_needed",
            )
        self.local.check(cloud.learner)
        self.loads(cloud)
        for client in cloud.edges[0].clients:
            _ = client.samples  # their number decides an upload's size, so missing samples are reported now
        if cloud.learner.num_global_features and not cloud.shape.num_central_outputs:
            raise ConfigurationError(
                "System.model: has no part for the server, so clients would see the server's "
                "features. Use global_features = false, or a vertical network.",
                "System.model",
            )

    @override
    def loads(self, cloud: Cloud) -> Sequence[Load]:
        return [cloud.workload.of_clients_part(0)]

    @override
    def run(self, sim: Simulation, cloud: Cloud) -> Process:
        return cloud.global_rounds(sim, partial(self.global_round, sim, cloud))

    def global_round(self, sim: Simulation, cloud: Cloud, model: PendingModel, number: int) -> Process:
        """Train and send at every client that may; returns the next model, with the server's part."""
        (server,) = cloud.edges
        yield from server.gathered(sim)
        senders = server.participants(sim, self.num_senders)
        num_wanted = len(server.clients) if self.num_senders is None else self.num_senders
        job = Job.of_round(number, 0, 1)
        work, each = self.work(cloud, server, senders, model, job), self.each(cloud, senders)
        _, updates = yield from server.run_round(sim, senders, work, each, self.waiting, num_wanted)
        return self.moved(model, updates)

    def moved(self, model: PendingModel, updates: Sequence[PendingUpdate]) -> PendingModel:
        """Model after a global round: mean of the arrived updates (eqs. 10, 17); itself if none arrived."""
        if not updates:
            return model
        return mean(updates, weights=[len(update.samples) for update in updates])

    def work(
        self, cloud: Cloud, server: EdgeServer, senders: Clients, model: PendingModel, job: Job
    ) -> Assignment:
        """Common part of the senders' tasks in a global round."""
        num_steps = dict(zip(senders.names, self._num_steps(senders), strict=True))
        load = cloud.workload.of_clients_part(0)
        return Assignment(
            route=server.route,
            job=job,
            request=cloud.request(model, num_steps.__getitem__, self.local),
            cycles=0.0,
            download=load.download,
            payload=load.upload,
        )

    def each(self, cloud: Cloud, senders: Clients) -> Mapping[str, Sequence[Any]]:
        """Fields of the tasks that depend on a client's number of samples."""
        loads = [cloud.workload.of_clients_part(len(client.samples)) for client in senders]
        work = zip(senders, loads, self._num_steps(senders), strict=True)
        return {
            "cycles": [load.cycles(client, steps, self.local.batch_size) for client, load, steps in work],
            "download": [load.download for load in loads],
            "payload": [load.upload for load in loads],
        }

    def _num_steps(self, clients: Clients) -> list[int]:
        return [self.local.num_steps(len(client.samples), self.num_local_epochs) for client in clients]
