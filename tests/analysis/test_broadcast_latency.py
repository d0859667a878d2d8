"""The law of the slowest receiver: special cases by hand, and draws of its own."""

import math

import numpy as np
import pytest

from analysis.closed_forms.broadcast_latency import BroadcastLatency

LAW = BroadcastLatency(model_bits=4096.0, bandwidth_hz=1e5, snr=np.array([1.0, 1.0, 10.0]), num_antennas=1)


def test_the_weakest_of_exponential_gains_is_exponential():
    """With one antenna the rates add up: 1 + 1 + 0.1."""
    needed = 2.0 ** (4096.0 / 1e5 / 0.5) - 1.0
    assert LAW.at_most(0.5) == pytest.approx(math.exp(-2.1 * needed), rel=1e-12)


@pytest.mark.parametrize("num_antennas", [1, 2, 10])
@pytest.mark.parametrize("probability", [1e-3, 0.5, 0.999])
def test_quantiles_are_the_inverse(num_antennas, probability):
    law = BroadcastLatency(
        model_bits=LAW.model_bits, bandwidth_hz=LAW.bandwidth_hz, snr=LAW.snr, num_antennas=num_antennas
    )
    assert law.at_most(law.quantile_s(probability)) == pytest.approx(probability, rel=1e-8)


def test_draws_of_its_own_agree():
    rng, num = np.random.default_rng(7), 20_000
    law = BroadcastLatency(model_bits=4096.0, bandwidth_hz=1e5, snr=np.array([1.0, 3.0]), num_antennas=4)
    h = rng.standard_normal((num, 2, 4, 2)) / math.sqrt(2.0)
    snr = law.snr * (h**2).sum(axis=(2, 3)) / 4
    lasts_s = 4096.0 / (1e5 * np.log2(1.0 + snr)).min(axis=1)
    for probability in (0.1, 0.5, 0.9):
        found = (lasts_s <= law.quantile_s(probability)).mean()
        assert found == pytest.approx(probability, abs=3.3 * math.sqrt(probability * (1 - probability) / num))
