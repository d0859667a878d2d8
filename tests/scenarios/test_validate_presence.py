"""The validation of presence: it agrees, its closed form is right, and a clock that is wrong turns it red."""

import math

import attrs
import numpy as np
import pytest

from analysis.closed_forms.renewal_presence import RenewalPresence
from cosim.devices.presence import OnOff
from cosim.engine.clients.availability import Availability
from scenarios.validate import presence as validation
from scenarios.validate.presence import PAIRS, Options

SMALL = Options(num_clients=40, num_rounds=30)


def test_the_clock_agrees_and_wrong_theories_are_caught() -> None:
    assert validation.main(Options(num_clients=60, num_rounds=40)) == 0


@pytest.mark.parametrize("job_s", [0.0, 0.3, 1.0, 5.0])
def test_closed_form_by_hand(job_s: float) -> None:
    """Stays of rate 1/2 and absences of rate 1; fixed stays; two stages of rate 1 each."""
    exponential, fixed, two_stages = (PAIRS[name].theory for name in PAIRS)
    assert exponential.met(job_s) == pytest.approx(2.0 / 3.0 * math.exp(-0.5 * job_s), rel=1e-9)
    assert fixed.met(job_s) == pytest.approx(max(0.0, 1.7 - job_s) / (1.7 + 1.25), rel=1e-9)
    expected = (2.0 + job_s) * math.exp(-job_s) / (2.0 + 0.3125)
    assert two_stages.met(job_s) == pytest.approx(expected, rel=1e-9)
    for theory in (exponential, fixed, two_stages):
        assert theory.met(0.0) == pytest.approx(theory.share, rel=1e-9)


def test_tails_are_those_of_the_laws() -> None:
    """Kolmogorov's distance at a hundred thousand draws, below its 99.9 % point."""
    for pair in PAIRS.values():
        drawn_s = pair.on.draw(np.random.default_rng(1), 100_000)
        if pair.longest_s < math.inf:
            assert set(drawn_s.tolist()) == {pair.longest_s}
            continue
        for at_s in np.quantile(drawn_s, np.linspace(0.01, 0.99, 50)):
            assert abs((drawn_s > at_s).mean() - pair.tail(at_s)) < 1.95 / math.sqrt(1e5)


def test_means_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"RenewalPresence\.mean_stay_s = inf: must be finite"):
        RenewalPresence(mean_stay_s=math.inf, mean_absence_s=1.0, stay_tail=lambda s: 1.0)


def test_a_clock_that_cuts_nobody_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Availability, "within", lambda self, job: job)
    assert validation.main(SMALL) == 1


def test_stays_that_begin_afresh_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody comes at time 0, and rounds are as long as the fixed stays and the mean absence together."""

    def afresh(self, sim, client):
        rng = sim.stream(client, "presence", 0)
        for turn in range(10_000):
            stay_s = float(self.on.draw(rng, 1)[0])
            yield 2.0 * turn, 2.0 * turn + min(stay_s, 1.99)

    monkeypatch.setattr(OnOff, "windows", afresh)
    assert validation.main(attrs.evolve(SMALL, num_rounds=20)) == 1
