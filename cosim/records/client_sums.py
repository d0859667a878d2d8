"""Client sums: energy, waiting, bits and jobs of each client of a run, added up row by row.

They come from rows that are handed over, or, in a run that keeps none of its clients, from the events that
such rows would be made of (`add`). Each is one running sum in the order of time, so that it depends neither
on the clock, nor on which of the two it comes from, nor on the groups in which rows are handed over.

Validation: tests/recording/test_client_sums.py.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.names import client_numbers
from cosim.records.columns import Columns, Words
from cosim.records.rows import BY_CLIENT, DONE, END_OF_RUN, UP, WAIT

_AMOUNTS = ("energy_j", "wait_s", "sent_bits", "received_bits")
_COUNTS = ("num_arrived", "num_late", "num_left")


class ClientSums:
    """Sums over the rows of each client of a run; arrays have shape (clients,)."""

    def __init__(self, num_clients: int) -> None:
        self._sums: dict[str, NDArray[Any]] = {name: np.zeros(num_clients) for name in _AMOUNTS}
        self._sums |= {name: np.zeros(num_clients, dtype=np.int64) for name in _COUNTS}

    def columns(self) -> Columns:
        """Columns of `ClientTotals`."""
        num_jobs = sum((self._sums[name] for name in _COUNTS), np.int64(0))
        amounts, counts = ({name: self._sums[name] for name in names} for names in (_AMOUNTS, _COUNTS))
        return {**amounts, "num_jobs": num_jobs, **counts}

    def after(self, tables: Mapping[str, Columns]) -> "ClientSums":
        """Sums after some more rows."""
        found = deepcopy(self)
        found.add_rows(tables)
        return found

    def add_rows(self, tables: Mapping[str, Columns]) -> None:
        """Add some more rows, which are in the order of a run's tables."""
        spans, transfers, fates = tables["spans"], tables["transfers"], tables["fates"]
        owners, are_of = _owners(spans["node"])
        waits = spans["activity"].isin([WAIT])
        self._add_each("energy_j", owners, spans["energy_j"], are_of)
        self._add_each("wait_s", owners, spans["end_s"] - spans["start_s"], are_of & waits)
        owners, are_of = _owners(transfers["client"])
        goes_up = transfers["direction"].isin([UP])
        self._add_each("sent_bits", owners, transfers["sent_bits"], are_of & goes_up)
        self._add_each("received_bits", owners, transfers["sent_bits"], are_of & ~goes_up)
        owners, are_of = _owners(fates["client"])
        has_arrived, has_left = fates["outcome"].isin([DONE]), fates["outcome"].isin(BY_CLIENT)
        is_late = ~(has_arrived | has_left | fates["outcome"].isin([END_OF_RUN]))
        for name, which in zip(_COUNTS, (has_arrived, is_late, has_left), strict=True):
            self._add_each(name, owners, np.ones(len(owners), dtype=np.int64), are_of & which)

    def add(self, column: str, which: NDArray[np.int64] | slice, amount: NDArray[Any]) -> None:
        """Add an amount to each of some clients.

        Args:
            which: Their numbers, each once.
            amount: Of each, shape (clients,).
        """
        if isinstance(which, slice):
            view = self._sums[column][which]
            view += amount  # and not written back once more
        else:
            self._sums[column][which] += amount

    def _add_each(
        self, column: str, owners: NDArray[np.int64], amount: NDArray[Any], which: NDArray[np.bool_]
    ) -> None:
        """Add the amounts of some rows, one after the other."""
        if which.all():
            np.add.at(self._sums[column], owners, amount)
        elif len(rows := np.flatnonzero(which)):
            np.add.at(self._sums[column], owners[rows], amount[rows])


def _owners(nodes: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Number of the client of each row, and whether it is a client's, shapes (rows,)."""
    used = np.flatnonzero(np.bincount(nodes.codes, minlength=len(nodes.words)))
    owners = client_numbers(nodes.words, used)[nodes.codes]
    return owners, owners >= 0
