"""Service laws against their distribution functions and moments; files of measured durations."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from cosim.configuration import ConfigurationError, from_dict, to_dict
from cosim.queues.arrivals import PoissonArrivals
from cosim.queues.queued_link import QueuedLink
from cosim.queues.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential

pytestmark = pytest.mark.quick

Z_999 = 3.29
"""Two-sided 99.9 % quantile of the normal law."""
KOLMOGOROV_999 = 1.95
"""99.9 % quantile of the largest distance to the distribution function, times the root of the draws."""

ROWS_S = (0.1, 0.1, 0.4, 2.0)


class Theory(NamedTuple):
    """P(B > t), and E[B^k]."""

    survival: Callable[[Any], Any]
    moment: Callable[[int], float]


def mixture(weights: tuple[float, float], rates: tuple[float, float]) -> Theory:
    return Theory(
        lambda t: sum(w * np.exp(-r * t) for w, r in zip(weights, rates, strict=True)),
        lambda k: math.factorial(k) * sum(w / r**k for w, r in zip(weights, rates, strict=True)),
    )


def erlang(num_stages: int, rate: float) -> Theory:
    return Theory(
        lambda t: sum(np.exp(-rate * t) * (rate * t) ** j / math.factorial(j) for j in range(num_stages)),
        lambda k: math.prod(range(num_stages, num_stages + k)) / rate**k,
    )


LAWS: dict[str, tuple[Callable[[str], Any], Theory]] = {
    "hyper-exponential": (
        lambda path: HyperExponential(weights=(0.3, 0.7), rates_per_s=(8.0, 2.0)),
        mixture((0.3, 0.7), (8.0, 2.0)),
    ),
    "far rates": (
        lambda path: HyperExponential(weights=(0.9, 0.1), rates_per_s=(10.0, 0.5)),
        mixture((0.9, 0.1), (10.0, 0.5)),
    ),
    "all fast": (
        lambda path: HyperExponential(weights=(1.0, 0.0), rates_per_s=(8.0, 2.0)),
        mixture((1.0, 0.0), (8.0, 2.0)),
    ),
    "all slow": (
        lambda path: HyperExponential(weights=(0.0, 1.0), rates_per_s=(8.0, 2.0)),
        mixture((0.0, 1.0), (8.0, 2.0)),
    ),
    "equal rates": (lambda path: HyperExponential(rates_per_s=(2.0, 2.0)), mixture((0.5, 0.5), (2.0, 2.0))),
    "exponential": (lambda path: Exponential(rate_per_s=2.58), mixture((0.5, 0.5), (2.58, 2.58))),
    "deterministic": (
        lambda path: Deterministic(duration_s=0.4),
        Theory(lambda t: np.where(t < 0.4, 1.0, 0.0), lambda k: 0.4**k),
    ),
    "erlang": (lambda path: Erlang(num_stages=3, rate_per_s=6.0), erlang(3, 6.0)),
    "one stage": (lambda path: Erlang(num_stages=1, rate_per_s=6.0), erlang(1, 6.0)),
    "empirical": (
        lambda path: Empirical(path=path),
        Theory(
            lambda t: sum((t < row_s) / len(ROWS_S) for row_s in ROWS_S),
            lambda k: sum(row_s**k for row_s in ROWS_S) / len(ROWS_S),
        ),
    ),
}
WITH_MEMORY = ("hyper-exponential", "far rates", "deterministic", "erlang", "empirical")
NUM_DRAWS = 200_000

every_law = pytest.mark.parametrize("name", LAWS)


@pytest.fixture
def path(tmp_path) -> str:
    file = tmp_path / "durations.txt"
    file.write_text("".join(f"{row_s}\n" for row_s in ROWS_S))
    return str(file)


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def differ_significantly(draws: np.ndarray, expected: float) -> bool:
    spread = draws.std() / math.sqrt(len(draws))
    return bool(abs(draws.mean() - expected) > Z_999 * spread + 1e-12 * expected)


def residual_survival(theory: Theory, mean_s: float, t: np.ndarray) -> np.ndarray:
    """1 - integral of (1 - B) / E[B], by the trapezoidal rule on a grid that ends at the last t."""
    grid = np.linspace(0.0, t[-1], 400_001)
    heights = theory.survival(grid) / mean_s
    below = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2.0) * (grid[1] - grid[0])])
    return 1.0 - np.interp(t, grid, below)


def distance(draws: np.ndarray, survival: Callable[[np.ndarray], np.ndarray]) -> float:
    """Largest distance between P(X > t) and its estimate, times the root of the draws; off atoms."""
    t = np.linspace(0.0, draws.max() * 1.01, 997)
    found = 1.0 - np.searchsorted(np.sort(draws), t, side="right") / len(draws)
    return float(np.abs(found - survival(t)).max() * math.sqrt(len(draws)))


# --- Laws -------------------------------------------------------------------------------------------------


@every_law
def test_the_mean_is_the_laws(name, path):
    build, theory = LAWS[name]
    assert build(path).mean_s == pytest.approx(theory.moment(1), rel=1e-12)


@every_law
def test_draws_have_the_moments_of_the_law(name, path):
    build, theory = LAWS[name]
    draws_s = build(path).draw(generator(), NUM_DRAWS)
    assert draws_s.shape == (NUM_DRAWS,)
    assert draws_s.dtype == np.float64
    for k in (1, 2):
        assert not differ_significantly(draws_s**k, theory.moment(k))


@every_law
def test_residuals_have_the_moments_of_the_equilibrium_law(name, path):
    """E[R^k] = E[B^(k + 1)] / ((k + 1) E[B]); the law's own moments must fail where it has a memory."""
    build, theory = LAWS[name]
    draws_s = build(path).draw_residual(generator(), NUM_DRAWS)
    for k in (1, 2):
        assert not differ_significantly(draws_s**k, theory.moment(k + 1) / ((k + 1) * theory.moment(1)))
        assert differ_significantly(draws_s**k, theory.moment(k)) == (name in WITH_MEMORY)


