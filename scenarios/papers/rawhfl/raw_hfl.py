"""RawHFL: resource-aware hierarchical federated learning (Algorithm 1 of the RawHFL paper).

In every edge round the edge servers plan which clients train, their local rounds, CPU frequencies and
transmit powers ( `planning`, `plans`). A local round is one SGD step on the mean gradient of n mini-batches,
or n steps, which cost as much.
Clients send accumulated gradients; at the deadline the edge takes the gradients that arrived, each divided by
its success probability (eq. 15), and after E edge rounds the cloud takes the mean of the edge models (eq.
17). An edge round always lasts until its deadline, even if all have arrived: a user asks for a new video
after watching the last one.

The paper's baselines are values of `policy`: H-FedAvg-M1 and -M2 (`CommonSteps`), H-FedAvg-UB
(`Unconstrained`), FedAvg-UB (`Unconstrained` with one edge round, and edge servers that only relay).

Scope and limitations: cells have equal weights, and so have the planned clients of a cell. A client stops
when its energy budget is used up. If no update arrived the edge model stays (num_arrived 0); a cell with too
few able clients takes all of them (num_participants below num_wanted), and if no client is present an edge
round passes without participants.

Source: RawHFL paper, Sections III-A and V.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import attrs
from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import (
    ConfigurationError,
    a_share,
    at_least,
    between,
    knob,
    lasting,
    one_or_range,
    part,
    positive,
)
from cosim.configuration.port import Picture
from cosim.devices.load import Load
from cosim.jobs.job import Job
from cosim.protocols.assignment import Assignment
from cosim.protocols.combinations import mean_of_models
from cosim.protocols.port import EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED, PLANS, Protocol
from cosim.protocols.servers import Cloud, EdgeServer
from cosim.training.port import LocalTraining
from cosim.training.sgd import Sgd
from cosim.values.pending import PendingModel
from cosim.waiting.counts import AtLeast
from cosim.waiting.deadlines import Deadline
from cosim.waiting.port import WaitForAll, Waiting
from scenarios.papers.rawhfl.accumulated import accumulate
from scenarios.papers.rawhfl.plan_pictures import clients_planned, steps_planned
from scenarios.papers.rawhfl.planning import Planner, Share, Terms
from scenarios.papers.rawhfl.plans import exact
from scenarios.papers.rawhfl.plans.port import Policy, ResourceAware


@part
class RawHfl(Protocol):
    """Resource-aware hierarchical federated learning.

    Attributes:
        num_edge_rounds: Edge rounds E in a global round. [RawHFL, Section V-A]
        max_local_rounds: Most local rounds L of a client in an edge round. [RawHFL, Section V-A]
        num_mini_batches: Mini-batches n of a local round. [RawHFL, Section V-A]
        averages_mini_batches: True if a local round is one step on the mean gradient of its mini-batches;
            otherwise it has a step for each. [RawHFL, eq. 9: one gradient]
        local: The rule by which clients train, with the samples of one mini-batch. [RawHFL, Section V-A]
        deadline_s: Length t_th of an edge round. [RawHFL, Section V-A]
        energy_budget_j: A client's budget for an edge round: one value for all, or lowest and highest of a
            uniform range. [RawHFL, Section V-A]
        policy: Rule that selects clients and sets their work.
        success_probability: p_sc of every client in eq. 15; None means that it is estimated from past rounds.
            [RawHFL, Section IV-A: close to 1]
        relays: True if edge servers only relay, as in FedAvg: all updates that have arrived go over the
            backhaul to the cloud; otherwise one edge model does. [RawHFL, Section V-C]

    Raises:
        ConfigurationError: Edge servers that relay, but more than one edge round.
    """

    asks = (EVERY_UPDATE_ASKED, ONE_BY_ONE_ASKED, *PLANS)

    num_edge_rounds: int = knob(at_least(1), default=4)
    max_local_rounds: int = knob(between(1, 10_000), default=50)
    num_mini_batches: int = knob(at_least(1), default=10)
    averages_mini_batches: bool = True
    local: LocalTraining = Sgd(batch_size=32, learning_rate=0.01)
    deadline_s: float = knob(lasting, default=150.0)
    energy_budget_j: tuple[float, ...] = knob(one_or_range, positive, default=(0.8, 1.5))
    policy: Policy = ResourceAware()
    success_probability: float | None = knob(positive, a_share, default=None)
    relays: bool = False

    def __attrs_post_init__(self) -> None:
        if self.relays and self.num_edge_rounds > 1:
            raise ConfigurationError(
                f"RawHfl.relays: has no edge model, but num_edge_rounds = {self.num_edge_rounds} would train "
                "one for several edge rounds. Use num_edge_rounds = 1.",
                "RawHfl.relays",
            )

    @override
    def pictures(self) -> tuple[Picture, ...]:
        return clients_planned, steps_planned

    @property
    @override
    def waiting(self) -> Waiting:
        """Wait until the deadline, even if all have arrived; or for all, if the policy keeps no limits."""
        rule = Deadline(deadline_s=self.deadline_s) if self.policy.keeps_limits else WaitForAll()
        return AtLeast(lasting_s=self.deadline_s, rule=rule)

    @property
    def num_samples(self) -> int:
        """Samples of a local round."""
        return self.num_mini_batches * self.local.batch_size

    @property
    def stepping(self) -> LocalTraining:
        """Training rule with the samples of one step."""
        return (
            attrs.evolve(self.local, batch_size=self.num_samples)
            if self.averages_mini_batches
            else self.local
        )

    @property
    def terms(self) -> Terms:
        """Requirements on plans."""
        return Terms(
            policy=self.policy,
            batch_size=self.num_samples,
            max_steps=self.max_local_rounds,
            deadline_s=self.deadline_s,
            energy_budget_j=self.energy_budget_j,
        )

    @override
    def check(self, cloud: Cloud) -> None:
        self.stepping.check(cloud.learner)
        problem = self.terms.problem(cloud)
        best_snr = 1e10 * self.terms.known_snr_per_w(cloud, Job.of_round(1, 0, self.num_edge_rounds))
        hopeful = attrs.evolve(problem, snr_per_w=best_snr)
        if self.policy.keeps_limits and not exact.able(hopeful).any():
            raise ConfigurationError(
                f"RawHfl.deadline_s = {self.deadline_s:g} and RawHfl.energy_budget_j = "
                f"{self.energy_budget_j[-1]:g}: no client can do one local round and upload within them, "
                "even over a link 100 dB better than its own. Use a longer deadline, a larger budget, "
                "or fewer num_mini_batches.",
                "RawHfl.deadline_s",
            )

    @override
    def run(self, sim: Simulation, cloud: Cloud) -> Process:
        planner = Planner(sim, cloud, self.terms)
        return cloud.global_rounds(sim, partial(self.global_round, sim, cloud, planner))

    def global_round(
        self, sim: Simulation, cloud: Cloud, planner: Planner, model: PendingModel, number: int
    ) -> Process:
        """Plan and train in every cell; returns the mean of the edge models."""
        cells = [self.cell(sim, cloud, edge, planner, model, number) for edge in cloud.edges]
        return mean_of_models((yield from sim.together(cells)))

    def cell(
        self,
        sim: Simulation,
        cloud: Cloud,
        edge: EdgeServer,
        planner: Planner,
        model: PendingModel,
        global_round: int,
    ) -> Process:
        """Run one cell's global round; returns the edge model as it reaches the cloud."""
        load = cloud.workload.of()
        num_relayed = 0
        yield from edge.receive(sim, load.model.bits)
        for edge_round in range(self.num_edge_rounds):
            job = Job.of_round(global_round, edge_round, self.num_edge_rounds)
            shares, model = planner.shares(edge, job), cloud.sent_down(model)
            clients = edge.clients.these([share.client for share in shares])
            work, each = self.work(cloud, edge, shares, model, load, job), self.each(shares, load)
            num_wanted = planner.num_wanted(edge)
            past, updates = yield from edge.run_round(sim, clients, work, each, self.waiting, num_wanted)
            coefficients = []
            for share, counts in zip(shares, past.arrived.tolist(), strict=True):
                if counts:
                    success = self.success_probability or planner.success_probability(share.client)
                    coefficients.append(1.0 / (len(shares) * success))
                planner.count(share.client, counts)
            if updates:
                model = accumulate(model, updates, coefficients)
            num_relayed += len(coefficients)
        yield from edge.send(sim, num_relayed * load.upload.bits if self.relays else load.model.bits)
        return model

    def work(
        self,
        cloud: Cloud,
        edge: EdgeServer,
        shares: Sequence[Share],
        model: PendingModel,
        load: Load,
        job: Job,
    ) -> Assignment:
        """Common part of the tasks of all clients that are selected for an edge round."""
        steps_of_round = 1 if self.averages_mini_batches else self.num_mini_batches
        num_steps = {share.client.name: share.num_steps * steps_of_round for share in shares}
        return Assignment(
            route=edge.route,
            job=job,
            request=cloud.request(model, num_steps.__getitem__, self.stepping),
            cycles=0.0,
            download=load.download,
            payload=load.upload,
        )

    def each(self, shares: Sequence[Share], load: Load) -> Mapping[str, Sequence[float | None]]:
        """Fields of the tasks that differ from client to client."""
        batch_size, limits = self.num_samples, self.policy.keeps_limits
        return {
            "cycles": [load.cycles(share.client, share.num_steps, batch_size) for share in shares],
            "frequency_hz": [share.frequency_hz for share in shares],
            "tx_power_w": [share.tx_power_w for share in shares],
            "energy_budget_j": [share.energy_budget_j if limits else None for share in shares],
        }
