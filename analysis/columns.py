"""Columns of tables whose rows are to find each other: names as numbers, rows by several columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cosim.names import by_number

Numbers = NDArray[np.int64]


def coded(*columns: pd.Series) -> tuple[NDArray[Any], list[Numbers]]:
    """The names in some columns, each once and by number, and each column as places among them."""
    places, found = pd.factorize(pd.concat(columns, ignore_index=True))
    names = found.tolist()
    order = np.array(sorted(range(len(names)), key=lambda place: by_number(names[place])), dtype=np.int64)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    ends = np.cumsum([len(column) for column in columns])
    return np.array(names, dtype=object)[order], np.split(ranks[places], ends[:-1])


def places(wanted: Sequence[Numbers], among: Sequence[Numbers]) -> Numbers:
    """Places of rows among other rows, all of them different; -1 for rows that are not there.

    Args:
        wanted: Columns of the rows, whole numbers.
        among: The same columns of the others.
    """
    if not len(among[0]):
        return np.full(len(wanted[0]), -1)
    keys, known = np.zeros(len(wanted[0]), np.int64), np.zeros(len(among[0]), np.int64)
    for own, others in zip(wanted, among, strict=True):
        low = own.min(initial=others.min())
        width = own.max(initial=others.max()) - low + 1
        keys, known = keys * width + own - low, known * width + others - low
    order = np.argsort(known, kind="stable")
    place = order[np.searchsorted(known[order], keys).clip(max=len(known) - 1)]
    return np.where(known[place] == keys, place, -1)
