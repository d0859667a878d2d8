"""Movements: gains of moving devices to a base station, and when they are present.

A device has one draw of line of sight, environment height and shadowing for the whole trace: it is in sight
while its uniform number is below the probability at its distance (3GPP TR 38.901, Table 7.4.2-1), so at every
instant with that probability, and its shadowing is one normal number times the deviation of its state.

Scope and limitations: horizontal distances, with the heights of the environment. A row has the gains at the
places of its stamp. Clients are the devices in the order of the file, by their numbers where it has numbers.
"""

import math
from typing import Literal

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import shown
from cosim.formats.converted import AnyPath
from cosim.formats.gains import Gains
from cosim.formats.inputs import one_file
from cosim.formats.tracks import tracks_of
from cosim.formats.windows import Stays, Windows
from cosim.radio.propagation.large_scale import LargeScale
from cosim.radio.propagation.pathloss import Environment

Layout = Literal["setdest", "bonnmotion", "bonnmotion-3d", "sumo"]


def moving_gains(
    file: AnyPath,
    *,
    layout: Layout,
    base_x_m: float,
    base_y_m: float,
    lasts_s: float,
    step_s: float = 1.0,
    environment: Environment = "umi",
    carrier_hz: float = 2.4e9,
    shadowing: bool = True,
    sight: Literal["drawn", "always", "never"] = "drawn",
    nearest_m: float = 10.0,
    seed: int = 1,
) -> Gains:
    """Places of ns-2's setdest, BonnMotion or SUMO: gains to a base station, by 3GPP TR 38.901.

    A device that is away has the gain 0.

    Args:
        file: The movements.
        layout: Layout of the file: setdest, bonnmotion (.movements), bonnmotion-3d, or sumo (an FCD output).
        base_x_m: Place of the base station.
        base_y_m: Place of the base station.
        lasts_s: Length of the trace.
        step_s: Time between rows.
        environment: Environment: uma, umi, rma, inh-mixed or inh-open.
        carrier_hz: Carrier frequency.
        shadowing: True if links have shadow fading.
        sight: Line of sight: drawn once for each device, always or never.
        nearest_m: Distance that nearer places count as; the formulas begin at 10 m.
        seed: Seed of the draws, of which each device has its own.

    Raises:
        ConfigurationError: The file does not fit; a distance is outside the range of the environment.
    """
    path = one_file(file)
    if not 0.0 < step_s <= lasts_s < math.inf:
        raise ConfigurationError(
            f"step_s = {step_s:g}: must be above 0, and at most lasts_s = {lasts_s:g}. Use a shorter step."
        )
    tracks = tracks_of(path, layout)
    time_s = step_s * np.arange(math.ceil(lasts_s / step_s - 1e-9), dtype=np.float64)
    place_m = np.stack([track.places_m(time_s) for track in tracks], axis=1)
    away = np.isnan(place_m).any(axis=-1)
    distance_m = np.hypot(place_m[..., 0] - base_x_m, place_m[..., 1] - base_y_m)
    distance_m = np.maximum(np.where(away, nearest_m, distance_m), nearest_m)
    uniform = np.stack([np.random.default_rng([seed, device]).random(5) for device in range(len(tracks))])
    if sight != "drawn":
        uniform[:, 0] = 0.0 if sight == "always" else 1.0
    model = LargeScale(environment=environment, carrier_hz=carrier_hz, shadowing=shadowing)
    try:
        drawn = model.drawn(distance_m, np.broadcast_to(uniform, (*distance_m.shape, 5)))
    except ConfigurationError as error:
        raise ConfigurationError(f"{shown(path)}: {error}") from None
    return Gains(time_s, np.where(away, 0.0, drawn.gain), tuple(track.name for track in tracks))


def moving_windows(file: AnyPath, *, layout: Layout = "sumo") -> Windows:
    """Vehicles of SUMO's FCD output: times at which they are present, from their first step to their last.

    Args:
        file: The movements.
        layout: Layout of the file; nodes of setdest and bonnmotion are always there.

    Raises:
        ConfigurationError: The file does not fit.
    """
    path = one_file(file)
    each = [Stays(track.name, track.windows, None) for track in tracks_of(path, layout)]
    return Windows.of(each, shown(path), skip_absent=False)
