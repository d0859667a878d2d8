"""Journal: the numbers that events have read from weights, such as losses for a selection rule.

Weights never move the clock but by these numbers. So a checkpoint keeps them, and a run that goes on reads
them there in place of learning again what it had learned.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray


class Journal(dict[str, NDArray[np.float64]]):
    """Numbers of this run so far, by name.

    Args:
        earlier: Numbers of the run that is resumed; none of them is computed again.
    """

    def __init__(self, earlier: Mapping[str, NDArray[np.float64]]) -> None:
        super().__init__()
        self._earlier = earlier

    def read(self, name: str, compute: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        """The values of a name, computed unless they are known; read-only."""
        if name not in self:
            values = self._earlier[name] if name in self._earlier else compute()
            values.flags.writeable = False
            self[name] = values
        return self[name]
