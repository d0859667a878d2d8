"""Convergence of HIST in the conference paper: Theorem 1 as printed and as it can be proved, Corollary 1.

Eq. 13 bounds the mean over all local steps of the squared gradient at the virtual model, the sum of the
cells' mean models, under the step condition (12). Counts are as in `hist_setting`.

What was found:

- The first term of (13), 4 (f(x^0) - f_*) / gamma, lacks 1 / T. As printed the theorem holds, but says less
  the longer a run is: with the gamma = (T N~)^(-1/2) of Corollary 1 the term grows with T^(1/2). With 1 / T
  (`proved`) it is the (N~ / T)^(1/2) of the corollary.
- Corollary 1: the term of the clients is 24 L delta_2^2 (T N~)^(-1/2), not of order T^(-1/2): it grows with
  the clients of a cell. So N~ sets the rate of Remark 1 also where it is small.
- (13) is printed with its last terms twice. Assumption 2 must be read with no square. The orders of H and E
  in Section IV-C are right.

Proof (ours) of the bound with 1 / T. A bar is a mean over all local steps, of which E H make a global round
and H an edge round. x is the virtual model, x_j the mean model of cell j, x_i that of client i; M = sum_j p_j
mean_i grad F_i(x_i); G = E||grad f(x)||^2, S = E||grad f(x) - M||^2, V = E||x||^2, W = E||x - x^m||^2 with
x^m at the start of the global round, X the mean of E||x^m||^2, U = sum_j mean_i E||x_i - x_j||^2, and
A = sum_j E||p_j (grad f_j - grad f)(x)||^2.

1. Smoothness, for gamma L <= 1: G bar <= 2 (f(x^0) - f_*) / (gamma T) + gamma L N~ sigma^2 + S bar.
2. Masks are disjoint, so sum_j ||x - x_j||^2 = (N - 1) ||x||^2: S <= 3 A + 3 (N - 1) L^2 V + 3 L^2 U, and
   V <= 2 X + 2 W.
3. Noise adds up in squares, with K = E H: W bar <= gamma^2 K N~ sigma^2 + 2 gamma^2 K^2 (G bar + S bar).
4. Clients start an edge round alike:
   U bar <= gamma^2 N H sigma^2 + 2 gamma^2 L^2 H^2 U bar + (4/3) gamma^2 N H^2 delta_2^2.
5. Masks are uniform and drawn for the round, whatever its model: A <= 2 delta_1^2 + 4 (N + 1) L^2 W, as
   grad f_j - grad f at x^m does not depend on them.

With (12), the first condition makes 3 and 4 small, the second and third turn the first and last term of 4
into gamma L N~ sigma^2 and (4/3) gamma L delta_2^2, the fourth the first of 3 into gamma L N~ sigma^2 over
N + 1. What comes out is below the print term by term: no more than 3, 30, 5, 8 and 8 for its 4, 50, 24, 12
and 24.

Conditions: the ones of `hist_setting`; full participation; masks that are uniform, drawn for each global
round and independent of its model; N >= 2.

Validation: tests/analysis/test_hist_conference_convergence.py solves the five steps for their constants.

Source: HIST conference paper, Theorem 1 and Corollary 1; `proved` and its proof are ours.
"""

import math

import attrs

from analysis.closed_forms.hist_setting import HistSetting


@attrs.frozen(kw_only=True)
class ConferenceHistBound(HistSetting):
    """All clients of at least two cells take part, and parts are of one size."""

    least_cells = 2

    @property
    def max_learning_rate(self) -> float:
        """Eq. 12."""
        cells, steps = self.num_cells, self.num_steps
        steps_of_round = self.num_edge_rounds * steps
        return (
            min(
                1.0 / (32.0 * steps_of_round * math.sqrt(cells - 1)),
                self.inverse_clients / (cells * steps),
                1.0 / (cells * steps**2),
                1.0 / ((cells + 1) * steps_of_round),
            )
            / self.smoothness
        )

    @property
    def corollary_learning_rate(self) -> float:
        """The step size of Corollary 1."""
        return 1.0 / math.sqrt(self.num_steps_in_all * self.inverse_clients)

    @property
    def terms(self) -> dict[str, float]:
        """The terms of eq. 13, as printed; with the learning rate of Corollary 1 the ones behind eq. 14.

        Raises:
            ValueError: The learning rate is above eq. 12.
        """
        self._check_rate(self.max_learning_rate, "eq. 12")
        scale = self.learning_rate * self.smoothness
        return {
            "start": 4.0 * self.initial_gap / self.learning_rate,
            "mini-batches": 50.0 * scale * self.inverse_clients * self.gradient_variance,
            "clients": 24.0 * scale * self.client_dissimilarity,
            "cells": 12.0 * self.cell_dissimilarity,
            "models": 24.0 * (self.num_cells - 1) * self.smoothness**2 * self.square_model,
        }

    @property
    def proved_terms(self) -> dict[str, float]:
        """The terms that can be proved: the first over T, the others as printed.

        Raises:
            ValueError: The learning rate is above eq. 12.
        """
        terms = self.terms
        return terms | {"start": terms["start"] / self.num_steps_in_all}
