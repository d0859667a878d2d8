"""Large-scale channel of 3GPP TR 38.901: line of sight, environment height and shadowing, drawn per link.

`LargeScale` holds the common parameters of an environment; `draw` gives each link its LOS state, its path
loss and its shadow fading, once for a drop of terminals.

Scope and limitations: links are independent. The TR's correlations (of shadowing in space, and between base
stations of one site) are left out, so redraw when terminals move far, not at each step. For terminals of UMa
above 13 m the environment height is one of 12, 15, ... up to the terminal's height minus 1.5 m; between
13 and 13.5 m that set is empty and 1 m is used. See `pathloss` for ranges and further omissions.

Every link takes five uniform numbers in any case, in the order of the links: moving a terminal, adding one at
the end, or switching the shadowing off leaves all other draws unchanged.

Usage::

    draw = LargeScale(environment="umi").draw(distance_2d_m, rng)
    received_w = transmit_w * draw.gain

Validation: tests compare LOS probability, sigma and environment heights with the tables by exact intervals.

Source: 3GPP TR 38.901 V17.0.0 (Release 17), ETSI TR 138 901 V17.0.0 (2022-04), Tables 7.4.1-1 and 7.4.2-1.
"""

import math
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import ArrayLike

from cosim.configuration import between, knob, part, positive, refuse
from cosim.radio.propagation.pathloss import (
    LOW_ENVIRONMENT_HEIGHT_M,
    Array,
    Environment,
    Flags,
    Numbers,
    inh_db,
    refuse_outside,
    rma_breakpoint_m,
    rma_db,
    shadowing_sigma_db,
    uma_db,
    umi_db,
)
from cosim.units import db_to_linear

STANDARD_HEIGHTS_M = {
    "uma": (25.0, 1.5),
    "umi": (10.0, 1.5),
    "rma": (35.0, 1.5),
    "inh-mixed": (3.0, 1.0),
    "inh-open": (3.0, 1.0),
}
"""Antenna heights: base station, terminal. [3GPP TR 38.901, Tables 7.2-1, 7.2-2 and 7.2-3]"""

STANDARD_SURROUNDINGS_M = {"street_width_m": 20.0, "building_height_m": 5.0}
"""Averages in rma. [3GPP TR 38.901, Table 7.4.1-1]"""


class LargeScaleDraw(NamedTuple):
    """Result of `LargeScale.draw`: arrays with the shape of the distances.

    Attributes:
        path_loss_db: Path loss without shadow fading.
        is_los: True if the link has a line of sight.
        shadowing_db: Shadow fading, a loss if above zero.
        environment_height_m: Effective environment height; NaN for RMa and InH, which have none.
    """

    path_loss_db: Array
    is_los: Flags
    shadowing_db: Array
    environment_height_m: Array

    @property
    def gain(self) -> Array:
        """Channel power gain, shadow fading included."""
        return db_to_linear(-(self.path_loss_db + self.shadowing_db))  # type: ignore[arg-type, return-value]


