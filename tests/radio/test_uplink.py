"""The uplink's channels against hand arithmetic, and what is refused."""

import math

import attrs
import numpy as np
import pytest

from cosim.configuration import ConfigurationError
from cosim.radio.large_scale import LargeScale
from cosim.radio.link import Budget, GivenSnr
from cosim.radio.uplink import Radio
from cosim.simulation import Simulation

EXACTLY = {"rel": 1e-12, "abs": 0.0}
STILL = Radio(fading="none")
BUDGET = Radio(
    link="budget",
    fading="none",
    tx_power_w=0.2,
    noise_dbm_per_hz=-174.0,
    noise_figure_db=7.0,
    large_scale=LargeScale(environment="umi", carrier_hz=2e9, shadowing=False),
)


def channel_in(sim, radio, distance_m=100.0, snr_db=30.0, client="client-0000"):
    """The channel of the only client of a cell, in the first round, at its highest power."""
    (uplink,) = radio.uplinks(
        sim, "edge-00", [client], np.array([distance_m]), np.array([snr_db]), radio.band(sim)
    )
    return uplink.channel(radio.highest_power_w(sim.stream(client, "transmit power")), 1, 0)


def channel_of(radio, distance_m=100.0, snr_db=30.0, client="client-0000", seed=1):
    return channel_in(Simulation(seed=seed), radio, distance_m, snr_db, client)


def test_a_given_snr_by_hand():
    """20 dB are a ratio of 100, whatever distance and power."""
    channel = channel_of(STILL, snr_db=20.0)
    assert channel.link == GivenSnr(snr=100.0)
    assert channel.rate_bps(1e6, (1,)) == pytest.approx(1e6 * math.log2(101.0), **EXACTLY)
    assert channel_of(attrs.evolve(STILL, tx_power_w=9.0), distance_m=5.0, snr_db=20.0).link == channel.link


def umi_loss_db(distance_m: float, is_los: bool) -> float:
    """TR 38.901, Table 7.4.1-1, 2 GHz, 10 m over 1.5 m; breakpoint at 4 x 9 x 0.5 x 2 / 0.3 = 120 m."""
    log_d3 = math.log10(math.hypot(distance_m, 8.5))
    los_db = 32.4 + 21.0 * log_d3 + 20.0 * math.log10(2.0)
    nlos_db = 35.3 * log_d3 + 22.4 + 21.3 * math.log10(2.0)
    return los_db if is_los else max(los_db, nlos_db)


def test_a_budget_by_hand_where_sight_is_sure():
    """Within 18 m UMi always has a line of sight: 0.2 W less path loss over -167 dBm/Hz in 5 MHz."""
    received_w = 0.2 * 10.0 ** (-umi_loss_db(15.0, True) / 10.0)
    snr = received_w / (10.0**-19.7 * 5e6)
    channel = channel_of(BUDGET, distance_m=15.0)
    assert channel.link.received_w == pytest.approx(received_w, **EXACTLY)
    assert channel.link.noise_w_per_hz == pytest.approx(10.0**-19.7, **EXACTLY)
    assert channel.rate_bps(5e6, (1,)) == pytest.approx(5e6 * math.log2(1.0 + snr), **EXACTLY)


def test_a_budget_by_hand_with_and_without_sight():
    losses_db = [umi_loss_db(60.0, is_los) for is_los in (True, False)]
    powers_w = [0.2 * 10.0 ** (-loss_db / 10.0) for loss_db in losses_db]
    drawn_w = [channel_of(BUDGET, 60.0, client=f"client-{n}").link.received_w for n in range(40)]
    assert all(any(math.isclose(w, p, rel_tol=1e-12) for p in powers_w) for w in drawn_w)
    assert all(any(math.isclose(w, p, rel_tol=1e-12) for w in drawn_w) for p in powers_w)


