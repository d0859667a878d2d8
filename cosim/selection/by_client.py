"""By client: what a rule remembers of clients, by their numbers in the run, for any cell.

Usage::

    seen = edge.kept.setdefault(self, ByClient(num_rounds=0, mean=0.0))
    places = seen.places(coming.clients)
    seen["num_rounds"][places] += 1
"""

import numpy as np
from numpy.typing import NDArray

from cosim.jobs.cell import Clients


class ByClient:
    """Columns with an element for each client that a rule has met, in the order of their numbers.

    Args:
        first: Column -> its value for a client that the rule meets for the first time.
    """

    def __init__(self, **first: float) -> None:
        self._first = first
        self._numbers = np.empty(0, dtype=np.int64)
        self._columns = {name: np.empty(0, dtype=type(value)) for name, value in first.items()}

    def __getitem__(self, column: str) -> NDArray:
        return self._columns[column]

    def places(self, clients: Clients) -> NDArray[np.int64]:
        """Places of clients in the columns, shape (clients,); they hold until the rule meets a new client."""
        numbers = clients.numbers
        if (new := np.setdiff1d(numbers, self._numbers, assume_unique=True)).size:
            at = np.searchsorted(self._numbers, new)
            self._numbers = np.insert(self._numbers, at, new)
            for name, value in self._first.items():
                self._columns[name] = np.insert(self._columns[name], at, value)
        return np.searchsorted(self._numbers, numbers)
