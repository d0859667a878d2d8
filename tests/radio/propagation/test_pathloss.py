"""Path loss against arithmetic by hand: every constant of the table is written out again here.

fc is in GHz inside the logarithms and in Hz inside the breakpoints, where c = 3e8 m/s.
"""

from math import hypot, log10, pi
from typing import Any

import numpy as np
import pytest
from fixtures.fixes import has_fix
from hypothesis import given
from hypothesis import strategies as st

from cosim.configuration import ConfigurationError
from cosim.radio.propagation.pathloss import (
    inh_db,
    rma_breakpoint_m,
    rma_db,
    shadowing_sigma_db,
    uma_db,
    umi_db,
    urban_breakpoint_m,
)

UMA = {"height_bs_m": 25.0, "height_ut_m": 1.5, "environment_height_m": 1.0}
UMI = {"height_bs_m": 10.0, "height_ut_m": 1.5}
RMA = {"height_bs_m": 35.0, "height_ut_m": 1.5, "street_width_m": 20.0, "building_height_m": 5.0}
INH = {"height_bs_m": 3.0, "height_ut_m": 1.0}
EXACTLY = {"rel": 0.0, "abs": 1e-9}


def db(formula: Any, link: dict[str, float], ghz: float, d_m: float, is_los: bool, **other: float) -> float:
    """Path loss of one link, its carrier in GHz."""
    return float(formula(**(link | other), carrier_hz=ghz * 1e9, distance_2d_m=d_m, is_los=is_los))


def test_urban_breakpoints_by_hand():
    # 4 x (25 - 1) x (1.5 - 1) x 2.4e9 / 3e8 = 48 x 8, in metres
    assert urban_breakpoint_m(2.4e9, 25.0, 1.5, 1.0) == pytest.approx(384.0, **EXACTLY)
    # 4 x (10 - 1) x (1.5 - 1) x 3.5e9 / 3e8 = 18 x 35 / 3
    assert urban_breakpoint_m(3.5e9, 10.0, 1.5, 1.0) == pytest.approx(210.0, **EXACTLY)
    # a terminal at 22.5 m above roofs of 21 m: 4 x 4 x 1.5 x 6e9 / 3e8 = 24 x 20
    assert urban_breakpoint_m(6e9, 25.0, 22.5, 21.0) == pytest.approx(480.0, **EXACTLY)


def test_rural_breakpoint_by_hand():
    # 2 pi x 35 x 1.5 x 0.7e9 / 3e8 = pi x 105 x 7 / 3 = 245 pi: no environment height here
    assert rma_breakpoint_m(0.7e9, 35.0, 1.5) == pytest.approx(245.0 * pi, **EXACTLY)


@pytest.mark.parametrize(
    ("ghz", "d_m", "is_los", "expected_db"),
    [
        # near: 384 m is the breakpoint at 2.4 GHz, 560 m at 3.5 GHz; the antennas differ by 23.5 m
        (2.4, 50.0, True, 28.0 + 22.0 * log10(hypot(50.0, 23.5)) + 20.0 * log10(2.4)),
        (2.4, 380.0, True, 28.0 + 22.0 * log10(hypot(380.0, 23.5)) + 20.0 * log10(2.4)),
        (3.5, 500.0, True, 28.0 + 22.0 * log10(hypot(500.0, 23.5)) + 20.0 * log10(3.5)),
        # far
        (
            2.4,
            500.0,
            True,
            28.0 + 40.0 * log10(hypot(500.0, 23.5)) + 20.0 * log10(2.4) - 9.0 * log10(384.0**2 + 23.5**2),
        ),
        (
            3.5,
            4000.0,
            True,
            28.0 + 40.0 * log10(hypot(4000.0, 23.5)) + 20.0 * log10(3.5) - 9.0 * log10(560.0**2 + 23.5**2),
        ),
        (2.4, 50.0, False, 13.54 + 39.08 * log10(hypot(50.0, 23.5)) + 20.0 * log10(2.4)),
        (28.0, 1000.0, False, 13.54 + 39.08 * log10(hypot(1000.0, 23.5)) + 20.0 * log10(28.0)),
    ],
)
def test_uma_by_hand(ghz: float, d_m: float, is_los: bool, expected_db: float):
    assert db(uma_db, UMA, ghz, d_m, is_los) == pytest.approx(expected_db, **EXACTLY)