@part
class LargeScale:
    """An environment with its carrier frequency, heights and surroundings.

    Attributes:
        environment: Urban macro, urban micro (street canyon), rural macro, mixed or open indoor office.
            [3GPP TR 38.901, clause 7.2]
        carrier_hz: Carrier frequency. [RawHFL, Section V-A]
        height_bs_m: Base station's antenna height; None means 25 (uma), 10 (umi), 35 (rma) or 3 (inh).
            [3GPP TR 38.901, Tables 7.2-1, 7.2-2 and 7.2-3]
        height_ut_m: Terminal's antenna height; None means 1.5 outdoors and 1 indoors.
            [3GPP TR 38.901, Tables 7.2-1, 7.2-2 and 7.2-3]
        street_width_m: Average street width, in rma only; None means 20. [3GPP TR 38.901, Table 7.4.1-1]
        building_height_m: Average building height, in rma only; None means 5. [3GPP TR 38.901, Table 7.4.1-1]
        shadowing: True if links have shadow fading. [3GPP TR 38.901, clause 7.4.1]
    """

    environment: Environment
    carrier_hz: float = knob(positive, default=2.4e9)
    height_bs_m: float | None = knob(positive, between(0.0, 1e4), default=None)
    height_ut_m: float | None = knob(positive, default=None)
    street_width_m: float | None = knob(positive, default=None)
    building_height_m: float | None = knob(positive, default=None)
    shadowing: bool = True

    def __attrs_post_init__(self) -> None:
        """Refuse values outside the environment's ranges before any link exists; 10 m is in all ranges."""
        for name in STANDARD_SURROUNDINGS_M if self.environment != "rma" else ():
            if (value := getattr(self, name)) is not None:
                rule = f"has no effect in {self.environment}"
                raise refuse("LargeScale", name, value, rule, "Leave it out, or use environment = rma.")
        num_heights = num_high_environment_heights(self.heights_m[1])
        highest_m = 12.0 + 3.0 * (num_heights - 1) if num_heights else LOW_ENVIRONMENT_HEIGHT_M
        self.path_loss_db(10.0, True, highest_m)

    @property
    def heights_m(self) -> tuple[float, float]:
        """Antenna heights of base station and terminal."""
        standard_bs_m, standard_ut_m = STANDARD_HEIGHTS_M[self.environment]
        return (
            standard_bs_m if self.height_bs_m is None else self.height_bs_m,
            standard_ut_m if self.height_ut_m is None else self.height_ut_m,
        )

    def rows(self, rng: np.random.Generator, num: int) -> Array:
        """Five uniform numbers for each link, shape (num, 5)."""
        return rng.random((num, 5))

    def draw(self, distance_2d_m: ArrayLike, rng: np.random.Generator) -> LargeScaleDraw:
        """Draw each link's LOS state, environment height and shadowing (see `drawn`)."""
        return self.drawn(distance_2d_m, rng.random((*np.shape(distance_2d_m), 5)))

    def drawn(self, distance_2d_m: ArrayLike, uniform: Array) -> LargeScaleDraw:
        """LOS state, environment height and shadowing of each link.

        Args:
            distance_2d_m: Horizontal distance from base station to terminal, any shape.
            uniform: Five numbers from 0 to 1 for each link (`rows`), shape (..., 5).

        Raises:
            OutOfRange: A distance is outside the environment's range.
        """
        distance_2d_m = np.asarray(distance_2d_m, dtype=float)
        self.check(distance_2d_m)
        height_bs_m, height_ut_m = self.heights_m
        u_los, u_high, u_height, u_radius, u_angle = np.moveaxis(uniform, -1, 0)

        is_los = u_los < los_probability(self.environment, distance_2d_m, height_ut_m)
        environment_height_m = np.full(distance_2d_m.shape, np.nan)
        if self.environment == "umi":
            environment_height_m = np.full(distance_2d_m.shape, LOW_ENVIRONMENT_HEIGHT_M)
        elif self.environment == "uma":
            num_heights = num_high_environment_heights(height_ut_m)
            high_m = 12.0 + 3.0 * np.floor(u_height * num_heights)
            is_low = u_high < 1.0 / (1.0 + high_terminal_factor(distance_2d_m, height_ut_m))
            environment_height_m = np.where(is_low | (num_heights == 0), LOW_ENVIRONMENT_HEIGHT_M, high_m)

        # Box-Muller instead of the generator's own normal numbers, which take a varying share of the stream.
        normal = np.sqrt(-2.0 * np.log1p(-u_radius)) * np.cos(2.0 * np.pi * u_angle)
        is_past_breakpoint = distance_2d_m > rma_breakpoint_m(self.carrier_hz, height_bs_m, height_ut_m)
        sigma_db = shadowing_sigma_db(self.environment, is_los, is_past_breakpoint)
        return LargeScaleDraw(
            path_loss_db=self.path_loss_db(distance_2d_m, is_los, environment_height_m),
            is_los=is_los,
            shadowing_db=sigma_db * normal if self.shadowing else np.zeros(distance_2d_m.shape),
            environment_height_m=environment_height_m,
        )

    def check(self, distance_2d_m: Array) -> None:
        """Refuse distances outside the environment's range.

        Raises:
            OutOfRange: For the first of them.
        """
        # RMa reaches further with a line of sight; whether a link is refused must not depend on its draw.
        self.path_loss_db(distance_2d_m, False, LOW_ENVIRONMENT_HEIGHT_M)

    def path_loss_db(self, distance_2d_m: Numbers, is_los: Flags, environment_height_m: Numbers) -> Array:
        """Path loss without shadow fading; the environment height is used in UMa only."""
        height_bs_m, height_ut_m = self.heights_m
        link: dict[str, Any] = {
            "carrier_hz": self.carrier_hz,
            "distance_2d_m": distance_2d_m,
            "height_bs_m": height_bs_m,
            "height_ut_m": height_ut_m,
            "is_los": is_los,
        }
        match self.environment:
            case "uma":
                return uma_db(**link, environment_height_m=environment_height_m)
            case "umi":
                return umi_db(**link)
            case "rma":
                for name, usual in STANDARD_SURROUNDINGS_M.items():
                    link[name] = getattr(self, name) or usual
                return rma_db(**link)
            case "inh-mixed" | "inh-open":
                return inh_db(**link)


