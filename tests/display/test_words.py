"""Words of fields and their values."""

import pytest

from cosim.display.words import field_in_words, in_words, numbers_in_words, parts_of
from cosim.units import prefixed, quantity

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("uplink.sharing.bandwidth_hz", 5e6, "5 MHz"),
        ("protocol.waiting.deadline_s", 0.06, "deadline 60 ms"),
        ("num_cells", 2, "2 cells"),
        ("num_cells", 1, "1 cell"),
        ("data.num_classes", 1, "1 class"),
        ("num_clients", 10_000, "10,000 clients"),
        ("protocol.kind", "HFedAvg", "HFedAvg"),
        ("protocol.training.kind", "rules:Fastest", "Fastest"),
        ("downlink.kind", None, "downlink none"),
        ("protocol.training.selection.num_participants", 3, "3 participants"),
        ("data.global_features", True, "global features on"),
        ("local.learning_rate", 0.1, "learning rate 0.1"),
        ("uplink.link.environment", "uma", "environment uma"),
        ("uplink.csi_error_db", -20.0, "csi error -20 dB"),
        ("cycles.cycles_per_bit", 10.0, "cycles per bit 10 cycles/bit"),
        ("devices.min_frequency_hz.values", [1e9, 2e9], "min frequency [1 GHz, 2 GHz]"),
    ],
)
def test_by_hand(field, value, words):
    assert in_words(field, value) == words


WAITING = {"system": {"protocol": {"training": {"waiting": {"kind": "Deadline", "deadline_s": 0.06}}}}}


@pytest.mark.parametrize(
    ("kind", "field", "value", "words"),
    [
        ("Deadline", "p.deadline_s", 0.04, "deadline 40 ms"),
        ("UploadDeadline", "p.upload_deadline_s", 0.04, "upload deadline 40 ms"),
        ("mine:HappyHour", "p.every_s", 3600.0, "happy hour 3.6 ks"),
        ("Shards", "p.per_client", 2, "shards per client 2"),
        ("LatencyOptimal", "p.largest", 1.5, "latency optimal largest 1.5"),
        ("Deadline", "p.delay_s", 0.04, "delay 40 ms"),
    ],
)
def test_a_field_that_names_no_thing_is_called_by_the_class_of_its_part(kind, field, value, words):
    assert in_words(field, value, parts={"p": kind}) == words


def test_without_its_class_a_part_is_called_as_in_the_path():
    assert in_words("training.waiting.every_s", 0.04) == "waiting 40 ms"


def test_fields_of_parts_of_one_class_are_told_apart():
    two = ("a.waiting.deadline_s", "b.waiting.deadline_s")
    parts = {"a.waiting": "Deadline", "b.waiting": "Deadline"}
    assert [field_in_words(field, two, parts) for field in two] == [
        "a waiting deadline",
        "b waiting deadline",
    ]
    counts = ("edge.training.num_edge_rounds", "cloud.training.num_edge_rounds")
    assert in_words(counts[0], 3, counts) == "edge training 3 edge rounds"


def test_parts_are_found_in_files_and_path_by_path():
    path = "system.protocol.training.waiting"
    assert parts_of(WAITING) == parts_of({f"{path}.kind": "Deadline"}) == {path: "Deadline"}


@pytest.mark.parametrize(
    ("field", "values", "head", "scale", "cells"),
    [
        ("uplink.sharing.bandwidth_hz", [5e5, 2e6], "bandwidth (MHz)", 1e6, ["0.5", "2"]),
        ("waiting.deadline_s", [0.02, 0.06], "deadline (ms)", 1e-3, ["20", "60"]),
        ("waiting.deadline_s", [0.0, 60.0], "deadline (s)", 1.0, ["0", "60"]),
        ("num_cells", [2, 4000], "cells", 1.0, ["2", "4,000"]),
        ("uplink.link.snr_db", [-10.0, 20.0], "snr (dB)", 1.0, ["-10", "20"]),
        ("uplink.sharing.bandwidth_hz", [1.0, 1e6, 1e12], "bandwidth", 1e12, ["1 Hz", "1 MHz", "1 THz"]),
        ("waiting.deadline_s", [0.0, 1e-6, 60.0], "deadline", 1.0, ["0 s", "1 µs", "60 s"]),
        ("num_clients", [2, 4_000_000], "clients", 1.0, ["2", "4,000,000"]),
    ],
)
def test_a_column_has_one_unit_or_each_number_its_own_where_they_span_too_much(
    field, values, head, scale, cells
):
    found = numbers_in_words(field, values, parts={"waiting": "Deadline"})
    assert (found.head, found.scale, [found.shown(value) for value in values]) == (head, scale, cells)


def test_as_much_of_a_path_as_tells_it_from_the_others():
    fields = ("uplink.link.snr_db", "downlink.link.snr_db", "uplink.sharing.bandwidth_hz")
    assert field_in_words(fields[0], fields) == "uplink link snr"
    assert field_in_words(fields[2], fields) == "bandwidth"
    two = ("uplink.bandwidth_hz", "downlink.bandwidth_hz")
    assert in_words(two[0], 5e6, two) == "uplink bandwidth 5 MHz"


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (5e5, "Hz", "500 kHz"),
        (1e-3, "s", "1 ms"),
        (0.0, "J", "0 J"),
        (1.5e7, "m", "15,000,000 m"),
        (3.0, "", "3"),
    ],
)
def test_quantities(value, unit, words):
    assert quantity(value, unit) == words
    scale, _ = prefixed(value, unit)
    assert 1.0 <= abs(value / scale) < 1e3 or not value or scale == 1.0
