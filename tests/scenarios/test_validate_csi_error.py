"""The validation of planned uploads: it agrees, and a wrong clock, theory or correction turns it red.

What it holds the clock against is computed again by hand: the normal tail by `math.erfc`, with the margin
that the gain, the spans' own energies and Shannon's rate leave each client.
"""

import functools
import math
import re
from collections.abc import Callable

import attrs
import numpy as np
import pytest

import cosim
from analysis.closed_forms.planned_upload import PlannedUpload
from analysis.intervals.statistics import Interval, binomial, t_interval
from cosim import ConfigurationError
from cosim.jobs.job import Job
from cosim.radio.gain_errors import GainErrors
from scenarios.papers.rawhfl import RawHfl
from scenarios.validate import csi_error as validation
from scenarios.validate.csi_error import Options, Point

OPTIONS = Options(num_edge_rounds=300)
DEADLINE = Point(csi_error_db=4.0, margin_db=3.0)
OUTAGE = Point(csi_error_db=4.0, margin_db=3.0, outage_probability=0.1)
BUDGET = Point(csi_error_db=6.0, margin_db=0.0, static_power_w=0.02, energy_budget_j=1.0)
POINTS = (OUTAGE, BUDGET, Point(csi_error_db=6.0, margin_db=6.0))
Patch = pytest.MonkeyPatch
once = functools.cache(validation.simulate)
"""A network that one test has simulated is not simulated again; networks that a test makes wrong are."""


@pytest.fixture
def few_points(monkeypatch: Patch) -> None:
    monkeypatch.setattr(validation, "POINTS", POINTS)
    monkeypatch.setattr(validation, "simulate", once)


