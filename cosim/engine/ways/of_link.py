"""Of link: the way that belongs to the form of a link."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration.rules import check_number
from cosim.engine.ways.by_machine import MachineWay
from cosim.engine.ways.by_rates import CourseWay, RatesWay
from cosim.engine.ways.together import TogetherWay
from cosim.links.port import Cell, InRound, Link, Sender
from cosim.links.upload import Upload
from cosim.links.way import Way
from cosim.records.rows import UP


class EventsWay(Way):
    """Each upload as its link begins it, by events."""

    @override
    def _open(self, sender: Sender) -> Upload:
        return self.link.open(sender.client, sender.payload, sender.job, sender.tx_power_w)

    @override
    def _uploads(self, of: InRound) -> None:
        return None


WAYS: Mapping[str | None, type[Way]] = {
    "rates": RatesWay,
    "course": CourseWay,
    "together": TogetherWay,
    "machine": MachineWay,
    "events": EventsWay,
}
"""Form of a link -> its way."""


def ways_of(sim: Simulation, link: Link, cells: Sequence[Cell], direction: str) -> list[Way]:
    """How the clients of each cell send, or receive.

    Raises:
        ConfigurationError: The link gives another number of links than there are cells.
    """
    found = link.of_cells(sim, cells)
    check_number(link, "of_cells", "links", len(found), "cells", len(cells))
    return [
        WAYS[own.form](sim, own, cell, cell.tx_power_w if direction == UP else None)
        for own, cell in zip(found, cells, strict=True)
    ]
