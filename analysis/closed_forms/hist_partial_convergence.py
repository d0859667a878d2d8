"""Convergence of HIST where some clients of a cell take part: Theorem 2, as printed and as it can be proved.

Eq. 17 is a rate; the end of its proof (Appendix B2) has the constants, which stand here, under the step
condition (16). With gamma = (T E H)^(-1/2) and N~' = sum 1 / n'_j, n'_j clients of cell j taking part:

    term                    rate
    mini-batches            N~' (T E H)^(-1/2)
    start, cells, clients   (T E H)^(-1/2)
    taking part             N~' H^(1/2) (T E)^(-1/2)
    masks, models           no decay

What was found:

- "Arbitrary masks" is too much, as in Theorem 1, whose counterexample is one here: its cells have one client.
- The proof has a gap: (79) puts grad f_j for the mean over the clients that take part, so Lemma 3 lacks the
  variance of their selection. The statement survives, by another proof.
- Lemma 3 as printed fails: F_i = L ||x||^2 / 2 +- b x from 0, two cells of two clients, one taking part, two
  edge rounds of one step; D_t is gamma^2 delta_2^2, its bound 0.02 times that at the largest gamma.
- (16) is half of (12) but for the first condition, 64 for 45. Where (47) is put in, (51) is meant, not (48).

Proof (ours). A bar is a mean over all edge rounds. x is the virtual model, x_j that of cell j, x_i,h that of
client i after h steps, also of clients that do not take part; given the past, M = sum_j p_j E[mean_i,h grad
F_i(x_i,h)]; G = E||grad f(x)||^2, S = E||grad f(x) - M||^2, V = E||x||^2, W = E||x - x^t||^2, X the mean of
E||x^t||^2, Q = sum_j mean_i,h E||x_i,h - x_j||^2, A = sum_j E||p_j (grad f_j - grad f)(x)||^2, and F the
variance, given the past, of what an edge round subtracts, over gamma^2.

1. Smoothness, for gamma H L <= 1: G <= 2 (f - f^+) / (gamma H) + S + gamma L F / H, f^+ one edge round later.
2. Masks are disjoint, so sum_j ||x - x_j||^2 = (N - 1) ||x||^2: S <= 3 A + 3 (N - 1) L^2 V + 3 L^2 Q, and
   V <= 2 X + 2 W.
3. Clients are drawn uniformly, their mini-batches independently of each other:
   F <= 2 N~' H sigma^2 + 2 N~' H^2 delta_2^2 + 4 H^2 L^2 Q.
4. Q <= gamma^2 N H sigma^2 + 5 gamma^2 H^2 L^2 Q + (10/3) gamma^2 H^2 (N delta_2^2 + (N - 1) L^2 V + A + G).
5. Noise adds up in squares: W bar <= 2 gamma^2 (E - 1) F bar + 2 gamma^2 E (E - 1) H^2 (G bar + S bar).
6. Masks of any kind: A <= N delta_1^2. Masks that are drawn at random for the round, whatever its model:
   A <= (3/2) N (d_max / d) delta_1^2 + 6 (N + 1) L^2 W, as grad f_j - grad f at x^t does not depend on them.

With (16), 4 and 5 are small, so that 1 bounds G bar by the known quantities. What comes out is below the
print term by term: for random masks with d_max / d, for any masks with 1 in its place (`proved`).

Conditions: the ones of `hist_setting`; clients drawn uniformly, with or without replacement.

Validation: tests/analysis/test_hist_partial_convergence.py solves the six steps for their constants.

Source: HIST journal paper, Theorem 2 and Appendix B2; `proved` and its proof are ours.
"""

import math

import attrs

from analysis.closed_forms.hist_setting import HistSetting, is_largest_fraction


@attrs.frozen(kw_only=True)
class PartialHistBound(HistSetting):
    """Some clients of a cell take part: `num_clients` is n'_j of every cell.

    Attributes:
        largest_fraction: mean of d_max^t / d over global rounds, from 1 / N for equal parts to 1.
    """

    largest_fraction: float = attrs.field(validator=is_largest_fraction)

    @property
    def max_learning_rate(self) -> float:
        """Eq. 16."""
        cells, edge, steps = self.num_cells, self.num_edge_rounds, self.num_steps
        return (
            min(
                1.0 / (64.0 * math.sqrt(cells) * edge * steps),
                self.inverse_clients / (2.0 * cells * steps),
                1.0 / (2.0 * cells * steps**2),
                1.0 / (2.0 * cells * (cells + 1) * edge**2 * steps**2),
            )
            / self.smoothness
        )

    @property
    def terms(self) -> dict[str, float]:
        """The terms at the end of Appendix B2, as printed.

        Raises:
            ValueError: The learning rate is above eq. 16.
        """
        self._check_rate(self.max_learning_rate, "eq. 16")
        scale = self.learning_rate * self.smoothness
        selected = 12.0 * scale * self.num_steps * self.inverse_clients * self.client_dissimilarity
        return {
            "start": 4.0 * self.initial_gap / (self.learning_rate * self.num_steps_in_all),
            "mini-batches": 100.0 * scale * self.inverse_clients * self.gradient_variance,
            "cells": 1356.0 * scale * self.cell_dissimilarity,
            "clients": 60.0 * scale * self.client_dissimilarity,
            "taking part": selected,
            "masks": 6.0 * self.num_cells * self.largest_fraction * self.cell_dissimilarity,
            "models": 96.0 * (self.num_cells - 1) * self.smoothness**2 * self.square_model,
        }

    @property
    def proved_terms(self) -> dict[str, float]:
        """The terms that can be proved, for any masks: "masks" is larger, the others are as printed.

        Raises:
            ValueError: The learning rate is above eq. 16.
        """
        return self.terms | {"masks": 6.0 * self.num_cells * self.cell_dissimilarity}
