"""Path loss of 3GPP TR 38.901 in four environments.

`uma_db`, `umi_db`, `rma_db` and `inh_db` give the path loss of urban macro, urban micro (street canyon),
rural macro and indoor office. Every function is pure and elementwise, for numbers or arrays that broadcast,
and nothing is random. `large_scale` draws the LOS state, environment height and shadowing.

Scope and limitations: the table's mandatory formulas. Left out are its optional NLOS formulas, the indoor
factory and the loss into buildings and cars, so every terminal of UMa, UMi and RMa stands in the open.
Outside the table's ranges nothing is computed. For the base station height of UMa, UMi and InH the TR names
one value (25, 10 and 3 m) and no range: another height is taken, if above the environment height, and
extrapolates. RMa above 7 GHz rests on one measurement campaign at 24 GHz (Note 4). At the breakpoint UMa and
UMi are continuous; RMa steps by less than 0.02 dB at its standard heights, because its second piece starts
from PL1 where the *3D* distance equals the breakpoint, while the pieces meet where the 2D distance does.

Usage::

    uma_db(carrier_hz=3.5e9, distance_2d_m=np.array([100.0, 900.0]), height_bs_m=25.0, height_ut_m=1.5,
           is_los=np.array([True, False]), environment_height_m=1.0)

Validation: tests compare every formula with arithmetic by hand, free space and continuity.

Source: 3GPP TR 38.901 V17.0.0 (Release 17), ETSI TR 138 901 V17.0.0 (2022-04), Table 7.4.1-1.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError, refuse
from cosim.units import unit_of

Environment = Literal["uma", "umi", "rma", "inh-mixed", "inh-open"]
Array = NDArray[np.float64]
Numbers = float | Array
Flags = bool | NDArray[np.bool_]

TABLE_SPEED_OF_LIGHT_M_PER_S = 3.0e8
"""The rounded value that defines the breakpoints. [3GPP TR 38.901, Table 7.4.1-1, Notes 1 and 5]"""

LOW_ENVIRONMENT_HEIGHT_M = 1.0
"""Effective environment height: of UMi always, of UMa mostly. [3GPP TR 38.901, Table 7.4.1-1, Note 1]"""

SHADOWING_SIGMA_DB = {
    "uma": (4.0, 6.0),
    "umi": (4.0, 7.82),
    "rma": (4.0, 8.0),
    "inh-mixed": (3.0, 8.03),
    "inh-open": (3.0, 8.03),
}
"""Standard deviation of shadow fading: LOS, NLOS. [3GPP TR 38.901, Table 7.4.1-1]"""

RMA_FAR_LOS_SIGMA_DB = 6.0
"""Standard deviation of RMa's LOS shadow fading beyond the breakpoint. [3GPP TR 38.901, Table 7.4.1-1]"""


class OutOfRange(ConfigurationError):
    """A value outside the ranges of an environment.

    Attributes:
        which: Place of the first among the values, flat.
        name: Of the value.
        rule: That it must lie in the range.
    """

    def __init__(self, message: str, field: str | None, which: int, name: str, rule: str) -> None:
        super().__init__(message, field)
        self.args = message, field, which, name, rule  # from which pickle makes it again
        self.which, self.name, self.rule = which, name, rule


def uma_db(
    *,
    carrier_hz: Numbers,
    distance_2d_m: Numbers,
    height_bs_m: Numbers,
    height_ut_m: Numbers,
    is_los: Flags,
    environment_height_m: Numbers,
) -> Array:
    """Path loss of urban macro. [3GPP TR 38.901, Table 7.4.1-1, UMa]"""
    link = (carrier_hz, distance_2d_m, height_bs_m, height_ut_m, environment_height_m)
    _check_urban("uma", *link)
    los_db = _urban_los_db(28.0, 22.0, 9.0, *link)
    log_d3 = np.log10(_distance_3d_m(distance_2d_m, height_bs_m, height_ut_m))
    nlos_db = 13.54 + 39.08 * log_d3 + 20.0 * _log_ghz(carrier_hz) - 0.6 * (height_ut_m - 1.5)
    return np.where(is_los, los_db, np.maximum(los_db, nlos_db))


