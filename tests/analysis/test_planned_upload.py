"""The success rate of a planned upload against hand arithmetic and drawn errors."""

import math

import attrs
import numpy as np
import pytest

from analysis.closed_forms.planned_upload import PlannedUpload
from analysis.intervals.statistics import binomial, t_interval

EXACTLY = {"rel": 1e-12, "abs": 0.0}
PLAN = PlannedUpload(
    snr=15.0, payload_bits=4e6, bandwidth_hz=1e6, train_s=3.0, deadline_s=4.0, csi_error_db=5.0
)
"""1 s is left for 4 bit/s/Hz, which needs an SNR of 15."""


def test_a_plan_that_ends_at_the_deadline_fails_half_of_the_time():
    assert PLAN.left_s == 1.0
    assert PLAN.needed_snr == pytest.approx(15.0, **EXACTLY)
    assert PLAN.fade_margin_db == pytest.approx(0.0, abs=1e-12)
    assert PLAN.success_rate == pytest.approx(0.5, **EXACTLY)
    assert PLAN.correction_variance == pytest.approx(1.0, **EXACTLY)


def test_a_margin_of_one_sigma_by_hand():
    ahead = attrs.evolve(PLAN, snr=15.0 * 10.0**0.5)
    assert ahead.fade_margin_db == pytest.approx(5.0, rel=1e-12)
    assert ahead.success_rate == pytest.approx(0.5 * math.erfc(-1.0 / math.sqrt(2.0)), rel=1e-12)
    assert attrs.evolve(ahead, outage_probability=0.25).success_rate == pytest.approx(
        0.75 * ahead.success_rate, **EXACTLY
    )


def test_the_budget_binds_where_it_ends_before_the_deadline():
    """3 J less 1 J of training at 4 W leave half a second: 8 bit/s/Hz, an SNR of 255."""
    bound = attrs.evolve(PLAN, energy_budget_j=3.0, train_j=1.0, send_w=4.0)
    assert bound.left_s == 0.5
    assert bound.needed_snr == pytest.approx(255.0, **EXACTLY)
    assert bound.fade_margin_db == pytest.approx(10.0 * math.log10(15.0 / 255.0), **EXACTLY)
    loose = attrs.evolve(bound, energy_budget_j=30.0)
    assert loose.success_rate == PLAN.success_rate


@pytest.mark.parametrize("snr", [14.9, 15.1])
def test_without_error_it_is_a_step(snr):
    plan = attrs.evolve(PLAN, csi_error_db=0.0, snr=snr)
    assert plan.success_rate == float(snr > 15.0)
    assert plan.correction_variance == (0.0 if snr > 15.0 else math.inf)


def test_where_nothing_is_left_nothing_arrives():
    for hopeless in ({"train_s": 4.0}, {"train_s": 5.0}, {"snr": 0.0}, {"payload_bits": 1e12}):
        assert attrs.evolve(PLAN, **hopeless).success_rate == 0.0
    spent = attrs.evolve(PLAN, energy_budget_j=1.0, train_j=1.0, send_w=1.0)
    assert spent.success_rate == 0.0


def test_drawn_errors():
    """Rates of drawn gains against the tail, and theories that must not fit."""
    plan = attrs.evolve(PLAN, snr=15.0 * 10.0**0.3, csi_error_db=4.0, outage_probability=0.1)
    rng, trials = np.random.default_rng(5), 40_000
    snr = plan.snr * 10.0 ** (4.0 * rng.standard_normal(trials) / 10.0)
    sent_bits = plan.bandwidth_hz * np.log2(1.0 + snr) * plan.left_s
    arrives = (sent_bits >= plan.payload_bits) & (rng.random(trials) >= 0.1)
    interval = binomial(int(arrives.sum()), trials, 0.999)
    assert interval.contains(plan.success_rate)
    for wrong in (
        attrs.evolve(plan, snr=15.0),  # no margin
        attrs.evolve(plan, snr=15.0 / 10.0**0.3),  # the other tail
        attrs.evolve(plan, csi_error_db=4.0 * math.log(10.0) / 10.0),  # nepers
        attrs.evolve(plan, outage_probability=0.0),
    ):
        assert not interval.contains(wrong.success_rate)
    corrected = arrives / plan.success_rate
    assert t_interval(corrected, 0.999).contains(1.0)
    variance = t_interval((corrected - 1.0) ** 2, 0.999)
    assert variance.contains(plan.correction_variance)


@pytest.mark.parametrize(
    "broken",
    [
        {"payload_bits": 0.0},
        {"deadline_s": 0.0},
        {"bandwidth_hz": -1.0},
        {"snr": -1.0},
        {"train_s": -1.0},
        {"csi_error_db": -1.0},
        {"outage_probability": 1.5},
        {"energy_budget_j": 1.0},
    ],
)
def test_what_cannot_be_is_refused(broken):
    with pytest.raises(ValueError, match=r"PlannedUpload: .* must"):
        attrs.evolve(PLAN, **broken)
