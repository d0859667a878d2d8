"""Convergence of HIST: the mean squared gradient after T global rounds, as printed and as it can be proved.

Theorem 1 (eq. 13) under the step condition (12), and with `mse` above 0 Theorem 3 (eq. 29), term by term. The
gradient is that of the virtual model, the sum of the edge models, at every edge round.

Theorem 2 and the corollaries are rates. With gamma = (T E H)^(-1/2), N~ = sum 1 / n_j, n'_j clients of cell j
taking part and M the mean of sum_j MSE_j:

    term            full participation       n'_j take part
    mini-batches    N~ (T E H)^(-1/2)        N~' (T E H)^(-1/2)
    start, cells,
    clients         (T E H)^(-1/2)           (T E H)^(-1/2) + N~' H^(1/2) (T E)^(-1/2)
    masks, models   no decay                 no decay
    air             M (T E H)^(-1/2)         not treated

What was found in the proofs (Appendix B and C), step by step:

- "Arbitrary masks" is too much. Proposition 1 needs masks drawn at random and independent of the model; (59)
  and (81) apply it to any masks, and in edge rounds e >= 1 to a model that has depended on them since e = 0.
  Counterexample: N = 8 fixed masks of one parameter each, F_j = L ||x - c_j||^2 / 2, c_j = 0 in cell j's own
  parameter and 1 elsewhere. Started at 0 the model never moves; ||grad f||^2 = L^2 (N - 1)^2 / N is
  (N - 1) / 6 times the fifth term, which alone is left for small gamma and large T. For any masks d_max / d
  must be 1 there (`proved`). For masks drawn afresh each round and E = 1 the print holds.
- Theorem 3 loses a factor: (74) drops the L of (73), and (75) takes MSE for gamma^2 MSE, that of (28).
  Lemma 3 ignores that the noise drives the edge models apart, so it does not carry over as (43) is said to
  need. The printed term gamma M has another unit than ||grad f||^2 and fails for large L. Counterexample:
  f = L ||x||^2 / 2, N = E = 2, H = T = 1, started at 0, all deltas and sigma 0: the mean squared gradient is
  0 in the first edge round and (gamma L)^2 M in the second; for gamma L^2 > 2 their mean exceeds gamma M.
- Mended: per edge round, H N~ sigma^2 in Lemma 3 becomes H N~ sigma^2 + M (the noise is independent and has
  mean 0), at most doubled as M may change from edge round to edge round. The air term is then
  2 gamma L M / H + 144 gamma^2 L^2 (N + 1) E M (`proved`).
- (85) and (86) sum ||grad f_j - grad f||^2 over j at another model for each j, where Assumption 5 gives only
  N^2 delta_1^2, not N delta_1^2. Without effect: pass from x_j to the virtual model first, by smoothness of
  f_j, and the same five terms come out with all of them at one model.
- The rest of (46) to (50) holds: with (12), 4 + 72 + 24 = 100, 1296 + 60 = 1356 and 972 / 2025 + 30 / 2025 is
  at most 1/2. Here (50) uses d_max <= d.
- Slips without effect. (13), (29): the sum ends at T - 1, the right-hand side has no round T. Assumption 2
  must be read with no square (as printed no quadratic fulfils it). The third condition of (12) follows from
  the fourth. (48): the bracket of the difference of losses. After (49): at least 1/2. Lemma 3's condition
  lacks H. Telescoping ends at E - 1. Proposition 1's expectation is of the square.
- By smoothness alone ||grad f(x)||^2 is at most 2 ||grad f(0)||^2 + 2 L^2 ||x||^2, and the sixth term is
  48 (N - 1) L^2 ||x||^2. So (13) says something only where models stay near 0.
- Scaling: Remark 2 and Corollary 2 have N~^(1/2), which asks for gamma = (N~ T E H)^(-1/2); their gamma gives
  N~. By the last condition of (12), E is of order T^(1/3) N^(-4/3) H^(-1), not H^(-1/3), and H accordingly.
- More clients per cell lower N~ but also the largest gamma, N~ / (N H L), which exists only to swallow a term
  24 gamma^2 L^2 N H sigma^2 into 100 gamma N~ L sigma^2.
- Theorem 2: (53) has constants, with 100 gamma N~' L sigma^2, 12 gamma H N~' L delta_2^2 more and 96 for 48.
  But (79) puts grad f_j for the mean over the clients that take part, so Lemma 3 lacks their sampling
  variance, of order gamma^2 (N + 1) E^2 H^2 N~' delta_2^2. Not offered here.

N = 1 is outside the theorem (N >= 2) and harmless: the proof nowhere needs two cells.

Conditions: Assumptions 1 to 6 at all models; full participation; mini-batches independent of the past, so not
epochs without replacement; equal weights of clients and of cells (eq. 1).

Source: HIST journal paper, Theorems 1 and 3; `proved` is ours.
"""

import math

import attrs
import numpy as np
from numpy.typing import ArrayLike


def mean_largest_fraction(sizes: ArrayLike) -> float:
    """Mean over rounds of d_max^t / d, eq. 14.

    Args:
        sizes: |p_j^t|_1, shape (rounds, cells).
    """
    counts = np.asarray(sizes, dtype=float)
    return float((counts.max(axis=1) / counts.sum(axis=1)).mean())


