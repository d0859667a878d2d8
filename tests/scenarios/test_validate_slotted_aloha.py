"""The validation of slotted ALOHA: agrees as it is, and fails where the clock or the theory is another."""

from functools import cache

import pytest

from analysis.closed_forms.slotted_aloha import SlottedAlohaLaw
from cosim.radio.sharing.slotted_aloha import AlohaBand
from scenarios.validate import slotted_aloha
from scenarios.validate.slotted_aloha import Options, main

SMALL = Options(num_replications=150, margin=0.13)
SIMULATED = cache(slotted_aloha.simulate)
"""Of the clock as it is, which two theories are compared with."""


@pytest.fixture(autouse=True)
def _two_sizes(monkeypatch):
    monkeypatch.setattr(slotted_aloha, "SIZES", ((5, 1), (12, 4)))


def test_it_agrees_and_catches_the_wrong_theories(capsys, monkeypatch):
    monkeypatch.setattr(slotted_aloha, "simulate", SIMULATED)
    assert main(SMALL) == 0
    assert "disagrees │ 0 of" not in capsys.readouterr().out


def test_another_theory_fails(monkeypatch):
    monkeypatch.setattr(slotted_aloha, "simulate", SIMULATED)
    wrong = property(lambda law: 0.7 * law.num_clients * law.transmit_probability)
    monkeypatch.setattr(SlottedAlohaLaw, "mean_successes", wrong)
    assert main(SMALL) == 1


def test_another_clock_fails(monkeypatch, capsys):
    """One in which channels are drawn by the client, for ever."""
    law = SlottedAlohaLaw(num_clients=12, num_channels=4, transmit_probability=1 / 3)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(slotted_aloha, "laws", lambda: iter([law]))
    monkeypatch.setattr(AlohaBand, "_channel_of", lambda band, upload: int(upload.client[-1]) % 2)
    assert main(SMALL) == 1
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│ 12")]
    assert [cells[-2].strip() for cells in rows] == ["disagrees"] * 2
