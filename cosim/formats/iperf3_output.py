"""iperf3: what `iperf3 --json` prints, with a sum for each interval of a test.

Intervals that were omitted (`--omit`, while TCP starts) are left out; after them iperf3 counts from 0 again.
Rates are bytes by lengths of intervals, of all streams together. A client's file of a test in which it sends
tells what it gave to its socket; a server's, or the client's of a test with `--reverse`, what has arrived.

Source: the manual of iperf3, esnet/iperf 3.x.
"""

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.files.on_disk import shown
from cosim.formats.converted import AnyPath
from cosim.formats.inputs import files_of
from cosim.formats.rates import Rates, Steps
from cosim.tables.content import BOM, check_is_text, content_of
from cosim.tables.faults import fault

_APART = 0.01
"""Share of an interval by which two may lie apart."""


def iperf3(*files: AnyPath, direction: Literal["up", "down"] | None = None) -> Rates:
    """Outputs of iperf3 --json: the sum of all streams in each interval, omitted ones left out.

    Args:
        files: Outputs, or folders of them; each is a client, and one test.
        direction: From the client ("up") or to it ("down"). None means the one that the test has.

    Raises:
        ConfigurationError: It is no such output, the test failed, or had another direction or both.
    """
    return Rates.of({client: _steps(path, direction) for client, path in files_of(files).items()})


def _steps(path: Path, direction: str | None) -> Steps:
    output = _output(path)
    kept = [one for one in _intervals(path, output, direction) if not one.get("omitted", False)]
    if not kept:
        raise fault(path, "has no interval that is not omitted", "a test longer than --omit")
    try:
        start_s, end_s, num_bytes = (
            np.array([_number(one[key]) for one in kept]) for key in ("start", "end", "bytes")
        )
    except (KeyError, TypeError, ValueError):
        raise fault(
            path, "has an interval without start, end or bytes", "the output of iperf3 --json"
        ) from None
    lasts_s = end_s - start_s
    if not (lasts_s > 0.0).all():
        raise fault(path, "has an interval that ends before it begins", "the output of iperf3 --json")
    if not (num_bytes >= 0.0).all():
        raise fault(path, "has an interval with bytes below 0", "the output of iperf3 --json")
    apart_s = np.abs(start_s[1:] - end_s[:-1])
    if (apart_s > _APART * np.median(lasts_s)).any():
        place = int((apart_s > _APART * np.median(lasts_s)).argmax())
        what = f"has no interval between {end_s[place]:g} s and {start_s[place + 1]:g} s"
        raise fault(path, what, "a whole output")
    edges_s = np.append(start_s, end_s[-1]) - start_s[0]
    return Steps.carrying(edges_s, 8.0 * num_bytes)


def _number(value: object) -> float:
    """A number of JSON, which neither a text nor true is."""
    if type(value) not in (int, float):
        raise TypeError
    return float(value)  # type: ignore[arg-type]


def _output(path: Path) -> dict[str, Any]:
    """The object of a file."""
    content = content_of(path).removeprefix(BOM)
    check_is_text(path, content)
    if content.startswith((b'{"event"', b'{ "event"')):
        raise fault(path, "is a stream of events", "iperf3 --json in place of --json-stream")
    try:
        found = json.loads(content)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise fault(path, "holds several outputs", "a file for each test", row=error.lineno) from None
        what = f"is no JSON ({error.msg})"
        raise fault(path, what, "the whole output of iperf3 --json", row=error.lineno) from None
    except (RecursionError, ValueError):
        raise fault(path, "is no JSON", "the output of iperf3 --json") from None
    if not isinstance(found, dict):
        raise fault(path, "is JSON of something else", "the output of iperf3 --json")
    if "error" in found:
        raise fault(
            path, f"says that the test failed: {short(str(found['error']))}", "the output of one that did not"
        )
    return found


def _intervals(path: Path, output: dict[str, Any], direction: str | None) -> list[dict[str, Any]]:
    """Sums of the intervals in a direction."""
    start, intervals = output.get("start"), output.get("intervals")
    if not (isinstance(start, dict) and isinstance(intervals, list) and intervals):
        raise fault(path, "has no intervals", "the output of iperf3 --json")
    found: dict[str, list[dict[str, Any]]] = {}
    for interval in intervals:
        for key in ("sum", "sum_bidir_reverse"):
            if isinstance(interval, dict) and isinstance(one := interval.get(key), dict):
                found.setdefault("up" if _is_up(start, key, one) else "down", []).append(one)
    if not found:
        raise fault(path, "has no sum of an interval", "the output of iperf3 --json")
    if direction is None and len(found) > 1:
        raise ConfigurationError(
            f"{shown(path)}: is a test of both directions. Use direction = up, or direction = down."
        )
    wanted = direction or next(iter(found))
    if wanted not in found:
        (only,) = found
        raise fault(path, f"is a test of the direction {only}", f"direction = {only}, or iperf3 --reverse")
    if len(found[wanted]) != len(intervals):
        what = (
            f"has {len(intervals)} intervals, and {len(found[wanted])} have a sum in the direction {wanted}"
        )
        raise fault(path, what, "the whole output of iperf3 --json")
    return found[wanted]


def _is_up(start: dict[str, Any], key: str, one: dict[str, Any]) -> bool:
    """True if a sum is of what goes from the client of the test to its server."""
    test = start.get("test_start", {})
    sends = one.get("sender", key == "sum" and not (isinstance(test, dict) and test.get("reverse")))
    is_server = "accepted_connection" in start
    return bool(sends) != is_server
