"""Convergence of HIST: the mean squared gradient after T global rounds, as printed and as it can be proved.

Theorem 1 (eq. 13) under the step condition (12), and with `mse` above 0 Theorem 3 (eq. 29), term by term. The
gradient is that of the virtual model, the sum of the edge models, at every edge round.

Its corollaries are rates. With gamma = (T E H)^(-1/2), N~ = sum 1 / n_j and M the mean of sum_j MSE_j:

    term                     rate
    mini-batches             N~ (T E H)^(-1/2)
    start, cells, clients    (T E H)^(-1/2)
    masks, models            no decay
    air                      M (T E H)^(-1/2)

What was found in the proofs (Appendix B and C), step by step:

- "Arbitrary masks" is too much. Proposition 1 needs masks drawn at random and independent of the model; (59)
  and (81) apply it to any masks, and in edge rounds e >= 1 to a model that has depended on them since e = 0.
  Counterexample: N = 8 fixed masks of one parameter each, F_j = L ||x - c_j||^2 / 2, c_j = 0 in cell j's own
  parameter and 1 elsewhere. Started at 0 the model never moves; ||grad f||^2 = L^2 (N - 1)^2 / N is
  (N - 1) / 6 times the fifth term, which alone is left for small gamma and large T. For any masks d_max / d
  must be 1 there (`proved`). For masks drawn at random for each global round the print holds, by the steps
  of `hist_partial_convergence`.
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

N = 1 is outside the theorem (N >= 2) and harmless: the proof nowhere needs two cells.

Conditions: the ones of `hist_setting`; full participation.

Source: HIST journal paper, Theorems 1 and 3; `proved` is ours.
"""

import math

import attrs
import numpy as np
from numpy.typing import ArrayLike

from analysis.closed_forms.hist_setting import HistSetting, is_largest_fraction, is_square


def mean_largest_fraction(sizes: ArrayLike) -> float:
    """Mean over rounds of d_max^t / d, eq. 14.

    Args:
        sizes: |p_j^t|_1, shape (rounds, cells).
    """
    counts = np.asarray(sizes, dtype=float)
    return float((counts.max(axis=1) / counts.sum(axis=1)).mean())


@attrs.frozen(kw_only=True)
class HistBound(HistSetting):
    """All clients of a cell take part.

    Attributes:
        largest_fraction: mean of d_max^t / d over global rounds, from 1 / N for equal parts to 1.
        mse: mean over edge rounds of the sum over cells of MSE_j (eqs. 25 and 29); 0: Theorem 1.
    """

    largest_fraction: float = attrs.field(validator=is_largest_fraction)
    mse: float = attrs.field(default=0.0, validator=is_square)

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
        self._check_rate(self.max_learning_rate, "eq. 12")
        scale = self.learning_rate * self.smoothness
        return {
            "start": 4.0 * self.initial_gap / (self.learning_rate * self.num_steps_in_all),
            "mini-batches": 100.0 * scale * self.inverse_clients * self.gradient_variance,
            "cells": 1356.0 * scale * self.cell_dissimilarity,
            "clients": 60.0 * scale * self.client_dissimilarity,
            "masks": 6.0 * self.num_cells * self.largest_fraction * self.cell_dissimilarity,
            "models": 48.0 * (self.num_cells - 1) * self.smoothness**2 * self.square_model,
            "air": self.learning_rate * self.mse,
        }

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
