"""Rates by hand: base 2, accurate where the SNR is tiny, and a budget that knows its bandwidth."""

import math

import channels
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cosim
from cosim.clock.simulation import Simulation
from cosim.jobs.job import Job
from cosim.links.port import Cell
from cosim.radio.fading import NoFading, Rayleigh
from cosim.radio.propagation.link_budget import LinkBudget
from cosim.radio.propagation.noise_only import NoiseOnly
from cosim.radio.redrawn import CoherenceTime

pytestmark = pytest.mark.quick

EXACTLY = {"rel": 1e-12, "abs": 0.0}


def of(fading: cosim.radio.Fading = NoFading()):  # noqa: B008
    return channels.faded(fading, Simulation(seed=1), "a")


@pytest.mark.parametrize(
    ("snr", "bits_per_s_per_hz"), [(0.0, 0.0), (1.0, 1.0), (3.0, 2.0), (1023.0, 10.0), (2.0**40 - 1.0, 40.0)]
)
def test_rate_by_hand(snr, bits_per_s_per_hz):
    """R = B log2(1 + SNR)."""
    assert channels.flat(snr, of()).rate_bps(5e6, (1,)) == pytest.approx(5e6 * bits_per_s_per_hz, **EXACTLY)


def test_a_channel_in_outage_does_not_change():
    """So nothing happens while nothing is sent, however short coherence times are."""
    fading = Rayleigh(redrawn=CoherenceTime(coherence_time_s=1e-3))
    assert channels.flat(1.0, of(fading)).block_end_s((4,)) == 5e-3
    assert channels.flat(0.0, of(fading)).block_end_s((4,)) == math.inf


def test_fading_multiplies_the_snr():
    channel = channels.flat(31.0, of(Rayleigh(num_antennas=4)))
    gain = channel.fading.gain((3,))
    assert channel.rate_bps(2e6, (3,)) == pytest.approx(2e6 * math.log2(1.0 + 31.0 * gain), **EXACTLY)


@pytest.mark.parametrize("snr", [1e-9, 1e-17, 1e-30])
def test_a_tiny_snr_still_has_its_rate(snr):
    """log2(1 + x) = (x - x²/2 + ...) / ln 2; adding 1 first would lose it."""
    expected_bps = 1e6 * (snr - snr**2 / 2.0) / math.log(2.0)
    assert channels.flat(snr, of()).rate_bps(1e6, (1,)) == pytest.approx(expected_bps, **EXACTLY)


@given(bandwidth_hz=st.floats(1.0, 1e10), factor=st.floats(1.0, 1e3))
def test_a_given_snr_holds_in_any_bandwidth(bandwidth_hz, factor):
    channel = channels.flat(6.0, of())
    narrow_bps, wide_bps = (
        channel.rate_bps(width_hz, (1,)) for width_hz in (bandwidth_hz, factor * bandwidth_hz)
    )
    assert wide_bps == pytest.approx(factor * narrow_bps, **EXACTLY)


def test_noise_by_hand():
    """-174 dBm/Hz and 7 dB are -167 dBm/Hz, 10^-19.7 W/Hz."""
    assert LinkBudget(noise_dbm_per_hz=-174.0, noise_figure_db=7.0).noise_w_per_hz == pytest.approx(
        10.0**-19.7, **EXACTLY
    )
    assert LinkBudget(noise_dbm_per_hz=0.0, noise_figure_db=0.0).noise_w_per_hz == pytest.approx(
        1e-3, **EXACTLY
    )


def test_budget_by_hand():
    """30 fW over 0.01 aW/Hz are an SNR of 3 in 1 MHz, 6 in half of it, 1.5 in twice of it."""
    link = NoiseOnly(noise_dbm_per_hz=-170.0, noise_figure_db=0.0)
    cell = Cell("edge-00", ("client-0000",), np.array([1e3]), np.array([0.2]))
    (snrs,) = link.of_cells(Simulation(seed=1), [cell])
    for bandwidth_hz, snr in [(1e6, 3.0), (0.5e6, 6.0), (2e6, 1.5)]:
        assert snrs.snr_in(0, 3e-14, 1.0, bandwidth_hz, Job(1, 0, 0)) == pytest.approx(snr, **EXACTLY)
        expected_bps = bandwidth_hz * math.log2(1.0 + snr)
        assert channels.budget(3e-14, 1e-20, of()).rate_bps(bandwidth_hz, (1,)) == pytest.approx(
            expected_bps, **EXACTLY
        )


@given(
    received_w=st.floats(1e-20, 1e-6),
    narrow_hz=st.floats(1e3, 1e9),
    factor=st.floats(1.0, 1e3),
)
def test_with_a_budget_more_bandwidth_is_faster_but_less_than_in_proportion(received_w, narrow_hz, factor):
    channel = channels.budget(received_w, 10.0**-19.7, of())
    narrow_bps, wide_bps = channel.rate_bps(narrow_hz, (1,)), channel.rate_bps(factor * narrow_hz, (1,))
    assert narrow_bps * (1.0 - 1e-12) <= wide_bps <= factor * narrow_bps * (1.0 + 1e-12)


def test_without_bound_a_budget_reaches_its_wideband_limit():
    """B log2(1 + P / (N B)) tends to P / (N ln 2)."""
    channel = channels.budget(3e-14, 1e-20, of())
    assert channel.rate_bps(1e16, (1,)) == pytest.approx(3e6 / math.log(2.0), rel=1e-9)