@attrs.frozen(kw_only=True)
class HistBound:
    """One setting.

    Attributes:
        initial_gap: f(x^0) - f_*.
        smoothness: L.
        gradient_variance: sigma^2, of a mini-batch.
        cell_dissimilarity: delta_1^2 (eq. 10).
        client_dissimilarity: delta_2^2 (eq. 11).
        square_model: mean of E||x^t||^2 over global rounds.
        largest_fraction: mean of d_max^t / d over global rounds, from 1 / N for equal parts to 1.
        learning_rate: gamma.
        num_global_rounds: T.
        num_edge_rounds: E.
        num_steps: H.
        num_clients: n_j of every cell.
        mse: mean over edge rounds of the sum over cells of MSE_j (eqs. 25 and 29); 0: Theorem 1.

    Raises:
        ValueError: Numbers that these rules exclude, or that are not finite.
    """

    initial_gap: float
    smoothness: float
    gradient_variance: float
    cell_dissimilarity: float
    client_dissimilarity: float
    square_model: float
    largest_fraction: float
    learning_rate: float
    num_global_rounds: int
    num_edge_rounds: int
    num_steps: int
    num_clients: tuple[int, ...]
    mse: float = 0.0

    def __attrs_post_init__(self) -> None:
        squares = ("initial_gap", "gradient_variance", "cell_dissimilarity", "client_dissimilarity")
        counts = ("num_global_rounds", "num_edge_rounds", "num_steps")
        for name in (*squares, "square_model", "mse"):
            self._check(name, getattr(self, name) >= 0.0, "at least 0", "Give squares, not roots.")
        for name in ("smoothness", "learning_rate"):
            self._check(name, getattr(self, name) > 0.0, "above 0", "Estimate L from two different models.")
        for name in counts:
            self._check(name, getattr(self, name) >= 1, "at least 1", "Count from 1.")
        is_right = len(self.num_clients) > 0 and min(self.num_clients) >= 1
        self._check(
            "num_clients", is_right, "at least 1 in each of at least one cell", "Leave empty cells out."
        )
        least = 1.0 / self.num_cells
        is_right = least * (1.0 - 1e-9) <= self.largest_fraction <= 1.0 + 1e-9
        rule = f"from 1 / N = {least:g} to 1"
        self._check("largest_fraction", is_right, rule, "Divide d_max by d.")

    def _check(self, name: str, is_right: bool, rule: str, fix: str) -> None:
        value = getattr(self, name)
        if not (is_right and np.all(np.isfinite(value))):
            raise ValueError(f"HistBound.{name} = {value!r} must be {rule}, and finite. {fix}")

    @property
    def num_cells(self) -> int:
        """N."""
        return len(self.num_clients)

    @property
    def inverse_clients(self) -> float:
        """N~, the sum of 1 / n_j."""
        return math.fsum(1.0 / n for n in self.num_clients)

    @property
    def max_learning_rate(self) -> float:
        """Eq. 12."""
        cells, edge, steps = self.num_cells, self.num_edge_rounds, self.num_steps
        return (
            min(
                1.0 / (45.0 * math.sqrt(cells) * edge * steps),
                self.inverse_clients / (cells * steps),
                1.0 / (cells * steps**2),
                1.0 / (cells * (cells + 1) * edge**2 * steps**2),
            )
            / self.smoothness
        )

    @property
    def terms(self) -> dict[str, float]:
        """The terms of eqs. 13 and 29, as printed.

        Raises:
            ValueError: The learning rate is above eq. 12.
        """
        if self.learning_rate > self.max_learning_rate * (1.0 + 1e-12):
            raise ValueError(
                f"HistBound.learning_rate = {self.learning_rate:g} must be at most "
                f"{self.max_learning_rate:g} (eq. 12). Use fewer steps or a smaller one."
            )
        scale = self.learning_rate * self.smoothness
        num_steps = self.num_global_rounds * self.num_edge_rounds * self.num_steps
        return {
            "start": 4.0 * self.initial_gap / (self.learning_rate * num_steps),
            "mini-batches": 100.0 * scale * self.inverse_clients * self.gradient_variance,
            "cells": 1356.0 * scale * self.cell_dissimilarity,
            "clients": 60.0 * scale * self.client_dissimilarity,
            "masks": 6.0 * self.num_cells * self.largest_fraction * self.cell_dissimilarity,
            "models": 48.0 * (self.num_cells - 1) * self.smoothness**2 * self.square_model,
            "air": self.learning_rate * self.mse,
        }

    @property
    def bound(self) -> float:
        """Right-hand side of eqs. 13 and 29, as printed."""
        return math.fsum(self.terms.values())

    @property
    def proved_terms(self) -> dict[str, float]:
        """The terms that can be proved, for any masks: "masks" and "air" are larger, the others as printed.

        Raises:
            ValueError: The learning rate is above eq. 12.
        """
        scale = self.learning_rate * self.smoothness
        spread = 144.0 * scale**2 * (self.num_cells + 1) * self.num_edge_rounds
        return self.terms | {
            "masks": 6.0 * self.num_cells * self.cell_dissimilarity,
            "air": (2.0 * scale / self.num_steps + spread) * self.mse,
        }

    @property
    def proved(self) -> float:
        """The bound that can be proved, for any masks."""
        return math.fsum(self.proved_terms.values())
