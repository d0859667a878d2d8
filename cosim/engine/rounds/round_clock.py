"""Round clock: what runs the edge rounds, events or arrays."""

from typing import TYPE_CHECKING

import attrs

from cosim.clock.simulation import Process, Simulation
from cosim.engine.rounds import by_events, on_arrays
from cosim.engine.rounds.edge_round import EdgeRound

if TYPE_CHECKING:
    from cosim.engine.servers.edge import EdgeServer


@attrs.frozen
class RoundClock:
    """Clock of the edge rounds of a run.

    Attributes:
        on_arrays: True if it is on arrays, where clients differ in cycles at most; else by events.
        learns: True if what is learned is read.
        why: The reason for it, in a few words.
    """

    on_arrays: bool = False
    learns: bool = True
    why: str = "asked for by clock = 'events'"

    def run_round(self, sim: Simulation, edge: "EdgeServer", asked: EdgeRound) -> Process:
        """Run an edge round that begins now; returns the past round, and the updates that count."""
        if self.on_arrays and asked.each.keys() <= {"cycles"}:
            return on_arrays.run_round(sim, edge, asked, learns=self.learns)
        return by_events.run_round(sim, edge, asked)
