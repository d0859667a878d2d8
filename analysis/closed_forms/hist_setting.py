"""Setting of HIST's convergence theorems: their symbols, and what holds for them.

Counts are the journal paper's. The conference paper counts local steps: its T is T E H here, its E is E H.

Conditions: Assumptions 1 to 6 at all models; mini-batches independent of the past, so not epochs without
replacement; equal weights of clients and of cells (eq. 1).

Source: HIST journal paper, Section III.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np


class Bound(Protocol):
    """A theorem, which bounds the mean squared gradient by a sum of terms."""

    @property
    def terms(self) -> Mapping[str, float]:
        """The terms as printed."""
        ...

    @property
    def proved_terms(self) -> Mapping[str, float]:
        """The terms that can be proved."""
        ...


@attrs.frozen(kw_only=True)
class HistSetting:
    """One setting of a theorem, whose class adds its terms (`Bound`).

    Attributes:
        least_cells: Cells that a theorem needs; set by the class.
        initial_gap: f(x^0) - f_*.
        smoothness: L.
        gradient_variance: sigma^2, of a mini-batch.
        cell_dissimilarity: delta_1^2 (eq. 10).
        client_dissimilarity: delta_2^2 (eq. 11).
        square_model: mean of E||x^t||^2 over global rounds.
        learning_rate: gamma.
        num_global_rounds: T.
        num_edge_rounds: E.
        num_steps: H.
        num_clients: clients of every cell whose updates are averaged.

    Raises:
        ValueError: Numbers that these rules exclude, or that are not finite.
    """

    least_cells: ClassVar[int] = 1

    initial_gap: float
    smoothness: float
    gradient_variance: float
    cell_dissimilarity: float
    client_dissimilarity: float
    square_model: float
    learning_rate: float
    num_global_rounds: int
    num_edge_rounds: int
    num_steps: int
    num_clients: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        squares = ("initial_gap", "gradient_variance", "cell_dissimilarity", "client_dissimilarity")
        counts = ("num_global_rounds", "num_edge_rounds", "num_steps")
        for name in (*squares, "square_model"):
            self._check(name, getattr(self, name) >= 0.0, "at least 0", "Give squares, not roots.")
        for name in ("smoothness", "learning_rate"):
            self._check(name, getattr(self, name) > 0.0, "above 0", "Estimate L from two different models.")
        for name in counts:
            self._check(name, getattr(self, name) >= 1, "at least 1", "Count from 1.")
        is_right = self.num_cells >= self.least_cells and min(self.num_clients) >= 1
        rule = f"at least 1 in each of {self.least_cells} or more cells"
        self._check("num_clients", is_right, rule, "Use more cells, without empty ones.")

    def _check(self, name: str, is_right: bool, rule: str, fix: str) -> None:
        value = getattr(self, name)
        if not (is_right and np.all(np.isfinite(value))):
            raise ValueError(f"{type(self).__name__}.{name} = {value!r} must be {rule}, and finite. {fix}")

    def _check_rate(self, most: float, equation: str) -> None:
        if self.learning_rate > most * (1.0 + 1e-12):
            raise ValueError(
                f"{type(self).__name__}.learning_rate = {self.learning_rate:g} must be at most {most:g} "
                f"({equation}). Use fewer steps or a smaller one."
            )

    @property
    def bound(self: Bound) -> float:
        """Right-hand side of the theorem, as printed."""
        return math.fsum(self.terms.values())

    @property
    def proved(self: Bound) -> float:
        """The bound that can be proved."""
        return math.fsum(self.proved_terms.values())

    @property
    def num_cells(self) -> int:
        """N."""
        return len(self.num_clients)

    @property
    def inverse_clients(self) -> float:
        """N~, the sum of 1 / n_j; with n'_j in the place of n_j it is N~'."""
        return math.fsum(1.0 / n for n in self.num_clients)

    @property
    def num_steps_in_all(self) -> int:
        """T E H."""
        return self.num_global_rounds * self.num_edge_rounds * self.num_steps


def is_square(setting: HistSetting, field: "attrs.Attribute[Any]", value: float) -> None:
    """Refuse a square below 0."""
    setting._check(field.name, value >= 0.0, "at least 0", "Give squares, not roots.")


def is_largest_fraction(setting: HistSetting, field: "attrs.Attribute[Any]", value: float) -> None:
    """Refuse a largest part that is below an N-th, or above the whole."""
    least = 1.0 / max(1, setting.num_cells)
    is_right = least * (1.0 - 1e-9) <= value <= 1.0 + 1e-9
    setting._check(field.name, is_right, f"from 1 / N = {least:g} to 1", "Divide d_max by d.")
