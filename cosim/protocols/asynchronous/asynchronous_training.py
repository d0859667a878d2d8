"""Asynchronous training: a cell's part in a global round, with an asynchronous edge server.

The edge server gets a model from the cloud, which is a new version of its own, and applies updates until its
turn is over; then it sends its model to the cloud. Jobs go on meanwhile, and count their staleness in the
cell's versions. Updates that arrive between two turns are applied when the next one begins; clients that have
reported when a turn is over start from the model of the next one.

Scope and limitations: the whole model only.
"""

from collections.abc import Callable
from typing import Any

import attrs
from typing_extensions import override

from cosim.clock.instants import deadline_after
from cosim.clock.simulation import Process, Simulation
from cosim.configuration import asks_in, part, refuse
from cosim.configuration.going_together import GLOBAL_ROUNDS, LEARNING
from cosim.ends.after import AfterVersions
from cosim.ends.port import End, Progress
from cosim.protocols.asynchronous.fedbuff import FedBuff
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.servers import AsynchronousServer, Cloud, EdgeServer
from cosim.values.pending import PendingModel
from cosim.values.submodels import Part
from cosim.waiting.port import Waiting


@attrs.define(eq=False)
class _Cell:
    """A cell's server, and the global round that it is in."""

    server: AsynchronousServer
    global_round: int


@part
class AsynchronousTraining(CellTraining):
    """An asynchronous server in a cell.

    Attributes:
        protocol: Protocol of the server, with clients of its cell.
        turn: End of a turn, in versions, updates or seconds of the cell since it began. [no source]
    """

    lacks = ()
    asks = ()

    protocol: Asynchronous = FedBuff()
    turn: End = AfterVersions(num_versions=5)

    @property
    @override
    def waiting(self) -> Waiting:
        return self.protocol.waiting

    @override
    def fit(self, system: Any) -> None:
        """Refuse turns that never end, cells of cells, and more jobs than the smallest cell has clients."""
        for word, rule in (
            (LEARNING, "the model of a cell is not evaluated"),
            (GLOBAL_ROUNDS, "the server of a cell has no global rounds"),
        ):
            if asks_in(self.turn, word):
                kind, fix = type(self.turn).__name__, "Use AfterVersions, AfterUpdates or AfterSeconds."
                raise refuse(type(self), "turn", kind, rule, fix)
        if self.protocol.training.of_cell is None:
            kind = type(self.protocol.training).__name__
            raise refuse(
                type(self),
                "protocol.training",
                kind,
                "a cell trains clients, not cells",
                "Use the kind ClientTraining.",
            )
        self.protocol.starts.check(min(system.sizes()))

    @override
    def check(self, cloud: Cloud) -> None:
        """Refuse a network that the clients cannot train, before the clock starts."""
        self.protocol.training.check(cloud)

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
        load = cloud.workload.of(part)
        yield from edge.receive(sim, load.model.bits)
        if self not in edge.kept:
            edge.kept[self] = self._begun(sim, cloud, edge, model)
        cell: _Cell = edge.kept[self]
        cell.global_round = global_round
        cell.server.take(model)
        ends_anyway = self.turn.latest_s is not None or cloud.end.latest_s is not None
        model = yield from cell.server.serve(self._is_over(sim, cell.server), ends_anyway=ends_anyway)
        cloud.living[edge.name] = model
        yield from edge.send(sim, load.model.bits)
        del cloud.living[edge.name]
        return model

    def _begun(self, sim: Simulation, cloud: Cloud, edge: EdgeServer, model: PendingModel) -> _Cell:
        rule = self.protocol
        trainees = rule.training.of_cell(cloud, edge, rule.starts, lambda: edge.kept[self].global_round)
        return _Cell(cloud.asynchronous_server(sim, edge.name, rule, model, trainees), 0)

    def _is_over(self, sim: Simulation, server: AsynchronousServer) -> Callable[[], bool]:
        """Function that is true when the turn that begins now is over."""
        start_s, num_before, version = sim.now_s, server.num_applied, server.version
        if self.turn.latest_s is not None:
            ends = sim.at(deadline_after(start_s, self.turn.latest_s))
            ends.callbacks.append(lambda _: server.stop())  # type: ignore[union-attr]

        def is_over() -> bool:
            progress = Progress(
                version=server.version - version,
                num_updates=server.num_applied - num_before,
                time_s=server.version_s - start_s,
            )
            return self.turn.is_reached(progress)

        return is_over
