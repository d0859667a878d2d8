"""Servers: the cloud and its edge servers, as protocols and what trains in cells drive them.

Usage, in a protocol that trains its first cell only::

    def play(self, sim, cloud):
        def one_round(model, number):
            return self.training.play(sim, cloud, cloud.edges[0], model, None, number)

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
        """The clients that a rule chooses, in the order of their numbers.

        Clients that have left while the rule has waited are not among them.

        Raises:
            ConfigurationError: Clients of elsewhere, or one twice; none, or one that is away, though no time
                has passed, so that none would be chosen for ever.
        """
        ...


class Became(Protocol):
    """What became of the participants of an edge round; arrays have shape (participants,)."""

    @property
    def start_s(self) -> float:
        """When it began."""
        ...

    @property
    def ends_s(self) -> NDArray[np.float64]:
        """When each had ended its part, or was cut."""
        ...

    @property
    def counts(self) -> NDArray[np.bool_]:
        """True for each whose update counts."""
        ...

    @property
    def updates(self) -> Sequence[PendingUpdate]:
        """Those that count, in the order of the clients; none on arrays where nothing is learned."""
        ...


class EdgeServer(Edge, Protocol):
    """The edge server of a cell, which plays edge rounds with its clients."""

    @property
    def backhaul(self) -> Topology:
        """The way between it and the cloud."""
        ...

    def gathered(self, sim: Simulation) -> Process:
        """The clients that are there; where none is, it waits for the next that comes."""
        ...

    def play(
        self,
        sim: Simulation,
        clients: Any,
        work: Assignment,
        each: Mapping[str, Sequence[Any] | NDArray[Any]],
        waiting: Waiting,
        num_wanted: int | None = None,
    ) -> Process:
        """Play an edge round that begins now; returns what `Became` of its participants.

        Args:
            clients: The participants, possibly none, as `Clients`.
            work: What each of them does, but for what differs.
            each: Field of `Assignment` -> its value for each participant, where they differ.
            waiting: How long the server waits for them.
            num_wanted: Participants that were wanted, where there may be fewer; None: those there are.
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
        """The mean of the updates of an edge round, as their rule of local training wants it.

        Clients keep now what such a rule lets them keep only of updates that have arrived.

        Args:
            server: The rule by which the server averages.
            model: Where the server's was.
            updates: At least one, all by one rule.
        """
        ...

    def moved(
        self, sim: Simulation, rule: ServerUpdate, model: PendingModel, mean: PendingModel, number: int
    ) -> PendingModel:
        """What a rule makes of a model and the mean of what has arrived.

        Args:
            number: Which of the server's steps it is.
        """
        ...

    def receive(self, sim: Simulation, bits: float) -> Process:
        """Get a model from the cloud."""
        ...

    def send(self, sim: Simulation, bits: float) -> Process:
        """Send the edge model to the cloud."""
        ...


class Workload(Protocol):
    """What training and carrying parts of the model takes."""

    @property
    def codec(self) -> Codec:
        """What updates are on their way."""
        ...

    def of(self, part: Part | None = None, companions: Shapes | None = None) -> Load:
        """Of a part; of None: of the whole model.

        Args:
            companions: What travels beside it, both ways; None: nothing.

        Raises:
            ConfigurationError: A part of a model of which clients keep something to themselves.
        """
        ...

    def of_clients_part(self, num_samples: int) -> Load:
        """Of the clients' part of a network in two parts, with so many samples.

        The server's outputs for each sample come along with the weights, and the gradient with respect to
        them goes back. Only operations tell the parts apart: by any other rule a step costs a whole one.

        Raises:
            ConfigurationError: Clients keep something of the model to themselves.
        """
        ...

    def by_units(self, group: str) -> tuple[Load, Load]:
        """Of what no group of units cuts, and of a unit of this group with what of the others goes with it.

        For plans of sizes, where cycles follow the parameters and bits the values.
        """
        ...


