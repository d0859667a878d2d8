"""Budgets, and errors of gains: what changes when, what a plan knows, and how far reality lies from it."""

import math

import attrs
import numpy as np
import pytest

from analysis.intervals.statistics import binomial, t_interval
from cosim import GivenSnr, PerGroup, Radio, Rayleigh, Simulation
from cosim.jobs.job import Job
from cosim.links.port import Cell
from cosim.radio import EveryEdgeRound, EveryGlobalRound, LargeScale, LinkBudget, NoFading
from cosim.radio.radio_link import RadioLink

CLIENTS = ("client-0000", "client-0001", "client-0002")
DISTANCE_M = np.array([60.0, 150.0, 390.0])
LARGE_SCALE = LargeScale(environment="uma")
GIVEN = GivenSnr(snr_db=PerGroup(values=(10.0,)))
EXACTLY = {"rel": 1e-12, "abs": 0.0}


def budget(redrawn=None, **radio) -> Radio:
    """A radio by budget, without fading."""
    link = LinkBudget(noise_figure_db=0.0, large_scale=LARGE_SCALE, large_scale_redrawn=redrawn)
    return Radio(link=link, fading=NoFading(), **radio)


BUDGET = budget()


def link_of(
    radio: Radio, seed=1, edge="edge-00", clients=CLIENTS, distance_m=DISTANCE_M, tx_power_w=0.2
) -> RadioLink:
    """The link of the only cell."""
    cell = Cell(edge, clients, distance_m, np.full(len(clients), tx_power_w))
    return radio.of_cells(Simulation(seed), [cell])[0]


def gains(radio: Radio, rounds, clients=CLIENTS, **where) -> list[list[float]]:
    """Path gain of every client, round by round."""
    link = link_of(radio, clients=clients, **where)
    jobs = [Job.of_round(*at, 10) for at in rounds]
    return [[link.channel(name, 1.0, job).mean_snr(1.0) * 10.0**-20.4 for name in clients] for job in jobs]


ROUNDS = [(1, 0), (1, 1), (2, 0), (2, 1)]


@pytest.mark.parametrize(
    ("redrawn", "num_different"), [(None, 1), (EveryGlobalRound(), 2), (EveryEdgeRound(), 4)]
)
def test_gains_change_when_they_should(redrawn, num_different):
    found = gains(budget(redrawn), ROUNDS)
    assert len({tuple(row) for row in found}) == num_different


@pytest.mark.parametrize("redrawn", [EveryGlobalRound(), EveryEdgeRound()])
def test_a_round_has_its_gains_whoever_asks_when(redrawn):
    radio = budget(redrawn)
    forth, back = gains(radio, ROUNDS), gains(radio, ROUNDS[::-1])[::-1]
    assert forth == back
    assert gains(radio, ROUNDS[2:]) == forth[2:]
    assert gains(radio, ROUNDS, seed=2) != forth
    assert gains(radio, ROUNDS, edge="edge-01") == forth  # they are the clients' own
    fewer = gains(radio, ROUNDS, clients=CLIENTS[:2], distance_m=DISTANCE_M[:2])
    assert fewer == [row[:2] for row in forth]


def test_drawn_once_they_are_the_clients_own():
    sim = Simulation(1)
    own = [
        float(LARGE_SCALE.drawn(d, sim.of_client(name, "large-scale", LARGE_SCALE.rows)).gain)
        for name, d in zip(CLIENTS, DISTANCE_M, strict=True)
    ]
    assert gains(BUDGET, [(7, 3)])[0] == pytest.approx(own, **EXACTLY)


def test_power_scales_the_signal():
    given, one, job = link_of(Radio(link=GIVEN, fading=NoFading())), CLIENTS[0], Job(1, 0, 0)
    assert given.channel(one, 0.2, job).mean_snr(1e6) == 10.0
    assert given.channel(one, 0.1, job).mean_snr(1e6) == 5.0
    assert given.snr_per_w(slice(None), 1e6, job)[0] == pytest.approx(50.0, **EXACTLY)
    link = link_of(BUDGET)
    in_1_hz = link.channel(one, 1.0, job).mean_snr(1.0)
    assert link.channel(one, 0.3, job).mean_snr(1.0) == pytest.approx(0.3 * in_1_hz, **EXACTLY)
    expected = in_1_hz / 540e3
    assert link.snr_per_w(slice(None), 540e3, job)[0] == pytest.approx(expected, **EXACTLY)


