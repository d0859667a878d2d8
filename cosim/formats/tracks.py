"""Tracks: the ways of devices, as lines between points at known times, in three layouts of files.

| layout | line or element | |
|---|---|---|
| `setdest` | `$node_(0) set X_ 83.4` | where a node begins, likewise Y_; Z_ is ignored |
| | `$ns_ at 2.0 "$node_(0) setdest 90.4 44.8 1.37"` | at 2 s it sets out at 1.37 m/s, and stays there |
| `bonnmotion` | `0.0 5.0 5.0 10.0 9.0 5.0` | a node: times and places in turn; it stays at the last |
| `sumo` | `<timestep time="0.00"><vehicle id="a" x="5.0" y="5.0" speed="13.9"/>` | places in m at each step |

A node of the first two is there all the time. A vehicle is there from its first step to the end of its last;
where it is missing in between it is away.

Source: The ns Manual, "Mobile Networking in ns"; BonnMotion's manual, .movements; SUMO's page of FCDOutput.
"""

import itertools
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.files.on_disk import shown
from cosim.files.tables.content import content_of
from cosim.files.tables.faults import fault, unreadable
from cosim.formats.text_lines import Line, lines_of

FASTEST_M_PER_S = 100.0
"""Speed beyond which places or speeds are in another unit: 360 km/h. [no source]"""
_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_BEGINS = re.compile(rf"\$node_\((\d+)\) set ([XYZ])_ {_NUMBER}")
_MOVES = re.compile(rf'\$ns_? at {_NUMBER} "\$node_\((\d+)\) setdest {_NUMBER} {_NUMBER} {_NUMBER}"')
Point = tuple[float, float, float]
"""Time in s, x and y in m."""


