"""Edge training: a cell's work in a global round.

The edge server gets a model from the cloud, runs E edge rounds of H local steps with its clients, replaces
its model by the mean of the arrived updates (HIST journal paper, eqs. 5 and 6), and sends the last one back.

If no client is present, an edge round begins when the next one comes.

Scope and limitations: if no update arrived, the edge model stays, and the round's record has num_arrived 0.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import ConfigurationError, at_least, knob, part, refuse
from cosim.devices.load import Load
from cosim.jobs.cell import Clients
from cosim.jobs.job import Job
from cosim.names import by_number
from cosim.protocols.assignment import Assignment
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.servers import Cloud, EdgeServer
from cosim.selection.port import Everyone, Selection
from cosim.server_updates.means import Mean
from cosim.server_updates.port import ServerUpdate
from cosim.training.local_steps import LocalSteps, SameSteps
from cosim.training.port import LocalTraining
from cosim.training.sgd import Sgd
from cosim.values.pending import PendingModel
from cosim.values.submodels import Part
from cosim.waiting.port import WaitForAll, Waiting


@part
class EdgeTraining(CellTraining):
    """Rounds and steps of a cell.

    Attributes:
        num_edge_rounds: Edge rounds E in a global round. [HIST journal, Section VI-B]
        steps: Rule for the number of local steps in an edge round.
        local: The rule by which clients train. [HIST journal, eq. 5: SGD]
        server: The rule by which an edge server moves its model when updates have arrived. [HIST journal, eq.
            6: their mean]
        selection: Rule that chooses the participants of an edge round. [HIST journal: everyone, or a uniform
            draw]
        waiting: Rule for how long an edge server waits for them. [HIST journal: for all]
    """

    lacks = ()
    asks = ()

    num_edge_rounds: int = knob(at_least(1), default=5)
    steps: LocalSteps = SameSteps()
    local: LocalTraining = Sgd()
    server: ServerUpdate = Mean()
    selection: Selection = Everyone()
    waiting: Waiting = WaitForAll()  # pyright: ignore[reportIncompatibleMethodOverride]

    @override
    def fit(self, system: Any) -> None:
        self.waiting.fit_round(self.selection.most(min(system.sizes())))

    @override
    def num_jobs(self, num_clients: int) -> int:
        return self.num_edge_rounds * self.selection.most(num_clients)

    @override
    def check(self, cloud: Cloud) -> None:
        """Refuse a network that the clients cannot train, before the clock starts."""
        self.local.check(cloud.learner)
        for edge in cloud.edges:
            job, step_cycles = Job.of_round(1, 0, self.num_edge_rounds), np.ones(len(edge.clients))
            self.steps_of(Simulation(seed=0), edge.clients, job, step_cycles)

    def steps_of(
        self, sim: Simulation, clients: Clients, job: Job, step_cycles: NDArray[np.float64]
    ) -> int | NDArray[np.int64]:
        """Steps of some clients in an edge round: one number for all, or shape (clients,).

        Args:
            step_cycles: Cycles of a step of each client, shape (clients,).

        Raises:
            ConfigurationError: The rule gives something other than whole numbers from 1.
        """
        of_all = self.steps.of_all
        if isinstance(of_all, int) and of_all >= 1:
            return of_all
        step_s = clients.planned_s(sim, job, step_cycles)
        found = np.asarray(self.steps.of_clients(sim, clients, job, self.local.batch_size, step_s))
        if found.shape != step_s.shape or found.dtype.kind not in "iu" or found.min(initial=1) < 1:
            raise ConfigurationError(
                f"{type(self.steps).__name__}.of_clients gives {found!r:.80}: must be whole numbers from 1, "
                f"one for each of {len(clients)} clients. Use np.maximum(1, steps).astype(int)."
            )
        return found

    def model_s(self, edge: EdgeServer, load: Load, global_round: int) -> float:
        """Time that training and sending a load add to a global round (eqs. 18, 38, times E).

        The time is that of the slowest client, by the channels at the beginning of the round; clients that
        are drawn in every edge round all count.

        Raises:
            ConfigurationError: Clients take different numbers of steps.
        """
        num_steps = self.steps.of_all
        if num_steps is None:
            rule = "clients take different numbers of steps, but a plan of times assumes one number for all"
            raise refuse(type(self), "steps", type(self.steps).__name__, rule, "Use SameSteps.")
        num_clients = self.selection.most(len(edge.clients))
        job = Job.of_round(global_round, 0, self.num_edge_rounds)
        link = edge.route.uplink.link.known_to(type(self).__name__)
        clients = edge.clients
        cycles = num_steps * load.step_cycles(clients.names, self.local.batch_size) + load.coding_cycles
        train_s = clients.planned_s(load.costs.sim, job, cycles)
        slowest_s = float((train_s + link.upload_s(slice(None), load.upload, num_clients, job)).max())
        backhaul_s = 2 * (edge.backhaul.backhaul_s(load.model.bits) - edge.backhaul.backhaul_s(0))
        return self.num_edge_rounds * slowest_s + backhaul_s

    @override
    def run(
        self,
        sim: Simulation,
        cloud: Cloud,
        edge: EdgeServer,
        model: PendingModel,
        part: Part | None,
        global_round: int,
    ) -> Process:
        load = cloud.workload.of(part, self.local.beside(cloud.shape))
        planned = partial(self._planned, sim, load)
        most = self.selection.most(len(edge.clients))
        yield from edge.receive(sim, load.model.bits)
        for edge_round in range(self.num_edge_rounds):
            present = yield from edge.gathered(sim)
            job, model = Job.of_round(global_round, edge_round, self.num_edge_rounds), cloud.sent_down(model)
            coming = cloud.coming_round(
                edge,
                present,
                model,
                job,
                load.upload,
                lambda clients, job=job: clients.planned_s(sim, job, planned(clients, job)[1]),
            )
            participants = yield from coming.chosen(sim, self.selection)
            steps, cycles = planned(participants, job)
            request = cloud.request(model, self._of_each(participants, steps), self.local)
            work = Assignment(
                route=edge.route,
                job=job,
                request=request,
                cycles=0.0,
                download=load.download,
                payload=load.upload,
            )
            num_wanted, each = len(participants) + max(0, most - len(present)), {"cycles": cycles}
            _, updates = yield from edge.run_round(sim, participants, work, each, self.waiting, num_wanted)
            if updates and cloud.evaluation.learns:
                received = edge.received(sim, self.server, model, updates, job)
                model = edge.moved(sim, self.server, model, received, job.number)
                cloud.living[edge.name] = model
        yield from edge.send(sim, load.model.bits)
        cloud.living.pop(edge.name, None)
        return model

    def _planned(
        self, sim: Simulation, load: Load, clients: Clients, job: Job
    ) -> tuple[int | NDArray[np.int64], NDArray[np.float64]]:
        """Steps, and cycles of a training, of clients that would begin now."""
        step_cycles = load.step_cycles(clients.names, self.local.batch_size)
        steps = self.steps_of(sim, clients, job, step_cycles)
        return steps, steps * step_cycles + load.coding_cycles

    def _of_each(self, clients: Clients, steps: int | NDArray[np.int64]) -> int | Callable[[str], int]:
        """Steps of all clients, or a function that gives a client's steps by its name."""
        if isinstance(steps, int):
            return steps
        return lambda name: steps.item(np.searchsorted(clients.numbers, by_number(name)[1]))