def test_antennas_and_noise_figure_are_so_many_db():
    """8 dBi against 5 dB: 10^0.3 times the SNR of thermal noise alone, for every client and its plan."""
    link, job = LinkBudget(noise_figure_db=5.0, antenna_gain_db=8.0, large_scale=LARGE_SCALE), Job(1, 0, 0)
    both, alone = link_of(Radio(link=link, fading=NoFading())), link_of(BUDGET)
    ratio = both.snr_per_w(slice(None), 1e6, job) / alone.snr_per_w(slice(None), 1e6, job)
    np.testing.assert_allclose(ratio, 10.0**0.3, rtol=1e-12)
    sent = [of.channel(CLIENTS[0], 0.1, job).mean_snr(1e6) for of in (both, alone)]
    assert sent[0] / sent[1] == pytest.approx(10.0**0.3, **EXACTLY)


def test_a_plan_knows_the_fading():
    radio = Radio(link=GIVEN, fading=Rayleigh(num_antennas=4, redrawn=EveryEdgeRound()))
    link, job = link_of(radio, tx_power_w=1.0), Job(3, 1, 1)
    channel = link.channel(CLIENTS[0], 1.0, job)
    block = channel.fading.block(job)
    known = link.snr_per_w(slice(None), 1e6, job).item(0)
    assert known == pytest.approx(10.0 * channel.fading.gain(block), **EXACTLY)
    assert channel.rate_bps(1e6, block) == pytest.approx(1e6 * math.log2(1.0 + known), **EXACTLY)


# --- What a plan does not know -----------------------------------------------------------------------------


def errors_db(radio: Radio, num_rounds: int) -> np.ndarray:
    """Real over known SNR in dB, shape (rounds, clients)."""
    link, jobs = link_of(radio), [Job(1, number, number) for number in range(num_rounds)]
    real = [[link.channel(name, 1.0, job).mean_snr(1e6) for name in CLIENTS] for job in jobs]
    known = [link.snr_per_w(slice(None), 1e6, job) for job in jobs]
    return 10.0 * np.log10(np.array(real) / np.array(known))


@pytest.mark.parametrize("radio", [BUDGET, budget(EveryEdgeRound())])
def test_errors_are_normal_in_db_and_new_in_every_round(radio):
    found = errors_db(attrs.evolve(radio, csi_error_db=4.0), 3000)
    assert t_interval(found.ravel(), 0.999).contains(0.0)
    assert t_interval((found**2).ravel(), 0.999).contains(16.0)
    assert binomial(int((found > 4.0).sum()), found.size, 0.999).contains(0.158655)
    for a, b in ((found[1:, 0], found[:-1, 0]), (found[:, 0], found[:, 1])):
        assert t_interval(a * b, 0.999).contains(0.0)


def test_without_errors_reality_is_what_is_known():
    assert np.all(errors_db(budget(EveryEdgeRound()), 5) == 0.0)


def test_outages_come_as_often_as_they_should_and_let_nothing_through():
    link, jobs = link_of(budget(outage_probability=0.3)), [Job(1, number, number) for number in range(2000)]
    snr = np.array([[link.channel(name, 1.0, job).mean_snr(1e6) for name in CLIENTS] for job in jobs])
    assert binomial(int((snr == 0.0).sum()), snr.size, 0.999).contains(0.3)
    whole = link.snr_per_w(slice(None), 1e6, jobs[0])
    assert np.all((snr == 0.0) | np.isclose(snr, whole, rtol=1e-12))


def test_an_error_changes_no_other_draw():
    right, wrong = (link_of(budget(EveryEdgeRound(), csi_error_db=error_db)) for error_db in (0.0, 4.0))
    known = [
        link.snr_per_w(slice(None), 1e6, Job.of_round(*at, 10)).tolist()
        for link in (right, wrong)
        for at in ROUNDS
    ]
    assert known[:4] == known[4:]
