"""Outputs of iperf3: uploads by hand without the omitted start, streams, directions, refusals."""

import json
from pathlib import Path

import pytest
from fixtures.fixes import has_fix
from uploads import ends_s

from cosim import ConfigurationError
from cosim.formats import iperf3


def summed(
    start_s: float, end_s: float, num_bytes: int, *, omitted: bool = False, sender: bool = True
) -> dict:
    lasts_s = end_s - start_s
    told = {"start": start_s, "end": end_s, "seconds": lasts_s, "bytes": num_bytes}
    return told | {"bits_per_second": 8 * num_bytes / lasts_s, "omitted": omitted, "sender": sender}


def output(*sums: dict, reverse: int = 0, server: bool = False, **more: dict) -> dict:
    """An output of two streams, which have a third and two thirds of each sum."""
    intervals = []
    for one in sums:
        streams = [one | {"socket": 5 + part, "bytes": one["bytes"] * part // 3} for part in (1, 2)]
        intervals.append({"streams": streams, "sum": one})
    peer = {"accepted_connection": {}} if server else {"connecting_to": {"host": "h", "port": 5201}}
    start = {"version": "iperf 3.16", "test_start": {"num_streams": 2, "omit": 2, "reverse": reverse}} | peer
    return {"start": start, "intervals": intervals, "end": {}} | more


TEST = (
    summed(0.0, 1.0, 150_000, omitted=True),
    summed(1.0, 2.0, 450_000, omitted=True),
    summed(0.0, 1.000255, 600_000),
    summed(1.000255, 2.0, 300_000),
    summed(2.0, 2.5, 750_000),
)
"""4.8, 2.4 and 6 Mbit, after two seconds that do not count."""


def without(found: dict, interval: int, key: str) -> dict:
    """An output in which an interval lacks a key."""
    del found["intervals"][interval][key]
    return found


def written(folder: Path, found: object, name: str = "phone.json") -> Path:
    text = found if isinstance(found, str) else json.dumps(found, indent="\t")
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("mbits", "end_s"),
    [(2.4, 1.000255 / 2), (4.8, 1.000255), (7.2, 2.0), (10.2, 2.25), (13.2, 2.5), (18.0, 3.500255)],
)
def test_uploads_by_hand(tmp_path, mbits, end_s):
    rates = iperf3(written(tmp_path, output(*TEST)))
    assert ends_s(rates, tmp_path, 1e6 * mbits) == pytest.approx([end_s], rel=1e-12)


def test_both_directions(tmp_path):
    """`sum` is of what the client sends, `sum_bidir_reverse` of what it receives; a server's are not."""
    both = output(summed(0.0, 1.0, 125_000), summed(1.0, 2.0, 125_000))
    for interval in both["intervals"]:
        interval["sum_bidir_reverse"] = interval["sum"] | {"bytes": 250_000, "sender": False}
    path = written(tmp_path, both)
    with pytest.raises(ConfigurationError, match=r"phone.json: is a test of both directions"):
        iperf3(path)
    assert set(iperf3(path, direction="up").table["rate_bps"]) == {1e6}
    assert set(iperf3(path, direction="down").table["rate_bps"]) == {2e6}
    both["start"] |= {"accepted_connection": {}}
    assert set(iperf3(written(tmp_path, both), direction="up").table["rate_bps"]) == {2e6}


@pytest.mark.parametrize(
    ("reverse", "sender", "server", "direction"),
    [
        (0, True, False, "up"),
        (1, False, False, "down"),
        (0, False, True, "up"),
        (1, True, True, "down"),
        (0, None, False, "up"),
        (1, None, False, "down"),
    ],
)
def test_the_direction_of_a_test(tmp_path, reverse, sender, server, direction):
    """By its sums, or in outputs of early versions by --reverse."""
    one = summed(0.0, 1.0, 125_000, sender=bool(sender))
    if sender is None:
        del one["sender"]
    path = written(tmp_path, output(one, reverse=reverse, server=server))
    other = "down" if direction == "up" else "up"
    assert iperf3(path).table.equals(iperf3(path, direction=direction).table)
    with pytest.raises(ConfigurationError, match=f"is a test of the direction {direction}"):
        iperf3(path, direction=other)


def test_a_folder_has_a_client_for_each_test(tmp_path):
    for name in ("b.json", "a.json"):
        written(tmp_path, output(*TEST), name)
    assert list(iperf3(tmp_path).steps()) == ["a", "b"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"start": {}, "intervals": [], "error": "unable to connect"}, "the test failed: unable to connect"),
        (output(*TEST[:2]), "has no interval that is not omitted"),
        (output(TEST[2], TEST[4]), "has no interval between 1.00025 s and 2 s"),
        (output(summed(0.0, 1.0, 1) | {"end": 0.0}), "ends before it begins"),
        (output(summed(0.0, 1.0, 1) | {"bytes": -1}), "bytes below 0"),
        ({"intervals": [{"sum": {"start": 0}}], "start": {}}, "without start, end or bytes"),
        ({"intervals": [{"sum": 3}], "start": {}}, "has no sum of an interval"),
        ({"end": {}}, "has no intervals"),
        (without(output(*TEST), -1, "sum"), "has 5 intervals, and 4 have a sum in the direction up"),
        (without(output(*TEST), 0, "sum"), "has 5 intervals, and 4 have a sum in the direction up"),
        (json.dumps(output(*TEST)).replace('"bytes": 750000', '"bytes": "750000"'), "without start, end or"),
        (
            json.dumps(output(*TEST)).replace('"bytes": 750000', '"bytes": true'),
            "without start, end or bytes",
        ),
        ([1, 2], "is JSON of something else"),
        (json.dumps(output(*TEST)) * 2, "holds several outputs"),
        ('{"event":"start","data":{}}\n{"event":"interval"}\n', "is a stream of events"),
        ('{"start": {', r"is no JSON \(Expecting"),
        ("Connecting to host 10.0.0.1, port 5201\n", r"row 1: is no JSON"),
        ("", "is empty"),
    ],
)
def test_what_is_no_output_is_refused(tmp_path, found, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        iperf3(written(tmp_path, found))
    assert has_fix(str(error.value))