class Track(NamedTuple):
    """Way of a device.

    Attributes:
        name: Its name in the file.
        points: Times and places, ascending, between which it moves evenly.
        windows: Begins and ends of its stays, in s.
    """

    name: str
    points: Sequence[Point]
    windows: Sequence[tuple[float, float]]

    def places_m(self, time_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Places at times, NaN while it is away, shape (times, 2)."""
        known_s, x_m, y_m = np.array(self.points).T
        found = np.stack([np.interp(time_s, known_s, x_m), np.interp(time_s, known_s, y_m)], axis=-1)
        there = np.zeros(len(time_s), dtype=bool)
        for from_s, to_s in self.windows:
            there |= (from_s <= time_s) & (time_s < to_s)
        found[~there] = np.nan
        return found


def setdest_tracks(path: Path) -> list[Track]:
    """Ways of the nodes of a script for ns-2, by their numbers."""
    begins: dict[int, dict[str, float]] = {}
    legs: dict[int, list[tuple[float, float, float, float]]] = {}
    for line in lines_of(path):
        text = " ".join(line.words)
        if text.startswith(("#", "$god_")):
            continue
        if found := _BEGINS.fullmatch(text):
            begins.setdefault(int(found[1]), {})[found[2]] = _finite(line, found[3])
        elif found := _MOVES.fullmatch(text):
            at_s, x_m, y_m, m_per_s = (_finite(line, found[k]) for k in (1, 3, 4, 5))
            own = legs.setdefault(int(found[2]), [])
            if not 0.0 <= m_per_s <= FASTEST_M_PER_S:
                raise line.fault(f"{m_per_s:g} m/s is {3.6 * m_per_s:g} km/h", "speeds in m/s")
            if at_s < (own[-1][0] if own else 0.0):
                raise line.fault(f"{at_s:g} s is before the line above of this node", "lines in order")
            own.append((at_s, x_m, y_m, m_per_s))
        else:
            raise line.fault(f"{short(repr(text))} is no movement", "a line such as $node_(0) set X_ 83.4")
    each = []
    for node in sorted({*begins, *legs}):
        if not {"X", "Y"} <= {*begins.get(node, {})}:
            what = f"node {node} has no place to begin"
            raise fault(path, what, f"lines $node_({node}) set X_ and Y_")
        points = [(0.0, begins[node]["X"], begins[node]["Y"])]
        for at_s, x_m, y_m, m_per_s in legs.get(node, []):
            points = _until(points, at_s)
            length_m = math.hypot(x_m - points[-1][1], y_m - points[-1][2])
            if length_m and m_per_s:
                points.append((at_s + length_m / m_per_s, x_m, y_m))
        each.append(Track(str(node), points, [(0.0, math.inf)]))
    return each


def _finite(line: Line, word: str) -> float:
    """A number of a line, of which one such as 1e400 is refused."""
    number = float(word)
    if math.isinf(number):
        raise line.fault(f"{short(word)} is no finite number", "times in s and places in m")
    return number


def _until(points: list[Point], at_s: float) -> list[Point]:
    """A way up to an instant, with the place at it."""
    known_s, x_m, y_m = np.array(points).T
    here = at_s, float(np.interp(at_s, known_s, x_m)), float(np.interp(at_s, known_s, y_m))
    return [*(point for point in points if point[0] < at_s), here]


def bonnmotion_tracks(path: Path) -> list[Track]:
    """Ways of the nodes of BonnMotion's .movements, a line each, in two dimensions."""
    each = []
    for line in lines_of(path):
        if line.words[0].startswith("#"):
            continue
        if len(line.words) % 3:
            what = f"has {len(line.words)} numbers, and times and places in turn are 3 for each point"
            raise line.fault(what, "a file in two dimensions (-J 2D)")
        numbers = [line.number_at(column, "of a point") for column in range(len(line.words))]
        points = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
        for one, other in itertools.pairwise(points):
            if other[0] <= one[0]:
                raise line.fault(f"{other[0]:g} s is not after {one[0]:g} s", "times that ascend")
            m_per_s = math.hypot(other[1] - one[1], other[2] - one[2]) / (other[0] - one[0])
            if m_per_s > FASTEST_M_PER_S:
                raise line.fault(f"{m_per_s:g} m/s at {one[0]:g} s", "places in m, in two dimensions (-J 2D)")
        each.append(Track(str(len(each)), points, [(0.0, math.inf)]))
    return each


def sumo_tracks(path: Path) -> list[Track]:
    """Ways of the vehicles and persons of SUMO's FCD output, in the order in which they come."""
    steps_s: list[float] = []
    seen: dict[str, list[tuple[int, float, float, float | None]]] = {}
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
        elif tag in ("vehicle", "person") and steps_s:
            speed = number(values, "speed", least=0.0) if "speed" in values else None
            own = seen.setdefault(values.get("id", ""), [])
            own.append((len(steps_s) - 1, number(values, "x"), number(values, "y"), speed))
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
    if len(steps_s) < 2 or not seen:
        what = f"has {len(steps_s)} steps, and {len(seen)} vehicles"
        raise fault(path, what, "an output with two or more steps")
    ends_s = [*steps_s[1:], 2.0 * steps_s[-1] - steps_s[-2]]
    return [_of_vehicle(path, name, own, steps_s, ends_s) for name, own in seen.items()]


def _of_vehicle(
    path: Path,
    name: str,
    own: Sequence[tuple[int, float, float, float | None]],
    steps_s: Sequence[float],
    ends_s: Sequence[float],
) -> Track:
    """Way of a vehicle, whose speeds are held against its places."""
    windows: list[tuple[float, float]] = []
    moved_m = said_m = 0.0
    for one, other in itertools.pairwise([None, *own]):
        if one is not None and other is not None and other[0] == one[0] + 1:
            windows[-1] = windows[-1][0], ends_s[other[0]]
            moved_m += math.hypot(other[1] - one[1], other[2] - one[2])
            said_m += (other[3] or 0.0) * (steps_s[other[0]] - steps_s[one[0]])
        elif other is not None:
            windows.append((steps_s[other[0]], ends_s[other[0]]))
    lasts_s = sum(to_s - from_s for from_s, to_s in windows)
    if moved_m > FASTEST_M_PER_S * lasts_s:
        raise fault(path, f"{name} moves {moved_m:g} m in {lasts_s:g} s", "places in m")
    if said_m > 10.0 and moved_m < 0.5 * said_m:
        what = f"{name} moves {moved_m:.3g} m, and its speeds make {said_m:.3g} m"
        instead = "places in m, without --fcd-output.geo" if moved_m < 0.01 * said_m else "speeds in m/s"
        raise fault(path, what, instead)
    return Track(name, [(steps_s[step], x_m, y_m) for step, x_m, y_m, _ in own], windows)


READERS = {"setdest": setdest_tracks, "bonnmotion": bonnmotion_tracks, "sumo": sumo_tracks}


def tracks_of(path: Path, layout: str) -> list[Track]:
    """Ways of the devices of a file.

    Raises:
        ConfigurationError: The file is of another layout, or has no device.
    """
    if layout not in READERS:
        raise ConfigurationError(f"layout: {layout!r} is none. Use {', '.join(READERS)}.")
    found = READERS[layout](path)
    if not found:
        raise ConfigurationError(f"{shown(path)}: has no node. Use a file of movements.")
    return found
