"""Receive beamforming: the unit vector that maximises the gain of the weakest client in a sum over the air.

A server with M antennas adds the signals of its cell's clients over the air. Each client inverts its own
effective channel a^H h_i, so the client with the smallest |a^H h_i|^2 sets the noise of the sum, and the
server seeks the unit vector a with the largest min_i |a^H h_i|^2 (32).

Method: with the phases u_i of h_i^H a fixed, g_i = u_i h_i, every unit vector b has |b^H h_i| >= Re(b^H g_i),
with equality at b = a. The best b of this bound is the direction of the shortest vector in the convex hull of
the g_i: a quadratic program over the weights of the clients with a semidefinite matrix, whose solution is one
linear system once its active clients are known. A step guesses them from the last step's active clients
(negative weights leave, violated clients join), solves the system, and moves if the true minimum rises; then
the phases are updated. This is successive convex approximation (the route that the paper names) with each
program in closed form. Early programs are softened (a client may miss its bound at a cost), because hard ones
lead to poor local optima. Starts are sums of the channels with pseudo-random phases, first improved by 16
cheap gradient steps on ever sharper soft minima; the best half of them take steps, and the best few of these
take more.

What holds:

- No step lowers min_i |a^H h_i|^2: it is compared. If the active clients are right and nothing is softened,
  no step is rejected. Let v = min_i |a^H h_i|, p the shortest vector, b = p / |p|. By duality |p| = max_b
  min_i Re(b^H g_i) >= min_i Re(a^H g_i) = v, and min_i |b^H h_i| >= min_i Re(b^H g_i) = |p|.
- If such a step gains nothing, |p| = v, a is the only best b, so a is proportional to sum_i w_i u_i h_i
  with w_i >= 0 and w_i = 0 for all but the weakest: a stationary point of (32).
- One client gets the matched filter exactly. Two have no stationary points but the optimum and its opposite,
  h_1 and h_2 in opposite phase, from which steps lead away.

Scope and limitations: (32) is NP-hard and the method local; nothing guarantees the optimum of three clients
or more. `scenarios.validate.beamforming_bound` has a certified bound, `benchmarks/beamforming.py` measures.
Steps are a fixed number, so a result may lack the last digits (5e-5 of the gain in the worst of 15,000 pairs
of clients). Time grows with the cube of the clients; if there are three times as many clients as antennas,
256 starts are worth their time. Perfect channel knowledge; one stream per client.

The result of a problem does not depend, bit for bit, on the other problems of the call: their number of steps
is fixed, nothing is summed across them, and linear algebra sees one problem or one start at a time. It does
not depend on the order of the clients unless two are equally strong, and, up to rounding, rotates with the
antennas' coordinates and does not depend on the scale. Other processors or numpy builds round differently.

Usage::

    beams = receive_beams(channels)
    gain = gains(channels, beams)

Validation: tests/radio/sharing/test_beamforming.py (closed forms, brute force, certified bound, scipy, laws).

Source: HIST journal paper, Section V-D, eqs. 31 to 33. The method, starts and numbers of steps: no source.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosim.configuration import ConfigurationError

Array = NDArray[np.float64]

SHARPNESS = (0.5,) * 4 + (1.0,) * 4 + (2.0,) * 4 + (4.0,) * 4
"""Exponents p of the soft minima (mean of |a^H h_i|^(-2p))^(-1/p), one gradient step each."""

STAGES = ((1 / 2, 4), (3 / 16, 6), (3 / 64, 12))
"""Share of the starts that are kept, and the number of steps that they take."""

SOFTNESS = np.geomspace(1e-1, 1e-9, sum(num_steps for _, num_steps in STAGES))
"""Number added to the diagonal of each step's program; the last one only prevents singular systems."""

NEAR = 2.0
"""Ratio to the smallest gain up to which a client is assumed active before the first step."""

TOGETHER = 16
"""Number of problems that take their steps together; more would not fit in the processor's cache."""

KEY = 32
"""Key of the phases of the starts."""

TINY = 1e-150
"""Number added to powers in denominators, which may be 0."""


def receive_beams(channels: ArrayLike, *, num_starts: int = 64) -> NDArray[np.complex128]:
    """Unit vectors a with a large min_i |a^H h_i|^2, complex, shape (problems, antennas).

    Args:
        channels: Channel vectors h_i, complex, of any scale, shape (problems, clients, antennas).
        num_starts: Starts of each problem; time and quality grow with them. [no source]

    Raises:
        ConfigurationError: The channels have another shape or no clients or antennas, are not finite, or are
            all 0 for a client; or there is no start.

    Source: HIST journal paper, eq. 32.
    """
    h = checked(channels)
    if num_starts < 1:
        raise ConfigurationError(
            f"receive_beams: num_starts = {num_starts}: must be at least 1. Leave it out."
        )
    num_problems, num_clients, num_antennas = h.shape
    if num_antennas == 1:
        return np.ones((num_problems, 1), dtype=np.complex128)
    if num_clients == 1:
        parts = _unit_parts(h)[0][:, 0]
    else:
        parts = np.empty((num_problems, 2 * num_antennas))
        for first in range(0, num_problems, TOGETHER):
            parts[first : first + TOGETHER] = _best(h[first : first + TOGETHER], num_starts)
    return parts[:, :num_antennas] + 1j * parts[:, num_antennas:]


