"""Tracks: the ways of devices, in four layouts of files.

| layout | line or element | |
|---|---|---|
| `setdest` | `$node_(0) set X_ 83.4` | where a node begins, likewise Y_; Z_ is ignored |
| | `$ns_ at 2.0 "$node_(0) setdest 90.4 44.8 1.37"` | at 2 s it sets out at 1.37 m/s, and stays there |
| `bonnmotion` | `0.0 5.0 5.0 10.0 9.0 5.0` | a node: times and places in turn; it stays at the last |
| `bonnmotion-3d` | `0.0 5.0 5.0 1.5 10.0 9.0 5.0 1.5` | the same with heights, which are ignored |
| `sumo` | `<timestep time="0.00"><vehicle id="a" x="5.0" y="5.0" speed="13.9"/>` | see `floating_cars` |

A node of the first three is present all the time. A vehicle is present from its first step to the end of its
last; where it is missing in between it is away.

Source: The ns Manual, "Mobile Networking in ns"; BonnMotion's manual, .movements.
"""

import itertools
import math
import re
from functools import partial
from pathlib import Path

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.files.on_disk import shown
from cosim.formats.floating_cars import sumo_tracks
from cosim.formats.text_lines import Line, lines_of
from cosim.formats.track import FASTEST_M_PER_S, Point, Track
from cosim.tables.faults import fault

_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_BEGINS = re.compile(rf"\$node_\((\d+)\) set ([XYZ])_ {_NUMBER}")
_MOVES = re.compile(rf'\$ns_? at {_NUMBER} "\$node_\((\d+)\) setdest {_NUMBER} {_NUMBER} {_NUMBER}"')


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


def bonnmotion_tracks(path: Path, dimensions: int) -> list[Track]:
    """Ways of the nodes of BonnMotion's .movements, a line each, in two dimensions or three."""
    each, width, other = [], 1 + dimensions, "bonnmotion-3d" if dimensions == 2 else "bonnmotion"
    instead = f"layout = {other}, or a file in {dimensions} dimensions (-J {dimensions}D)"
    for line in lines_of(path):
        if line.words[0].startswith("#"):
            continue
        if len(line.words) % width:
            what = f"has {len(line.words)} numbers, and times and places in turn are {width} for each point"
            raise line.fault(what, instead)
        numbers = [line.number_at(column, "of a point") for column in range(len(line.words))]
        points = list(zip(numbers[::width], numbers[1::width], numbers[2::width], strict=True))
        for one, next_one in itertools.pairwise(points):
            if next_one[0] <= one[0]:
                raise line.fault(
                    f"{next_one[0]:g} s is not after {one[0]:g} s", f"times that ascend, or {instead}"
                )
            m_per_s = math.hypot(next_one[1] - one[1], next_one[2] - one[2]) / (next_one[0] - one[0])
            if m_per_s > FASTEST_M_PER_S:
                raise line.fault(f"{m_per_s:g} m/s at {one[0]:g} s", f"places in m, or {instead}")
        each.append(Track(str(len(each)), points, [(0.0, math.inf)]))
    return each


READERS = {
    "setdest": setdest_tracks,
    "bonnmotion": partial(bonnmotion_tracks, dimensions=2),
    "bonnmotion-3d": partial(bonnmotion_tracks, dimensions=3),
    "sumo": sumo_tracks,
}


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
