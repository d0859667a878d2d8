"""Eq. 18 of the HIST journal paper by hand."""

import attrs
import numpy as np
import pytest

from analysis.closed_forms.round_latency import EdgeRoundLatency, global_round_s

pytestmark = pytest.mark.quick

CELL = EdgeRoundLatency(
    num_steps=4,
    step_cycles=1e6,
    model_bits=9000.0,
    fraction=0.5,
    bandwidth_hz=3e6,
    frequency_hz=np.array([1e9, 2e9]),
    snr=np.array([3.0, 7.0]),
)
"""H V_0 p = 2e6 cycles, p L_0 = 4500 bits, B / n = 1.5 MHz at 2 and 3 bit/s/Hz."""


def test_rate_has_the_share_of_one_client_once() -> None:
    np.testing.assert_allclose(CELL.rate_bps, [3e6, 4.5e6], rtol=1e-15)


def test_client_computes_then_sends() -> None:
    np.testing.assert_allclose(CELL.client_s, [2e-3 + 1.5e-3, 1e-3 + 1e-3], rtol=1e-15)


def test_cell_waits_for_its_slowest_client() -> None:
    assert CELL.cell_s == pytest.approx(3.5e-3, rel=1e-15)
    swapped = attrs.evolve(CELL, frequency_hz=np.array([1e9, 0.4e9]))
    assert swapped.cell_s == pytest.approx(5e-3 + 1e-3, rel=1e-15)


def test_half_the_model_takes_half_the_time() -> None:
    whole = attrs.evolve(CELL, fraction=1.0)
    np.testing.assert_allclose(whole.client_s, 2 * CELL.client_s, rtol=1e-15)


def test_global_round_is_e_edge_rounds_of_the_slowest_cell() -> None:
    lonely = attrs.evolve(CELL, frequency_hz=np.array([2e9]), snr=np.array([3.0]))
    assert lonely.cell_s == pytest.approx(1e-3 + 4500 / 6e6, rel=1e-15)
    assert global_round_s(5, [lonely, CELL, lonely]) == pytest.approx(5 * 3.5e-3, rel=1e-15)
    assert global_round_s(5, [lonely]) == pytest.approx(5 * 1.75e-3, rel=1e-15)