def gains(channels: ArrayLike, beams: ArrayLike) -> Array:
    """Gain min_i |a^H h_i|^2 of each problem's beam, in the channels' unit squared, shape (problems,).

    Args:
        channels: Channel vectors h_i, complex, shape (problems, clients, antennas).
        beams: Receive beams a, complex, shape (problems, antennas).

    Raises:
        ConfigurationError: As in `receive_beams`, or the beams do not fit the channels.

    Source: HIST journal paper, eq. 32.
    """
    h, a = checked(channels), np.asarray(beams)
    if a.shape != (h.shape[0], h.shape[2]):
        raise ConfigurationError(
            f"gains: beams have shape {a.shape}, channels {h.shape}; a beam has one entry for each "
            "antenna, shape (problems, antennas). Use the beams that receive_beams returned for these "
            "channels."
        )
    effective = (h.conj() @ a[:, :, None])[..., 0]
    return (effective.real**2 + effective.imag**2).min(axis=1)


def checked(channels: ArrayLike) -> NDArray[np.complex128]:
    """The channels as a complex array, shape (problems, clients, antennas).

    Raises:
        ConfigurationError: Another shape, no client, no antenna, not finite, or a client with all channels 0.
    """
    h = np.ascontiguousarray(channels, dtype=np.complex128)
    if h.ndim != 3 or 0 in h.shape[1:]:
        raise ConfigurationError(
            f"channels have shape {h.shape}: must be (problems, clients, antennas), with at least one "
            "client and one antenna. Use channels[None] for a single problem."
        )
    if not np.isfinite(h).all():
        problem, client = np.argwhere(~np.isfinite(h))[0, :2]
        raise ConfigurationError(
            f"channels of problem {problem}, client {client} are not finite: a channel is a finite "
            "complex amplitude. Look for a logarithm of 0 or a distance of 0 in the link budget."
        )
    if not h.any(axis=2).all():
        problem, client = np.argwhere(~h.any(axis=2))[0]
        raise ConfigurationError(
            f"channels of problem {problem}, client {client} are all 0: no beam hears this client, so "
            "no sum over the air contains it. Leave it out of the cell."
        )
    return h


class _Scaled(NamedTuple):
    """Problems in unit channels e_i, with real and imaginary parts as separate real numbers.

    Attributes:
        to_parts: Matrix from a beam to Re and then Im of e_i^H a, shape (problems, 2 antennas, 2 clients).
        from_parts: Its transpose, from weights of the clients to their sum of channels.
        level: Amplitude of the weakest client over the client's own, at most 1, shape (problems, 1, clients).
        gram_re: Re e_i^H e_j, shape (problems, 1, clients, clients).
        gram_im: Im e_i^H e_j.
    """

    to_parts: Array
    from_parts: Array
    level: Array
    gram_re: Array
    gram_im: Array

    def powers(self, effective: Array) -> Array:
        """|e_i^H a|^2 from real and imaginary parts, shape (..., clients)."""
        squares = effective * effective
        num_clients = self.level.shape[-1]
        return squares[..., :num_clients] + squares[..., num_clients:]

    def worst(self, effective: Array) -> Array:
        """min_i |h_i^H a|^2 over the power of the weakest channel, shape (problems, starts)."""
        return (self.powers(effective) / (self.level * self.level)).min(axis=-1)


class _State(NamedTuple):
    """State of the starts: beams, their e_i^H a and gains; clients assumed active in the next program."""

    beams: Array
    effective: Array
    gain: Array
    active: NDArray[np.bool_]

    def kept(self, num_kept: int) -> "_State":
        """Starts with the highest gains."""
        order = np.argsort(-self.gain, axis=1, kind="stable")[:, :num_kept]
        row = order[:, :, None]
        return _State(
            np.take_along_axis(self.beams, row, axis=1),
            np.take_along_axis(self.effective, row, axis=1),
            np.take_along_axis(self.gain, order, axis=1),
            np.take_along_axis(self.active, row, axis=1),
        )


def _best(h: NDArray[np.complex128], num_starts: int) -> Array:
    """The best beam of all starts, real parts and then imaginary parts, shape (problems, 2 antennas)."""
    scaled = _scaled(h)
    state, softness = _state(scaled, _sharpened(scaled, _starts(scaled, num_starts))), iter(SOFTNESS)
    for share, num_steps in STAGES:
        state = state.kept(max(1, round(share * num_starts)))
        for _ in range(num_steps):
            state = _step(scaled, state, next(softness))
    return state.kept(1).beams[:, 0]


