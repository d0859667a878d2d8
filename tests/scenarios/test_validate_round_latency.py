"""The validation of a round's latency: it agrees, and a wrong clock or a wrong theory turns it red."""

import math
from typing import Any

import numpy as np
import pytest

from analysis.closed_forms.round_latency import EdgeRoundLatency
from cosim.engine.clients import client
from cosim.radio import channel
from cosim.radio.sharing.shares import FixedBand
from scenarios.validate import round_latency as validation

SMALL = validation.Options(num_cells=(2, 3), num_global_rounds=3)


def test_clock_and_closed_form_agree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert validation.main(SMALL) == 0
    output = capsys.readouterr().out
    assert output.count("disagrees") == 2 * 2 * len(validation.WRONG_THEORIES)
    redivided = [line.split("│") for line in output.splitlines() if "redivided shares" in line]
    assert [cells[4].strip() for cells in redivided] == ["never longer"] * 2


def test_difference_is_rounding_only() -> None:
    system = validation.timing_only(2, 5, seed=4)
    cloud, simulated_s = validation.simulate(system)
    np.testing.assert_allclose(simulated_s, validation.predict(system, cloud), rtol=1e-12)
    assert len(set(simulated_s)) == 5


def slower_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = client.effort_of_one

    def slower(*asked: Any) -> tuple[float, float]:
        lasts_s, power_w = usual(*asked)
        return 1.00001 * lasts_s, power_w

    monkeypatch.setattr(client, "effort_of_one", slower)


def slower_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = channel.bps_per_hz
    monkeypatch.setattr(channel, "bps_per_hz", lambda snr: 0.99999 * usual(snr))


def natural_logarithm(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = channel.bps_per_hz
    monkeypatch.setattr(channel, "bps_per_hz", lambda snr: math.log(2.0) * usual(snr))


def band_divided_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    steady_hz = FixedBand.steady_hz
    monkeypatch.setattr(FixedBand, "steady_hz", lambda self, number: steady_hz(self, number**2))


def theory_of_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    fastest = property(lambda self: float(np.min(self.client_s)))
    monkeypatch.setattr(EdgeRoundLatency, "cell_s", fastest)


@pytest.mark.parametrize(
    "wrong", [slower_cpu, slower_channel, natural_logarithm, band_divided_twice, theory_of_the_fastest]
)
def test_what_is_wrong_turns_it_red(
    wrong: "type[object]", monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong(monkeypatch)
    assert validation.main(SMALL) == 1
    lines = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert any(cells[4].strip() != cells[5].strip() for cells in lines)
