"""Convergence of RawHFL: the mean squared gradient after K global rounds, as printed and as it can be proved.

Theorem 1 of the RawHFL paper (eq. 21) for rounds that are all alike, term by term; with equal steps it is
Corollary 1. Its last step holds: with Lemmas 1 and 2 put into (58), the constants N_1, N_2, N_u come out.
Two steps before it do not, both in the unsafe direction:

- Lemmas 1 and 2 say that local and edge models do not move at all where sigma, eps_0 and eps_1 are 0 and
  nothing is lost; but they move along the common gradient. One client with f = beta w^2 / 2, E = 20, L = 1
  and eta just below 1 / (beta E L), which the theorem allows, has after one round a squared gradient that
  exceeds (21) by 15 %.
- (57b) replaces a client's gradient by the mean over clients. For equal steps the mean may be taken first,
  and nothing is lost. For unequal steps the method does not even converge to a stationary point of f: a
  client with more steps weighs more. (21) goes to 0 there as eta does; the squared gradient does not.

`proved` is a bound without these steps, for beta-smooth losses and eta at most 1 / (sqrt(48) beta E L). With
weights a_u = alpha_b alpha_u, Omega = E sum a_u L_u, delta^2 at least ||grad f_u - grad f||^2 for every
client, and chi^2 = sum a_u (L_u E / Omega - 1)^2,

    mean of ||grad f||^2 <= 4 gap / (eta K Omega) + 4 chi^2 delta^2 + 48 (beta eta E L)^2 delta^2
        + sigma^2 (16 beta^2 eta^2 L (1 + E A) + 4 beta eta S / Omega)
        + (16 beta^2 eta^2 L R + 4 beta eta Q / Omega),

where A is the largest sum of alpha_u^2 of a cell, S = E sum a_u^2 L_u, R the largest sum of
E alpha_u^2 (1 / p_u - 1) L_u G^2 of a cell, Q = E sum a_u^2 (1 / p_u - 1) L_u^2 G^2, and G^2 bounds E||g||^2.

Proof: smoothness gives E f(w+) <= f(w) - eta Omega <grad f, h> + (beta / 2) E||w+ - w||^2 with h the mean,
weighted by a_u, of all gradients of the round; the square is at most 2 (eta Omega)^2 ||h||^2 and twice the
noise, eta^2 (sigma^2 S + Q). As 2 eta beta Omega <= 1, ||grad f||^2 <= 2 (f - E f+) / (eta Omega) +
||grad f - h||^2 + 2 beta eta (sigma^2 S + Q) / Omega. By Cauchy-Schwarz and smoothness the middle term is at
most 2 chi^2 delta^2 + 2 beta^2 d, d the largest mean squared distance of a model of the round from its
start. That is at most 2 eta^2 L (sigma^2 (1 + E A) + R) + 6 (eta E L)^2 (beta^2 d + delta^2 +
||grad f||^2), so with 12 (eta beta E L)^2 <= 1 at most twice what is left without d; and
48 (eta beta E L)^2 <= 1 lets half of ||grad f||^2 be taken to the left.

Conditions: Assumptions 1 to 4; the same clients, weights, steps and success probabilities in all rounds.

Source: RawHFL paper, Theorem 1, Corollary 1 and Remark 3 (eqs. 21, 26, 27); `proved` is ours.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class Convergence:
    """One setting; arrays have shape (cells, clients of a cell).

    Attributes:
        initial_gap: F, loss at the start less loss at the end.
        smoothness: beta.
        gradient_variance: sigma^2.
        local_divergence: eps_0^2, of local and edge losses.
        edge_divergence: eps_1^2, of edge and global losses.
        client_divergence: delta^2, of local and global losses (`proved` only).
        square_gradient: G^2, bound of the mean squared stochastic gradient.
        learning_rate: eta.
        num_global_rounds: K.
        num_edge_rounds: E.
        max_steps: L.
        cell_weights: alpha_b, shape (cells,), 1 in sum.
        client_weights: alpha_u, 1 in sum in each cell.
        num_steps: L_u, from 1 to L.
        success_rates: p_u, above 0.

    Raises:
        ValueError: Numbers that these rules exclude.
    """

    initial_gap: float
    smoothness: float
    gradient_variance: float
    local_divergence: float
    edge_divergence: float
    client_divergence: float
    square_gradient: float
    learning_rate: float
    num_global_rounds: int
    num_edge_rounds: int
    max_steps: int
    cell_weights: Array
    client_weights: Array
    num_steps: Array
    success_rates: Array

    def __attrs_post_init__(self) -> None:
        if min(self.smoothness, self.learning_rate) <= 0.0:
            raise ValueError("Convergence: smoothness and learning_rate must be above 0.")
        for name, weights in (("cell_weights", self.cell_weights), ("client_weights", self.client_weights)):
            if np.any(weights < 0.0) or np.any(abs(weights.sum(axis=-1) - 1.0) > 1e-9):
                raise ValueError(f"Convergence: {name} must sum to 1 (of each cell), none below 0.")
        if np.any((self.num_steps < 1) | (self.num_steps > self.max_steps)):
            raise ValueError(f"Convergence: num_steps must lie from 1 to max_steps = {self.max_steps}.")
        if np.any((self.success_rates <= 0.0) | (self.success_rates > 1.0)):
            raise ValueError(
                "Convergence: success_rates must lie above 0 and up to 1; at 0 no bound is finite."
            )

    @property
    def total_steps(self) -> float:
        """Omega, weighted steps of a global round."""
        return self.num_edge_rounds * float((self._weights * self.num_steps).sum())

    @property
    def _weights(self) -> Array:
        """a_u."""
        return self.cell_weights[:, None] * self.client_weights

    @property
    def _lost(self) -> Array:
        """(1 / p_u - 1) times the sum of E||g||^2 over a client's steps."""
        return (1.0 / self.success_rates - 1.0) * self.num_steps * self.square_gradient

    @property
    def is_within_theorem(self) -> bool:
        """True if the learning rate is small enough for Theorem 1."""
        reach = self.smoothness * self.max_steps * self.learning_rate
        return reach * max(2.0 * math.sqrt(5.0), self.num_edge_rounds) < 1.0

    @property
    def terms(self) -> dict[str, float]:
        """The terms of eq. 21, as printed.

        Raises:
            ValueError: The learning rate is too large for Theorem 1.
        """
        if not self.is_within_theorem:
            raise ValueError(
                f"Convergence: learning_rate = {self.learning_rate:g} must lie below both "
                "1 / (2 sqrt(5) beta L) and 1 / (beta E L) for Theorem 1."
            )
        eta, beta = self.learning_rate, self.smoothness
        num_edge, most, omega = self.num_edge_rounds, self.max_steps, self.total_steps
        squares = (self.client_weights**2).sum(axis=1)
        n_1 = (
            60.0 * (beta * eta * num_edge * most) ** 3
            + 3.0 * beta * eta * num_edge * most
            + num_edge
            * float((self.cell_weights * (self.cell_weights + 4.0 * num_edge * most * beta * eta)) @ squares)
        )
        n_2 = 1.0 + 20.0 * (beta * eta * num_edge * most) ** 2
        n_u = (
            num_edge
            + 3.0 * beta * eta * most
            + 4.0
            * beta
            * eta
            * num_edge
            * (self.client_weights + 15.0 * num_edge * beta**2 * eta**2 * most**3)
        )
        lost = num_edge * float((self._weights * n_u * self._lost).sum())
        return {
            "descent": 2.0 * self.initial_gap / (eta * self.num_global_rounds * omega),
            "mini-batches": 2.0 * beta * eta * most * self.gradient_variance * n_1 / omega,
            "clients": 18.0 * num_edge * beta**2 * self.local_divergence * eta**2 * most**3 * n_2 / omega,
            "cells": 20.0 * most * beta**2 * self.edge_divergence * eta**2 * num_edge**3 / omega,
            "losses": 2.0 * beta * eta * most * lost / omega,
        }

    @property
    def bound(self) -> float:
        """Right-hand side of eq. 21, as printed; for equal steps that of Corollary 1."""
        return math.fsum(self.terms.values())

    @property
    def proved(self) -> float:
        """The bound that can be proved.

        Raises:
            ValueError: The learning rate is too large for it.
        """
        eta, beta = self.learning_rate, self.smoothness
        num_edge, most, omega = self.num_edge_rounds, self.max_steps, self.total_steps
        reach = (beta * eta * num_edge * most) ** 2
        if 48.0 * reach > 1.0 + 1e-12:
            raise ValueError(
                f"Convergence: learning_rate = {eta:g} must be at most 1 / (sqrt(48) beta E L) to be proved."
            )
        weights = self._weights
        chi_2 = float((weights * (self.num_steps * num_edge / omega - 1.0) ** 2).sum())
        crowd = float((self.client_weights**2).sum(axis=1).max())
        spread = num_edge * float((weights**2 * self.num_steps).sum())
        lost_in_cell = num_edge * float((self.client_weights**2 * self._lost).sum(axis=1).max())
        lost = num_edge * float((weights**2 * self.num_steps * self._lost).sum())
        moved = 16.0 * beta**2 * eta**2 * most
        return math.fsum(
            (
                4.0 * self.initial_gap / (eta * self.num_global_rounds * omega),
                (4.0 * chi_2 + 48.0 * reach) * self.client_divergence,
                self.gradient_variance
                * (moved * (1.0 + num_edge * crowd) + 4.0 * beta * eta * spread / omega),
                moved * lost_in_cell + 4.0 * beta * eta * lost / omega,
            )
        )

    @property
    def dominating(self) -> float:
        """The two terms that dominate for small learning rates (eq. 27), all clients taking L steps."""
        eta, steps = self.learning_rate, self.num_edge_rounds * self.num_global_rounds * self.max_steps
        spread = float((self._weights**2).sum())
        return 2.0 * self.initial_gap / (eta * steps) + 2.0 * self.smoothness * eta * (
            self.gradient_variance * spread
        )

    @property
    def best_learning_rate(self) -> float:
        """The learning rate of Remark 3, at which `dominating` is least."""
        steps = self.num_edge_rounds * self.num_global_rounds * self.max_steps
        spread = float((self._weights**2).sum())
        return math.sqrt(self.initial_gap / (steps * self.smoothness * self.gradient_variance * spread))