@every_law
def test_draws_follow_the_distribution_function(name, path):
    build, theory = LAWS[name]
    draws_s = build(path).draw(generator(), NUM_DRAWS)
    assert distance(draws_s, theory.survival) < KOLMOGOROV_999
    if name in WITH_MEMORY:
        residual = residual_survival(theory, theory.moment(1), np.linspace(0.0, draws_s.max() * 1.01, 997))
        assert distance(draws_s, lambda t: residual) > KOLMOGOROV_999


@every_law
def test_residuals_follow_the_equilibrium_distribution_function(name, path):
    build, theory = LAWS[name]
    draws_s = build(path).draw_residual(generator(), NUM_DRAWS)
    assert distance(draws_s, lambda t: residual_survival(theory, theory.moment(1), t)) < KOLMOGOROV_999
    assert (distance(draws_s, theory.survival) > KOLMOGOROV_999) == (name in WITH_MEMORY)


@pytest.mark.parametrize("name", ["exponential", "deterministic", "erlang", "empirical"])
def test_a_sequence_does_not_depend_on_its_blocks(name, path):
    """All but the hyper-exponential law's, which says so."""
    law = LAWS[name][0](path)
    rng = generator()
    blocks = [law.draw(rng, count) for count in (1, 6, 0, 13, 80)]
    np.testing.assert_array_equal(np.concatenate(blocks), law.draw(generator(), 100))


def test_all_defaults_have_the_same_mean():
    means_s = [law().mean_s for law in (HyperExponential, Exponential, Deterministic, Erlang)]
    assert means_s == pytest.approx([0.3125] * 4, rel=1e-12)


# --- Errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: HyperExponential(weights=(0.5, 0.4)), r"HyperExponential\.weights .*must sum to 1"),
        (lambda: HyperExponential(weights=(0.5, 0.5 + 2e-9)), r"HyperExponential\.weights .*must sum to 1"),
        (lambda: HyperExponential(weights=(1.5, -0.5)), r"HyperExponential\.weights .*from 0 to 1"),
        (lambda: HyperExponential(rates_per_s=(2.0, 8.0)), r"HyperExponential\.rates_per_s .*Swap them"),
        (lambda: HyperExponential(rates_per_s=(2.0, 0.0)), r"HyperExponential\.rates_per_s .*above 0"),
        (lambda: Exponential(rate_per_s=0.0), r"Exponential\.rate_per_s .*above 0"),
        (lambda: Deterministic(duration_s=0.0), r"Deterministic\.duration_s .*above 0"),
        (lambda: Erlang(num_stages=0), r"Erlang\.num_stages .*at least 1"),
        (lambda: Erlang(rate_per_s=-1.0), r"Erlang\.rate_per_s .*above 0"),
    ],
)
def test_a_bad_field_is_refused(build, message):
    with pytest.raises(ConfigurationError, match=message):
        build()


def test_weights_may_miss_1_by_rounding():
    assert HyperExponential(weights=(0.1, 1.0 - 0.1 + 5e-10)).mean_s == pytest.approx(0.1 / 8.0 + 0.9 / 2.0)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("0.1\n\n0.3\n", "row 2: an empty line"),
        ("0.1\n  \n0.3\n", "row 2: an empty line"),
        ("0.1\n0.2\nnan\n", "row 3: 'nan'"),
        ("inf\n", "row 1: 'inf'"),
        ("0.1\n0\n", "row 2: '0'"),
        ("0.1\n-0.5\n0.2", "row 2: '-0.5'"),
        ("duration_s\n0.1\n", "row 1: 'duration_s'"),
        ("0.1 0.2\n", "row 1: '0.1 0.2'"),
        ("0.1\n1_000\n", "row 2: '1_000'"),
        ("１\n", "row 1: '１'"),
        ("0.1\n1e400\n", "row 2: '1e400'"),
        ("# seconds\n0.1\n", "row 1: '# seconds'"),
        ("0,5\n", "row 1: '0,5'"),
    ],
)
def test_a_bad_row_is_named(tmp_path, content, fault):
    file = tmp_path / "bad.txt"
    file.write_text(content)
    with pytest.raises(ConfigurationError) as caught:
        Empirical(path=str(file))
    assert f"{file}, {fault} is no finite number above 0. Use one number of seconds" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "fault"),
    [(None, "cannot be read"), (b"", "is empty"), (b"\xff\xfe", "is text in UTF-16"), (b"\xff", "no UTF-8")],
)
def test_a_file_without_rows_is_refused(tmp_path, content, fault):
    file = tmp_path / "bad.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=fault) as caught:
        Empirical(path=str(file))
    assert str(file) in str(caught.value)


def test_blank_lines_at_the_end_are_no_rows(tmp_path):
    file = tmp_path / "durations.txt"
    file.write_text("\ufeff0.25\r\n0.75\r\n\r\n")
    law = Empirical(path=str(file))
    assert law.durations_s.tolist() == [0.25, 0.75]
    file.write_text("0.50\n0.75\n")
    assert law.durations_s.tolist() == [0.5, 0.75]  # a file that has changed is read again


@every_law
def test_a_law_survives_json(name, path):
    uplink = QueuedLink(arrivals=PoissonArrivals(rate_per_s=0.1), service=LAWS[name][0](path))
    assert from_dict(QueuedLink, to_dict(uplink)) == uplink
