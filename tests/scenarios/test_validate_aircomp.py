"""The validations of sums over the air: they agree, and a wrong clock or a wrong noise turns them red."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cosim.engine.clients import client
from cosim.radio import OverTheAir
from cosim.radio.sharing.over_the_air import BandOfSums
from scenarios.validate import aircomp_latency as latency
from scenarios.validate import aircomp_noise as noise

SHORT = latency.Options(clients_per_cell=(3, 4), num_global_rounds=2)
FEW = noise.Options(num_rounds=12)
Patch = pytest.MonkeyPatch


# --- Latency ------------------------------------------------------------------------------------------------


def test_clock_and_closed_forms_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert latency.main(SHORT) == 0
    output = capsys.readouterr().out
    rows = [line.split("│") for line in output.splitlines() if "│" in line]
    assert len(rows) == 2 * 3
    assert all(row[-2].strip() == "agrees" for row in rows)
    assert all(float(cell) < 1e-12 for row in rows for cell in row[3:6])
    assert all(f"{name} 6" in " ".join(output.split()) for name in latency.WRONG_THEORIES)


def airtime_of_each(monkeypatch: Patch) -> None:
    """Updates one after the other, as without superposition."""
    airtime_s = BandOfSums.airtime_s
    monkeypatch.setattr(BandOfSums, "airtime_s", lambda self, payload: 3.0 * airtime_s(self, payload))


def slower_cpu(monkeypatch: Patch) -> None:
    usual = client.effort_of_one

    def slower(*asked: Any) -> tuple[float, float]:
        lasts_s, power_w = usual(*asked)
        return 1.00001 * lasts_s, power_w

    monkeypatch.setattr(client, "effort_of_one", slower)


@pytest.mark.parametrize("wrong", [airtime_of_each, slower_cpu])
def test_a_wrong_clock_turns_it_red(wrong, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong(monkeypatch)
    assert latency.main(SHORT) == 1
    assert "disagrees" in capsys.readouterr().out


# --- Noise --------------------------------------------------------------------------------------------------


def test_noise_and_closed_forms_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert noise.main(FEW) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {len(noise.POINTS)}" in output for name in noise.WRONG_THEORIES)


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_another_variance_turns_it_red(
    factor: float, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(noise, "POINTS", noise.POINTS[1:2])
    real = OverTheAir.noise_factor
    monkeypatch.setattr(OverTheAir, "noise_factor", lambda self, number: factor * real(self, number))
    assert noise.main(FEW) == 1
    (row,) = (line for line in capsys.readouterr().out.splitlines() if "dB" in line)
    assert row.split("│")[-3].strip() == "disagrees"


def test_too_few_rounds_are_too_noisy(capsys: pytest.CaptureFixture[str]) -> None:
    """Two rounds of two cells leave intervals wider than the margin."""
    assert noise.main(noise.Options(num_rounds=2)) == 1
    assert "noisy" in capsys.readouterr().out


def test_closed_form_by_hand() -> None:
    """Eq. 25 at 0 dB from the channels of a round; eq. 28 is gamma^2 d times it."""
    point = noise.Point(snr_db=10.0, sharing=OverTheAir(transmit_power="full", noise="real-part"))
    _, cloud = noise.network_of(noise.system(point, FEW, 3))
    theory = noise.predict(point, cloud.edges[1], 4)
    assert theory.element_mse == pytest.approx(0.5 / (10.0 * 15**2 * theory.gains.min()), rel=1e-12)
    assert theory.model_variance(100, noise.RATE) == pytest.approx(
        noise.RATE**2 * 100 * theory.element_mse, rel=1e-12
    )


def test_intervals_are_those_of_normal_and_chi_square_laws() -> None:
    found = np.random.default_rng(1).standard_normal((4, 500)) * np.array([1.0, 2.0, 3.0, 4.0])[:, None]
    mse = np.array([1.0, 4.0, 9.0, 16.0])
    ratio, mean = noise.variance_ratio(found, mse, 0.99), noise.mean_ratio(found, mse, 0.99)
    squares = float(np.sum(found**2 / mse[:, None]))
    assert ratio.low == pytest.approx(squares / stats.chi2.ppf(0.995, 2000), rel=1e-12)
    assert ratio.high == pytest.approx(squares / stats.chi2.ppf(0.005, 2000), rel=1e-12)
    assert mean.half_width == pytest.approx(stats.norm.ppf(0.995) / math.sqrt(2000), rel=1e-12)
    assert ratio.contains(1.0)
    assert mean.contains(0.0)
