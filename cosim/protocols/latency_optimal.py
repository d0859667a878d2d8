"""Submodel sizes: the number of hidden units for each cell that makes the slowest cell fastest.

Problem (20): cells train s_j units, take a_j + b_j s_j seconds, and the units add up to the model's;
no cell may hold more than a given multiple of an equal part (20b). The optimum is found directly: fill all
cells to a common time, round down, hand out what is left.

Proof. Without whole units, cells filled to one time t, each within 1 and the cap, hold more and more units as
t rises; at the t_0 where they hold all, t_0 is the least possible time. Whole sizes cannot be faster, so a
cell may take, in some optimum of whole units, all units that fit within t_0: if a smaller size were optimal
there, the units would be elsewhere, and taking them back makes no cell slower than t_0. The units that are
left, fewer than cells, go one by one to the cell that would then be the fastest of the cells below their cap:
an exchange shows that no other way ends earlier, since each cell's time only rises with its units.

Scope and limitations: times are affine in the size, as they are if computing and sending are linear in it. Of
several optima one is returned: of equal cells, the one with the lower number gets the unit.

Usage: `latency_optimal_sizes([0.0, 0.0], [2e-3, 1e-3], num_units=300, largest=1.5)` is (100, 200).

Validation: tests/protocols/test_submodel_sizes.py, against a mixed-integer program and brute force.

Source: HIST journal paper, Section IV-B, problems (20) and (21); with over-the-air sums problem (39). The
solution is derived here.
"""

import math
from collections.abc import Sequence

from cosim.configuration import ConfigurationError

_ROUNDING = 1e-9
"""Distance below a whole number within which a size counts as that number."""


def latency_optimal_sizes(
    fixed_s: Sequence[float], unit_s: Sequence[float], *, num_units: int, largest: float
) -> tuple[int, ...]:
    """Whole units for each cell, at least one, adding up to all, so that the slowest cell is fastest.

    Args:
        fixed_s: Time a_j of a cell that does not depend on its size, shape (cells,).
        unit_s: Time b_j that each unit adds, above 0, shape (cells,).
        num_units: Hidden units of the whole model.
        largest: Largest size in equal parts of the model, eps_th / (6 delta_1^2) of (20b).

    Raises:
        ConfigurationError: Times are not finite or negative, there are more cells than units, or caps hold
            too few units.
    """
    fixed_s, unit_s = [float(value) for value in fixed_s], [float(value) for value in unit_s]
    cells = range(len(unit_s))
    if len(fixed_s) != len(unit_s) or not all(
        0.0 <= fixed < math.inf and 0.0 < unit < math.inf for fixed, unit in zip(fixed_s, unit_s, strict=True)
    ):
        raise ConfigurationError(
            f"submodel sizes: fixed_s = {list(fixed_s)}, unit_s = {list(unit_s)} must be finite and "
            "not negative, unit_s above 0, and one of each for every cell. Give every client a rate "
            "above 0."
        )
    cap = largest_size(num_units, len(unit_s), largest)

    def size_within(cell: int, time_s: float) -> float:
        return min(max((time_s - fixed_s[cell]) / unit_s[cell], 1.0), float(cap))

    time_s = _common_time_s(fixed_s, unit_s, num_units, cap)
    sizes = [math.floor(size_within(cell, time_s) + _ROUNDING) for cell in cells]
    while sum(sizes) < num_units:
        _, cell = min((fixed_s[j] + unit_s[j] * (sizes[j] + 1), j) for j in cells if sizes[j] < cap)
        sizes[cell] += 1
    return tuple(sizes)


def largest_size(num_units: int, num_cells: int, largest: float) -> int:
    """Most units of a cell (20b).

    Raises:
        ConfigurationError: There are more cells than units, or caps hold too few units.
    """
    if not 1 <= num_cells <= num_units:
        raise ConfigurationError(
            f"submodel sizes: {num_cells} cells for {num_units} units, but each must train at least "
            "one. Use fewer cells or a wider layer."
        )
    cap = min(num_units, math.floor(largest * num_units / num_cells + _ROUNDING))
    if cap * num_cells < num_units:
        raise ConfigurationError(
            f"submodel sizes: with at most {largest:g} equal parts, {cap} of {num_units} units, "
            f"{num_cells} cells do not add up to the model. Use largest = "
            f"{math.ceil(num_units / num_cells) * num_cells / num_units:.4g}."
        )
    return cap


def _common_time_s(fixed_s: Sequence[float], unit_s: Sequence[float], num_units: int, cap: int) -> float:
    """Time at which cells filled up to it, within 1 and cap units, hold all units."""
    corners = sorted(
        {fixed + unit * size for fixed, unit in zip(fixed_s, unit_s, strict=True) for size in (1, cap)}
    )
    earlier_s, earlier = corners[0], float(len(unit_s))
    for time_s in corners:
        held = math.fsum(
            min(max((time_s - fixed) / unit, 1.0), float(cap))
            for fixed, unit in zip(fixed_s, unit_s, strict=True)
        )
        if held >= num_units:
            if held == earlier:
                return earlier_s
            return earlier_s + (time_s - earlier_s) * (num_units - earlier) / (held - earlier)
        earlier_s, earlier = time_s, held
    return corners[-1]
