"""Floating cars: SUMO's FCD output, places of vehicles and persons at each step, as XML, csv or Parquet.

| file | |
|---|---|
| `.csv`, `.csv.gz`, `.parquet` | of SUMO 1.24, and of xml2csv: columns timestep_time, vehicle_id, ... |
| any other | XML, also `.gz` |

A table has no row of a step without vehicles, so steps are as far apart as its two nearest; the ones between
that are missing are steps at which none is there.

Source: SUMO's pages FCDOutput and TabularOutputs.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from cosim.configuration.rules import short
from cosim.formats.track import FASTEST_M_PER_S, Track
from cosim.tables.content import content_of
from cosim.tables.faults import fault, unreadable
from cosim.tables.read import KINDS, table_of
from cosim.tables.table import Table
from cosim.tables.text import table_of_text

TIME, MOVING = "timestep_time", ("vehicle", "person")
Name = tuple[str, str]
"""Element and id: a vehicle and a person may have the same id."""


class Seen(NamedTuple):
    """A vehicle or a person at a step.

    Attributes:
        step: Number of the step, from 0.
        x_m: Place.
        y_m: Place.
        m_per_s: Speed; None if it is not known.
    """

    step: int
    x_m: float
    y_m: float
    m_per_s: float | None


def sumo_tracks(path: Path) -> list[Track]:
    """Ways of the vehicles and persons of an FCD output, in the order in which they come."""
    steps_s, seen = _of_table(path) if path.name.endswith(KINDS) else _of_xml(path)
    if len(steps_s) < 2 or not seen:
        what = f"has {len(steps_s)} steps, and {len(seen)} vehicles"
        raise fault(path, what, "an output with two or more steps")
    ends_s = [*steps_s[1:], 2.0 * steps_s[-1] - steps_s[-2]]
    return [_of_vehicle(path, name, own, steps_s, ends_s) for (_, name), own in seen.items()]


def _of_xml(path: Path) -> tuple[Sequence[float], Mapping[Name, Sequence[Seen]]]:
    """Times of the steps, and vehicles and persons by their names."""
    steps_s: list[float] = []
    seen: dict[Name, list[Seen]] = {}
    parser = expat.ParserCreate()

    def number(values: dict[str, str], key: str, *, least: float = -math.inf) -> float:
        try:
            found = float(values[key])
        except (KeyError, ValueError):
            found = math.nan
        if not least <= found < math.inf:
            what = f"{key} is {values.get(key, 'not there')}, and no number"
            raise fault(path, what, "--fcd-output.attributes x,y,speed", row=parser.CurrentLineNumber)
        return found

    def begin(tag: str, values: dict[str, str]) -> None:
        if tag == "timestep":
            steps_s.append(number(values, "time", least=0.0))
            if len(steps_s) > 1 and steps_s[-1] <= steps_s[-2]:
                what = f"time {steps_s[-1]:g} is not after {steps_s[-2]:g}"
                raise fault(path, what, "steps in order", row=parser.CurrentLineNumber)
        elif tag in MOVING and steps_s:
            speed = number(values, "speed", least=0.0) if "speed" in values else None
            own = seen.setdefault((tag, values.get("id", "")), [])
            own.append(Seen(len(steps_s) - 1, number(values, "x"), number(values, "y"), speed))
        elif tag not in ("fcd-export", "container"):
            what = f"<{short(tag)}> is no element of an FCD output"
            raise fault(path, what, "the file of sumo --fcd-output", row=parser.CurrentLineNumber)

    def refuse(*_: object) -> None:
        raise fault(path, "declares a document type, which FCD outputs do not", "the file of --fcd-output")

    parser.StartElementHandler, parser.StartDoctypeDeclHandler = begin, refuse
    try:
        parser.Parse(content_of(path), True)
    except expat.ExpatError as error:
        raise unreadable(path, error, "a whole XML file of sumo --fcd-output") from None
    return steps_s, seen


def _of_table(path: Path) -> tuple[Sequence[float], Mapping[Name, Sequence[Seen]]]:
    """Times of the steps, and vehicles and persons by their names."""
    if path.name.endswith(".parquet"):
        table = table_of(path)
    else:
        table = table_of_text(path, ";" if b";" in content_of(path).partition(b"\n")[0] else ",")
    time_s = table.numbers(TIME)
    goes_back = np.append(False, np.diff(time_s) < 0.0)
    table.check(TIME, goes_back, "is before the row above", "steps in order")
    which = _steps(table, time_s)
    seen: dict[Name, list[Seen]] = {}
    for name, row, x_m, y_m, m_per_s in sorted(_rows(table), key=lambda of: of[1]):
        seen.setdefault(name, []).append(Seen(int(which[row]), x_m, y_m, m_per_s))
    steps = np.unique(which)
    at_s = np.interp(np.arange(steps[-1] + 1), steps, np.unique(time_s))
    return at_s.tolist(), seen


def _steps(table: Table, time_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number of the step of each row, from 0, as far apart as the nearest two, shape (rows,)."""
    each = np.unique(time_s)
    if len(each) < 2:
        return np.zeros(len(time_s), dtype=np.int64)
    step_s = float(np.diff(each).min())
    numbers = (time_s - each[0]) / step_s
    odd = np.abs(numbers - np.round(numbers)) > 0.01
    what = f"is no whole number of steps of {step_s:g} s after the first"
    table.check(TIME, odd, what, "an output with steps of one length")
    return np.round(numbers).astype(np.int64)


