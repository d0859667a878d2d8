"""A certified bound on what any receive beam can reach: the semidefinite relaxation of (32) and its dual.

With X = a a^H the weakest client's gain is min_i h_i^H X h_i; without the condition that X has rank 1, the
largest over X >= 0 (semidefinite) with tr X = 1 is a semidefinite program, at least as large as (32).

The program is solved in the real and imaginary parts of the vectors, as cvxpy does with Hermitian variables.

The bound does not trust the solver. For any weights l_i >= 0 with sum 1 and any unit a,
min_i |a^H h_i|^2 <= sum_i l_i |a^H h_i|^2 = a^H (sum_i l_i h_i h_i^H) a <= lambda_max(sum_i l_i h_i h_i^H).
So the solver's multipliers, made non-negative with sum 1, give a bound by one eigenvalue; a poor solution
gives a loose bound, never a wrong one. All weight on the weakest client gives |h_i|^2, so the bound is at
most that.

For up to 3 clients the relaxation loses nothing. Take the least tr X with h_i^H X h_i >= 1 for all i, and
X = V V^H with r columns. The r x r Hermitian matrices D have r^2 real dimensions, so if r^2 exceeds the
number of clients n there is a D, not 0, with h_i^H V D V^H h_i = 0 for all i. Then V (I - s D) V^H is
feasible as long as it is semidefinite, for small s of both signs; so tr V D V^H = 0, the trace being least.
With 1 / s the eigenvalue of D of largest size the rank falls, while trace and constraints stay. Repeated,
r^2 <= n remains: rank 1 for n <= 3, an optimal beam.

Scope and limitations: one problem at a time, some ten milliseconds each; from 4 clients on the bound may lie
above the optimum, so a ratio below 1 does not say whether beam or bound is off.

Usage::

    found = relaxation(channels[0])
    quality(channels[0], receive_beams(channels)[0]).ratio

Validation: tests/radio/sharing/test_beamforming.py (3 clients, any weights, beams of many starts).

Source: HIST journal paper, Section V-D, eqs. 32 and 33; relaxation, bound and rank: derived above.
"""

import warnings

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosim.radio.sharing.beamforming import checked, gains

ROUNDING = 1e-12
"""Share by which the bound is raised against the rounding of its eigenvalue."""


@attrs.frozen(kw_only=True, eq=False)
class Relaxation:
    """Solution of the relaxation of one problem.

    Attributes:
        value: min_i h_i^H X h_i of the covariance, in the channels' unit squared.
        bound: What no beam exceeds, in the same unit.
        covariance: X, Hermitian, positive semidefinite, trace 1, shape (antennas, antennas).
    """

    value: float
    bound: float
    covariance: NDArray[np.complex128]


@attrs.frozen(kw_only=True)
class Quality:
    """Quality of a beam, beside a bound that none exceeds.

    Attributes:
        achieved: min_i |a^H h_i|^2, in the channels' unit squared.
        bound: The certified bound, in the same unit.
        ratio: achieved / bound, at most 1.
    """

    achieved: float
    bound: float
    ratio: float


def relaxation(channels: ArrayLike) -> Relaxation:
    """The semidefinite relaxation of one problem, with its certified bound.

    Args:
        channels: Channel vectors h_i, complex, of any scale, shape (clients, antennas).

    Raises:
        ConfigurationError: channels have another shape or no clients or antennas, are not finite, or a
            client's are all 0.
        RuntimeError: the solver finds nothing.
    """
    import cvxpy as cp  # seconds, and only the bound needs it

    h = checked(np.asarray(channels)[None])[0]
    num_clients, num_antennas = h.shape
    peak = np.abs(h).max(axis=1)
    length = peak * np.linalg.norm(h / peak[:, None], axis=1)
    unit, level = h / length[:, None], (length.min() / length) ** 2
    twins = np.stack([np.hstack([unit.real, unit.imag]), np.hstack([-unit.imag, unit.real])], axis=1)
    forms = np.swapaxes(twins, 1, 2) @ twins
    parts = cp.Variable((2 * num_antennas, 2 * num_antennas), PSD=True)
    least = cp.Variable()
    reaches = cp.NonNeg(forms.reshape(num_clients, -1) @ cp.vec(parts, order="C") - level * least)
    program = cp.Problem(cp.Maximize(least), [reaches, cp.Zero(cp.trace(parts) - 1.0)])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        program.solve(solver=cp.CLARABEL)
    if parts.value is None or reaches.dual_value is None:
        raise RuntimeError(
            f"the relaxation of {num_clients} clients and {num_antennas} antennas ended {program.status}, "
            "without a solution; nothing can be said of the bound; look at the channels' scales"
        )
    real, imag = np.split(parts.value, 2)
    m = num_antennas
    found = real[:, :m] + imag[:, m:] + 1j * (imag[:, :m] - real[:, m:])
    values, vectors = np.linalg.eigh(found)
    values = np.maximum(values, 0.0) / np.maximum(values, 0.0).sum()
    covariance = (vectors * values) @ vectors.conj().T
    return Relaxation(
        value=float(np.einsum("im,mn,in->i", h.conj(), covariance, h).real.min()),
        bound=bound(h, reaches.dual_value * level),
        covariance=covariance,
    )


def bound(channels: ArrayLike, weights: ArrayLike) -> float:
    """Bound that no beam exceeds, by any weights of the clients; the nearer to the optimal ones, the tighter.

    Args:
        channels: Channel vectors h_i, complex, shape (clients, antennas).
        weights: Multipliers, shape (clients,); negative ones count as 0, their scale plays no role.

    Raises:
        ConfigurationError: as `relaxation`.
    """
    h = checked(np.asarray(channels)[None])[0]
    share = np.maximum(np.asarray(weights, dtype=np.float64), 0.0)
    powers = (h.real**2 + h.imag**2).sum(axis=1)
    weakest = float(powers.min()) * (1.0 + ROUNDING)
    if not share.sum() > 0.0:
        return weakest
    share = share / share.sum()
    mean = (h.T * share) @ h.conj()
    return min(weakest, float(np.linalg.eigvalsh(mean)[-1]) * (1.0 + ROUNDING))


def quality(channels: ArrayLike, beam: NDArray[np.complex128]) -> Quality:
    """Value of a beam, the certified bound and their ratio, of one problem.

    Args:
        channels: Channel vectors h_i, complex, shape (clients, antennas).
        beam: Receive beam a of length 1, complex, shape (antennas,).

    Raises:
        ConfigurationError: as `relaxation`, or the beam does not fit the channels.
        RuntimeError: the solver finds nothing.
    """
    achieved = float(gains(np.asarray(channels)[None], beam[None])[0])
    limit = relaxation(channels).bound
    return Quality(achieved=achieved, bound=limit, ratio=achieved / limit)