def test_uma_by_hand_to_the_last_step():
    # d3D = sqrt(100^2 + 23.5^2) = 102.72415, log10 = 2.0116727; log10(2) = 0.3010300
    # LOS: 28 + 44.256798 + 6.020600 = 78.277398; NLOS: 13.54 + 78.616168 + 6.020600 = 98.176768
    assert db(uma_db, UMA, 2.0, 100.0, True) == pytest.approx(78.277398, abs=1e-5)
    assert db(uma_db, UMA, 2.0, 100.0, False) == pytest.approx(98.176768, abs=1e-5)


def test_uma_of_a_high_terminal():
    # 19.5 m high over roofs of 12 m: breakpoint 4 x 13 x 7.5 x 1e9 / 3e8 = 1300 m; antennas differ by 5.5 m
    high = {"height_ut_m": 19.5, "environment_height_m": 12.0}
    near_db = 28.0 + 22.0 * log10(hypot(1299.0, 5.5))
    far_db = 28.0 + 40.0 * log10(hypot(2000.0, 5.5)) - 9.0 * log10(1300.0**2 + 5.5**2)
    blocked_db = 13.54 + 39.08 * log10(hypot(2000.0, 5.5)) - 0.6 * 18.0
    assert db(uma_db, UMA, 1.0, 1299.0, True, **high) == pytest.approx(near_db, **EXACTLY)
    assert db(uma_db, UMA, 1.0, 2000.0, True, **high) == pytest.approx(far_db, **EXACTLY)
    assert db(uma_db, UMA, 1.0, 2000.0, False, **high) == pytest.approx(blocked_db, **EXACTLY)


@pytest.mark.parametrize(
    ("ghz", "d_m", "is_los", "expected_db"),
    [
        # the breakpoint is 144 m at 2.4 GHz and 210 m at 3.5 GHz; the antennas differ by 8.5 m
        (2.4, 20.0, True, 32.4 + 21.0 * log10(hypot(20.0, 8.5)) + 20.0 * log10(2.4)),
        (2.4, 140.0, True, 32.4 + 21.0 * log10(hypot(140.0, 8.5)) + 20.0 * log10(2.4)),
        (3.5, 200.0, True, 32.4 + 21.0 * log10(hypot(200.0, 8.5)) + 20.0 * log10(3.5)),
        (
            2.4,
            200.0,
            True,
            32.4 + 40.0 * log10(hypot(200.0, 8.5)) + 20.0 * log10(2.4) - 9.5 * log10(144.0**2 + 8.5**2),
        ),
        (
            3.5,
            3000.0,
            True,
            32.4 + 40.0 * log10(hypot(3000.0, 8.5)) + 20.0 * log10(3.5) - 9.5 * log10(210.0**2 + 8.5**2),
        ),
        (2.4, 50.0, False, 22.4 + 35.3 * log10(hypot(50.0, 8.5)) + 21.3 * log10(2.4)),
        (60.0, 900.0, False, 22.4 + 35.3 * log10(hypot(900.0, 8.5)) + 21.3 * log10(60.0)),
    ],
)
def test_umi_by_hand(ghz: float, d_m: float, is_los: bool, expected_db: float):
    assert db(umi_db, UMI, ghz, d_m, is_los) == pytest.approx(expected_db, **EXACTLY)


def test_umi_of_a_high_terminal_is_better_off_by_three_tenths_of_a_db_per_metre():
    # both antennas at 10 m, d3D = 100 m
    expected_db = 22.4 + 35.3 * 2.0 + 21.3 * log10(2.4) - 0.3 * 8.5
    assert db(umi_db, UMI, 2.4, 100.0, False, height_ut_m=10.0) == pytest.approx(expected_db, **EXACTLY)


def rma_near_by_hand_db(ghz: float, d3_m: float, building_m: float = 5.0) -> float:
    """PL1 of rural macro."""
    slope_db = min(0.03 * building_m**1.72, 10.0) * log10(d3_m)
    offset_db = min(0.044 * building_m**1.72, 14.77)
    return (
        20.0 * log10(40.0 * pi * d3_m * ghz / 3.0) + slope_db - offset_db + 0.002 * log10(building_m) * d3_m
    )


