"""Channel gains: coefficients, powers or path losses that a ray tracer or a channel model has computed.

An array of an npz or of a mat file, whose axes are named in their order:

| axis | of each | becomes |
|---|---|---|
| `client` | client | a column |
| `time` | stamp | a row |
| `path` | path between two antennas | a sum of powers, or of coefficients (`paths`) |
| `antenna` | antenna of the edge server | a sum of powers: maximum ratio |
| `client-antenna` | antenna of a client | a mean of powers: its power is divided evenly |
| `one` | what is there once, such as the edge server | left out |

| of | array | axes |
|---|---|---|
| Sionna RT, `paths.cir()[0]`, clients receive | `a` | client client-antenna one antenna path time |
| the same, clients send | `a` | one antenna client client-antenna path time |
| DeepMIMO, powers of a transmitter's paths in dB | `power` | client path, or time path for a walk |
| QuaDRiGa, coefficients of a terminal | `coeff` | client-antenna antenna path time |
| QuaDRiGa, path gains in dB | `pg` | as they are saved |

Where MATLAB has left out a last axis of length 1, so does the list of axes. There is no path where a value is
NaN, or infinite in decibels on the side of no power.

Scope and limitations: gains to one edge server, without delays, so of all frequencies together. Powers of
paths add up, as over a wide band; coefficients add up with their phases, as at the one frequency for which
they hold. MATLAB's files of version 7.3 are HDF5 and are refused.

Source: Sionna RT 1.0, `Paths.cir`; DeepMIMO v4, `power` of shape (users, paths); QuaDRiGa 2.8, `qd_channel`.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean
from cosim.formats.converted import AnyPath
from cosim.formats.factors import check_above_0
from cosim.formats.gains import Gains
from cosim.formats.inputs import one_file
from cosim.formats.mat_arrays import arrays_of
from cosim.tables.arrays import Arrays
from cosim.tables.faults import fault

Quantity = Literal["amplitude", "power", "power_db", "path_loss_db"]
AXES = ("client", "time", "path", "antenna", "client-antenna", "one")
NO_PATH = {"power_db": -math.inf, "path_loss_db": math.inf}
"""Values of quantities in dB where there is no path, besides NaN."""
STRONGEST, FAINTEST_DB = 1.0, -170.0
"""Power gain that none is above, and the one that the strongest is above, or the quantity is another one.
[no source: the second is the loss in free space of 3,000 km at 2.4 GHz]"""


def channel_gains(
    file: AnyPath,
    *,
    quantity: Quantity,
    axes: str,
    array: str | None = None,
    paths: Literal["powers", "phases"] = "powers",
    step_s: float | None = None,
) -> Gains:
    """Gains of a ray tracer or a channel model: an array of an npz or mat file, with its axes by name.

    Args:
        file: The file, npz or mat.
        quantity: What the array holds: amplitudes or complex coefficients, powers, powers in dB, or path
            losses in dB.
        axes: Names of its axes in their order, separated by blanks: client, time, path, antenna (of the edge
            server), client-antenna, one.
        array: Its name. None means the only one beside time_s.
        paths: What adds up over paths: their powers, or the coefficients with their phases.
        step_s: Time between rows. None means the array time_s.

    Raises:
        ConfigurationError: The file does not fit, or a value is of another quantity than that.
    """
    path = one_file(file)
    arrays = arrays_of(path)
    names = [name for name in arrays.names if name != "time_s"]
    if array is None and len(names) != 1:
        raise fault(path, f"has the arrays {', '.join(names) or 'time_s'}", "array = the name of one of them")
    name = names[0] if array is None else array
    values = arrays.values(name)
    words = axes.split()
    _check_axes(path, name, words, values.shape)
    if paths == "phases" and not np.iscomplexobj(values):
        what = f"array {name!r} is of type {values.dtype}, which has no phases"
        raise fault(path, what, "paths = powers, or complex coefficients")
    _check_quantity(path, name, values, quantity)
    gain = _combined(values, words, quantity, paths)
    time_s = _times_s(path, arrays, len(gain), step_s)
    return Gains(time_s, gain, tuple(map(str, range(gain.shape[1]))))


def _check_axes(path: Path, name: str, words: Sequence[str], shape: tuple[int, ...]) -> None:
    """Refuse words that do not name the axes of an array."""
    for word in words:
        if word not in AXES:
            raise ConfigurationError(
                f"axes: {word!r} is no axis.{did_you_mean(word, AXES)} Use {', '.join(AXES)}."
            )
    for word in AXES:
        if words.count(word) > 1 and word != "one":
            raise ConfigurationError(f"axes: {word} appears {words.count(word)} times. Use it once.")
    if len(words) != len(shape):
        what = f"array {name!r} has shape {shape}, and axes names {len(words)}: {' '.join(words) or 'none'}"
        raise fault(path, what, f"{len(shape)} names")
    for word, length in zip(words, shape, strict=True):
        if word == "one" and length != 1:
            what = f"array {name!r} has shape {shape}, and axis one has length {length}"
            raise fault(
                path, what, f"values[:, k] of one of the {length}, or its name among {', '.join(AXES)}"
            )
    if 0 in shape:
        raise fault(path, f"array {name!r} has shape {shape}, and no values", "an array with values")


def _check_quantity(path: Path, name: str, values: NDArray[Any], quantity: Quantity) -> None:
    """Refuse values that cannot be of a quantity; name the one that they are likely of."""

    def refuse(wrong: NDArray[np.bool_], what: str, instead: str) -> None:
        if wrong.any():
            place = np.unravel_index(int(wrong.argmax()), wrong.shape)
            where = f"{name}[{', '.join(map(str, place))}]"
            raise fault(path, f"{where}: {sizes[place]:g} {what}", instead)

    if np.iscomplexobj(values) and quantity != "amplitude":
        what = f"array {name!r} holds complex coefficients, and no {quantity}"
        raise fault(path, what, "quantity = amplitude")
    sizes = np.abs(values) if np.iscomplexobj(values) else values
    is_none = np.isnan(sizes) | (sizes == NO_PATH.get(quantity, math.nan))
    if is_none.all():
        raise fault(path, f"array {name!r} has no path anywhere", "an array with finite values")
    median = float(np.median(sizes[~is_none]))
    refuse(np.isinf(sizes) & ~is_none, "is infinite", "NaN where there is no path")
    if quantity not in NO_PATH:
        likely = "power_db" if median < -20.0 else "amplitude, and complex coefficients as they are"
        refuse(sizes < 0.0, f"is no {quantity}, which is 0 or above", f"quantity = {likely}")
    power = _powers(sizes, quantity)
    strongest_db = 10.0 * math.log10(min(power.max(), 1e300)) if power.max() > 0.0 else -math.inf
    likely = "gains relative to the power that is sent"
    if quantity == "path_loss_db":
        likely = "quantity = power_db"
    elif quantity == "power_db" or 30.0 <= median <= 250.0:
        likely = "quantity = path_loss_db"
    refuse(power > STRONGEST, f"is a power gain above 0 dB, as {quantity}", likely)
    if strongest_db < FAINTEST_DB:
        what = f"array {name!r} is at most a power gain of {strongest_db:.4g} dB, as {quantity}"
        likely = {"amplitude": "power", "power": "amplitude"}.get(quantity, "power or amplitude")
        raise fault(path, what, f"quantity = {likely}, or gains that are not scaled")


def _powers(values: NDArray[np.float64], quantity: Quantity) -> NDArray[np.float64]:
    """Linear power gains of magnitudes, 0 where there is no path."""
    with np.errstate(over="ignore"):
        match quantity:
            case "amplitude":
                found = values**2
            case "power":
                found = values
            case "power_db":
                found = 10.0 ** (values / 10.0)
            case "path_loss_db":
                found = 10.0 ** (-values / 10.0)
    return np.where(np.isnan(found), 0.0, found)


def _combined(
    values: NDArray[Any], words: Sequence[str], quantity: Quantity, paths: str
) -> NDArray[np.float64]:
    """Power gains, shape (rows, clients)."""
    order = {word: axis for axis, word in enumerate(words)}
    if paths == "phases" and "path" in order:
        values = np.nan_to_num(values).sum(axis=order["path"], keepdims=True)
    gain: Any = _powers(np.abs(values) if np.iscomplexobj(values) else values, quantity)
    for word in ("path", "antenna"):
        if word in order:
            gain = gain.sum(axis=order[word], keepdims=True)
    if "client-antenna" in order:
        gain = gain.mean(axis=order["client-antenna"], keepdims=True)
    kept = [order[word] for word in ("time", "client") if word in order]
    gain = np.moveaxis(gain, kept, range(len(kept))).reshape([gain.shape[axis] for axis in kept])
    if "time" not in order:
        gain = gain[None]
    return gain if "client" in order else gain[:, None]


def _times_s(path: Path, arrays: Arrays, num_rows: int, step_s: float | None) -> NDArray[np.float64]:
    """Stamps of the rows, from 0."""
    if step_s is not None:
        if "time_s" in arrays.names:
            raise fault(path, "has the array time_s, and step_s is given, too", "step_s = None")
        check_above_0("step_s", step_s, "the time between two rows")
        return step_s * np.arange(num_rows, dtype=np.float64)
    if "time_s" not in arrays.names:
        if num_rows == 1:
            return np.zeros(1)
        raise fault(path, f"has {num_rows} rows and no array time_s", "step_s = the time between rows")
    time_s = arrays.values("time_s").ravel()
    if np.iscomplexobj(time_s) or len(time_s) != num_rows:
        what = f"time_s has {len(time_s)} values of type {time_s.dtype}, and there are {num_rows} rows"
        raise fault(path, what, "one time for each row, in s")
    wrong = ~(np.append(True, np.diff(time_s) > 0.0) & np.isfinite(time_s))
    if wrong.any():
        place = int(wrong.argmax())
        raise fault(
            path, f"time_s[{place}]: {time_s[place]:g} is not after the one before", "ascending times"
        )
    return time_s - time_s[0]
