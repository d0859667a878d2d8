"""Cell links: what changes when, what a plan knows, and how far reality lies from it."""

import math

import attrs
import numpy as np
import pytest

from analysis.statistics import binomial, t_interval
from cosim.radio.large_scale import LargeScale
from cosim.radio.link import Budget, GivenSnr
from cosim.radio.uplink import Radio
from cosim.simulation import Simulation

CLIENTS = ["client-0000", "client-0001", "client-0002"]
DISTANCE_M = np.array([60.0, 150.0, 390.0])
BUDGET = Radio(link="budget", fading="none", noise_figure_db=0.0, large_scale=LargeScale(environment="uma"))
EXACTLY = {"rel": 1e-12, "abs": 0.0}


def uplinks(radio: Radio, seed: int = 1, edge: str = "edge-00", clients=CLIENTS, distance_m=DISTANCE_M):
    sim = Simulation(seed)
    return radio.uplinks(sim, edge, clients, distance_m, np.full(len(clients), 10.0), radio.band(sim))


def gains(radio: Radio, rounds, **where) -> list[list[float]]:
    """Received over transmitted power of every client, round by round."""
    ways = uplinks(radio, **where)
    return [[way.channel(1.0, *at).link.received_w for way in ways] for at in rounds]


ROUNDS = [(1, 0), (1, 1), (2, 0), (2, 1)]


@pytest.mark.parametrize(("redrawn", "num_different"), [("never", 1), ("global-round", 2), ("edge-round", 4)])
def test_gains_change_when_they_should(redrawn, num_different):
    found = gains(attrs.evolve(BUDGET, large_scale_redrawn=redrawn), ROUNDS)
    assert len({tuple(row) for row in found}) == num_different


@pytest.mark.parametrize("redrawn", ["global-round", "edge-round"])
def test_a_round_has_its_gains_whoever_asks_when(redrawn):
    radio = attrs.evolve(BUDGET, large_scale_redrawn=redrawn)
    forth, back = gains(radio, ROUNDS), gains(radio, ROUNDS[::-1])[::-1]
    assert forth == back
    assert gains(radio, ROUNDS[2:]) == forth[2:]
    assert gains(radio, ROUNDS, seed=2) != forth
    assert gains(radio, ROUNDS, edge="edge-01") != forth
    fewer = gains(radio, ROUNDS, clients=CLIENTS[:2], distance_m=DISTANCE_M[:2])
    assert fewer == [row[:2] for row in forth]


def test_drawn_once_they_are_the_clients_own():
    sim = Simulation(1)
    own = [
        float(BUDGET.large_scale.draw(np.array([d]), sim.stream(name, "large-scale")).gain[0])
        for name, d in zip(CLIENTS, DISTANCE_M, strict=True)
    ]
    assert gains(BUDGET, [(7, 3)]) == [own]


def test_power_scales_the_signal():
    (way,) = uplinks(Radio(fading="none", tx_power_w=0.2), clients=CLIENTS[:1], distance_m=DISTANCE_M[:1])
    assert way.channel(0.2, 1, 0).link == GivenSnr(snr=10.0)
    assert way.channel(0.1, 1, 0).link == GivenSnr(snr=5.0)
    assert way.known_snr_per_w(1e6, 1, 0) == pytest.approx(50.0, **EXACTLY)
    budget = uplinks(BUDGET)[0]
    assert budget.channel(0.3, 1, 0).link.received_w == pytest.approx(
        0.3 * budget.channel(1.0, 1, 0).link.received_w, **EXACTLY
    )
    link = budget.channel(1.0, 1, 0).link
    assert isinstance(link, Budget)
    expected = link.received_w / (10.0**-20.4 * 540e3)
    assert budget.known_snr_per_w(540e3, 1, 0) == pytest.approx(expected, **EXACTLY)


def test_a_plan_knows_the_fading():
    radio = Radio(num_antennas=4, fading_redrawn="edge-round", tx_power_w=1.0)
    way = uplinks(radio)[0]
    block = way.fading.block(3, 1)
    assert way.known_snr_per_w(1e6, 3, 1) == pytest.approx(10.0 * way.fading.gain(block), **EXACTLY)
    rate_bps = way.channel(1.0, 3, 1).rate_bps(1e6, block)
    assert rate_bps == pytest.approx(1e6 * math.log2(1.0 + way.known_snr_per_w(1e6, 3, 1)), **EXACTLY)


# --- What a plan does not know -----------------------------------------------------------------------------


def errors_db(radio: Radio, num_rounds: int) -> np.ndarray:
    """Real over known SNR in dB, shape (rounds, clients)."""
    ways = uplinks(radio)
    real = [[way.channel(1.0, 1, e).link.snr_in(1e6) for way in ways] for e in range(num_rounds)]
    known = [[way.known_snr_per_w(1e6, 1, e) for way in ways] for e in range(num_rounds)]
    return 10.0 * np.log10(np.array(real) / np.array(known))


@pytest.mark.parametrize("radio", [BUDGET, attrs.evolve(BUDGET, large_scale_redrawn="edge-round")])
def test_errors_are_normal_in_db_and_new_in_every_round(radio):
    found = errors_db(attrs.evolve(radio, csi_error_db=4.0), 3000)
    assert t_interval(found.ravel(), 0.999).contains(0.0)
    assert t_interval((found**2).ravel(), 0.999).contains(16.0)
    assert binomial(int((found > 4.0).sum()), found.size, 0.999).contains(0.158655)
    for a, b in ((found[1:, 0], found[:-1, 0]), (found[:, 0], found[:, 1])):
        assert t_interval(a * b, 0.999).contains(0.0)


def test_without_errors_reality_is_what_is_known():
    assert np.all(errors_db(attrs.evolve(BUDGET, large_scale_redrawn="edge-round"), 5) == 0.0)


def test_outages_come_as_often_as_they_should_and_let_nothing_through():
    radio = attrs.evolve(BUDGET, outage_probability=0.3)
    ways = uplinks(radio)
    snr = np.array([[way.channel(1.0, 1, e).link.snr_in(1e6) for way in ways] for e in range(2000)])
    assert binomial(int((snr == 0.0).sum()), snr.size, 0.999).contains(0.3)
    whole = [way.known_snr_per_w(1e6, 1, 0) for way in ways]
    assert np.all((snr == 0.0) | np.isclose(snr, whole, rtol=1e-12))


def test_an_error_changes_no_other_draw():
    radio = attrs.evolve(BUDGET, large_scale_redrawn="edge-round")
    wrong = attrs.evolve(radio, csi_error_db=4.0)
    known = [[way.known_snr_per_w(1e6, *at) for way in uplinks(r)] for r in (radio, wrong) for at in ROUNDS]
    assert known[:4] == known[4:]