@pytest.mark.parametrize(
    ("ghz", "d_m", "building_m"), [(0.7, 100.0, 5.0), (0.7, 769.0, 5.0), (6.0, 5000.0, 50.0)]
)
def test_rma_near_by_hand(ghz: float, d_m: float, building_m: float):
    # 769.69 m is the breakpoint at 0.7 GHz, 6597 m at 6 GHz; roofs of 50 m reach both minima
    expected_db = rma_near_by_hand_db(ghz, hypot(d_m, 33.5), building_m)
    assert db(rma_db, RMA, ghz, d_m, True, building_height_m=building_m) == pytest.approx(
        expected_db, **EXACTLY
    )


def test_both_minima_of_rma_hold_the_roofs():
    # 50^1.72 = 835.9: 0.03 of it is 25 and 0.044 of it is 37, so 10 and 14.77 hold
    d3_m = hypot(100.0, 33.5)
    expected_db = (
        20.0 * log10(40.0 * pi * d3_m / 3.0) + 10.0 * log10(d3_m) - 14.77 + 0.002 * log10(50.0) * d3_m
    )
    assert db(rma_db, RMA, 1.0, 100.0, True, building_height_m=50.0) == pytest.approx(expected_db, **EXACTLY)


@pytest.mark.parametrize(("ghz", "d_m"), [(0.7, 770.0), (0.7, 10_000.0), (2.0, 5000.0)])
def test_rma_far_by_hand(ghz: float, d_m: float):
    breakpoint_m = 2.0 * pi * 35.0 * 1.5 * ghz / 0.3
    expected_db = rma_near_by_hand_db(ghz, breakpoint_m) + 40.0 * log10(hypot(d_m, 33.5) / breakpoint_m)
    assert db(rma_db, RMA, ghz, d_m, True) == pytest.approx(expected_db, **EXACTLY)


@pytest.mark.parametrize(
    ("ghz", "d_m", "other"),
    [
        (0.7, 500.0, {}),
        (2.4, 4000.0, {}),
        (2.4, 4000.0, {"height_ut_m": 9.0}),
        (24.0, 1500.0, {"building_height_m": 12.0, "street_width_m": 8.0, "height_bs_m": 60.0}),
    ],
)
def test_rma_nlos_by_hand(ghz: float, d_m: float, other: dict[str, float]):
    h_bs, h_ut, w, h = ((RMA | other)[k] for k in RMA)
    expected_db = (
        161.04
        - 7.1 * log10(w)
        + 7.5 * log10(h)
        - (24.37 - 3.7 * (h / h_bs) ** 2) * log10(h_bs)
        + (43.42 - 3.1 * log10(h_bs)) * (log10(hypot(d_m, h_bs - h_ut)) - 3.0)
        + 20.0 * log10(ghz)
        - (3.2 * log10(11.75 * h_ut) ** 2 - 4.97)
    )
    assert db(rma_db, RMA, ghz, d_m, False, **other) == pytest.approx(expected_db, **EXACTLY)


@pytest.mark.parametrize(("ghz", "d_m"), [(2.4, 10.0), (28.0, 100.0)])
def test_inh_by_hand(ghz: float, d_m: float):
    log_d3 = log10(hypot(d_m, 2.0))
    los_db = 32.4 + 17.3 * log_d3 + 20.0 * log10(ghz)
    nlos_db = 38.3 * log_d3 + 17.30 + 24.9 * log10(ghz)
    assert db(inh_db, INH, ghz, d_m, True) == pytest.approx(los_db, **EXACTLY)
    assert db(inh_db, INH, ghz, d_m, False) == pytest.approx(nlos_db, **EXACTLY)


