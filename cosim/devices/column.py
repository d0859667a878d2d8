"""Column: a number for each client, from a column of a table of devices (`cosim.tables.devices`).

Usage: `GivenSnr(snr_db=Column(file="phones.csv", column="snr_db"))`.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from typing_extensions import override

from cosim.client_values.port import Values
from cosim.configuration import part
from cosim.configuration.rules import Broken, Rule
from cosim.names import ClientNames
from cosim.tables.devices import table_of_devices
from cosim.tables.faults import reads
from cosim.tables.table import LARGEST, Table


@part
class Column(Values):
    """A column of a table, with one row for every client.

    The file is read when the configuration is made.

    Attributes:
        file: A csv or Parquet file with a column device and others; required. [no source]
        column: Name of the column, which has the unit of the field; required. [no source]
    """

    file: str = ""
    column: str = ""

    @property
    @override
    @reads("file")
    def numbers(self) -> tuple[float, ...]:
        return tuple(self._table.numbers(self.column, least=-LARGEST).tolist())

    @override
    def broken(self, rule: Rule) -> str | Broken | None:
        found = rule(self.numbers)
        if found is None:
            return None
        row, said = next(
            (row, said) for row, number in enumerate(self.numbers) if (said := rule((number,))) is not None
        )
        place = self._table.place(row, self.column)
        said, fix = said if isinstance(said, Broken) else (said, f"Use another value in {place}.")
        return Broken(f"{place}: {self.numbers[row]:g} {said}", fix)

    @property
    def _table(self) -> Table:
        return table_of_devices(Column, self.file).table

    @override
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    @override
    def fit(self, system: Any) -> None:
        """Refuse a table of clients other than the system's."""
        self.of_clients(system.sizes())

    @override
    @reads("file")
    def of_clients(self, cell_sizes: Sequence[int]) -> list[list[float]]:
        rows = table_of_devices(Column, self.file)
        own = rows.by_client(ClientNames(0, sum(cell_sizes)), np.array(self.numbers)).tolist()
        ends = list(accumulate(cell_sizes))
        return [own[end - size : end] for end, size in zip(ends, cell_sizes, strict=True)]