def _unit(vectors: Array) -> Array:
    """Vectors scaled to length 1; a zero vector stays zero."""
    return vectors / np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True) + TINY)


def _unit_parts(h: NDArray[np.complex128]) -> tuple[Array, Array]:
    """Unit channels, real and then imaginary parts, shape (..., 2 antennas), and amplitudes, shape (...)."""
    parts = np.concatenate([h.real, h.imag], axis=-1)
    peak = np.abs(parts).max(axis=-1, keepdims=True)
    parts = parts / peak
    length = np.sqrt((parts * parts).sum(axis=-1, keepdims=True))
    return parts / length, (peak * length)[..., 0]


def _scaled(h: NDArray[np.complex128]) -> _Scaled:
    """Problems in unit channels, weakest client first, so that the callers' order has no effect."""
    parts, amplitude = _unit_parts(h)
    order = np.argsort(amplitude, axis=1, kind="stable")
    parts = np.take_along_axis(parts, order[:, :, None], axis=1)
    amplitude = np.take_along_axis(amplitude, order, axis=1)
    num_clients, num_antennas = h.shape[1:]
    turned = np.concatenate([-parts[..., num_antennas:], parts[..., :num_antennas]], axis=-1)
    from_parts = np.concatenate([parts, turned], axis=1)
    to_parts = np.ascontiguousarray(from_parts.transpose(0, 2, 1))
    gram = parts @ to_parts
    return _Scaled(
        to_parts=to_parts,
        from_parts=from_parts,
        level=(amplitude[:, :1] / amplitude)[:, None, :],
        gram_re=np.ascontiguousarray(gram[:, None, :, :num_clients]),
        gram_im=np.ascontiguousarray(-gram[:, None, :, num_clients:]),
    )


def _starts(scaled: _Scaled, num_starts: int) -> Array:
    """Sums of the unit channels with pseudo-random phases, shape (problems, starts, 2 antennas)."""
    num_clients = scaled.level.shape[-1]
    rng = np.random.Generator(np.random.Philox(key=KEY))
    phases = _unit(rng.standard_normal((num_starts, num_clients, 2)))
    weights = np.concatenate([phases[..., 0], phases[..., 1]], axis=-1)
    return _unit(weights @ scaled.from_parts)


def _sharpened(scaled: _Scaled, beams: Array) -> Array:
    """Starts after gradient steps on soft minima."""
    for sharpness in SHARPNESS:
        effective = beams @ scaled.to_parts
        power = scaled.powers(effective) + TINY
        relative = power / (scaled.level * scaled.level)
        weight = (relative.min(axis=-1, keepdims=True) / relative) ** sharpness
        weight = weight / weight.sum(axis=-1, keepdims=True) / power
        gradient = (effective * np.concatenate([weight, weight], axis=-1)) @ scaled.from_parts
        size = 0.5 / (1.0 + sharpness)
        beams = _unit((1.0 - size) * beams + size * gradient)
    return beams


def _state(scaled: _Scaled, beams: Array) -> _State:
    """State before the first step, with the clients near the weakest as active."""
    effective = beams @ scaled.to_parts
    gain = scaled.worst(effective)
    near = scaled.powers(effective) <= NEAR * gain[..., None] * (scaled.level * scaled.level)
    return _State(beams, effective, gain, near)


def _step(scaled: _Scaled, state: _State, softness: float) -> _State:
    """State after one program for each start."""
    num_clients = scaled.level.shape[-1]
    length = np.sqrt(scaled.powers(state.effective) + TINY)
    cos, sin = state.effective[..., :num_clients] / length, state.effective[..., num_clients:] / length
    c, s, c_t, s_t = cos[..., :, None], sin[..., :, None], cos[..., None, :], sin[..., None, :]
    program = (c * c_t + s * s_t) * scaled.gram_re - (c * s_t - s * c_t) * scaled.gram_im
    diagonal = np.arange(num_clients)
    program[..., diagonal, diagonal] += softness
    level = np.broadcast_to(scaled.level, cos.shape)
    both = state.active[..., :, None] & state.active[..., None, :]
    system = np.where(both, program, np.eye(num_clients))
    weights = np.linalg.solve(system, np.where(state.active, level, 0.0)[..., None])
    excess = (program @ weights)[..., 0] - level
    weights = weights[..., 0]
    is_wrong = np.where(state.active, weights < 0.0, excess < -1e-9 * level)
    weights = np.maximum(weights, 0.0)
    beams = _unit(np.concatenate([weights * cos, weights * sin], axis=-1) @ scaled.from_parts)
    effective = beams @ scaled.to_parts
    gain = scaled.worst(effective)
    rises = gain > state.gain
    return _State(
        np.where(rises[..., None], beams, state.beams),
        np.where(rises[..., None], effective, state.effective),
        np.where(rises, gain, state.gain),
        state.active ^ is_wrong,
    )
