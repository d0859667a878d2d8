"""Device rows: tables of devices, csv or Parquet files whose rows name a client in a column `device`.

That is a client's number, from 0, or its name, such as `client-0003`. Rows come in any order. Each table is
read once by a process.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.files.checked_rows import CheckedRows, named_file
from cosim.files.on_disk import shown
from cosim.names import by_number, client_name


def table_of_devices(owner: type, file: str) -> "DeviceRows":
    """The table that a field `file` of a part names.

    Raises:
        ConfigurationError: There is no such table.
    """
    path = named_file(owner, file)
    found = path.stat()
    return _read(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, _written: int, _size: int) -> "DeviceRows":
    return DeviceRows(path)


class DeviceRows(CheckedRows):
    """The rows of a table of devices.

    Attributes:
        numbers: Of the clients that they are of, shape (rows,).
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.check_not_empty()
        words = [str(word).strip() for word in self.column("device")]
        found = [int(word) if word.isdecimal() else by_number(word)[1] for word in words]
        self.numbers = np.array(found, dtype=np.int64)
        names = [word.isdecimal() or by_number(word)[0] == by_number(client_name(0))[0] for word in words]
        fix = "a client's number, from 0, or its name, such as client-0003"
        self.check("device", ~np.array(names) | (self.numbers < 0), "is no client", fix)

    def by_client(self, clients: Sequence[str], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the rows in the order of the clients, each of which has one row, shape (clients,).

        Raises:
            ConfigurationError: A client has no row, or several, or a row belongs to no client.
        """
        self.check_clients(clients, once=True)
        return values[np.argsort(self.numbers)]

    def check_clients(self, clients: Sequence[str], *, once: bool = False) -> None:
        """Refuse rows of others than these clients, and clients without a row.

        Args:
            once: True to refuse several rows of one client, too.

        Raises:
            ConfigurationError: The first of them.
        """
        known = np.array([by_number(client)[1] for client in clients])
        fix = f"only {clients[0]} to {clients[-1]}, or more clients in the system"
        self.check("device", ~np.isin(self.numbers, known), "is none of the system's clients", fix)
        if once:
            again = np.ones(len(self.numbers), dtype=bool)
            again[np.unique(self.numbers, return_index=True)[1]] = False
            self.check("device", again, "has a row already", "one row for each device")
        missing = np.setdiff1d(known, self.numbers)
        if len(missing):
            raise ConfigurationError(
                f"{shown(self.path)}: has no row for {len(missing)} of {len(clients)} clients, such as "
                f"{client_name(int(missing[0]))}. Usual fix: a row for each."
            )