def umi_db(
    *, carrier_hz: Numbers, distance_2d_m: Numbers, height_bs_m: Numbers, height_ut_m: Numbers, is_los: Flags
) -> Array:
    """Path loss of urban micro, street canyon. [3GPP TR 38.901, Table 7.4.1-1, UMi]"""
    link = (carrier_hz, distance_2d_m, height_bs_m, height_ut_m, LOW_ENVIRONMENT_HEIGHT_M)
    _check_urban("umi", *link)
    los_db = _urban_los_db(32.4, 21.0, 9.5, *link)
    log_d3 = np.log10(_distance_3d_m(distance_2d_m, height_bs_m, height_ut_m))
    nlos_db = 22.4 + 35.3 * log_d3 + 21.3 * _log_ghz(carrier_hz) - 0.3 * (height_ut_m - 1.5)
    return np.where(is_los, los_db, np.maximum(los_db, nlos_db))


def rma_db(
    *,
    carrier_hz: Numbers,
    distance_2d_m: Numbers,
    height_bs_m: Numbers,
    height_ut_m: Numbers,
    is_los: Flags,
    street_width_m: Numbers,
    building_height_m: Numbers,
) -> Array:
    """Path loss of rural macro; heights of buildings and widths of streets are averages.

    [3GPP TR 38.901, Table 7.4.1-1, RMa]
    """
    refuse_outside("rma", "carrier_hz", carrier_hz, 0.5e9, 30e9)
    refuse_outside("rma", "height_bs_m", height_bs_m, 10.0, 150.0)
    refuse_outside("rma", "height_ut_m", height_ut_m, 1.0, 10.0)
    refuse_outside("rma", "street_width_m", street_width_m, 5.0, 50.0)
    refuse_outside("rma", "building_height_m", building_height_m, 5.0, 50.0)
    refuse_outside("rma", "distance_2d_m", distance_2d_m, 10.0, np.where(is_los, 10e3, 5e3))

    def near_los_db(d3_m: Numbers) -> Array:
        roofs = np.asarray(building_height_m) ** 1.72
        return (
            20.0 * np.log10(40.0 * np.pi * d3_m / 3.0)
            + 20.0 * _log_ghz(carrier_hz)
            + np.minimum(0.03 * roofs, 10.0) * np.log10(d3_m)
            - np.minimum(0.044 * roofs, 14.77)
            + 0.002 * np.log10(building_height_m) * d3_m
        )

    d3_m = _distance_3d_m(distance_2d_m, height_bs_m, height_ut_m)
    breakpoint_m = rma_breakpoint_m(carrier_hz, height_bs_m, height_ut_m)
    far_los_db = near_los_db(breakpoint_m) + 40.0 * np.log10(d3_m / breakpoint_m)
    los_db = np.where(distance_2d_m <= breakpoint_m, near_los_db(d3_m), far_los_db)
    nlos_db = (
        161.04
        - 7.1 * np.log10(street_width_m)
        + 7.5 * np.log10(building_height_m)
        - (24.37 - 3.7 * (building_height_m / height_bs_m) ** 2) * np.log10(height_bs_m)
        + (43.42 - 3.1 * np.log10(height_bs_m)) * (np.log10(d3_m) - 3.0)
        + 20.0 * _log_ghz(carrier_hz)
        - (3.2 * np.log10(11.75 * height_ut_m) ** 2 - 4.97)
    )
    return np.where(is_los, los_db, np.maximum(los_db, nlos_db))


def inh_db(
    *, carrier_hz: Numbers, distance_2d_m: Numbers, height_bs_m: Numbers, height_ut_m: Numbers, is_los: Flags
) -> Array:
    """Path loss of the indoor office, mixed and open alike. [3GPP TR 38.901, Table 7.4.1-1, InH - Office]"""
    d3_m = _distance_3d_m(distance_2d_m, height_bs_m, height_ut_m)
    refuse_outside("inh", "carrier_hz", carrier_hz, 0.5e9, 100e9)
    refuse_outside("inh", "distance_2d_m", distance_2d_m, 0.0, 150.0)
    refuse_outside("inh", "distance_3d_m", d3_m, 1.0, 150.0)
    los_db = 32.4 + 17.3 * np.log10(d3_m) + 20.0 * _log_ghz(carrier_hz)
    nlos_db = 17.30 + 38.3 * np.log10(d3_m) + 24.9 * _log_ghz(carrier_hz)
    return np.where(is_los, los_db, np.maximum(los_db, nlos_db))


