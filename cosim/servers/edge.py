"""Edge server: lets the participants of its cell play a round and keeps what arrives in time."""

from collections.abc import Sequence
from functools import cached_property, partial

import attrs
import numpy as np

from cosim.configuration import ConfigurationError
from cosim.devices.client import Assignment, Client
from cosim.learning.graph.combinations import mean, noisy_mean
from cosim.learning.graph.pending import PendingModel, PendingUpdate
from cosim.links.uplink import Job, Link
from cosim.records import Round
from cosim.servers.array_round import ArrayRound, Fleet
from cosim.servers.server import Server
from cosim.servers.waiting import Waiting
from cosim.simulation import Dropped, Interrupt, Process, Simulation, reason_of
from cosim.topology.topology import Topology


@attrs.define
class RoundClock:
    """How the edge rounds of a cell are played."""

    on_arrays: bool = False


@attrs.frozen(kw_only=True, eq=False)
class EdgeServer(Server):
    """The server of one cell.

    Attributes:
        clients: In the order of their names.
        link: What they send over.
        rounds: Whether its rounds are played on arrays.
    """

    clients: tuple[Client, ...]
    link: Link
    backhaul: Topology
    rounds: RoundClock = attrs.field(factory=RoundClock)

    def participants(self, sim: Simulation, num_participants: int | None) -> tuple[Client, ...]:
        """Who takes part in the coming edge round: everyone (None), or so many drawn uniformly."""
        if num_participants is None or num_participants == len(self.clients):
            return self.clients
        rng = sim.stream(self.name, "participants")
        chosen = rng.choice(len(self.clients), size=num_participants, replace=False)
        return tuple(self.clients[index] for index in np.sort(chosen))

    def edge_round(
        self,
        sim: Simulation,
        assignments: Sequence[tuple[Client, Assignment]],
        waiting: Waiting,
        job: Job,
        *,
        num_wanted: int | None = None,
    ) -> Process:
        """Let each participant do what it is assigned.

        Args:
            assignments: Participants in the order of their names, possibly none.
            waiting: How long it waits for them.
            job: The round's, of whoever takes part.
            num_wanted: Participants that were wanted, where there may be fewer; None: those there are.

        Returns:
            For each participant its update, or `Dropped`, in the same order.

        Raises:
            ConfigurationError: A waiting rule that returns something else.
        """
        start_s = sim.now_s
        self.link.begin_round(len(assignments), start_s + waiting.most_s)
        if waiting.upload_s is not None:
            assignments = [
                (client, attrs.evolve(assignment, upload_deadline_s=waiting.upload_s))
                for client, assignment in assignments
            ]
        jobs = sim.side_by_side(
            {client.name: client.local_round(sim, assignment) for client, assignment in assignments}
        )
        outcomes = yield from jobs.under(waiting.wait(sim, self, jobs))
        if not isinstance(outcomes, list) or len(outcomes) != len(jobs):
            raise ConfigurationError(
                f"{type(waiting).__name__}.wait returned {outcomes!r:.80}: must be what became of each of "
                f"the {len(jobs)} jobs. Usual fix: return (yield from jobs.cut('late'))."
            )
        sim.trace.overrule(
            {
                (client.name, assignment.job.number): outcome.reason
                for (client, assignment), outcome in zip(assignments, outcomes, strict=True)
                if isinstance(outcome, Dropped)
            }
        )
        num_arrived = sum(not isinstance(outcome, Dropped) for outcome in outcomes)
        num_wanted = len(assignments) if num_wanted is None else num_wanted
        self._record(sim, start_s, job, num_wanted, len(assignments), num_arrived)
        return outcomes

    def common_round(
        self,
        sim: Simulation,
        participants: Sequence[Client],
        work: Assignment,
        cycles: Sequence[float],
        waiting: Waiting,
    ) -> Process:
        """An edge round in which all do the same, on arrays where all parts know how.

        Args:
            participants: In the order of their numbers, possibly none.
            work: What each is assigned, but for its cycles.
            cycles: Of each.

        Returns:
            As `edge_round`.
        """
        played = None
        if self.rounds.on_arrays:
            self.link.begin_round(len(participants), sim.now_s + waiting.most_s)
            played = ArrayRound.begun(sim, self._fleet, self.link, participants, work, cycles, waiting)
        if played is None:
            assigned = partial(Assignment, **attrs.asdict(work, recurse=False))
            assignments = [
                (client, assigned(cycles=own)) for client, own in zip(participants, cycles, strict=True)
            ]
            return (yield from self.edge_round(sim, assignments, waiting, work.job))
        updates = [work.request(sim, client, work) for client in participants]
        try:
            yield sim.at(played.ending.end_s)
        except Interrupt as cut:
            self._ended(sim, played.cut(sim.now_s, reason_of(cut).reason), participants, updates)
            raise
        self._ended(sim, played, participants, updates)
        counts, num = played.ending.counts, len(participants)
        self._record(sim, played.start_s, work.job, num, num, int(counts.sum()))
        lost = Dropped(played.ending.reason)
        return [update if one else lost for update, one in zip(updates, counts.tolist(), strict=True)]

    def _ended(
        self,
        sim: Simulation,
        played: ArrayRound,
        participants: Sequence[Client],
        updates: Sequence[PendingUpdate],
    ) -> None:
        """Write down what has happened in a round, and keep what the trainings leave that have ended."""
        played.write(sim)
        for client, update, has_trained in zip(participants, updates, played.has_trained, strict=True):
            if has_trained:
                client.keep(update)

    @cached_property
    def _fleet(self) -> Fleet:
        return Fleet(self.clients, self.name)

    def _record(
        self,
        sim: Simulation,
        start_s: float,
        job: Job,
        num_wanted: int,
        num_participants: int,
        num_arrived: int,
    ) -> None:
        sim.trace.record(
            Round(
                level="edge",
                node=self.name,
                global_round=job.global_round,
                edge_round=job.edge_round,
                start_s=start_s,
                end_s=sim.now_s,
                num_wanted=num_wanted,
                num_participants=num_participants,
                num_arrived=num_arrived,
            )
        )

    def mean(
        self,
        sim: Simulation,
        updates: Sequence[PendingUpdate],
        weights: Sequence[float] | None,
        job: Job,
    ) -> PendingModel:
        """The mean of the updates of an edge round, with noise where only their mean arrives."""
        senders = {update.client for update in updates}
        powers_w = {client.name: client.tx_power_w for client in self.clients if client.name in senders}
        deviation = self.link.deviation_of_mean(powers_w, job)
        if deviation is None:
            return mean(updates, weights)
        rate = updates[0].training.learning_rate
        key = sim.key(self.name, "receiver noise", job.number)
        return noisy_mean(updates, lambda: rate * deviation(), key)

    def receive(self, sim: Simulation, bits: float) -> Process:
        """Get a model from the cloud."""
        yield from sim.spend(self.name, "receive", self.backhaul.backhaul_s(bits))

    def send(self, sim: Simulation, bits: float) -> Process:
        """Send the edge model to the cloud."""
        yield from sim.spend(self.name, "send", self.backhaul.backhaul_s(bits))
