"""Edge server: lets the participants of its cell play a round and keeps what arrives in time."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.devices.assignment import Assignment, Route
from cosim.devices.client import Client
from cosim.devices.fleet import Clients
from cosim.instants import deadline_after
from cosim.learning.graph.combinations import noisy_mean
from cosim.learning.graph.pending import PendingModel, PendingUpdate
from cosim.learning.schedules.schedule import in_round
from cosim.learning.server_updates.server_update import ServerUpdate
from cosim.links.link import Job
from cosim.names import by_number
from cosim.records import Round
from cosim.servers.array_round import ArrayRound, downloads_of
from cosim.servers.past_round import PastRound
from cosim.servers.played_rounds import PlayedRounds
from cosim.servers.server import Server
from cosim.servers.waiting import Waiting
from cosim.simulation import (
    Barrier,
    Dropped,
    Interrupt,
    Process,
    SideBySide,
    Simulation,
    process_of,
    reason_of,
)
from cosim.topology.topology import Topology


@attrs.frozen(kw_only=True)
class RoundClock:
    """How the edge rounds of a run are played.

    Attributes:
        played: Keeps those that were played on arrays; None: they are played by events.
        learns: Whether somebody reads what is learned.
        why: Why they are played so, in a few words.
    """

    played: PlayedRounds | None = None
    learns: bool = True
    why: str = "asked for by clock = 'events'"


@attrs.frozen(kw_only=True, eq=False)
class EdgeServer(Server):
    """The server of one cell.

    Attributes:
        route: Between it and its clients.
        clients: Those whom the links of the route know by their places, in the order of their numbers.
        rounds: How edge rounds are played; one for all cells of a run.
        receives_first: Whether all participants have received before a round's clock starts.
    """

    route: Route
    clients: Clients
    backhaul: Topology
    rounds: RoundClock
    receives_first: bool = False
    _past: list[PastRound] = attrs.field(factory=list, init=False)

    @property
    def last_round(self) -> PastRound | None:
        """What became of its last edge round; None: there was none."""
        return self._past[0] if self._past else None

    def gathered(self, sim: Simulation) -> Process:
        """The clients that are there; where nobody is, waits for the next who comes."""
        while not (present := self.clients.present):
            changes = [one.availability.change() for one in self.clients if one.availability is not None]
            yield from sim.spend(self.name, "gather", sim.any_of(changes))
        return present

    def participants(self, sim: Simulation, num_participants: int | None) -> Clients:
        """Who of those there takes part in the coming edge round: everyone (None), or so many, uniformly."""
        present = self.clients.present
        if num_participants is None or num_participants >= len(present):
            return present
        rng = sim.stream(self.name, "participants")
        return present.some(rng.choice(len(present), size=num_participants, replace=False))

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
        start_s, num_present = sim.now_s, len(self.clients.present)
        who = Clients.of(self.clients.fleet, [client for client, _ in assignments])
        places = who.places_in(self.clients)
        received = sim.barrier(len(assignments)) if self.receives_first else None
        if received is None:
            ends_s = deadline_after(start_s, waiting.most_s)
            self.route.uplink.begin_round(len(assignments), ends_s, places)
        if self.route.downlink is not None:
            self.route.downlink.begin_round(len(assignments), math.inf, places)
        if waiting.upload_s is not None:
            assignments = [
                (client, attrs.evolve(assignment, upload_deadline_s=waiting.upload_s))
                for client, assignment in assignments
            ]
        jobs = sim.side_by_side(
            {client.name: client.local_round(sim, assignment, received) for client, assignment in assignments}
        )
        with sim._trace.open_round(start_s):
            outcomes = yield from jobs.under(self._waited(sim, waiting, who, jobs, received))
            if not isinstance(outcomes, list) or len(outcomes) != len(jobs):
                raise ConfigurationError(
                    f"{type(waiting).__name__}.wait returned {outcomes!r:.80}: must be what became of each "
                    f"of the {len(jobs)} jobs. Usual fix: return (yield from jobs.cut('late'))."
                )
            sim._trace.overrule(
                {
                    (client.name, assignment.job.number): outcome.reason
                    for (client, assignment), outcome in zip(assignments, outcomes, strict=True)
                    if isinstance(outcome, Dropped)
                }
            )
        arrived = np.array([not isinstance(outcome, Dropped) for outcome in outcomes], dtype=bool)
        self._past[:] = [PastRound(who, job, start_s, np.array(jobs.ends_s), arrived)]
        num_arrived = int(arrived.sum())
        num_wanted = len(assignments) if num_wanted is None else num_wanted
        self._record(sim, start_s, job, num_wanted, num_present, len(assignments), num_arrived)
        return outcomes

    def _waited(
        self,
        sim: Simulation,
        waiting: Waiting,
        participants: Clients,
        jobs: SideBySide,
        received: Barrier | None,
    ) -> Process:
        """Wait as a rule has it, from when all have received where they do so first."""
        if received is not None:
            yield received.opens
            ends_s, places = deadline_after(sim.now_s, waiting.most_s), participants.places_in(self.clients)
            self.route.uplink.begin_round(len(jobs), ends_s, places)
        waited = process_of(waiting.wait(sim, self, jobs), f"{type(waiting).__name__}.wait")
        return (yield from self._at_least(sim, waiting.least_s, waited))

    def _at_least(self, sim: Simulation, least_s: float, process: Process) -> Process:
        """Play a process to its end, and collect until a least time is up; returns its value."""
        if not least_s:
            return (yield from process)
        value, _ = yield from sim.together([process, sim.spend(self.name, "collect", least_s)])
        return value

    def common_round(
        self,
        sim: Simulation,
        participants: Clients,
        work: Assignment,
        cycles: NDArray[np.float64],
        waiting: Waiting,
        num_wanted: int | None = None,
    ) -> Process:
        """An edge round in which all do the same, on arrays where all parts know how.

        Args:
            participants: Possibly nobody.
            num_wanted: Participants that were wanted, where there may be fewer; None: those there are.
            work: What each is assigned, but for its cycles.
            cycles: Of each, shape (participants,).

        Returns:
            The updates that have arrived, in the order of their clients.
        """
        played = None
        if self.rounds.played is not None:
            played = self._array_round(sim, participants, work, cycles, waiting)
        if played is None:
            assigned = partial(Assignment, **attrs.asdict(work, recurse=False))
            each = zip(iter(participants), cycles.tolist(), strict=True)
            assignments = [(client, assigned(cycles=own)) for client, own in each]
            outcomes = yield from self.edge_round(sim, assignments, waiting, work.job, num_wanted=num_wanted)
            return [update for update in outcomes if not isinstance(update, Dropped)]
        assert self.rounds.played is not None
        self.rounds.played.begin(played)
        updates = self._asked(sim, played, work)
        with sim._trace.open_round(played.start_s):
            try:
                yield from self._at_least_played(sim, played, waiting.least_s)
            except Interrupt as cut:
                played.cut(sim.now_s, reason_of(cut).reason)
                self._ended(sim, played, updates)
                raise
            self._ended(sim, played, updates)
        counts, num = played.ending.counts, len(participants)
        self._past[:] = [PastRound(participants, work.job, played.start_s, played.ends_s, counts)]
        num_present = len(self.clients)
        self._record(sim, played.start_s, work.job, num, num_present, num, int(counts.sum()))
        return [updates[place] for place in np.flatnonzero(counts).tolist()] if updates else []

    def _at_least_played(self, sim: Simulation, played: ArrayRound, least_s: float) -> Process:
        """Wait until an edge round on arrays is over."""
        if least_s and played.clock_s > sim.now_s:
            yield sim.at(played.clock_s)
        yield from self._at_least(sim, least_s, _until(sim, float(played.ending.end_s)))

    def _array_round(
        self,
        sim: Simulation,
        participants: Clients,
        work: Assignment,
        cycles: NDArray[np.float64],
        waiting: Waiting,
    ) -> ArrayRound | None:
        """A round that begins now; None: it is played by events."""
        received, downlink, places = None, work.route.downlink, participants.places_in(self.clients)
        if downlink is not None:
            received = downloads_of(downlink, sim.now_s, places, participants, work.download, work.job)
            if received is None:
                return None
        return ArrayRound.begun(
            sim,
            places,
            participants,
            work,
            cycles,
            waiting,
            received,
            receives_first=self.receives_first,
        )

    def _asked(self, sim: Simulation, played: ArrayRound, work: Assignment) -> dict[int, PendingUpdate]:
        """Place -> update of those whose training ends with a round or before, where it is read."""
        if not self.rounds.learns:
            return {}
        places = np.flatnonzero(played.has_trained).tolist()
        return {place: work.request(sim, played.clients[place], work) for place in places}

    def _ended(self, sim: Simulation, played: ArrayRound, updates: Mapping[int, PendingUpdate]) -> None:
        """Write down what has happened in a round, and keep what the trainings leave that have ended."""
        assert self.rounds.played is not None
        played.let_rest()
        self.rounds.played.add(played, sim.now_s)
        for place in np.flatnonzero(played.has_trained).tolist() if updates else ():
            played.clients[place].keep(updates[place])

    def _record(
        self,
        sim: Simulation,
        start_s: float,
        job: Job,
        num_wanted: int,
        num_present: int,
        num_participants: int,
        num_arrived: int,
    ) -> None:
        sim._trace.record(
            Round(
                level="edge",
                node=self.name,
                global_round=job.global_round,
                edge_round=job.edge_round,
                start_s=start_s,
                end_s=sim.now_s,
                num_wanted=num_wanted,
                num_present=num_present,
                num_participants=num_participants,
                num_arrived=num_arrived,
            )
        )

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
        rule = updates[0].training
        if rule.keeps_state and rule.keeps_what_arrived:
            self.states.update({update.client: update.next_state for update in updates})
        mean = self._mean(sim, server, model, updates, job)
        return rule.received(model, mean, len(updates) / len(self.clients))

    def _mean(
        self,
        sim: Simulation,
        rule: ServerUpdate,
        model: PendingModel,
        updates: Sequence[PendingUpdate],
        job: Job,
    ) -> PendingModel:
        """The mean of updates, with noise where only their mean arrives."""
        senders = np.unique([by_number(update.client)[1] for update in updates])
        places = Clients(self.clients.fleet, senders).places_in(self.clients)
        deviation = self.route.uplink.link.deviation_of_mean(places, job)
        if deviation is None:
            return in_round(rule, model.round).mean_of(model, updates)
        rate = updates[0].training.learning_rate
        key = sim.key(self.name, "receiver noise", job.number)
        return noisy_mean(updates, lambda: rate * deviation(), key)

    def receive(self, sim: Simulation, bits: float) -> Process:
        """Get a model from the cloud."""
        yield from sim.spend(self.name, "receive", self.backhaul.backhaul_s(bits))

    def send(self, sim: Simulation, bits: float) -> Process:
        """Send the edge model to the cloud."""
        yield from sim.spend(self.name, "send", self.backhaul.backhaul_s(bits))


def _until(sim: Simulation, time_s: float) -> Process:
    yield sim.event() if time_s == math.inf else sim.at(time_s)
