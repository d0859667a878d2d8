"""By events: an edge round as processes side by side, one for each client."""

import math
from typing import TYPE_CHECKING

import numpy as np

from cosim.clock.instants import deadline_after
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Barrier, Process, SideBySide, Simulation, process_of
from cosim.configuration import ConfigurationError
from cosim.engine.rounds.edge_round import EdgeRound, at_least

if TYPE_CHECKING:
    from cosim.engine.servers.edge import EdgeServer


def run_round(sim: Simulation, edge: "EdgeServer", asked: EdgeRound) -> Process:
    """Let each client do what it is asked, and wait for them.

    Returns the past round, and the updates that count, in the order of the clients.

    Raises:
        ConfigurationError: A waiting rule that returns something else than what became of each.
    """
    start_s, num, route = sim.now_s, len(asked.clients), asked.work.route
    places = asked.clients.places_in(edge.clients)
    received = sim.barrier(num) if edge.receives_first else None
    if received is None:
        route.uplink.begin_round(num, deadline_after(start_s, asked.waiting.deadline_s), places)
    if route.downlink is not None:
        route.downlink.begin_round(num, math.inf, places)
    assignments = asked.assignments()
    jobs = sim.side_by_side(
        {client.name: client.local_round(sim, assignment, received) for client, assignment in assignments}
    )
    outcomes = yield from jobs.under(_waited(sim, edge, asked, jobs, received))
    if not isinstance(outcomes, list) or len(outcomes) != num:
        raise ConfigurationError(
            f"{type(asked.waiting).__name__}.wait returned {outcomes!r:.80}: must be the outcome of "
            f"each of the {num} jobs. Write return (yield from jobs.cut('late'))."
        )
    sim.recorder.overrule(
        {
            (client.name, assignment.job.number): outcome.reason
            for (client, assignment), outcome in zip(assignments, outcomes, strict=True)
            if isinstance(outcome, Dropped)
        }
    )
    counts = np.array([not isinstance(outcome, Dropped) for outcome in outcomes], dtype=bool)
    updates = [outcome for outcome in outcomes if not isinstance(outcome, Dropped)]
    return asked.over(start_s, np.array(jobs.ends_s), counts), updates


def _waited(
    sim: Simulation, edge: "EdgeServer", asked: EdgeRound, jobs: SideBySide, received: Barrier | None
) -> Process:
    """Wait as a rule has it, from when all have received where they do so first."""
    waiting = asked.waiting
    if received is not None:
        yield received.opens
        ends_s, places = deadline_after(sim.now_s, waiting.deadline_s), asked.clients.places_in(edge.clients)
        asked.work.route.uplink.begin_round(len(jobs), ends_s, places)
    waited = process_of(waiting.wait(sim, edge, jobs), f"{type(waiting).__name__}.wait")
    return (yield from at_least(sim, edge.name, waiting.least_s, waited))
