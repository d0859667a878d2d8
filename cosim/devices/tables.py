"""Tables of devices: csv or Parquet files whose rows name a client in a column `device`.

That is a client's number, from 0, or its name, such as `client-0003`. Rows come in any order, and other
columns than those that somebody asks for are passed over. Every fault is an error that names file, row (of a
csv file the line, the header's is 1; of Parquet counted from 1) and column.

Scope and limitations: whole tables in memory, each read once by a process; units are not checked.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError, refuse
from cosim.files import located, shown
from cosim.names import by_number, client_name

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".csv.gz", ".parquet")


def table_of_devices(owner: type, file: str) -> "DeviceRows":
    """The table that a field `file` of a part names.

    Raises:
        ConfigurationError: There is no such table.
    """
    if not file.endswith(KINDS):
        raise refuse(owner, "file", file, f"must end in {', '.join(KINDS)}", "the path of a .csv file")
    path = located(file)
    if not path.is_file():
        raise refuse(owner, "file", file, f"there is no file {shown(path)}", "the path of one that is there")
    found = path.stat()
    return _read(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, _written: int, _size: int) -> "DeviceRows":
    import pandas as pd

    try:
        if path.name.endswith(".parquet"):
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_csv(path, dtype={"device": str}, skip_blank_lines=False, skipinitialspace=True)
    except (OSError, ValueError) as error:  # of both readers
        why = (str(error) or type(error).__name__).strip().splitlines()[0]
        raise ConfigurationError(f"{shown(path)}: cannot be read ({why}). Usual fix: a whole file.") from None
    return DeviceRows(path, frame)


class DeviceRows:
    """The rows of a table of devices.

    Attributes:
        numbers: Of the clients that they are of, shape (rows,).
    """

    def __init__(self, path: Path, frame: "pd.DataFrame") -> None:
        self._path, self._frame = path, frame
        if frame.empty:
            raise ConfigurationError(f"{shown(path)}: no rows after the header. Usual fix: give the data.")
        words = [str(word).strip() for word in self._column("device")]
        found = [int(word) if word.isdecimal() else by_number(word)[1] for word in words]
        self.numbers = np.array(found, dtype=np.int64)
        names = [word.isdecimal() or by_number(word)[0] == by_number(client_name(0))[0] for word in words]
        fix = "a client's number, from 0, or its name, such as client-0003"
        self.check("device", ~np.array(names) | (self.numbers < 0), "is no client", fix)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(map(str, self._frame.columns))

    def check_clients(self, clients: Sequence[str], *, once: bool = False) -> None:
        """Refuse rows of others than these clients, and clients without a row.

        Args:
            once: Whether to refuse several rows of one client, too.

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
                f"{shown(self._path)}: has no row for {len(missing)} of {len(clients)} clients, such as "
                f"{client_name(int(missing[0]))}. Usual fix: a row for each."
            )

    def values(self, name: str, *, most: float = 1e30) -> NDArray[np.float64]:
        """A column of numbers from 0 to the largest that may be, shape (rows,).

        Raises:
            ConfigurationError: There is no such column, or something else in it.
        """
        import pandas as pd

        found = pd.to_numeric(self._column(name), errors="coerce").to_numpy(dtype=float, na_value=math.nan)
        self.check(name, np.isnan(found), "is no number", "fill the gap, or leave the row out")
        self.check(name, found < 0.0, "is below 0", "check the column")
        self.check(name, found > most, f"is above {most:g}", "check the unit")
        return found

    def check(self, name: str, is_wrong: NDArray[np.bool_], what: str, fix: str) -> None:
        """Refuse rows for what is in a column.

        Raises:
            ConfigurationError: The first of them.
        """
        if is_wrong.any():
            row = int(is_wrong.argmax())
            value: Any = self._frame[name].iloc[row]
            line = row + (1 if self._path.name.endswith(".parquet") else 2)
            raise ConfigurationError(
                f"{shown(self._path)}, row {line}: {name} = {value} {what}. Usual fix: {fix}."
            )

    def _column(self, name: str) -> "pd.Series[Any]":
        if name not in self._frame.columns:
            raise ConfigurationError(
                f"{shown(self._path)}: has no column {name!r}; the columns are {', '.join(self.columns)}. "
                f"Usual fix: a column {name}."
            )
        return self._frame[name]