def _rows(table: Table) -> Iterator[tuple[Name, int, float, float, float | None]]:
    """Name, row, place and speed of all that are there, kind by kind."""
    kinds = [kind for kind in MOVING if f"{kind}_id" in table.columns]
    if not kinds:
        table.check_columns(f"{MOVING[0]}_id")
    for kind in kinds:
        names = table.texts(f"{kind}_id")
        x_m, y_m = (table.numbers(f"{kind}_{axis}", least=-math.inf, gaps=True) for axis in "xy")
        speed = f"{kind}_speed"
        known = table.numbers(speed, gaps=True) if speed in table.columns else np.full(len(x_m), np.nan)
        is_named = np.array([bool(name) for name in names])
        for axis, values in zip("xy", (x_m, y_m), strict=True):
            lacks = is_named & ~np.isfinite(values)
            table.check(f"{kind}_{axis}", lacks, "is no place", "--fcd-output.attributes x,y,speed")
        for row in np.flatnonzero(is_named).tolist():
            m_per_s = None if np.isnan(known[row]) else float(known[row])
            yield (kind, names[row]), row, float(x_m[row]), float(y_m[row]), m_per_s


def _of_vehicle(
    path: Path, name: str, own: Sequence[Seen], steps_s: Sequence[float], ends_s: Sequence[float]
) -> Track:
    """Path of a vehicle, whose speeds are checked against its positions."""
    windows: list[tuple[float, float]] = []
    moved_m = said_m = 0.0
    for one, other in itertools.pairwise([None, *own]):
        assert other is not None
        if one is not None and other.step == one.step:
            raise fault(path, f"{name} appears twice at {steps_s[other.step]:g} s", "one place at a step")
        if one is not None and other.step == one.step + 1:
            windows[-1] = windows[-1][0], ends_s[other.step]
            moved_m += math.hypot(other.x_m - one.x_m, other.y_m - one.y_m)
            said_m += (other.m_per_s or 0.0) * (steps_s[other.step] - steps_s[one.step])
        else:
            windows.append((steps_s[other.step], ends_s[other.step]))
    lasts_s = sum(to_s - from_s for from_s, to_s in windows)
    if moved_m > FASTEST_M_PER_S * lasts_s:
        raise fault(path, f"{name} moves {moved_m:g} m in {lasts_s:g} s", "places in m")
    if said_m > 10.0 and moved_m < 0.5 * said_m:
        what = f"{name} moves {moved_m:.3g} m, and its speeds make {said_m:.3g} m"
        instead = "places in m, without --fcd-output.geo" if moved_m < 0.01 * said_m else "speeds in m/s"
        raise fault(path, what, instead)
    return Track(name, [(steps_s[one.step], one.x_m, one.y_m) for one in own], windows)
