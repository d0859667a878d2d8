"""Paths: the port of which clients share a queue on their way through the public network.

Usage::

    @part
    class PerCell(Paths):
        \"\"\"One queue for the clients of each cell.\"\"\"

        def stations(self, cells):
            return {client: cell.edge for cell in cells for client in cell.clients}
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from typing_extensions import override

from cosim.configuration import Port, part
from cosim.links.port import Cell


@part
class Paths(Port, ABC):
    """Which clients share a queue."""

    @abstractmethod
    def stations(self, cells: Sequence[Cell]) -> Mapping[str, str]:
        """Client -> the station on its way, by a name that names its random streams."""


@part
class OwnPaths(Paths):
    """A queue for every client."""

    @override
    def stations(self, cells: Sequence[Cell]) -> Mapping[str, str]:
        """One for each."""
        return {client: f"path-{client}" for cell in cells for client in cell.clients}


@part
class SharedPath(Paths):
    """One queue for all."""

    @override
    def stations(self, cells: Sequence[Cell]) -> Mapping[str, str]:
        """The same for each."""
        return {client: "path" for cell in cells for client in cell.clients}