def test_a_blocked_path_is_never_better_than_a_clear_one():
    """The larger of LOS and NLOS' holds, where each formula would otherwise reward the blocked link."""
    # InH, 1 m apart at 1 GHz: NLOS' 17.3 < LOS 32.4
    assert db(inh_db, INH, 1.0, 0.0, False, height_bs_m=2.0) == pytest.approx(32.4, **EXACTLY)
    # UMa, terminal at 22.5 m, d3D = sqrt(106.25): NLOS' 40.5 < LOS 50.3
    los_db = 28.0 + 22.0 * log10(hypot(10.0, 2.5))
    assert db(uma_db, UMA, 1.0, 10.0, False, height_ut_m=22.5) == pytest.approx(los_db, **EXACTLY)
    # UMi, base station at 2 m, breakpoint 4 x 1 x 0.5 x 0.6e9 / 3e8 = 4 m: NLOS' 146 < LOS 160
    los_db = 32.4 + 40.0 * log10(hypot(5000.0, 0.5)) + 20.0 * log10(0.6) - 9.5 * log10(4.0**2 + 0.5**2)
    assert db(umi_db, UMI, 0.6, 5000.0, False, height_bs_m=2.0) == pytest.approx(los_db, **EXACTLY)
    # RMa at its shortest distance: NLOS' 63.28 < LOS 63.40
    los_db = rma_near_by_hand_db(1.0, hypot(10.0, 33.5))
    assert db(rma_db, RMA, 1.0, 10.0, False) == pytest.approx(los_db, **EXACTLY)


GHZ = st.floats(0.5, 30.0)
UT_M = st.floats(1.5, 22.5)


@given(GHZ, UT_M, st.sampled_from([1.0, 12.0, 15.0]))
def test_urban_loss_is_continuous_at_the_breakpoint(ghz: float, ut_m: float, environment_m: float):
    """PL2 - PL1 = (40 - 22) log d3D - 9 log(d'BP^2 + dh^2) is exactly 0 where d3D^2 = d'BP^2 + dh^2.

    That is where the 2D distance equals the breakpoint. UMi likewise, with 40 - 21 = 2 x 9.5.
    """
    if environment_m > 1.0:
        ut_m = max(ut_m, environment_m + 1.5)
    breakpoint_m = 4.0 * (25.0 - environment_m) * (ut_m - environment_m) * ghz / 0.3
    if 10.0 < breakpoint_m < 5000.0:
        here, beyond = breakpoint_m * (1.0 - 1e-13), breakpoint_m * (1.0 + 1e-13)
        other = {"height_ut_m": ut_m, "environment_height_m": environment_m}
        step_db = db(uma_db, UMA, ghz, beyond, True, **other) - db(uma_db, UMA, ghz, here, True, **other)
        assert step_db == pytest.approx(0.0, abs=1e-9)
    breakpoint_m = 4.0 * 9.0 * (ut_m - 1.0) * ghz / 0.3
    if 10.0 < breakpoint_m < 5000.0:
        here, beyond = breakpoint_m * (1.0 - 1e-13), breakpoint_m * (1.0 + 1e-13)
        step_db = db(umi_db, UMI, ghz, beyond, True, height_ut_m=ut_m) - db(
            umi_db, UMI, ghz, here, True, height_ut_m=ut_m
        )
        assert step_db == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("ghz", [0.7, 2.4, 6.0])
def test_rural_loss_steps_at_the_breakpoint_by_the_height_term_alone(ghz: float):
    """PL2 starts from PL1(d3D = dBP), but the pieces meet at d2D = dBP, where d3D = r dBP with r > 1.

    So PL2 - PL1 = (40 - 20 - 0.03 h^1.72) log10 r - 0.002 log10(h) (r - 1) dBP: small, not zero,
    and of either sign: +7e-3 dB at 0.7 GHz, -1e-5 dB at 6 GHz.
    """
    breakpoint_m = 2.0 * pi * 35.0 * 1.5 * ghz / 0.3
    ratio = hypot(breakpoint_m, 33.5) / breakpoint_m
    expected_db = (20.0 - 0.03 * 5.0**1.72) * log10(ratio) - 0.002 * log10(5.0) * (ratio - 1.0) * breakpoint_m
    here, beyond = breakpoint_m * (1.0 - 1e-13), breakpoint_m * (1.0 + 1e-13)
    step_db = db(rma_db, RMA, ghz, beyond, True) - db(rma_db, RMA, ghz, here, True)
    assert step_db == pytest.approx(expected_db, abs=1e-9)
    assert -1e-4 < expected_db < 1e-2


