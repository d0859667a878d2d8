"""Paths: the port of the rule for clients that share a queue on their way to the server.

Usage::

    @part
    class PerCell(Paths):
        \"""One queue for the clients of each cell.\"""

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
    """Rule for clients that share a queue."""

    @abstractmethod
    def stations(self, cells: Sequence[Cell]) -> Mapping[str, str]:
        """Client -> the station on its way, by its name, which also names its random streams."""


@part
class OwnPaths(Paths):
    """One queue for every client."""

    @override
    def stations(self, cells: Sequence[Cell]) -> Mapping[str, str]:
        return {client: f"path-{client}" for cell in cells for client in cell.clients}


@part
class SharedPath(Paths):
    """One queue for all clients."""

    @override
    def stations(self, cells: Sequence[Cell]) -> Mapping[str, str]:
        return {client: "path" for cell in cells for client in cell.clients}
