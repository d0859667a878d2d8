"""Devices: tables whose rows name a client in a column `device`.

That is a client's number, from 0, or its name, such as `client-0003`. Rows come in any order.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import shown
from cosim.names import by_number, client_name, client_number
from cosim.tables.once import once
from cosim.tables.read import named_file, table_of
from cosim.tables.table import Table

V = TypeVar("V", np.float64, np.int64)
"""Type of the numbers of a column."""


def table_of_devices(owner: type, file: str) -> "DeviceRows":
    """The table that a field `file` of a part names, read once.

    Raises:
        ConfigurationError: There is no such table.
    """
    return once(_device_rows, named_file(owner, file))


def _device_rows(path: Path) -> "DeviceRows":
    return DeviceRows(table_of(path))


class DeviceRows:
    """The rows of a table of devices.

    Attributes:
        table: The table.
        numbers: The clients' numbers, shape (rows,).

    Raises:
        ConfigurationError: It has no column `device`, or what is in it is no client.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        each, which = table.names("device")
        self.numbers = np.array([_client(word) for word in each], dtype=np.int64)[which]
        instead = "a client's number, from 0, or its name, such as client-0003"
        table.check("device", self.numbers < 0, "is no client", instead)
        self._each, self._first = np.unique(self.numbers, return_index=True)

    def by_client(self, clients: Sequence[str], values: NDArray[V]) -> NDArray[V]:
        """Values of the rows in the order of the clients, each of which has one row, shape (clients,).

        Raises:
            ConfigurationError: A client has no row, or several, or a row is of no client.
        """
        self.check_clients(clients, once=True)
        return values[np.argsort(self.numbers)]

    def row_of(self, client: int) -> int:
        """The first row of a client, by its number."""
        return int(self._first[np.searchsorted(self._each, client)])

    def check_clients(self, clients: Sequence[str], *, once: bool = False) -> None:
        """Refuse rows of others than these clients, and clients without a row.

        Args:
            once: True to refuse several rows of one client, too.

        Raises:
            ConfigurationError: The first of them.
        """
        known = np.array([by_number(client)[1] for client in clients])
        instead = f"only {clients[0]} to {clients[-1]}, or more clients in the system"
        self.table.check("device", ~np.isin(self.numbers, known), "is none of the system's clients", instead)
        if once:
            again = np.ones(len(self.numbers), dtype=bool)
            again[self._first] = False
            self.table.check("device", again, "has a row already", "one row for each device")
        missing = np.setdiff1d(known, self._each)
        if len(missing):
            raise ConfigurationError(
                f"{shown(self.table.path)}: has no row for {len(missing)} of {len(clients)} clients, "
                f"such as {client_name(int(missing[0]))}. Add a row for each."
            )


def _client(word: str) -> int:
    """The number of the client that a word names; -1: of none."""
    number = int(word) if word.isdecimal() else client_number(word)
    return number if word.isascii() and number is not None and number < 2**31 else -1
