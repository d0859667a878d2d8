"""Of link: the way of a link, by its form."""

from collections.abc import Mapping

from cosim.engine.ways.by_course import CourseWay
from cosim.engine.ways.by_events import EventsWay
from cosim.engine.ways.by_rates import RatesWay
from cosim.engine.ways.shared import SharedWay
from cosim.engine.ways.way import Way
from cosim.links.link import Cell, CellLink
from cosim.records import UP
from cosim.simulation import Simulation

WAYS: Mapping[str | None, type[Way]] = {
    "rates": RatesWay,
    "course": CourseWay,
    "shared": SharedWay,
    "events": EventsWay,
}
"""Form of a link -> how it is played."""


def way_of(sim: Simulation, link: CellLink, cell: Cell, direction: str) -> Way:
    """How the clients of a cell send over its link, or receive."""
    return WAYS[link.form](sim, link, cell, cell.tx_power_w if direction == UP else None)