def below(z: float) -> float:
    """P(standard normal <= z)."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def verdict_on(point: Point, monkeypatch: Patch) -> str:
    """Output of the validation where this is its only point."""
    monkeypatch.setattr(validation, "POINTS", (point,))
    (verdict,) = validation.compare(OPTIONS)["verdict"]
    return verdict


# It agrees, and prints what it has found.


@pytest.mark.usefixtures("few_points")
def test_clock_and_closed_form_agree(monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert validation.main(OPTIONS) == 0
    output = capsys.readouterr().out
    rows = validation.compare(OPTIONS).to_dict("records")
    printed = [[x.strip() for x in line.split("│")[1:-1]] for line in output.splitlines() if "│" in line]
    assert printed[0][:5] == ["4 dB", "3 dB", "0.1", "0 W", "10 J"]
    assert printed[1][:5] == ["6 dB", "0 dB", "0", "0.02 W", "1 J"]
    for row, shown in zip(rows, printed, strict=True):
        found = row["interval"]
        assert shown[5:] == [
            f"{row['closed_form']:.4f}",
            f"{found.estimate:.4f} [{found.low:.4f}, {found.high:.4f}]",
            "agrees",
        ]
        assert found.half_width < 0.03
        assert found.level == pytest.approx(1.0 - 0.05 / 3, rel=1e-12)
    assert re.search(r"no margin 3, the other tail 3, nepers 3, no budget 1\b", output)
    corrected = validation.mean_update(OPTIONS)
    lines = [line for line in output.splitlines() if line.startswith("Mean update")]
    for line, (name, interval), verdict in zip(
        lines, corrected.items(), ("agrees", "disagrees"), strict=True
    ):
        assert name in line
        assert f"{interval.estimate:.4f} [{interval.low:.4f}, {interval.high:.4f}]" in line
        assert line.endswith(f", {verdict}")


def test_settings_cover_both_limits_and_have_seeds_of_their_own() -> None:
    of = [validation.system(p, Options(seed=s), i) for s in range(4) for i, p in enumerate(validation.POINTS)]
    assert len({system.seed for system in of}) == len(of) == 4 * 13
    assert [(p.csi_error_db, p.margin_db) for p in validation.POINTS[:9]] == [
        (sigma, margin) for sigma in (2.0, 4.0, 6.0) for margin in (0.0, 3.0, 6.0)
    ]
    assert validation.POINTS[-1].csi_error_db == 0.0
    with pytest.raises(ConfigurationError, match="num_edge_rounds"):
        Options(num_edge_rounds=9)


# The closed form, by hand.


def test_where_the_deadline_binds_it_is_the_tail_of_margin_over_sigma(monkeypatch: Patch) -> None:
    """The optimum sends until the deadline, so the margin that was taken off is what is left, in dB."""
    monkeypatch.setattr(validation, "simulate", once)
    rates = validation.compare(Options(num_edge_rounds=10))["closed_form"].tolist()
    by_hand = [below(margin / sigma) for sigma in (2.0, 4.0, 6.0) for margin in (0.0, 3.0, 6.0)]
    assert rates[:9] == pytest.approx(by_hand, abs=1e-6)
    assert rates[1] == pytest.approx(0.9331928, abs=1e-6)
    assert rates[9] == pytest.approx(0.9 * 0.7733726, abs=1e-6)
    assert rates[12] == 1.0


def test_where_the_budget_binds_every_client_has_its_own_tail() -> None:
    """The margin of each client from its gain, the energy of its training and Shannon's rate."""
    of = validation.system(BUDGET, OPTIONS, 1)
    cloud, result = once(of)
    plans = result.plans[result.plans["edge_round"] == 0].set_index("client").to_dict("index")
    trains = result.spans[result.spans["activity"] == "train"].groupby("node").first().to_dict("index")
    arrived = result.transfers.groupby("client")["arrived"]
    bandwidth_hz, payload_bits = 540e3, 60_000 * (12 * 8 + 8 * 4)
    by_hand, without_budget = [], []
    for client in cloud.edges[0].clients:
        assert cloud.shape.num_parameters() * 60_000 == payload_bits
        plan, train = plans[client.name], trains[client.name]
        uplink = cloud.edges[0].route.uplink.link
        channel = uplink.known_channel(client.name, plan["tx_power_w"], Job(1, 0, 0))
        snr = channel.mean_snr(bandwidth_hz)
        by_deadline_s = 150.0 - (train["end_s"] - train["start_s"])
        by_budget_s = (1.0 - train["energy_j"]) / (plan["tx_power_w"] + 0.02)
        margins_db = [
            10.0 * math.log10(snr / (2.0 ** (payload_bits / (bandwidth_hz * left_s)) - 1.0))
            for left_s in (min(by_deadline_s, by_budget_s), by_deadline_s)
        ]
        by_hand.append(below(margins_db[0] / 6.0))
        without_budget.append(below(margins_db[1] / 6.0))
        found = binomial(int(arrived.sum()[client.name]), int(arrived.size()[client.name]), 0.9999)
        assert found.contains(by_hand[-1])
    theory = [plan.success_rate for plan in validation.predict(of, cloud, result)]
    assert theory == pytest.approx(by_hand, abs=1e-9)
    assert min(by_hand) < 0.8
    assert max(by_hand) > 0.999
    assert np.mean(without_budget) > np.mean(by_hand) + 0.03


# What is wrong turns it red.


def error_of_amplitudes(monkeypatch: Patch) -> None:
    right = GainErrors.factors
    monkeypatch.setattr(GainErrors, "factors", lambda self, clients, job: right(self, clients, job) ** 0.5)


def error_drawn_once(monkeypatch: Patch) -> None:
    right = GainErrors.factors
    monkeypatch.setattr(GainErrors, "factors", lambda self, clients, job: right(self, clients, Job(1, 0, 0)))


def no_outages(monkeypatch: Patch) -> None:
    right = GainErrors.factors
    monkeypatch.setattr(GainErrors, "factors", lambda self, clients, job: right(self, clients, job) or 1e9)


def clock_knows_no_budget(monkeypatch: Patch) -> None:
    right = RawHfl.each
    monkeypatch.setattr(
        RawHfl,
        "each",
        lambda self, shares, load: {**right(self, shares, load), "energy_budget_j": [None] * len(shares)},
    )


