"""Words of fields and their values."""

import pytest

from cosim.units import prefixed, quantity
from cosim.words import field_in_words, in_words


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("uplink.sharing.bandwidth_hz", 5e6, "5 MHz"),
        ("protocol.waiting.deadline_s", 0.06, "deadline 60 ms"),
        ("num_cells", 2, "cells 2"),
        ("protocol.kind", "HFedAvg", "HFedAvg"),
        ("protocol.training.kind", "rules:Fastest", "Fastest"),
        ("downlink.kind", None, "downlink none"),
        ("protocol.training.num_participants", None, "participants none"),
        ("data.global_features", True, "global features on"),
        ("local.learning_rate", 0.1, "learning rate 0.1"),
        ("uplink.link.environment", "uma", "environment uma"),
        ("uplink.csi_error_db", -20.0, "csi error -20 dB"),
        ("cycles.cycles_per_bit", 10.0, "cycles_per_bit 10 cycles/bit".replace("_", " ")),
        ("devices.min_frequency_hz.values", [1e9, 2e9], "min frequency [1000000000.0, 2000000000.0] Hz"),
    ],
)
def test_by_hand(field, value, words):
    assert in_words(field, value) == words


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
        (1.5e7, "m", "15000000 m"),
        (3.0, "", "3"),
    ],
)
def test_quantities(value, unit, words):
    assert quantity(value, unit) == words
    scale, _ = prefixed(value, unit)
    assert 1.0 <= abs(value / scale) < 1e3 or not value or scale == 1.0
