"""Convergence bounds of VHFL with lost uploads (VHFL paper, Theorem 1 and eqs. 21 to 24).

With K_gamma = gamma K and

    [X] = E_l sigma_0^2 + (sigma^2 / K_gamma)(1/E_l + (lambda - 1) L) + (lambda - 1) L E_l G^2

the mean squared gradient and the loss above its optimum are after T_g global epochs at most

    not convex (21, 23)  2 (f(w^0) - f*) / sqrt(T_g E_l) + L sqrt(E_l / T_g) [X]
    convex (22, 24)      (2 L / (mu^2 T_g)) [X + f_0 G^2 / (4 E_l)]

Units: none. The proof bounds a squared step by a step (before eq. 39), and (44) adds 1/E_l and (lambda - 1)
L. So L, mu, gradients and losses are pure numbers, and measuring the loss in another unit gives another
bound.

Conditions: Assumption 1 for every f_j; Assumption 2 for (22); Definition 1 also for sums of stochastic
gradients over the local epochs and the selected clients (36); steps eta of the clients and eta_0 = E_l eta
of the centre, eta_0 <= 1 / L; (eta^k)^2 <= eta^t within a global epoch. With the step of (21), eta = 1 /
sqrt(E_l T_g), this asks for T_g >= L^2 E_l; nothing here refuses a smaller T_g. K_gamma is the mean number
of uploads that arrive: as E[1/n] >= 1/E[n], (23) and (24) are a little optimistic.

`mean_square_gradient` and `loss_gap` are the printed bounds. Appendix A, derived again, differs from its
print:

- Slips without effect. (27) to (29): the step before products with g_0 is eta_0. (28), (31): one square of a
  stochastic gradient is of its mean. (34), (35): the sums begin at t_c. (54): Delta_t is the loss less f*.
  (24): the sign must be <=.
- (30) spreads the central gradient over E_l slots but counts the noise of its step in each; sigma_0^2 would
  do where (21) and (22) have E_l sigma_0^2, so the print is the weaker bound. That the central gradient at
  t_c stands for the gradients of the whole epoch, "in the long run", is taken for granted.
- (31) leaves out the variance of choosing K clients. Definition 1 bounds it, if eta L (1 + (lambda - 1) / K)
  <= 1.
- (48) is a mean over all T slots; (49) and (21) call it the mean over the first slots of the global epochs,
  for which the proof gives E_l times as much. Read (21) as a mean over slots.
- (57) sets l_0 = 0. Then the first step is 2 / mu > 1 / L, and (54) multiplies Delta_1 by 1 - 2 < 0, so that
  the induction fails. The least l_0 with E_l eta <= 1 / L is 2 L E_l / mu - 1 >= 1 (with L >= 1 also
  (eta^k)^2 <= eta^t holds); `derived_loss_gap` takes it. With l_0 = 0 granted, (57) is right: 4 M / mu^2 has
  E_l once, which T = E_l T_g cancels, and f_0 G^2 is left over 4 E_l.
- Delta_1 <= L f_0 G^2 / (2 mu^2) could be f_0 G^2 / (2 mu), by Assumption 2. Here f_0 is the ratio ||grad
  f(w^0)||^2 / G^2 (text before eq. 57), not "proportional to the gradient" (Theorem 1).

Source: Wan et al., "How global observation works in federated learning" (VHFL), Section III and Appendix A.
"""

import math

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
"""Array of the input's shape; a single number for a single number."""


