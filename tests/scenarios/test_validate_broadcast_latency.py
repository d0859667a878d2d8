"""The validation of broadcasts: it agrees, and a wrong clock or a wrong theory turns it red."""

from functools import cache

import pytest

from cosim.radio.radio_link import RadioLink
from scenarios.validate import broadcast_latency as validation

SMALL = validation.Options(num_antennas=(2,), num_receivers=(3,), num_rounds=1500)
once = cache(validation.simulate)
"""Broadcasts of the clock as it is, with which two tests compare theories."""


def test_clock_and_closed_form_agree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "simulate", once)
    assert validation.main(SMALL) == 0
    assert capsys.readouterr().out.count("disagrees") == len(validation.WRONG_THEORIES)


def test_a_beam_that_nobody_forms_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RadioLink, "num_antennas", lambda self, job: 1)
    assert validation.main(SMALL) == 1


def test_a_wrong_theory_that_is_right_is_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "simulate", once)
    monkeypatch.setitem(validation.WRONG_THEORIES, "none", lambda law: law)
    assert validation.main(SMALL) == 1


def test_too_few_rounds_are_too_noisy() -> None:
    assert validation.main(validation.Options(num_antennas=(1,), num_receivers=(1,), num_rounds=50)) == 1
