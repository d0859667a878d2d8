"""Vectors of OMNeT++: what `opp_scavetool export -F CSV-R` writes, as INET's and Simu5G's statistics.

| column | |
|---|---|
| `run`, `type`, `module`, `name` | of a vector: type vector |
| `attrname`, `attrvalue` | of a row of type attr: the vector's unit, for one |
| `vectime`, `vecvalue` | all its times in s and its values, between blanks |

A value stands for the interval that its time ends: so a statistic such as a throughput is recorded.

Source: the manual of OMNeT++, "Result Recording and Analysis", and the help of opp_scavetool.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.files.on_disk import shown
from cosim.formats.converted import AnyPath
from cosim.formats.factors import check_above_0
from cosim.formats.inputs import device_of, files_of
from cosim.formats.rates import Rates, Steps
from cosim.tables.read import table_of
from cosim.tables.table import Table
from cosim.tables.text_column import number_of

_UNITS_BPS = {
    "bps": 1.0,
    "b/s": 1.0,
    "bit/s": 1.0,
    "kbps": 1e3,
    "Mbps": 1e6,
    "Gbps": 1e9,
    "Bps": 8.0,
    "B/s": 8.0,
}
"""Units that OMNeT++ knows -> bit/s."""


class _Vector(NamedTuple):
    """A vector, and its row."""

    row: int
    run: str
    module: str


def omnetpp(
    *files: AnyPath,
    name: str = "throughput:vector",
    run: str | None = None,
    device: str | None = None,
    unit_bps: float | None = None,
    start_s: float | None = None,
) -> Rates:
    """Vectors of OMNeT++ as CSV-R: a value is of the interval that its time ends.

    Args:
        files: Exports of opp_scavetool, or folders of them; each module is a client.
        name: Of the vectors.
        run: Of the vectors. None means that the file has one run.
        device: Regular expression, whose first group within a module's path is the client's name, such as
            "ue.(\\d+)". None means the whole path.
        unit_bps: Unit of the values. None means the vector's attribute unit.
        start_s: Start of the first interval. None means that it is as long as the second one.

    Raises:
        ConfigurationError: There is no such vector; several runs have it; its unit is not known.
    """
    paths, found = files_of(files), dict[str, Steps]()
    if unit_bps is not None:
        check_above_0("unit_bps", unit_bps, "1 for bit/s, or 1e6 for Mbit/s")
    for client, path in paths.items():
        table = table_of(path)
        table.check_columns("run", "type", "module", "name", "vectime", "vecvalue")
        times, values = table.texts("vectime"), table.texts("vecvalue")
        for vector in _vectors(table, name, run):
            own = device_of(client, _device(table, vector, device), len(paths))
            if own in found:
                what = f"is another vector of {short(own)}"
                raise table.fault(vector.row, "module", what, "an expression that tells modules apart")
            unit = _unit_bps(table, vector, name) if unit_bps is None else unit_bps
            texts = times[vector.row], values[vector.row]
            found[own] = _steps(table, vector.row, texts, unit, start_s)
    return Rates.of(found)


def _vectors(table: Table, name: str, run: str | None) -> Iterator[_Vector]:
    """The vectors of a name, of one run."""
    kinds, names, runs, modules = (table.texts(column) for column in ("type", "name", "run", "module"))
    rows = [row for row, kind in enumerate(kinds) if kind == "vector"]
    own = [row for row in rows if names[row] == name and run in (None, runs[row])]
    if not own:
        known = sorted({names[row] for row in rows})
        among = f"its vectors are {short(', '.join(known))}" if rows else "it has no vectors at all"
        of_run = "" if run is None else f" in run {short(run)}"
        raise ConfigurationError(
            f"{shown(table.path)}: has no vector {name!r}{of_run}; {among}. Use name with one of them."
        )
    several = sorted({runs[row] for row in own})
    if len(several) > 1:
        raise ConfigurationError(
            f"{shown(table.path)}: has {len(several)} runs, such as {short(several[0])}. Use run with "
            "one of them."
        )
    for row in own:
        yield _Vector(row, runs[row], modules[row])


def _device(table: Table, vector: _Vector, device: str | None) -> str:
    """Name of the client of a module."""
    if device is None:
        return vector.module
    try:
        match = re.search(device, vector.module)
        named = match and match[1]
    except (re.error, IndexError) as error:
        raise ConfigurationError(
            f"device = {device!r}: is no expression with a group ({error}). Use one such as ue.(\\d+)."
        ) from None
    if not named:
        what = f"{short(vector.module)} has nothing like {device}"
        raise table.fault(vector.row, "module", what, "an expression that every module has, or none")
    return named


def _unit_bps(table: Table, vector: _Vector, name: str) -> float:
    """Unit of a vector, by its attribute."""
    said = ""
    if "attrname" in table.columns and "attrvalue" in table.columns:
        columns = zip(
            *(table.texts(of) for of in ("run", "module", "name", "attrname", "attrvalue")), strict=True
        )
        of = (vector.run, vector.module, name, "unit")
        said = next((value for *key, value in columns if tuple(key) == of), "")
    if said not in _UNITS_BPS:
        what = (
            f"{short(vector.module)} has the unit {short(said)}"
            if said
            else f"{short(vector.module)} has no unit"
        )
        raise table.fault(vector.row, "name", what, "unit_bps = 1 for bit/s, or 1e6 for Mbit/s")
    return _UNITS_BPS[said]


def _steps(table: Table, row: int, texts: tuple[str, str], unit_bps: float, start_s: float | None) -> Steps:
    time_s = _numbers(table, row, "vectime", texts[0])
    values = _numbers(table, row, "vecvalue", texts[1])
    if len(time_s) != len(values) or not len(time_s):
        what = f"has {len(time_s)} times and {len(values)} values"
        raise table.fault(row, "vectime", what, "a whole export of opp_scavetool")
    if start_s is None:
        start_s = max(0.0, float(2.0 * time_s[0] - time_s[1])) if len(time_s) > 1 else 0.0
    edges_s = np.append(start_s, time_s) - start_s
    if not (np.diff(edges_s) > 0.0).all():
        place = int((np.diff(edges_s) <= 0.0).argmax())
        before_s = time_s[place - 1] if place else start_s
        what = f"{time_s[place]:g} s is not after {before_s:g} s"
        raise table.fault(row, "vectime", what, "times in order, and a start_s before the first")
    return Steps(edges_s[:-1], unit_bps * values, float(edges_s[-1]))


def _numbers(table: Table, row: int, column: str, text: str) -> NDArray[np.float64]:
    """The numbers of a cell, 0 or above."""
    words = text.split()
    found = np.array([number_of(word) for word in words], dtype=np.float64)
    wrong = ~((found >= 0.0) & (found < np.inf))
    if wrong.any():
        what = f"{short(repr(words[int(wrong.argmax())]))} is no number of 0 or above"
        raise table.fault(row, column, what, "a vector of times and rates")
    return found