class AsynchronousServer(Protocol):
    """A server that applies what arrives while others are at work."""

    @property
    def version(self) -> int:
        """The number of its newest version."""
        ...

    @property
    def version_s(self) -> float:
        """When that was made."""
        ...

    @property
    def num_applied(self) -> int:
        """Updates in its versions."""
        ...

    def serve(self, is_over: Callable[[], bool], *, ends_anyway: bool) -> Process:
        """Apply what arrives and let others start, until it is over; returns the model.

        What is under way then goes on, and is waited for when the server serves again.

        Args:
            is_over: Asked whenever there is a version; `stop` ends it at another instant.
            ends_anyway: True if the clock ends it, whether updates arrive or not.

        Raises:
            ConfigurationError: Updates have to end it, and of very many jobs in a row none has brought one.
        """
        ...

    def take(self, model: PendingModel) -> None:
        """Go on from another model, which is a version of its own."""
        ...

    def stop(self) -> None:
        """Let it be over at the end of this instant."""
        ...


class Cloud(Protocol):
    """The cloud server: its cells, what is learned, and the versions of the global model."""

    @property
    def name(self) -> str:
        """Its name, by which a protocol draws: `sim.stream(cloud.name, "my draws")`."""
        ...

    @property
    def edges(self) -> Sequence[EdgeServer]:
        """The edge server of each cell."""
        ...

    @property
    def kept(self) -> MutableMapping[Any, Any]:
        """What a protocol remembers, by itself: `cloud.kept[self]`."""
        ...

    @property
    def learner(self) -> "Learner":
        """What is learned, for checks before the clock starts."""
        ...

    @property
    def shape(self) -> NetworkShape:
        """Shape of the network."""
        ...

    @property
    def workload(self) -> Workload:
        """What training and carrying a part of the model takes."""
        ...

    @property
    def end(self) -> End:
        """When the run is over."""
        ...

    @property
    def evaluation(self) -> EvaluationTimes:
        """When the model is evaluated; `evaluation.learns` is false where only times are asked for."""
        ...

    @property
    def progress(self) -> Progress:
        """How far the run has come."""
        ...

    @property
    def is_over(self) -> bool:
        """True if the run is over, so that a protocol returns its model."""
        ...

    @property
    def living(self) -> dict[str, PendingModel]:
        """Models beside the global one that are started from or worked on, by name, for checkpoints."""
        ...

    def initial_model(self, sim: Simulation) -> PendingModel:
        """The global model before anything is learned, its version 0."""
        ...

    def global_rounds(self, sim: Simulation, one_round: Callable[[PendingModel, int], Process]) -> Process:
        """Global rounds, one after the other, until the run is over; returns the global model.

        Args:
            one_round: Plays a global round from a model, with its number, from 1; returns the next model.
        """
        ...

    def close_round(
        self, sim: Simulation, global_round: int, start_s: float, model: PendingModel
    ) -> PendingModel:
        """Write down a global round, evaluate its model where it is due; returns the model to go on with."""
        ...

    def new_version(
        self, sim: Simulation, model: PendingModel, *, num_global_rounds: int | None = None
    ) -> PendingModel:
        """Take note of the next version of the global model; returns the model to go on with.

        Args:
            num_global_rounds: Rounds that have ended with it; None: no more than before.
        """
        ...

    def sent_down(self, model: PendingModel) -> PendingModel:
        """A model as clients receive it, from which their edge server goes on, too."""
        ...

    def request(
        self, start: PendingModel, num_steps: int | Callable[[str], int], training: LocalTraining
    ) -> Request:
        """What clients are asked for: so many steps by a rule, from a model.

        Where nothing is learned one update stands for all, since none will be read.

        Args:
            start: As it was `sent_down`; it says which round it is.
            num_steps: Of all, or what gives those of a client by its name.

        Raises:
            ConfigurationError: A model that was not sent down, though that changes it.
        """
        ...

    def moved(
        self, sim: Simulation, rule: ServerUpdate, model: PendingModel, mean: PendingModel, number: int
    ) -> PendingModel:
        """What a rule makes of a model and the mean of what has arrived.

        Args:
            number: Which of the server's steps it is.
        """
        ...

    def losses(self, model: PendingModel, clients: Sequence[Client]) -> NDArray[np.float64]:
        """Mean loss on the training samples of each client, of the model with what is the client's own.

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
        """An edge round that is about to begin, as a rule of selection is given it.

        Args:
            clients: Those that may be chosen.
            payload: What an upload carries.
            training_s_of: Gives how long some clients are planned to train, shape (clients,).
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
        """What applies updates as they arrive, at the cloud or at an edge server.

        Its versions are those of the global model where it is the cloud's.

        Args:
            name: Of the server that it is.
            model: Version 0.
            trainees: Those that may be given jobs, in the order of their numbers.
        """
        ...