def urban_breakpoint_m(
    carrier_hz: Numbers, height_bs_m: Numbers, height_ut_m: Numbers, environment_height_m: Numbers
) -> Numbers:
    """2D distance where UMa and UMi change slope. [3GPP TR 38.901, Table 7.4.1-1, Note 1]"""
    effective_bs_m, effective_ut_m = height_bs_m - environment_height_m, height_ut_m - environment_height_m
    return 4.0 * effective_bs_m * effective_ut_m * carrier_hz / TABLE_SPEED_OF_LIGHT_M_PER_S


def rma_breakpoint_m(carrier_hz: Numbers, height_bs_m: Numbers, height_ut_m: Numbers) -> Numbers:
    """2D distance where RMa changes slope. [3GPP TR 38.901, Table 7.4.1-1, Note 5]"""
    return 2.0 * np.pi * height_bs_m * height_ut_m * carrier_hz / TABLE_SPEED_OF_LIGHT_M_PER_S


def shadowing_sigma_db(environment: Environment, is_los: Flags, is_past_breakpoint: Flags) -> Array:
    """Standard deviation of shadow fading; the breakpoint is used in RMa only.

    [3GPP TR 38.901, Table 7.4.1-1]
    """
    los_db, nlos_db = SHADOWING_SIGMA_DB[environment]
    far_los_db = RMA_FAR_LOS_SIGMA_DB if environment == "rma" else los_db
    return np.where(is_los, np.where(is_past_breakpoint, far_los_db, los_db), nlos_db)


def refuse_outside(environment: str, name: str, value: Numbers, least: Numbers, most: Numbers) -> None:
    """Raise `OutOfRange` for the first value outside the closed range; NaN is outside."""
    values, least, most = (np.atleast_1d(v) for v in np.broadcast_arrays(value, least, most))
    outside = ~((least <= values) & (values <= most))
    if outside.any():
        bad, low, high = (float(v[outside][0]) for v in (values, least, most))
        rule = f"must lie from {low:g} to {high:g} {unit_of(name)} (3GPP TR 38.901, clause 7.4)"
        fix = f"Keep {name}, in {unit_of(name)}, inside that range, or choose another environment."
        refused = refuse(environment, name, bad, rule, fix)
        raise OutOfRange(refused.message, refused.field, int(outside.argmax()), name, rule)


def _check_urban(
    environment: str,
    carrier_hz: Numbers,
    distance_2d_m: Numbers,
    height_bs_m: Numbers,
    height_ut_m: Numbers,
    environment_height_m: Numbers,
) -> None:
    highest_m = np.maximum(LOW_ENVIRONMENT_HEIGHT_M, np.asarray(height_ut_m) - 1.5)
    refuse_outside(environment, "carrier_hz", carrier_hz, 0.5e9, 100e9)
    refuse_outside(environment, "height_ut_m", height_ut_m, 1.5, 22.5)
    refuse_outside(environment, "distance_2d_m", distance_2d_m, 10.0, 5e3)
    refuse_outside(environment, "environment_height_m", environment_height_m, 1.0, highest_m)
    if not np.all(height_bs_m > np.asarray(environment_height_m)):
        rule = "must be above the effective environment height (3GPP TR 38.901, Table 7.4.1-1, Note 1)"
        fix = "Raise the base station above roofs, or lower the terminal."
        raise refuse(environment, "height_bs_m", float(np.min(height_bs_m)), rule, fix)


def _urban_los_db(
    intercept_db: float,
    near_slope: float,
    height_slope: float,
    carrier_hz: Numbers,
    distance_2d_m: Numbers,
    height_bs_m: Numbers,
    height_ut_m: Numbers,
    environment_height_m: Numbers,
) -> Array:
    """PL1 up to the breakpoint and PL2 beyond; slopes in dB per decade."""
    breakpoint_m = urban_breakpoint_m(carrier_hz, height_bs_m, height_ut_m, environment_height_m)
    log_d3 = np.log10(_distance_3d_m(distance_2d_m, height_bs_m, height_ut_m))
    near = near_slope * log_d3
    far = 40.0 * log_d3 - height_slope * np.log10(breakpoint_m**2 + (height_bs_m - height_ut_m) ** 2)
    return intercept_db + 20.0 * _log_ghz(carrier_hz) + np.where(distance_2d_m <= breakpoint_m, near, far)


def _distance_3d_m(distance_2d_m: Numbers, height_bs_m: Numbers, height_ut_m: Numbers) -> Array:
    return np.hypot(distance_2d_m, height_bs_m - height_ut_m)


def _log_ghz(carrier_hz: Numbers) -> Array:
    return np.log10(np.asarray(carrier_hz) / 1e9)