@pytest.mark.parametrize(
    ("wrong", "point"),
    [
        (error_of_amplitudes, DEADLINE),
        (error_drawn_once, DEADLINE),
        (no_outages, OUTAGE),
        (clock_knows_no_budget, BUDGET),
    ],
)
def test_a_wrong_clock_disagrees(wrong: Callable[[Patch], None], point: Point, monkeypatch: Patch) -> None:
    monkeypatch.setattr(validation, "simulate", once)
    assert verdict_on(point, monkeypatch) == "agrees"
    monkeypatch.undo()
    wrong(monkeypatch)
    assert verdict_on(point, monkeypatch) == "disagrees"


def theory_with(monkeypatch: Patch, rate: Callable[[PlannedUpload], float]) -> None:
    monkeypatch.setattr(PlannedUpload, "success_rate", property(rate))


def theory_of_laplace(monkeypatch: Patch) -> None:
    """Errors of the same spread, but another law; margins are positive here."""

    def rate(plan: PlannedUpload) -> float:
        ratio = plan.fade_margin_db / plan.csi_error_db
        return (1.0 - plan.outage_probability) * (1.0 - 0.5 * math.exp(-math.sqrt(2.0) * abs(ratio)))

    theory_with(monkeypatch, rate)


def theory_of_amplitudes(monkeypatch: Patch) -> None:
    theory_with(
        monkeypatch,
        lambda plan: (1.0 - plan.outage_probability) * below(2.0 * plan.fade_margin_db / plan.csi_error_db),
    )


def theory_without_outages(monkeypatch: Patch) -> None:
    theory_with(monkeypatch, lambda plan: below(plan.fade_margin_db / plan.csi_error_db))


def theory_without_budget(monkeypatch: Patch) -> None:
    left_s = property(lambda plan: plan.deadline_s - plan.train_s)
    monkeypatch.setattr(PlannedUpload, "left_s", left_s)


@pytest.mark.usefixtures("few_points")
@pytest.mark.parametrize(
    ("wrong", "places"),
    [
        (theory_of_laplace, {0, 1, 2}),
        (theory_of_amplitudes, {0, 1, 2}),
        (theory_without_outages, {0}),
        (theory_without_budget, {1}),
    ],
)
def test_a_wrong_theory_turns_it_red(
    wrong: Callable[[Patch], None], places: set[int], monkeypatch: Patch
) -> None:
    wrong(monkeypatch)
    rows = validation.compare(OPTIONS)
    assert set(rows.index[rows["verdict"] == "disagrees"]) == places
    assert validation.main(OPTIONS) == 1


@pytest.mark.usefixtures("few_points")
def test_five_per_cent_lost_by_the_clock_turn_it_red(monkeypatch: Patch) -> None:
    def lossy(of: cosim.System) -> tuple[object, cosim.Result]:
        cloud, result = once(of)
        kept = np.random.default_rng(1).random(len(result.transfers)) >= 0.05
        transfers = result.transfers.assign(arrived=result.transfers["arrived"] & kept)
        return cloud, result.with_tables(transfers=transfers)

    monkeypatch.setattr(validation, "simulate", lossy)
    assert set(validation.compare(OPTIONS)["verdict"]) == {"disagrees"}
    assert validation.main(OPTIONS) == 1


@pytest.mark.usefixtures("few_points")
def test_a_wrong_theory_that_nothing_catches_turns_it_red(monkeypatch: Patch) -> None:
    monkeypatch.setitem(validation.WRONG_THEORIES, "the right one", lambda plan: plan.success_rate)
    assert set(validation.compare(OPTIONS)["verdict"]) == {"agrees"}
    assert validation.main(OPTIONS) == 1


