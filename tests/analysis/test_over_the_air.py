"""Airtime by hand; the distortion against eqs. 23 and 24 with complex channels and noise."""

import math

import attrs
import numpy as np
import pytest

from analysis.closed_forms.over_the_air import AirDistortion, AirEdgeRoundLatency, airtime_s, global_round_s
from analysis.closed_forms.round_latency import EdgeRoundLatency

EXACTLY = {"rel": 1e-12, "abs": 0.0}


def cell(**values: object) -> AirEdgeRoundLatency:
    usual: dict[str, object] = {
        "num_steps": 20,
        "step_cycles": 1e8,
        "num_parameters": 238_200,
        "fraction": 0.25,
        "bandwidth_hz": 20e6,
        "subchannel_hz": 15e3,
        "symbol_s": 1e-3 / 14,
        "frequency_hz": np.array([1e9, 2e9, 4e9]),
    }
    return AirEdgeRoundLatency(**(usual | values))


# --- Latency ------------------------------------------------------------------------------------------------


def test_lte_numbers_by_hand():
    """20 MHz hold 4000 / 3 sub-channels of 15 kHz; 59,550 parameters take 44.6625 symbols of 1 / 14 ms."""
    assert airtime_s(59_550, 20e6, 15e3, 1e-3 / 14) == pytest.approx(44.6625e-3 / 14, **EXACTLY)
    assert cell().airtime_s == pytest.approx(44.6625e-3 / 14, **EXACTLY)
    assert cell().cell_s == pytest.approx(20 * 0.25 * 1e8 / 1e9 + 44.6625e-3 / 14, **EXACTLY)


def test_airtime_does_not_know_the_number_of_clients_where_orthogonal_access_does():
    """Eq. 38 keeps its latency with ten times the clients; the upload of eq. 18 takes ten times as long."""
    few, many = cell(), cell(frequency_hz=np.repeat(cell().frequency_hz, 10))
    assert many.cell_s == few.cell_s
    uploads = []
    for num_clients in (3, 30):
        orthogonal = EdgeRoundLatency(
            num_steps=20,
            step_cycles=0.0,
            model_bits=238_200 * 32.0,
            fraction=0.25,
            bandwidth_hz=20e6,
            frequency_hz=np.full(num_clients, 1e9),
            snr=np.full(num_clients, 15.0),
        )
        uploads.append(orthogonal.cell_s)
    assert uploads[1] == pytest.approx(10.0 * uploads[0], **EXACTLY)


def test_a_global_round_is_e_edge_rounds_of_the_slowest_cell():
    slow = cell(fraction=0.5)
    assert global_round_s(4, [cell(), slow, cell(fraction=0.1)]) == pytest.approx(4 * slow.cell_s, **EXACTLY)
    assert slow.cell_s == pytest.approx(2.0 * cell().cell_s, **EXACTLY)


# --- Distortion ---------------------------------------------------------------------------------------------


def channels(num_clients: int, num_antennas: int, rng: np.random.Generator):
    """Channels, shape (antennas, clients), and a beamformer of norm 1, shape (antennas,)."""
    h = rng.normal(size=(num_antennas, num_clients)) + 1j * rng.normal(size=(num_antennas, num_clients))
    a = rng.normal(size=num_antennas) + 1j * rng.normal(size=num_antennas)
    return h, a / np.linalg.norm(a)


@pytest.mark.parametrize("is_full_power", [False, True])
def test_distortion_of_run_transmissions(is_full_power):
    """Eqs. 23 and 24 as printed; mean squared errors within 4 standard errors (a factor 2 is about 100)."""
    num_clients, num_antennas, num_elements, power_w, noise_w = 5, 4, 20_000, 0.3, 0.02
    rng = np.random.default_rng(7)
    h, a = channels(num_clients, num_antennas, rng)
    seen = np.conj(a) @ h
    form = AirDistortion(power_w=power_w, noise_w=noise_w, gains=abs(seen) ** 2, is_full_power=is_full_power)
    nu = math.sqrt(power_w) * abs(seen).min() * (num_clients if is_full_power else 1)
    m = a / nu
    through = np.conj(m) @ h
    alpha = np.conj(through) / (num_clients * abs(through) ** 2)
    np.testing.assert_allclose(form.sent_w, abs(alpha) ** 2, rtol=1e-12)
    largest_w = power_w if is_full_power else power_w / num_clients**2
    assert abs(alpha).max() ** 2 == pytest.approx(largest_w, **EXACTLY)

    delta = rng.normal(size=(num_clients, num_elements))
    shape = (num_antennas, num_elements)
    z = math.sqrt(noise_w / 2.0) * (rng.normal(size=shape) + 1j * rng.normal(size=shape))
    received = np.conj(m) @ (h @ (alpha[:, None] * delta) + z)
    error = received - delta.mean(axis=0)
    for kept, mse in (
        (abs(error) ** 2, form.element_mse),
        (error.real**2, attrs.evolve(form, is_real_part_only=True).element_mse),
    ):
        assert kept.mean() == pytest.approx(mse, abs=4.0 * kept.std() / math.sqrt(num_elements))
    assert abs(error.mean()) < 4.0 * math.sqrt(form.element_mse / num_elements)  # not biased


def test_eq_25_and_its_variations_by_hand():
    form = AirDistortion(power_w=0.1, noise_w=1e-3, gains=np.array([4.0, 0.5, 2.0]))
    assert form.element_mse == pytest.approx(1e-3 / (0.1 * 0.5), **EXACTLY)
    full = attrs.evolve(form, is_full_power=True)
    assert full.element_mse == pytest.approx(form.element_mse / 9.0, **EXACTLY)
    both = attrs.evolve(full, is_real_part_only=True)
    assert both.element_mse == pytest.approx(form.element_mse / 18.0, **EXACTLY)
    assert form.cell_mse(50) == pytest.approx(1.0, **EXACTLY)
    assert form.model_variance(50, 0.2) == pytest.approx(0.04, **EXACTLY)


def test_one_client_has_no_power_to_gain():
    form = AirDistortion(power_w=0.1, noise_w=1e-3, gains=np.array([2.0]))
    assert attrs.evolve(form, is_full_power=True).element_mse == form.element_mse
    assert form.sent_w == pytest.approx([0.1], **EXACTLY)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"power_w": 0.0}, r"power_w = 0.0 must be above 0"),
        ({"noise_w": -1.0}, r"noise_w = -1.0 must be at least 0"),
        ({"gains": np.array([1.0, 0.0])}, r"gains = .* must be above 0"),
        ({"gains": np.array([])}, r"gains = .* one per client"),
    ],
)
def test_what_cannot_be_is_refused(broken, rule):
    usual = {"power_w": 0.1, "noise_w": 1e-3, "gains": np.ones(2)}
    with pytest.raises(ValueError, match=rule):
        AirDistortion(**(usual | broken))
