"""Drawn parts: the units of each cell, drawn at random so that every unit is in one part.

Usage::

    parts = draw_parts(shape.num_units, even_counts(shape.num_units, num_cells=4), rng)
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.values.submodels import Part

Counts = dict[str, tuple[int, ...]]
"""Group name -> units per cell."""


def even_counts(num_units: Mapping[str, int], num_cells: int) -> Counts:
    """Units per cell, as even as possible; the first cells have one more where it does not divide.

    Raises:
        ConfigurationError: no cell, or more cells than units of a group.
    """
    if num_cells < 1:
        raise ConfigurationError(f"{num_cells} cells: must be at least one. Give the number of cells.")
    return proportional_counts(num_units, [1 / num_cells] * num_cells)


def proportional_counts(num_units: Mapping[str, int], fractions: Sequence[float]) -> Counts:
    """Units per cell in proportion to fractions, at least one each, rounded by largest remainder.

    Args:
        num_units: Group name -> its number of units.
        fractions: Share of each cell, above 0, sum 1.

    Raises:
        ConfigurationError: bad fractions, or more cells than units of a group.
    """
    shares = np.asarray(fractions, dtype=float)
    if shares.ndim != 1 or not (shares > 0).all() or not math.isclose(shares.sum(), 1.0, abs_tol=1e-9):
        raise ConfigurationError(
            f"fractions = {list(fractions)}: must be above 0 and sum to 1. Divide each of them by their sum."
        )
    counts = {}
    for group, total in num_units.items():
        _check_num_cells(group, total, len(shares))
        exact = shares * total
        whole = np.maximum(np.floor(exact + 1e-9).astype(np.int64), 1)
        while whole.sum() < total:
            whole[np.argmax(np.round(exact - whole, 9))] += 1
        while whole.sum() > total:
            surplus = np.where(whole > 1, whole - exact, -np.inf)
            whole[np.argmax(np.round(surplus, 9))] -= 1
        counts[group] = tuple(int(n) for n in whole)
    return counts


def draw_parts(
    num_units: Mapping[str, int], counts: Mapping[str, Sequence[int]], rng: np.random.Generator
) -> tuple[Part, ...]:
    """Random disjoint parts that cover all units, one per cell. [HIST journal, equation 3]

    Args:
        num_units: Group name -> its number of units.
        counts: Group name -> units per cell, at least one each; they sum to the units of the group.
        rng: Draws one permutation per group, in the order of the groups.

    Raises:
        ConfigurationError: counts that do not cover a group exactly, or differ in their number of cells.
    """
    if counts.keys() != num_units.keys() or len({len(c) for c in counts.values()}) != 1:
        raise ConfigurationError(
            f"counts = {dict(counts)}: must give the units of every cell for each of "
            f"{list(num_units)}. Use even_counts or proportional_counts; a network without groups "
            "cannot be split."
        )
    pieces = {}
    for group, total in num_units.items():
        _check_num_cells(group, total, len(counts[group]))
        if min(counts[group]) < 1 or sum(counts[group]) != total:
            raise ConfigurationError(
                f"counts[{group!r}] = {list(counts[group])}: must be at least 1 and sum to {total} "
                "units. Use even_counts or proportional_counts."
            )
        pieces[group] = np.split(rng.permutation(total), np.cumsum(counts[group])[:-1])
    num_cells = len(next(iter(counts.values())))
    return tuple(Part({group: np.sort(pieces[group][i]) for group in pieces}) for i in range(num_cells))


def _check_num_cells(group: str, num_units: int, num_cells: int) -> None:
    if num_cells > num_units:
        raise ConfigurationError(
            f"{num_cells} cells for the {num_units} units of {group!r}: a cell would train no unit. "
            "Use fewer cells or a wider layer."
        )
