"""The random part of the large-scale channel against the tables, by exact intervals and pairing laws."""

from math import exp, log10
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cosim.configuration import ConfigurationError, from_dict, to_dict
from cosim.radio.propagation.large_scale import LargeScale, high_terminal_factor, los_probability
from cosim.radio.propagation.pathloss import rma_db, uma_db, umi_db

ENVIRONMENTS = ["uma", "umi", "rma", "inh-mixed", "inh-open"]
NUM_LINKS = 20_000
EXACTLY = {"rel": 1e-12, "abs": 0.0}


def stream(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def at(d_m: float) -> np.ndarray:
    return np.full(NUM_LINKS, d_m)


def is_likely_share(num_hits: int, num_trials: int, probability: float) -> bool:
    """True if the count lies in the exact 99.9 % interval of its binomial law."""
    low, high = stats.binom.ppf([0.0005, 0.9995], num_trials, probability)
    return bool(low <= num_hits <= high)


def is_likely_sigma(samples_db: np.ndarray, sigma_db: float) -> bool:
    """True if the mean square of normal samples lies in the exact 99.9 % interval of its chi-square law."""
    low, high = stats.chi2.ppf([0.0005, 0.9995], samples_db.size)
    return bool(low <= np.sum((samples_db / sigma_db) ** 2) <= high)


@pytest.mark.parametrize(
    ("environment", "d_m", "ut_m", "expected"),
    [
        ("uma", 18.0, 1.5, 1.0),
        ("uma", 63.0, 1.5, 18.0 / 63.0 + exp(-1.0) * (1.0 - 18.0 / 63.0)),
        ("uma", 200.0, 13.0, 0.09 + exp(-200.0 / 63.0) * 0.91),
        # C'(22.5) = 0.95^1.5; at 150 m the factor is 5/4 x 1.5^3 x exp(-1)
        (
            "uma",
            150.0,
            22.5,
            (0.12 + exp(-150.0 / 63.0) * 0.88) * (1.0 + 0.95**1.5 * 1.25 * 3.375 * exp(-1.0)),
        ),
        ("umi", 18.0, 1.5, 1.0),
        ("umi", 36.0, 1.5, 0.5 + exp(-1.0) * 0.5),
        ("umi", 180.0, 1.5, 0.1 + exp(-5.0) * 0.9),
        ("rma", 10.0, 1.5, 1.0),
        ("rma", 1010.0, 1.5, exp(-1.0)),
        ("inh-mixed", 1.2, 1.0, 1.0),
        ("inh-mixed", 5.9, 1.0, exp(-1.0)),
        ("inh-mixed", 6.5, 1.0, 0.32),
        ("inh-mixed", 39.1, 1.0, 0.32 * exp(-1.0)),
        ("inh-open", 5.0, 1.0, 1.0),
        ("inh-open", 49.0, 1.0, exp(-44.0 / 70.8)),
        ("inh-open", 100.0, 1.0, 0.54 * exp(-51.0 / 211.7)),
    ],
)
def test_los_probability_by_hand(environment: Any, d_m: float, ut_m: float, expected: float):
    assert los_probability(environment, d_m, ut_m) == pytest.approx(expected, **EXACTLY)


def test_los_probability_of_a_high_terminal_is_cut_at_one():
    # at 18.01 m: (0.9996 + 0.0004) x (1 + 0.9259 x 1.25 x 0.1801^3 x exp(-0.12)) = 1.006
    assert los_probability("uma", 18.01, 22.5) == 1.0


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@given(d_m=st.floats(0.0, 5000.0), ut_m=st.floats(1.0, 22.5))
def test_los_probability_is_a_probability(environment: Any, d_m: float, ut_m: float):
    assert 0.0 <= los_probability(environment, d_m, ut_m) <= 1.0


@pytest.mark.parametrize(
    ("environment", "d_m", "probability", "wrong"),
    [
        ("uma", 100.0, 0.18 + 0.82 * exp(-100.0 / 63.0), 0.18 + 0.82 * exp(-100.0 / 36.0)),
        ("umi", 100.0, 0.18 + 0.82 * exp(-100.0 / 36.0), 0.18 + 0.82 * exp(-100.0 / 63.0)),
        ("rma", 1000.0, exp(-0.99), exp(-1.1)),
        ("inh-mixed", 20.0, 0.32 * exp(-13.5 / 32.6), exp(-15.0 / 70.8)),
        ("inh-open", 20.0, exp(-15.0 / 70.8), 0.32 * exp(-13.5 / 32.6)),
    ],
)
def test_clear_links_are_as_frequent_as_the_table_says(
    environment: Any, d_m: float, probability: float, wrong: float
):
    num_clear = int(LargeScale(environment=environment).draw(at(d_m), stream()).is_los.sum())
    assert is_likely_share(num_clear, NUM_LINKS, probability)
    assert not is_likely_share(num_clear, NUM_LINKS, wrong)


@pytest.mark.parametrize(
    ("environment", "d_m", "los_sigma_db", "nlos_sigma_db"),
    [
        ("uma", 100.0, 4.0, 6.0),
        ("umi", 60.0, 4.0, 7.82),
        ("rma", 500.0, 4.0, 8.0),
        # beyond the breakpoint of 2639 m
        ("rma", 2700.0, 6.0, 8.0),
        ("inh-mixed", 4.0, 3.0, 8.03),
        ("inh-open", 60.0, 3.0, 8.03),
    ],
)
def test_shadow_fading_has_the_sigma_of_its_state(
    environment: Any, d_m: float, los_sigma_db: float, nlos_sigma_db: float
):
    drawn = LargeScale(environment=environment).draw(at(d_m), stream())
    for state, sigma_db in ((drawn.is_los, los_sigma_db), (~drawn.is_los, nlos_sigma_db)):
        samples_db = drawn.shadowing_db[state]
        assert samples_db.size > 1000
        assert is_likely_sigma(samples_db, sigma_db)
        assert not is_likely_sigma(samples_db, 1.1 * sigma_db)
        assert not is_likely_sigma(samples_db, 0.9 * sigma_db)
        assert stats.kstest(samples_db / sigma_db, "norm").pvalue > 0.001


def test_environment_heights_of_a_high_terminal():
    """1 m with probability 1 / (1 + C), else 12, 15, 18 and 21 m alike, for a terminal at 22.5 m."""
    factor = 0.95**1.5 * 1.25 * 2.0**3 * exp(-200.0 / 150.0)
    assert high_terminal_factor(200.0, 22.5) == pytest.approx(factor, **EXACTLY)
    drawn_m = LargeScale(environment="uma", height_ut_m=22.5).draw(at(200.0), stream()).environment_height_m
    heights_m, counts = np.unique(drawn_m, return_counts=True)
    assert heights_m.tolist() == [1.0, 12.0, 15.0, 18.0, 21.0]
    shares = [1.0 / (1.0 + factor)] + 4 * [factor / (1.0 + factor) / 4.0]
    assert all(is_likely_share(int(n), NUM_LINKS, share) for n, share in zip(counts, shares, strict=True))
    # a wrong theory: five heights alike
    assert not is_likely_share(int(counts[0]), NUM_LINKS, 0.2)


@pytest.mark.parametrize(
    ("ut_m", "d_m", "possible_m"),
    [
        (1.5, 200.0, {1.0}),
        (13.0, 200.0, {1.0}),
        (13.4, 200.0, {1.0}),
        (13.5, 200.0, {1.0, 12.0}),
        (17.0, 200.0, {1.0, 12.0, 15.0}),
        (22.5, 18.0, {1.0}),
    ],
)
def test_possible_environment_heights(ut_m: float, d_m: float, possible_m: set[float]):
    drawn = LargeScale(environment="uma", height_ut_m=ut_m).draw(at(d_m), stream())
    assert set(drawn.environment_height_m.tolist()) == possible_m


def test_line_of_sight_height_and_shadowing_are_independent():
    drawn = LargeScale(environment="uma", height_ut_m=22.5).draw(at(200.0), stream())
    is_high = drawn.environment_height_m > 1.0
    normal = drawn.shadowing_db / np.where(drawn.is_los, 4.0, 6.0)
    correlation = np.corrcoef([drawn.is_los, is_high, normal])
    # under independence each entry is near normal with sigma 1 / sqrt(n): 3.29 sigma is 99.9 %
    assert np.all(np.abs(correlation[np.triu_indices(3, 1)]) < 3.29 / NUM_LINKS**0.5)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@given(moved=st.integers(0, 7), d_m=st.floats(10.0, 140.0), seed=st.integers(0, 99))
def test_moving_a_link_moves_nobody_else(environment: Any, moved: int, d_m: float, seed: int):
    height_m = 22.5 if environment == "uma" else None
    config = LargeScale(environment=environment, height_ut_m=height_m)
    before_m = np.linspace(15.0, 135.0, 8)
    after_m = before_m.copy()
    after_m[moved] = d_m
    rng_before, rng_after = stream(seed), stream(seed)
    before, after = config.draw(before_m, rng_before), config.draw(after_m, rng_after)
    others = np.arange(8) != moved
    for column, moved_column in zip(before, after, strict=True):
        np.testing.assert_array_equal(column[others], moved_column[others])
    # and the stream goes on from the same place
    assert rng_before.random() == rng_after.random()


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_link_added_at_the_end_moves_nobody(environment: Any):
    d_m = np.linspace(15.0, 135.0, 8)
    config = LargeScale(environment=environment)
    fewer, more = config.draw(d_m[:7], stream()), config.draw(d_m, stream())
    for column, longer_column in zip(fewer, more, strict=True):
        np.testing.assert_array_equal(column, longer_column[:7])


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_seed_decides(environment: Any):
    d_m = np.linspace(15.0, 135.0, 200)
    config = LargeScale(environment=environment)
    drawn, again, other = (config.draw(d_m, stream(seed)) for seed in (1, 1, 2))
    for column, same in zip(drawn, again, strict=True):
        np.testing.assert_array_equal(column, same)
    assert np.all(drawn.shadowing_db != other.shadowing_db)
    assert np.any(drawn.is_los != other.is_los)


def test_designs_on_one_seed_are_paired():
    """Without shadowing, or on another carrier, the same links are clear."""
    d_m = np.linspace(15.0, 400.0, 200)
    config = LargeScale(environment="uma", height_ut_m=22.5)
    drawn = config.draw(d_m, stream())
    plain = attrs.evolve(config, shadowing=False).draw(d_m, stream())
    other = attrs.evolve(config, carrier_hz=28e9).draw(d_m, stream())
    for same in (plain, other):
        np.testing.assert_array_equal(drawn.is_los, same.is_los)
        np.testing.assert_array_equal(drawn.environment_height_m, same.environment_height_m)
    np.testing.assert_array_equal(drawn.path_loss_db, plain.path_loss_db)
    np.testing.assert_array_equal(drawn.shadowing_db, other.shadowing_db)
    assert not plain.shadowing_db.any()


def test_the_draw_is_its_path_loss_and_its_shadowing():
    d_m = np.linspace(15.0, 900.0, 300).reshape(3, 100)
    uma = LargeScale(environment="uma", height_ut_m=22.5, carrier_hz=3.5e9).draw(d_m, stream())
    loss_db = uma_db(
        carrier_hz=3.5e9,
        distance_2d_m=d_m,
        height_bs_m=25.0,
        height_ut_m=22.5,
        is_los=uma.is_los,
        environment_height_m=uma.environment_height_m,
    )
    np.testing.assert_array_equal(uma.path_loss_db, loss_db)
    np.testing.assert_allclose(uma.gain, 10.0 ** (-(loss_db + uma.shadowing_db) / 10.0), rtol=1e-12)
    rma = LargeScale(environment="rma", street_width_m=30.0, building_height_m=8.0).draw(d_m, stream())
    loss_db = rma_db(
        carrier_hz=2.4e9,
        distance_2d_m=d_m,
        height_bs_m=35.0,
        height_ut_m=1.5,
        is_los=rma.is_los,
        street_width_m=30.0,
        building_height_m=8.0,
    )
    np.testing.assert_array_equal(rma.path_loss_db, loss_db)
    umi = LargeScale(environment="umi", height_bs_m=12.0).draw(d_m, stream())
    loss_db = umi_db(
        carrier_hz=2.4e9, distance_2d_m=d_m, height_bs_m=12.0, height_ut_m=1.5, is_los=umi.is_los
    )
    np.testing.assert_array_equal(umi.path_loss_db, loss_db)
    assert set(umi.environment_height_m.flat) == {1.0}


@pytest.mark.parametrize(
    ("environment", "bs_m", "ut_m"),
    [
        ("uma", 25.0, 1.5),
        ("umi", 10.0, 1.5),
        ("rma", 35.0, 1.5),
        ("inh-mixed", 3.0, 1.0),
        ("inh-open", 3.0, 1.0),
    ],
)
def test_standard_heights_hold_where_none_is_given(environment: Any, bs_m: float, ut_m: float):
    assert LargeScale(environment=environment).heights_m == (bs_m, ut_m)
    assert LargeScale(environment=environment, height_bs_m=40.0).heights_m == (40.0, ut_m)
    assert LargeScale(environment=environment, height_ut_m=2.0).heights_m == (bs_m, 2.0)


@pytest.mark.parametrize("environment", ["inh-mixed", "inh-open"])
def test_an_office_by_hand(environment: Any):
    # heights 3 m and 1 m; at 1.2 m across every path is clear
    drawn = LargeScale(environment=environment, shadowing=False).draw(1.2, stream())
    assert drawn.is_los
    loss_db = 32.4 + 17.3 * log10((1.2**2 + 2.0**2) ** 0.5) + 20.0 * log10(2.4)
    assert drawn.gain == pytest.approx(10.0 ** (-loss_db / 10.0), rel=1e-12)
    assert np.isnan(drawn.environment_height_m)


BAD = [
    ({"environment": "uma", "carrier_hz": 2.4}, "uma.carrier_hz = 2.4: must lie from 5e.08 to 1e.11 Hz"),
    ({"environment": "umi", "height_ut_m": 30.0}, "umi.height_ut_m = 30: must lie from 1.5 to 22.5 m"),
    ({"environment": "rma", "carrier_hz": 60e9}, "rma.carrier_hz = 6e.10: must lie from 5e.08 to 3e.10 Hz"),
    ({"environment": "rma", "street_width_m": 60.0}, "rma.street_width_m = 60: must lie from 5 to 50 m"),
    ({"environment": "rma", "building_height_m": 1.0}, "rma.building_height_m = 1: must lie from 5 to 50 m"),
    ({"environment": "uma", "street_width_m": 20.0}, "LargeScale.street_width_m = 20: has no effect in uma"),
    ({"environment": "umi", "building_height_m": 9.0}, "LargeScale.building_height_m = 9: has no effect in"),
    # roofs may reach 21 m for a terminal at 22.5 m
    (
        {"environment": "uma", "height_ut_m": 22.5, "height_bs_m": 20.0},
        "must be above the effective environment",
    ),
    ({"environment": "inh-open", "height_bs_m": -3.0}, "LargeScale.height_bs_m = -3: must be above 0"),
    ({"environment": "street"}, "LargeScale.environment = 'street': must be one of 'uma', 'umi'"),
]


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_bad_values_are_refused_before_any_link_exists(fields: dict, message: str):
    with pytest.raises(ConfigurationError, match=message):
        LargeScale(**fields)


def test_whether_a_link_is_refused_does_not_depend_on_its_draw():
    """RMa holds to 10 km for a clear path and to 5 km for a blocked one: beyond 5 km both are refused."""
    rma = LargeScale(environment="rma")
    clear = next(seed for seed in range(10_000) if rma.draw(5000.0, stream(seed)).is_los)
    blocked = next(seed for seed in range(10_000) if not rma.draw(5000.0, stream(seed)).is_los)
    for seed in (clear, blocked):
        with pytest.raises(
            ConfigurationError, match=r"rma.distance_2d_m = 5000.1: must lie from 10 to 5000 m"
        ):
            rma.draw(5000.1, stream(seed))


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_configuration_reloads_to_the_same_one(environment: Any):
    config = LargeScale(environment=environment, carrier_hz=5.9e9, height_ut_m=2.0)
    assert from_dict(LargeScale, to_dict(config)) == config
