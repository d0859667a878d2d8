"""Planning: the edge servers' common plan of an edge round, and success rates of planned updates.

The planner knows the devices and the gains of the round, solves the allocation problem of all cells at once
(RawHFL paper, Remark 6), and estimates each client's success probability p_sc from its past:
(arrived + 1) / (planned + 1), which is 1 as long as no update was lost. For a client that arrives with the
probability p and was planned n times before, the mean of 1 / estimate over its arrivals is
1 - (1 - p)^(n + 1): the correction of eq. 15 is too small at first, and soon exact.

Scope and limitations: a plan counts on the share of the band that a cell's planned number of clients leaves
each (fixed and redivided sharing), and baselines on a resource block at once; if fewer take part they end
earlier than planned, and if there are fewer blocks than clients, later.

A client that is away when a plan is made has no link in it, so it is not able.

Records written: `Allotment`, one for each client and edge round.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.client_values.port import in_range
from cosim.clock.draws import uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.jobs.cell import Client
from cosim.jobs.job import Job
from cosim.links.port import KnownLink
from cosim.protocols.servers import Cloud, EdgeServer
from cosim.records.rows import Allotment
from scenarios.papers.rawhfl.plans import exact
from scenarios.papers.rawhfl.plans.port import Policy
from scenarios.papers.rawhfl.plans.problem import Plan, Problem


class Share(NamedTuple):
    """Task of one client in a plan."""

    client: Client
    num_steps: int
    frequency_hz: float
    tx_power_w: float
    energy_budget_j: float


@attrs.frozen(kw_only=True)
class Terms:
    """Requirements of a protocol on its plans.

    Attributes:
        policy: Rule that selects clients and sets their work.
        batch_size: Samples in a local round.
        max_steps: Most local rounds.
        deadline_s: Length of an edge round.
        energy_budget_j: Lowest and highest budget of a client for an edge round.
    """

    policy: Policy
    batch_size: int
    max_steps: int
    deadline_s: float
    energy_budget_j: tuple[float, ...]

    def num_selected(self, cloud: Cloud) -> int:
        """Number of clients that a cell is to select."""
        sizes = [len(edge.clients) for edge in cloud.edges]
        return self.policy.num_selected_of(sizes, known_link(cloud).num_at_once)

    def problem(self, cloud: Cloud) -> Problem:
        """Problem of an edge round that begins now, with the highest budget for all, without gains."""
        clients = [client for edge in cloud.edges for client in edge.clients]
        num_selected, load = self.num_selected(cloud), cloud.workload.of()
        plain = Problem(
            cell=np.repeat(np.arange(len(cloud.edges)), [len(edge.clients) for edge in cloud.edges]),
            step_cycles=np.concatenate(
                [load.step_cycles(edge.clients.names, self.batch_size) for edge in cloud.edges]
            ),
            min_frequency_hz=np.array([client.device.lowest_frequency_hz for client in clients]),
            max_frequency_hz=np.array([client.device.frequency_hz for client in clients]),
            min_power_w=np.zeros(len(clients)),
            max_power_w=np.array([client.tx_power_w for client in clients]),
            snr_per_w=np.zeros(len(clients)),
            energy_budget_j=np.full(len(clients), self.energy_budget_j[-1]),
            is_repeated=np.zeros(len(clients), dtype=np.bool_),
            capacitance_j_per_hz2=_common(clients, "capacitance_j_per_hz2"),
            static_power_w=_common(clients, "static_power_w"),
            payload_bits=int(load.upload.bits),
            bandwidth_hz=known_link(cloud).share_hz(num_selected),
            deadline_s=self.deadline_s,
            max_steps=self.max_steps,
            num_selected=num_selected,
            num_repeated=num_selected,
            theta=0.5,
        )
        return self.policy.posed(plain)

    def known_snr_per_w(self, cloud: Cloud, job: Job) -> NDArray[np.float64]:
        """SNR at 1 W of every client in the bandwidth of its upload, as far as the policy trusts it."""
        bandwidth_hz = known_link(cloud).share_hz(self.num_selected(cloud))
        known = [known_link(cloud, edge).snr_per_w(slice(None), bandwidth_hz, job) for edge in cloud.edges]
        return self.policy.trusted(np.concatenate(known))


def known_link(cloud: Cloud, edge: EdgeServer | None = None) -> KnownLink:
    """Knowledge of a cell's link; None means the first cell, since all have the same bandwidth."""
    return (edge or cloud.edges[0]).route.uplink.link.known_to("a plan")