@pytest.mark.parametrize("ghz", [2.4, 28.0])
def test_clear_paths_are_near_free_space(ghz: float):
    """Free space is 32.45 + 20 log10(GHz) + 20 log10(m); the bounds follow from slopes 22, 21 and 20.5."""

    def excess_db(loss_db: float, d3_m: float) -> float:
        return loss_db - (32.45 + 20.0 * log10(ghz) + 20.0 * log10(d3_m))

    for d_m in (10.0, 50.0, 140.0):
        # UMa: -4.45 + 2 log10 d, from d3D = 25.5 to 142 m
        assert -1.7 < excess_db(db(uma_db, UMA, ghz, d_m, True), hypot(d_m, 23.5)) < 0.0
        # UMi: -0.05 + log10 d, from d3D = 13 to 140 m
        assert 1.0 < excess_db(db(umi_db, UMI, ghz, d_m, True), hypot(d_m, 8.5)) < 2.2
        # RMa: roofs of 5 m take 0.70 dB off and add 0.48 dB per decade
        assert -0.05 < excess_db(db(rma_db, RMA, ghz, d_m, True), hypot(d_m, 33.5)) < 0.6
    # InH at 1 m: 32.4 instead of 32.45
    assert excess_db(db(inh_db, INH, ghz, 0.0, True, height_bs_m=2.0), 1.0) == pytest.approx(-0.05, **EXACTLY)


LINKS = [
    (uma_db, UMA, 10.0, 5e3),
    (umi_db, UMI, 10.0, 5e3),
    (rma_db, RMA, 10.0, 5e3),
    (inh_db, INH, 0.0, 149.9),
]


@pytest.mark.parametrize(("formula", "link", "least_m", "most_m"), LINKS)
@given(st.data())
def test_laws_of_distance(formula: Any, link: dict[str, float], least_m: float, most_m: float, data: Any):
    """A blocked path is never better than a clear one, and a longer path never better than a shorter one."""
    ghz = data.draw(GHZ)
    d_m = data.draw(st.floats(least_m, most_m))
    further_m = data.draw(st.floats(d_m, most_m))
    los_db, nlos_db = db(formula, link, ghz, d_m, True), db(formula, link, ghz, d_m, False)
    assert nlos_db >= los_db
    # RMa may step down at the breakpoint, by less than 1e-4 dB; see the test of that step
    rounding_db = 1e-4 if formula is rma_db else 1e-9
    assert db(formula, link, ghz, further_m, True) >= los_db - rounding_db
    assert db(formula, link, ghz, further_m, False) >= nlos_db - rounding_db


@pytest.mark.parametrize(("formula", "link"), [(f, k) for f, k, *_ in LINKS])
@given(ghz=st.floats(0.5, 3.0))
def test_a_tenfold_carrier_costs_20_db_on_a_clear_path(formula: Any, link: dict[str, float], ghz: float):
    # 20 m is nearer than the nearest breakpoint, 30 m of UMi at 0.5 GHz
    cost_db = db(formula, link, 10.0 * ghz, 20.0, True) - db(formula, link, ghz, 20.0, True)
    assert cost_db == pytest.approx(20.0, **EXACTLY)


@pytest.mark.parametrize(("formula", "link"), [(f, k) for f, k, *_ in LINKS])
def test_arrays_are_links_side_by_side(formula: Any, link: dict[str, float]):
    d_m = np.array([[20.0, 40.0, 60.0], [80.0, 100.0, 120.0]])
    is_los = np.array([[True, False, True], [False, True, False]])
    ut_m = np.array([1.5, 1.8, 2.0])
    many_db = formula(**(link | {"height_ut_m": ut_m}), carrier_hz=2.4e9, distance_2d_m=d_m, is_los=is_los)
    assert many_db.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        one_db = db(formula, link, 2.4, d_m[i, j], bool(is_los[i, j]), height_ut_m=ut_m[j])
        assert many_db[i, j] == pytest.approx(one_db, **EXACTLY)


