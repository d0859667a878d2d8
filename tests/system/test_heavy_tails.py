"""Heavy tails: which moments of an upload's time are finite, by integrals, and where a reader is told."""

import attrs
import numpy as np
import pytest
from scipy import integrate, stats

import cosim
from analysis.report.report import report
from cosim.system.heavy_tails import remark_on_times
from cosim.testing import small_system
from scenarios import command_line

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

SNR = 100.0


def partial_moment(num_antennas: int, power: int, least_gain: float) -> float:
    """E[(1 / log2(1 + s g))^k; g > least gain], the gain being the sum over a number of antennas."""

    def integrand(log_gain: float) -> float:
        gain = np.exp(log_gain)
        return float(np.log2(1.0 + SNR * gain) ** -power * stats.gamma.pdf(gain, num_antennas) * gain)

    return integrate.quad(integrand, np.log(least_gain), np.log(200.0), limit=400)[0]


@pytest.mark.parametrize("num_antennas", [1, 2, 3, 4])
@pytest.mark.parametrize("power", [1, 2])
def test_moments_are_finite_as_the_fading_says(num_antennas, power):
    """The part of ever weaker gains vanishes, or adds as much each time."""
    found = [partial_moment(num_antennas, power, least) for least in (1e-6, 1e-9, 1e-12)]
    grows = found[2] - found[1] > 0.5 * (found[1] - found[0]) > 1e-7 * found[0]
    assert grows == (power > cosim.Rayleigh(num_antennas=num_antennas).finite_moments)


def with_antennas(number: int, **changes: object) -> cosim.System:
    radio = cosim.Radio(fading=cosim.Rayleigh(num_antennas=number), **changes)
    return attrs.evolve(small_system(), uplink=radio)


def test_who_is_told_what():
    assert "the mean time of an upload is infinite" in str(remark_on_times(with_antennas(1)))
    assert "the variance of the time of an upload is infinite" in str(remark_on_times(with_antennas(2)))
    assert remark_on_times(with_antennas(3)) is None
    assert remark_on_times(with_antennas(1, sharing=cosim.radio.OverTheAir())) is None
    late = attrs.evolve(small_system(cosim.Deadline(deadline_s=1.0)), uplink=with_antennas(1).uplink)
    assert remark_on_times(late) is None
    assert remark_on_times(attrs.evolve(with_antennas(1), end=cosim.AfterSeconds(duration_s=1.0))) is None
    changing = cosim.Rayleigh(num_antennas=1, redrawn=cosim.radio.CoherenceTime())
    assert remark_on_times(attrs.evolve(small_system(), uplink=cosim.Radio(fading=changing))) is None
    assert remark_on_times(attrs.evolve(small_system(), uplink=cosim.QueuedLink())) is None


def test_a_report_says_it_above_the_numbers(tmp_path):
    found = [
        cosim.run(attrs.evolve(with_antennas(number), evaluation=cosim.Never()), out=tmp_path / str(number))
        for number in (1, 3)
    ]
    page = report(found)
    assert page.count("the mean time of an upload is infinite") == 1
    assert "the mean time of an upload is infinite" not in report(found[1:])


def test_a_study_says_it_below_its_table(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "study quickstart --over num_antennas=1,3 --seeds 2 --waiting.kind WaitForAll --timing-only"
    with pytest.raises(SystemExit) as ended:
        command_line.main([*words.split(), "--num-global-rounds", "2", "--workers", "1"])
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    assert said.out.count("the mean time of an upload is infinite") == 1