def _common(clients: Sequence[Client], name: str) -> float:
    """Common value of all processors.

    Raises:
        ConfigurationError: They differ.
    """
    values = {getattr(client.device, name) for client in clients}
    if len(values) > 1:
        raise ConfigurationError(
            f"System.devices: processors differ in {name}, but a plan assumes one value for all. Use "
            "one value for all, or a protocol that does not plan.",
            "System.devices",
        )
    return values.pop()


class Planned(NamedTuple):
    """The plan of an edge round.

    Attributes:
        plan: Plan of all cells.
        places: Number of a client -> its place in the plan.
        budgets_j: Energy budgets of the clients, in the order of the plan.
    """

    plan: Plan
    places: Mapping[int, int]
    budgets_j: NDArray[np.float64]

    def selects(self, client: Client) -> bool:
        """True if a client is to train."""
        return bool(self.plan.is_selected[self.places[client.number]])

    def share_of(self, client: Client) -> Share:
        """Task of a selected client."""
        place, plan = self.places[client.number], self.plan
        return Share(
            client,
            int(plan.num_steps[place]),
            float(plan.frequency_hz[place]),
            float(plan.power_w[place]),
            float(self.budgets_j[place]),
        )


class Planner:
    """Planner of a run's edge rounds, for all cells together; it knows clients by their numbers."""

    def __init__(self, sim: Simulation, cloud: Cloud, terms: Terms) -> None:
        self._sim, self._cloud, self._terms = sim, cloud, terms
        shares = {
            client.number: sim.of_client(client.name, "energy budget", uniforms)
            for edge in cloud.edges
            for client in edge.clients
        }
        self._budgets_j = {number: in_range(terms.energy_budget_j, share) for number, share in shares.items()}
        begin = terms.problem(cloud)
        self._solve, self._num_selected = terms.policy.solver_for(sim, begin.cell), begin.num_selected
        self._num_planned: Counter[int] = Counter()
        self._num_arrived: Counter[int] = Counter()
        self._plans: dict[Job, Planned] = {}

    def shares(self, edge: EdgeServer, job: Job) -> list[Share]:
        """Tasks of the clients of a cell that are selected for an edge round, by name."""
        planned = self._planned(job)
        return [planned.share_of(client) for client in edge.clients if planned.selects(client)]

    def num_wanted(self, edge: EdgeServer) -> int:
        """Number of clients of a cell that an edge round should have."""
        return min(self._num_selected, len(edge.clients))

    def success_probability(self, client: Client) -> float:
        """Estimated probability that a client's planned update arrives."""
        number = client.number
        return (self._num_arrived[number] + 1) / (self._num_planned[number] + 1)

    def count(self, client: Client, arrived: bool) -> None:
        """Record the outcome of a planned update."""
        self._num_planned[client.number] += 1
        self._num_arrived[client.number] += int(arrived)

    def _planned(self, job: Job) -> Planned:
        """Plan of an edge round, made when the first cell asks for it."""
        if job not in self._plans:
            last = next(reversed(self._plans.values()), None)
            if job.edge_round == 0:
                self._plans.clear()  # all cells have ended the last global round
            clients = [client for edge in self._cloud.edges for client in edge.clients]
            there = np.concatenate([edge.clients.are_there for edge in self._cloud.edges])
            problem = attrs.evolve(
                self._terms.problem(self._cloud),  # again, because the cost of a step may have changed
                energy_budget_j=np.array([self._budgets_j[client.number] for client in clients]),
                snr_per_w=self._terms.known_snr_per_w(self._cloud, job) * there,
            )
            if last is not None:
                repeated = [last.selects(client) for client in clients]
                problem = attrs.evolve(problem, is_repeated=np.array(repeated))
            plan, places = self._solve(problem), {one.number: place for place, one in enumerate(clients)}
            self._plans[job] = Planned(plan, places, problem.energy_budget_j)
            self._record(problem, plan, clients, job)
        return self._plans[job]

    def _record(self, problem: Problem, plan: Plan, clients: Sequence[Client], job: Job) -> None:
        columns = (
            exact.able(problem).tolist(),
            plan.is_selected.tolist(),
            plan.num_steps.tolist(),
            plan.frequency_hz.tolist(),
            plan.power_w.tolist(),
            plan.duration_s(problem).tolist(),
            plan.energy_j(problem).tolist(),
        )
        edges = [edge.name for edge in self._cloud.edges for _ in edge.clients]
        rounds = job.global_round, job.edge_round
        for client, edge, *values in zip(clients, edges, *columns, strict=True):
            self._sim.recorder.record(Allotment(client.name, edge, *rounds, self._sim.now_s, *values))
