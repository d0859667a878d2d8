"""Servers: the cloud and its edge servers, as protocols and cell trainings drive them.

Usage, in a protocol that trains only its first cell::

    def run(self, sim, cloud):
        def one_round(model, number):
            return self.training.run(sim, cloud, cloud.edges[0], model, None, number)

        return cloud.global_rounds(sim, one_round)
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Process, Simulation
from cosim.codecs.port import Codec
from cosim.devices.load import Load
from cosim.ends.evaluation_times import EvaluationTimes
from cosim.ends.port import End, Progress
from cosim.jobs.cell import Client, Clients, Edge
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.protocols.assignment import Assignment, Request
from cosim.protocols.asynchronous.rule import Rule
from cosim.protocols.asynchronous.trainee import Trainee
from cosim.selection.coming_round import ComingRound
from cosim.selection.port import Selection
from cosim.server_updates.port import ServerUpdate
from cosim.topology.port import Topology
from cosim.training.port import LocalTraining
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import NetworkShape, Part, Shapes
from cosim.waiting.port import Waiting

if TYPE_CHECKING:
    from cosim.engine.learning.learner import Learner


class NextRound(ComingRound, Protocol):
    """An edge round that is about to begin, and the choice of its participants."""

    def chosen(self, sim: Simulation, selection: Selection) -> Process:
        """Clients that a rule chooses, in the order of their numbers.

        Clients that have left while the rule waited are not among them.

        Raises:
            ConfigurationError: A client of another cell, or one twice; none, or one that is away, although no
                time has passed, so that none would be chosen for ever.
        """
        ...


class EdgeServer(Edge, Protocol):
    """Edge server of a cell, which runs edge rounds with its clients."""

    @property
    def backhaul(self) -> Topology:
        """Backhaul between it and the cloud."""
        ...

    def gathered(self, sim: Simulation) -> Process:
        """Clients that are present; if none is, it waits for the next one."""
        ...

    def run_round(
        self,
        sim: Simulation,
        clients: Any,
        work: Assignment,
        each: Mapping[str, Sequence[Any] | NDArray[Any]],
        waiting: Waiting,
        num_wanted: int | None = None,
    ) -> Process:
        """Run an edge round that begins now; returns its `PastRound` and the updates that count.

        Updates are in the order of the clients; on arrays there are none if nothing is learned.

        Args:
            clients: The participants, possibly none, as `Clients`.
            work: Task of each participant, except for the fields in `each`.
            each: Field of `Assignment` -> its value for each participant, if they differ.
            waiting: Rule for how long the server waits for them.
            num_wanted: Number of participants that were wanted, if there may be fewer; None means all of
                them.
        """
        ...

    def received(
        self,
        sim: Simulation,
        server: ServerUpdate,
        model: PendingModel,
        updates: Sequence[PendingUpdate],
        job: Job,
    ) -> PendingModel:
        """Mean of the updates of an edge round, as their rule of local training needs it.

        If the rule keeps state only of updates that have arrived, clients keep it now.

        Args:
            server: The rule by which the server averages.
            model: The server's model before.
            updates: At least one, all by one rule.
        """
        ...

    def moved(
        self, sim: Simulation, rule: ServerUpdate, model: PendingModel, mean: PendingModel, number: int
    ) -> PendingModel:
        """Model after a server's step from a model and the mean of the arrived updates.

        Args:
            number: Number of the server's step.
        """
        ...

    def receive(self, sim: Simulation, bits: float) -> Process:
        """Get a model from the cloud."""
        ...

    def send(self, sim: Simulation, bits: float) -> Process:
        """Send the edge model to the cloud."""
        ...


class Workload(Protocol):
    """Cost of training and sending parts of the model."""

    @property
    def codec(self) -> Codec:
        """Codec of the updates."""
        ...

    def of(self, part: Part | None = None, companions: Shapes | None = None) -> Load:
        """Load of a part; None means the whole model.

        Args:
            companions: Tensors that travel beside it, both ways; None means nothing.

        Raises:
            ConfigurationError: A part of a model of which clients keep personal tensors.
        """
        ...

    def of_clients_part(self, num_samples: int) -> Load:
        """Load of the clients' part of a network in two parts, with `num_samples` samples.

        The server's outputs for each sample travel with the weights, and the gradient with respect to them
        travels back. Only counts of operations tell the parts apart: by any other rule a step costs a whole
        one.

        Raises:
            ConfigurationError: Clients keep personal tensors of the model.
        """
        ...

    def by_units(self, group: str) -> tuple[Load, Load]:
        """Load of the tensors that no group of units cuts, and load of one unit of this group.

        A unit's load includes its share of other groups. For plans of sizes, in which cycles follow the
        parameters and bits the values.
        """
        ...


class AsynchronousServer(Protocol):
    """A server that applies updates while other clients are still working."""

    @property
    def version(self) -> int:
        """Number of its newest version."""
        ...

    @property
    def version_s(self) -> float:
        """Instant at which that was made."""
        ...

    @property
    def num_applied(self) -> int:
        """Number of updates in its versions."""
        ...

    def serve(self, is_over: Callable[[], bool], *, ends_anyway: bool) -> Process:
        """Apply updates and let jobs start, until it is over; returns the model.

        Jobs under way then go on, and are awaited when the server serves again.

        Args:
            is_over: Asked at every version; `stop` ends it at another instant.
            ends_anyway: True if the clock ends it, even if no updates arrive.

        Raises:
            ConfigurationError: Updates must end it, but of very many jobs in a row none has brought one.
        """
        ...

    def take(self, model: PendingModel) -> None:
        """Continue from another model, which is a version of its own."""
        ...

    def stop(self) -> None:
        """Stop serving at the end of this instant."""
        ...


class Cloud(Protocol):
    """The cloud server: its cells, what is learned, and the versions of the global model."""

    @property
    def name(self) -> str:
        """Its name, which also names a protocol's draws: `sim.stream(cloud.name, "my draws")`."""
        ...

    @property
    def edges(self) -> Sequence[EdgeServer]:
        """The edge server of each cell."""
        ...

    @property
    def kept(self) -> MutableMapping[Any, Any]:
        """Memory of a protocol: `cloud.kept[self]`, which no other shares."""
        ...

    @property
    def learner(self) -> "Learner":
        """The learner, for checks before the clock starts."""
        ...

    @property
    def shape(self) -> NetworkShape:
        """Shape of the network."""
        ...

    @property
    def workload(self) -> Workload:
        """Cost of training and sending parts of the model."""
        ...

    @property
    def end(self) -> End:
        """Rule that ends the run."""
        ...

    @property
    def evaluation(self) -> EvaluationTimes:
        """Rule for evaluations; `evaluation.learns` is false in timing-only runs."""
        ...

    @property
    def progress(self) -> Progress:
        """Progress of the run."""
        ...

    @property
    def is_over(self) -> bool:
        """True if the run is over, so that a protocol returns its model."""
        ...

    @property
    def living(self) -> dict[str, PendingModel]:
        """Models besides the global one that are in use, by name, for checkpoints."""
        ...

    def initial_model(self, sim: Simulation) -> PendingModel:
        """The global model before anything is learned, its version 0."""
        ...

    def global_rounds(self, sim: Simulation, one_round: Callable[[PendingModel, int], Process]) -> Process:
        """Run global rounds, one after the other, until the run is over; returns the global model.

        Args:
            one_round: Runs a global round from a model, with its number, from 1; returns the next model.
        """
        ...

    def close_round(
        self, sim: Simulation, global_round: int, start_s: float, model: PendingModel
    ) -> PendingModel:
        """Record a global round, and evaluate its model if due; returns the model to continue with."""
        ...

    def new_version(
        self, sim: Simulation, model: PendingModel, *, num_global_rounds: int | None = None
    ) -> PendingModel:
        """Record the next version of the global model; returns the model to continue with.

        Args:
            num_global_rounds: Rounds that have ended with it; None means no more than before.
        """
        ...

    def sent_down(self, model: PendingModel) -> PendingModel:
        """The model as clients receive it, from which their edge server continues, too."""
        ...

    def request(
        self, model: PendingModel, num_steps: int | Callable[[str], int], training: LocalTraining
    ) -> Request:
        """Request to clients for a number of steps by a rule, from a model.

        If nothing is learned, one update stands for all, since none will be read.

        Args:
            model: Model as it was `sent_down`, which tells the round.
            num_steps: Steps of all clients, or a function that gives a client's steps by its name.

        Raises:
            ConfigurationError: The model was not sent down, although that changes it.
        """
        ...

    def moved(
        self, sim: Simulation, rule: ServerUpdate, model: PendingModel, mean: PendingModel, number: int
    ) -> PendingModel:
        """Model after a server's step from a model and the mean of the arrived updates.

        Args:
            number: Number of the server's step.
        """
        ...

    def losses(self, model: PendingModel, clients: Sequence[Client]) -> NDArray[np.float64]:
        """Mean loss on the training samples of each client, of the model with the client's personal tensors.

        Returns:
            Losses of the task, shape (clients,).
        """
        ...

    def coming_round(
        self,
        edge: Any,
        clients: Any,
        model: PendingModel,
        job: Job,
        payload: Payload,
        training_s_of: Callable[[Clients], NDArray[np.float64]],
    ) -> NextRound:
        """A coming edge round as a selection rule sees it.

        Args:
            clients: Clients that may be chosen.
            payload: Payload of an upload.
            training_s_of: Gives the planned durations of clients' trainings, shape (clients,).
        """
        ...

    def asynchronous_server(
        self,
        sim: Simulation,
        name: str,
        rule: Rule,
        model: PendingModel,
        trainees: Sequence[Trainee],
    ) -> AsynchronousServer:
        """Server that applies updates as they arrive, at the cloud or at an edge server.

        At the cloud, its versions are versions of the global model.

        Args:
            name: Name of the server.
            model: Version 0.
            trainees: Trainees that may be given jobs, in the order of their numbers.
        """
        ...
