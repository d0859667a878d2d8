"""The uplink's channels against hand arithmetic, and what is refused."""

import math

import attrs
import numpy as np
import pytest
from fixtures.fixes import has_fix

from cosim import ConfigurationError, FixedShares, GivenSnr, PerGroup, Radio, Rayleigh, Simulation
from cosim.codecs import Uncompressed
from cosim.devices import SamePower
from cosim.jobs.job import Job
from cosim.links.port import Cell
from cosim.radio import (
    CoherenceTime,
    EveryEdgeRound,
    EveryGlobalRound,
    LargeScale,
    LinkBudget,
    NoFading,
    NoiseOnly,
    RedividedShares,
    ResourceBlocks,
)

pytestmark = pytest.mark.quick

EXACTLY = {"rel": 1e-12, "abs": 0.0}
STILL = Radio(fading=NoFading())
BUDGET = Radio(
    link=LinkBudget(
        noise_dbm_per_hz=-174.0,
        noise_figure_db=7.0,
        large_scale=LargeScale(environment="umi", carrier_hz=2e9, shadowing=False),
    ),
    fading=NoFading(),
)


def at(radio, snr_db):
    """A radio at this SNR."""
    return attrs.evolve(radio, link=GivenSnr(snr_db=PerGroup(values=(snr_db,))))


def channel_in(sim, radio, distance_m=100.0, client="client-0000", tx_power_w=0.2):
    """The channel of the only client of a cell, in the first round, at its highest power."""
    cell = Cell("edge-00", (client,), np.array([distance_m]), np.array([tx_power_w]))
    (link,) = radio.of_cells(sim, [cell])
    return link.channel(client, tx_power_w, Job(1, 0, 0))


def channel_of(radio, distance_m=100.0, client="client-0000", seed=1, tx_power_w=0.2):
    return channel_in(Simulation(seed=seed), radio, distance_m, client, tx_power_w)


def test_a_given_snr_by_hand():
    """20 dB are a ratio of 100, whatever distance and highest power."""
    channel = channel_of(at(STILL, 20.0))
    assert channel.mean_snr(1e6) == 100.0
    assert channel.rate_bps(1e6, (1,)) == pytest.approx(1e6 * math.log2(101.0), **EXACTLY)
    assert channel_of(at(STILL, 20.0), distance_m=5.0, tx_power_w=9.0).mean_snr(1e3) == 100.0


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
    assert channel.mean_snr(5e6) == pytest.approx(snr, **EXACTLY)
    assert channel.rate_bps(5e6, (1,)) == pytest.approx(5e6 * math.log2(1.0 + snr), **EXACTLY)


def test_a_budget_by_hand_with_and_without_sight():
    losses_db = [umi_loss_db(60.0, is_los) for is_los in (True, False)]
    powers_w = [0.2 * 10.0 ** (-loss_db / 10.0) for loss_db in losses_db]
    in_1_hz = [channel_of(BUDGET, 60.0, client=f"client-{n}").mean_snr(1.0) for n in range(40)]
    drawn_w = [snr * 10.0**-19.7 for snr in in_1_hz]
    assert all(any(math.isclose(w, p, rel_tol=1e-12) for p in powers_w) for w in drawn_w)
    assert all(any(math.isclose(w, p, rel_tol=1e-12) for w in drawn_w) for p in powers_w)


def test_power_and_noise_reach_the_budget():
    base = channel_of(BUDGET, 60.0).mean_snr(1e6)
    loud = channel_of(BUDGET, 60.0, tx_power_w=0.4).mean_snr(1e6)
    noisy_link = attrs.evolve(BUDGET.link, noise_figure_db=17.0)
    noisy = channel_of(attrs.evolve(BUDGET, link=noisy_link), 60.0).mean_snr(1e6)
    assert loud == pytest.approx(2.0 * base, **EXACTLY)
    assert noisy == pytest.approx(0.1 * base, **EXACTLY)


def test_a_budget_hangs_on_seed_and_client_alone():
    radio = attrs.evolve(BUDGET, link=LinkBudget(large_scale=LargeScale(environment="umi")))

    def snr(seed=1, client="a", others=(), **changes) -> float:
        sim = Simulation(seed=seed)
        for other in others:
            channel_in(sim, radio, 80.0, client=other)
        return channel_in(sim, attrs.evolve(radio, **changes), 80.0, client=client).mean_snr(1e6)

    assert snr() == snr(others=("b", "c")) == snr(sharing=RedividedShares(bandwidth_hz=1e6))
    assert len({snr(), snr(seed=2), snr(client="b")}) == 3