def test_too_little_data_does_not_agree(monkeypatch: Patch) -> None:
    """10 edge rounds are 120 uploads: half of them arrive or not, to within 0.13."""
    monkeypatch.setattr(validation, "simulate", once)
    options = Options(num_edge_rounds=10)
    rows = validation.compare(options)
    wide = np.array([interval.half_width > 0.05 for interval in rows["interval"]])
    assert wide[rows["closed_form"].between(0.1, 0.9)].all()
    assert set(rows["verdict"][wide]) == {"too noisy"}
    assert set(rows["verdict"][~wide]) == {"agrees"}
    assert validation.mean_update(options)["divided by p_sc"].verdict(1.0, validation.MARGIN) == "too noisy"
    assert validation.main(options) == 1


# The correction.


@pytest.mark.usefixtures("few_points")
def test_divided_updates_are_unbiased_and_plain_ones_lose_what_is_lost() -> None:
    """With 1 dB taken off and 4 dB of error, p = Phi(1 / 4) arrive; divided, each varies by (1 - p) / p."""
    corrected = validation.mean_update(OPTIONS)
    divided, plain = corrected["divided by p_sc"], corrected["not divided"]
    rate = below(0.25)
    assert divided.verdict(1.0, 0.05) == "agrees"
    assert plain.verdict(rate, 0.05) == "agrees"
    assert plain.verdict(1.0) == "disagrees"
    assert divided.estimate == pytest.approx(plain.estimate / rate, rel=1e-5)
    alike = 3.323 * math.sqrt((1.0 - rate) / rate / 12.0 / 300.0)
    assert divided.half_width == pytest.approx(alike, rel=0.25)


@pytest.mark.usefixtures("few_points")
@pytest.mark.parametrize("power", [0.5, 2.0])
def test_division_by_another_probability_is_recognised(power: float, monkeypatch: Patch) -> None:
    right = validation.predict

    def wrong(*arguments: object) -> list[object]:
        rates = [plan.success_rate for plan in right(*arguments)]  # type: ignore[arg-type]
        return [attrs.make_class("Rate", ["success_rate"])(rate**power) for rate in rates]

    monkeypatch.setattr(validation, "predict", wrong)
    assert validation.mean_update(OPTIONS)["divided by p_sc"].verdict(1.0, 0.05) == "disagrees"


UNBIASED = t_interval(np.linspace(0.95, 1.05, 100), 0.999)
BIASED = t_interval(np.linspace(0.5, 0.7, 100), 0.999)
WIDE = t_interval(np.linspace(0.0, 2.0, 100), 0.999)


@pytest.mark.usefixtures("few_points")
@pytest.mark.parametrize(
    ("divided", "plain", "code"),
    [
        (UNBIASED, BIASED, 0),
        (BIASED, BIASED, 1),
        (WIDE, BIASED, 1),
        (UNBIASED, UNBIASED, 1),
        (UNBIASED, WIDE, 1),
    ],
)
def test_exit_code_of_the_correction(
    divided: Interval, plain: Interval, code: int, monkeypatch: Patch
) -> None:
    found = {"divided by p_sc": divided, "not divided": plain}
    monkeypatch.setattr(validation, "mean_update", lambda options: found)
    assert validation.main(OPTIONS) == code


@pytest.mark.usefixtures("few_points")
def test_a_point_that_is_too_noisy_turns_it_red_on_its_own(monkeypatch: Patch) -> None:
    """All wrong theories are caught, and the correction is measured well enough for the smaller margin.

    The margin lies between the narrowest interval, the second, and the others.
    """
    widths = [interval.half_width for interval in validation.compare(OPTIONS)["interval"]]
    margin = (widths[1] + min(widths[0], widths[2])) / 2
    monkeypatch.setattr(validation, "MARGIN", margin)
    monkeypatch.setattr(
        validation, "mean_update", lambda options: {"divided by p_sc": UNBIASED, "not divided": BIASED}
    )
    rows = validation.compare(OPTIONS)
    assert rows["verdict"].tolist() == ["too noisy", "agrees", "too noisy"]
    assert UNBIASED.half_width < margin
    assert (rows[list(validation.WRONG_THEORIES)] == "disagrees").any().all()
    assert validation.main(OPTIONS) == 1