OUTSIDE = [
    (uma_db, UMA, {"carrier_hz": 2.4}, "uma.carrier_hz = 2.4: must lie from 5e+08 to 1e+11 Hz"),
    (uma_db, UMA, {"distance_2d_m": 9.9}, "uma.distance_2d_m = 9.9: must lie from 10 to 5000 m"),
    (uma_db, UMA, {"distance_2d_m": 5001.0}, "must lie from 10 to 5000 m"),
    (uma_db, UMA, {"distance_2d_m": np.array([100.0, np.nan])}, "uma.distance_2d_m = nan: must lie from 10"),
    (uma_db, UMA, {"height_ut_m": 23.0}, "uma.height_ut_m = 23: must lie from 1.5 to 22.5 m"),
    (uma_db, UMA, {"environment_height_m": 12.0}, "uma.environment_height_m = 12: must lie from 1 to 1 m"),
    (
        uma_db,
        UMA,
        {"height_bs_m": 1.0},
        "uma.height_bs_m = 1: must be above the effective environment height",
    ),
    (umi_db, UMI, {"carrier_hz": 101e9}, "umi.carrier_hz = 1.01e.11: must lie from 5e.08 to 1e.11 Hz"),
    (umi_db, UMI, {"distance_2d_m": 6e3}, "umi.distance_2d_m = 6000: must lie from 10 to 5000 m"),
    (umi_db, UMI, {"height_ut_m": 1.4}, "umi.height_ut_m = 1.4: must lie from 1.5 to 22.5 m"),
    (rma_db, RMA, {"carrier_hz": 31e9}, "rma.carrier_hz = 3.1e.10: must lie from 5e.08 to 3e.10 Hz"),
    (rma_db, RMA, {"distance_2d_m": 10_001.0}, "rma.distance_2d_m = 10001: must lie from 10 to 10000 m"),
    (rma_db, RMA, {"distance_2d_m": 5001.0, "is_los": False}, "must lie from 10 to 5000 m"),
    (rma_db, RMA, {"height_bs_m": 151.0}, "rma.height_bs_m = 151: must lie from 10 to 150 m"),
    (rma_db, RMA, {"height_ut_m": 11.0}, "rma.height_ut_m = 11: must lie from 1 to 10 m"),
    (rma_db, RMA, {"street_width_m": 4.0}, "rma.street_width_m = 4: must lie from 5 to 50 m"),
    (rma_db, RMA, {"building_height_m": 51.0}, "rma.building_height_m = 51: must lie from 5 to 50 m"),
    (inh_db, INH, {"carrier_hz": 0.4e9}, "inh.carrier_hz = 4e.08: must lie from 5e.08 to 1e.11 Hz"),
    (inh_db, INH, {"distance_2d_m": 150.0}, "inh.distance_3d_m = 150.013: must lie from 1 to 150 m"),
    (inh_db, INH, {"distance_2d_m": -1.0}, "inh.distance_2d_m = -1: must lie from 0 to 150 m"),
    (
        inh_db,
        INH,
        {"distance_2d_m": 0.5, "height_bs_m": 1.0},
        "inh.distance_3d_m = 0.5: must lie from 1 to 150 m",
    ),
]


@pytest.mark.parametrize(("formula", "link", "bad", "message"), OUTSIDE)
def test_outside_the_range_the_error_names_it(formula: Any, link: dict[str, float], bad: dict, message: str):
    fine = {"carrier_hz": 2.4e9, "distance_2d_m": 100.0, "is_los": True}
    with pytest.raises(ConfigurationError, match=message.replace("+", r"\+")) as caught:
        formula(**(fine | link | bad))
    assert has_fix(str(caught.value))


def test_the_ends_of_a_range_belong_to_it():
    for d_m in (10.0, 10_000.0):
        assert np.isfinite(db(rma_db, RMA, 30.0, d_m, True))
    for ghz, ut_m, d_m in ((0.5, 1.5, 10.0), (100.0, 22.5, 5000.0)):
        assert np.isfinite(db(uma_db, UMA, ghz, d_m, False, height_ut_m=ut_m))


@pytest.mark.parametrize(
    ("environment", "los_db", "far_los_db", "nlos_db"),
    [
        ("uma", 4.0, 4.0, 6.0),
        ("umi", 4.0, 4.0, 7.82),
        ("rma", 4.0, 6.0, 8.0),
        ("inh-mixed", 3.0, 3.0, 8.03),
        ("inh-open", 3.0, 3.0, 8.03),
    ],
)
def test_sigma_of_the_table(environment: Any, los_db: float, far_los_db: float, nlos_db: float):
    is_los, is_far = np.array([True, True, False, False]), np.array([False, True, False, True])
    assert shadowing_sigma_db(environment, is_los, is_far).tolist() == [los_db, far_los_db, nlos_db, nlos_db]