def test_power_and_noise_reach_the_budget():
    base = channel_of(BUDGET, 60.0).link
    loud = channel_of(attrs.evolve(BUDGET, tx_power_w=0.4), 60.0).link
    noisy = channel_of(attrs.evolve(BUDGET, noise_figure_db=17.0), 60.0).link
    assert loud.received_w == pytest.approx(2.0 * base.received_w, **EXACTLY)
    assert noisy.noise_w_per_hz == pytest.approx(10.0 * base.noise_w_per_hz, **EXACTLY)
    assert (loud.noise_w_per_hz, noisy.received_w) == (base.noise_w_per_hz, base.received_w)


def test_a_budget_hangs_on_seed_and_client_alone():
    radio = attrs.evolve(BUDGET, large_scale=LargeScale(environment="umi"))

    def link(seed=1, client="a", others=(), **changes) -> Budget:
        sim = Simulation(seed=seed)
        for other in others:
            channel_in(sim, radio, 80.0, client=other)
        return channel_in(sim, attrs.evolve(radio, **changes), 80.0, client=client).link

    assert link() == link(others=("b", "c")) == link(bandwidth_hz=1e6) == link(sharing="redivided")
    assert len({link(), link(seed=2), link(client="b")}) == 3


@pytest.mark.parametrize("redrawn", ["global-round", "edge-round", "coherence-time"])
def test_fading_reaches_the_channel(redrawn):
    radio = Radio(num_antennas=4, fading_redrawn=redrawn, coherence_time_s=0.5)
    channel = channel_of(radio, snr_db=0.0)
    block = channel.fading.block(2, 1)
    assert block == {"global-round": (2,), "edge-round": (2, 1), "coherence-time": (0,)}[redrawn]
    assert channel.fading.vector(block).shape == (4,)
    assert channel.fading.block_end_s((4,)) == (2.5 if redrawn == "coherence-time" else math.inf)
    expected_bps = 1e6 * math.log2(1.0 + channel.fading.gain(block))
    assert channel.rate_bps(1e6, block) == pytest.approx(expected_bps, **EXACTLY)


def test_without_fading_the_mean_snr_is_the_snr():
    channel = channel_of(attrs.evolve(STILL, num_antennas=10), snr_db=10.0)
    assert channel.rate_bps(1e6, (1,)) == pytest.approx(1e6 * math.log2(11.0), **EXACTLY)


# --- Errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "name", "rule"),
    [
        (
            {"fading_redrawn": "coherence-time"},
            "coherence_time_s",
            "fading redrawn by coherence time needs one",
        ),
        ({"coherence_time_s": 0.0}, "coherence_time_s", "must be at least 1e-06"),
        ({"bandwidth_hz": 0.0}, "bandwidth_hz", "must be above 0"),
        ({"tx_power_w": -0.2}, "tx_power_w", "must be above 0"),
        ({"num_antennas": 0}, "num_antennas", "must be at least 1"),
        ({"bits_per_parameter": 0}, "bits_per_parameter", "must be at least 1"),
        ({"snr_db": ()}, "snr_db", "must have at least one item"),
        ({"snr_db": (30.0, 301.0)}, "snr_db", "levels must lie from -300 to 300 dB"),
        ({"noise_dbm_per_hz": -301.0}, "noise", "levels must lie from -300 to 300 dB"),
        ({"noise_figure_db": 301.0}, "noise", "levels must lie from -300 to 300 dB"),
        ({"link": "given"}, "link", "must be one of 'snr', 'budget'"),
        ({"sharing": "equal"}, "sharing", "must be one of 'fixed', 'redivided'"),
        ({"fading": "rice"}, "fading", "must be one of 'rayleigh', 'none'"),
    ],
)
def test_an_uplink_that_cannot_be_is_refused(broken, name, rule):
    with pytest.raises(ConfigurationError) as refused:
        Radio(**broken)
    message = str(refused.value)
    assert message.startswith("Radio.")
    assert all(part in message for part in (name, rule, "Usual fix:"))


@pytest.mark.parametrize("distance_m", [9.9, 5001.0])
def test_a_distance_outside_the_environment_is_refused_before_the_clock_starts(distance_m):
    with pytest.raises(ConfigurationError, match="distance_2d_m"):
        channel_of(BUDGET, distance_m)
    channel_of(STILL, distance_m)