@attrs.frozen(kw_only=True)
class VhflBound:
    """The symbols of Theorem 1; all are pure numbers.

    Attributes:
        smoothness: L of Assumption 1.
        pl_constant: mu of Assumption 2 (Polyak and Lojasiewicz), at most L.
        client_variance: sigma^2 of a client's stochastic gradient.
        central_variance: sigma_0^2 of the central model's stochastic gradient.
        square_gradient: G^2, the bound on a client's squared gradient.
        non_iid_extent: lambda of Definition 1; 1 for clients with the same gradient.
        num_local_epochs: E_l.
        num_uploads: K, the models that clients send per global epoch.
        initial_gap: f(w^0) - f*.
        initial_gradient_ratio: f_0.
        success_rate: gamma, the probability that an upload arrives in time; 1 gives eqs. 21 and 22.

    Raises:
        ValueError: If a symbol is out of its range.
    """

    smoothness: float
    pl_constant: float
    client_variance: float
    central_variance: float
    square_gradient: float
    non_iid_extent: float
    num_local_epochs: int
    num_uploads: int
    initial_gap: float
    initial_gradient_ratio: float
    success_rate: float = 1.0

    def __attrs_post_init__(self) -> None:
        for name, is_right, rule, fix in (
            ("smoothness", self.smoothness > 0.0, "above zero", "Use the largest curvature."),
            ("pl_constant", 0.0 < self.pl_constant <= self.smoothness, "above zero, at most L", "Swap them."),
            ("client_variance", self.client_variance >= 0.0, "not negative", "Use 0 for whole batches."),
            ("central_variance", self.central_variance >= 0.0, "not negative", "Use 0 for whole batches."),
            ("square_gradient", self.square_gradient >= 0.0, "not negative", "Give G^2."),
            ("non_iid_extent", self.non_iid_extent >= 1.0, "at least 1", "Use 1 for i.i.d. data."),
            ("num_local_epochs", self.num_local_epochs >= 1, "at least 1", "Use 1 local epoch."),
            ("num_uploads", self.num_uploads >= 1, "at least 1", "Count the clients that send."),
            ("initial_gap", self.initial_gap >= 0.0, "not negative", "Use the least loss as f*."),
            ("initial_gradient_ratio", self.initial_gradient_ratio >= 0.0, "not negative", "Give f_0."),
            (
                "success_rate",
                0.0 < self.success_rate <= 1.0,
                "above zero, at most 1",
                "Use a longer deadline.",
            ),
        ):
            value = getattr(self, name)
            if not (is_right and value < math.inf):
                raise ValueError(f"VhflBound.{name} = {value!r} must be {rule}, and finite. {fix}")

    @property
    def num_uploads_in_time(self) -> float:
        """K_gamma, a mean."""
        return self.success_rate * self.num_uploads

    @property
    def noise(self) -> float:
        """[X]; M of eq. 53 is L E_l [X] / 2."""
        divergence = (self.non_iid_extent - 1.0) * self.smoothness
        clients = self.client_variance / self.num_uploads_in_time * (1.0 / self.num_local_epochs + divergence)
        central = self.num_local_epochs * self.central_variance
        return central + clients + divergence * self.num_local_epochs * self.square_gradient

    def mean_square_gradient(self, num_global_epochs: ArrayLike) -> Numbers:
        """Eqs. 21 and 23: the mean of ||grad f||^2 in T_g global epochs is at most this, in T_g's shape."""
        num_slots = self.num_local_epochs * _checked(num_global_epochs)
        gap = 2.0 * self.initial_gap / np.sqrt(num_slots)
        return gap + self.smoothness * self.num_local_epochs / np.sqrt(num_slots) * self.noise

    def loss_gap(self, num_global_epochs: ArrayLike) -> Numbers:
        """Eqs. 22 and 24: f less f* after T_g global epochs is at most this, in T_g's shape."""
        start = self.initial_gradient_ratio * self.square_gradient / (4.0 * self.num_local_epochs)
        slope = 2.0 * self.smoothness / self.pl_constant**2
        return slope / _checked(num_global_epochs) * (self.noise + start)

    def derived_loss_gap(self, num_global_epochs: ArrayLike) -> Numbers:
        """Loss gap by eqs. 53 to 55 with the least l_0 that the steps allow; not in the paper.

        A / (E_l T_g + l_0) with A = max(4 M / mu^2, (l_0 + 1)(f(w^0) - f*)), l_0 = 2 L E_l / mu - 1; in T_g's
        shape.
        """
        first = 2.0 * self.smoothness * self.num_local_epochs / self.pl_constant
        settled = first / self.pl_constant * self.noise
        num_slots = self.num_local_epochs * _checked(num_global_epochs)
        return max(settled, first * self.initial_gap) / (num_slots + first - 1.0)


def _checked(num_global_epochs: ArrayLike) -> Numbers:
    counts = np.asarray(num_global_epochs, dtype=float)
    if not np.all(counts >= 1.0):
        raise ValueError(
            f"VhflBound: num_global_epochs = {num_global_epochs!r} must be at least 1. Leave out "
            f"the start, of which the bounds say nothing."
        )
    return counts