def los_probability(environment: Environment, distance_2d_m: Numbers, height_ut_m: Numbers) -> Array:
    """Probability of a line of sight; the height is used in UMa only. [3GPP TR 38.901, Table 7.4.2-1]

    UMa's formula exceeds 1 by up to 0.6 % just beyond 18 m for terminals above 13 m; it is clipped to 1.
    """
    d = np.asarray(distance_2d_m, dtype=float)
    beyond_18 = np.maximum(d, 18.0)
    match environment:
        case "uma":
            low_terminal = 18.0 / beyond_18 + np.exp(-beyond_18 / 63.0) * (1.0 - 18.0 / beyond_18)
            return np.minimum(low_terminal * (1.0 + high_terminal_factor(d, height_ut_m)), 1.0)
        case "umi":
            return 18.0 / beyond_18 + np.exp(-beyond_18 / 36.0) * (1.0 - 18.0 / beyond_18)
        case "rma":
            return np.exp(-np.maximum(d - 10.0, 0.0) / 1000.0)
        case "inh-mixed":
            near = np.exp(-np.maximum(d - 1.2, 0.0) / 4.7)
            return np.where(d < 6.5, near, 0.32 * np.exp(-np.maximum(d - 6.5, 0.0) / 32.6))
        case "inh-open":
            near = np.exp(-np.maximum(d - 5.0, 0.0) / 70.8)
            return np.where(d <= 49.0, near, 0.54 * np.exp(-np.maximum(d - 49.0, 0.0) / 211.7))
        case _:
            assert_never(environment)


def high_terminal_factor(distance_2d_m: Numbers, height_ut_m: Numbers) -> Array:
    """C(d2D, hUT) of UMa, above 0 for terminals above 13 m. [3GPP TR 38.901, Table 7.4.1-1, Note 1]

    Table 7.4.2-1 multiplies the LOS probability by one plus the same number, there written with C'(hUT).
    """
    refuse_outside("uma", "height_ut_m", height_ut_m, 0.0, 23.0)
    height = np.maximum((np.asarray(height_ut_m) - 13.0) / 10.0, 0.0) ** 1.5
    d = np.asarray(distance_2d_m, dtype=float)
    return np.where(d > 18.0, height * 1.25 * (d / 100.0) ** 3 * np.exp(-d / 150.0), 0.0)


def num_high_environment_heights(height_ut_m: float) -> int:
    """Number of heights 12, 15, 18, ... m up to the terminal's height minus 1.5 m."""
    return max(0, 1 + math.floor((height_ut_m - 13.5) / 3.0))
