"""Instantaneous: a downlink that takes no time."""

from collections.abc import Sequence
from typing import ClassVar

from cosim.configuration import configuration
from cosim.links.link import Cell, CellLink, Job, Link
from cosim.links.payload import Payload
from cosim.records import DOWN
from cosim.simulation import Simulation


@configuration
class Instantaneous(Link):
    """Models are with the clients at once."""

    directions: ClassVar[tuple[str, ...]] = (DOWN,)

    @property
    def takes_time(self) -> bool:
        """None passes."""
        return False

    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellLink]:
        """One that has all there."""
        return [_AtOnce()] * len(cells)


class _AtOnce(CellLink):
    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> None:
        """Everything is there."""