@pytest.mark.parametrize(
    ("redrawn", "block", "end_s"),
    [
        (EveryGlobalRound(), (2,), math.inf),
        (EveryEdgeRound(), (1,), math.inf),
        (CoherenceTime(coherence_time_s=0.5), (0,), 2.5),
    ],
)
def test_fading_reaches_the_channel(redrawn, block, end_s):
    radio = Radio(fading=Rayleigh(num_antennas=4, redrawn=redrawn))
    channel = channel_of(at(radio, 0.0))
    assert channel.fading.block(Job(2, 1, 1)) == block
    assert channel.fading.end_s((4,)) == end_s
    expected_bps = 1e6 * math.log2(1.0 + channel.fading.gain(block))
    assert channel.rate_bps(1e6, block) == pytest.approx(expected_bps, **EXACTLY)


def test_without_fading_the_mean_snr_is_the_snr():
    channel = channel_of(at(STILL, 10.0))
    assert channel.rate_bps(1e6, (1,)) == pytest.approx(1e6 * math.log2(11.0), **EXACTLY)


# --- Errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "name", "rule"),
    [
        (lambda: CoherenceTime(coherence_time_s=0.0), "CoherenceTime.coherence_time_s", "at least 1e-06"),
        (lambda: FixedShares(bandwidth_hz=0.0), "FixedShares.bandwidth_hz", "must be above 0"),
        (lambda: ResourceBlocks(num_blocks=0), "ResourceBlocks.num_blocks", "must lie from 1 to 10000"),
        (lambda: SamePower(power_w=-0.2), "SamePower.power_w", "must be above 0"),
        (lambda: Rayleigh(num_antennas=0), "Rayleigh.num_antennas", "must be at least 1"),
        (lambda: Uncompressed(bits_per_parameter=0), "Uncompressed.bits_per_parameter", "must be at least 1"),
        (lambda: PerGroup(values=()), "PerGroup.values", "must have at least one item"),
        (lambda: at(STILL, 301.0), "GivenSnr.snr_db", "must lie from -300 to 300"),
        (lambda: LinkBudget(noise_dbm_per_hz=-301.0), "LinkBudget.noise_dbm_per_hz", "from -300 to 0"),
        (lambda: LinkBudget(noise_figure_db=301.0), "LinkBudget.noise_figure_db", "from 0 to 300"),
        (lambda: NoiseOnly(noise_figure_db=-7.0), "NoiseOnly.noise_figure_db", "from 0 to 300"),
        (
            lambda: NoiseOnly(noise_dbm_per_hz=4e-21),
            "NoiseOnly.noise_dbm_per_hz",
            "from -300 to 0: a density in dBm/Hz is negative. Use -174 dBm/Hz, 10 * log10(1000 * W/Hz).",
        ),
        (
            lambda: LinkBudget(noise_dbm_per_hz=174.0),
            "LinkBudget.noise_dbm_per_hz",
            "a density in dBm/Hz is negative. Use -174 dBm/Hz, that of thermal noise",
        ),
        (
            lambda: LinkBudget(large_scale_redrawn=CoherenceTime()),
            "LinkBudget.large_scale_redrawn",
            "the path loss must not change during an upload",
        ),
        (lambda: Radio(link="budget"), "Radio.link", "'kind' must be one of GivenSnr, LinkBudget"),
        (lambda: Radio(sharing="equal"), "Radio.sharing", "'kind' must be one of FixedShares, OverTheAir"),
        (lambda: Radio(fading="rice"), "Radio.fading", "'kind' must be one of GainTrace, NoFading, "),
    ],
)
def test_an_uplink_that_cannot_be_is_refused(make, name, rule):
    with pytest.raises(ConfigurationError) as refused:
        make()
    message = str(refused.value)
    assert message.startswith(name)
    assert rule in message
    assert has_fix(message)


@pytest.mark.parametrize("distance_m", [9.9, 5001.0])
def test_a_distance_outside_the_environment_is_refused_before_the_clock_starts(distance_m):
    said = rf"client-0000 is {distance_m:g} m .* its distance must lie from 10 to 5000 m"
    with pytest.raises(ConfigurationError, match=said):
        channel_of(BUDGET, distance_m)
    channel_of(STILL, distance_m)
