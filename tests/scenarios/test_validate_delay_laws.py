"""Laws of delays on the clock: all agree, what is wrong turns them red, and the page says what was run."""

import re
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pandas as pd
import pytest

from analysis.laws import Independent, Regenerating
from analysis.laws.comparison import CLOSED_FORM, Criterion, not_caught, rows
from analysis.laws.picture import drawn
from cosim.configuration import ConfigurationError
from cosim.devices.training_time import ExponentialTime
from cosim.queues import disciplines
from cosim.queues.arrivals import OnOffArrivals
from cosim.queues.port import Line
from cosim.queues.station import Station
from cosim.radio.fading import Rayleigh
from cosim.radio.redrawn import EveryEdgeRound
from cosim.radio.sharing.redivided import RedividedBand
from cosim.waiting.counts import FirstK
from scenarios.validate import delay_laws as validation
from scenarios.validate.delays.laws import LAWS
from scenarios.validate.delays.packets import Packets
from scenarios.validate.delays.page import page, save_page
from scenarios.validate.delays.paths import mean_ages_s
from scenarios.validate.law_clock import LawClock

DOCS = Path(__file__).resolve().parents[2] / "docs"
POINTS = DOCS / "laws.csv"
CRITERION = Criterion(level=0.999, margin=1.0)
Breaking = Callable[[pytest.MonkeyPatch], None]


def red(name: str, size: float) -> set[str]:
    """Numbers of a law with which the clock disagrees, in a shorter run."""
    points = pd.DataFrame(rows(name, LAWS[name], LawClock(seed=1, size=size), CRITERION))
    right = points[points["theory"] == CLOSED_FORM]
    return {*right.loc[right["verdict"] == "disagrees", "quantity"]}


# --- All agree --------------------------------------------------------------------------------------------


def test_every_law_agrees_and_every_wrong_theory_is_caught(tmp_path, capsys):
    assert validation.main(validation.Options(size=0.18, margin=0.35, out=str(tmp_path))) == 0
    points = pd.read_csv(tmp_path / "laws.csv")
    assert set(points.loc[points["theory"] == CLOSED_FORM, "verdict"]) == {"agrees"}
    assert list(dict.fromkeys(points["law"])) == list(LAWS)
    num_wrong = sum(len(law.wrong()) for law in LAWS.values())
    assert f"Wrong theories caught: {num_wrong} of {num_wrong}" in capsys.readouterr().out
    assert (tmp_path / "laws.md").read_text(encoding="utf-8") == page(points, LAWS, None)
    assert (tmp_path / "laws.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", LAWS)
def test_wrong_theories_speak_of_the_laws_numbers_and_differ(name):
    law = LAWS[name]
    theory = law.predict()
    assert law.wrong()
    for numbers in law.wrong().values():
        assert set(numbers) <= set(theory)
        assert any(numbers[quantity] != pytest.approx(theory[quantity], rel=0.05) for quantity in numbers)


# --- What is wrong turns it red ---------------------------------------------------------------------------


def slower_service(monkeypatch):
    """The public's services last 15 % longer."""
    serve = Station._serve
    monkeypatch.setattr(
        Station,
        "_serve",
        lambda self, packet: serve(self, packet._replace(service_s=1.15 * packet.service_s)),
    )


def one_server_more(monkeypatch):
    init = Station.__init__

    def more(self, *args, num_servers=1, **options):
        init(self, *args, num_servers=num_servers + 1, **options)

    monkeypatch.setattr(Station, "__init__", more)


def nobody_first(monkeypatch):
    monkeypatch.setattr(disciplines.MessagesFirst, "queue", lambda self: Line())


def idle_while_somebody_waits(monkeypatch):
    """A server that has become free rests for a moment."""
    go_on = Station._go_on

    def later(self, timer=None):
        self._call_after(0.06, lambda _: go_on(self))

    monkeypatch.setattr(Station, "_go_on", later)


def longer_patience(monkeypatch):
    init = disciplines._ImpatientQueue.__init__
    monkeypatch.setattr(
        disciplines._ImpatientQueue, "__init__", lambda self, queue, s: init(self, queue, 1.3 * s)
    )


def a_place_more(monkeypatch):
    init = disciplines._FiniteQueue.__init__
    monkeypatch.setattr(
        disciplines._FiniteQueue, "__init__", lambda self, queue, room: init(self, queue, room + 1)
    )


def longer_bursts(monkeypatch):
    """Bursts, and the times between them, last half as long again; the mean rate stays."""
    gaps_s = OnOffArrivals.gaps_s

    def longer(self, rng):
        slower = attrs.evolve(self, mean_on_s=1.5 * self.mean_on_s, mean_off_s=1.5 * self.mean_off_s)
        return gaps_s(slower, rng)

    monkeypatch.setattr(OnOffArrivals, "gaps_s", longer)


def uneven_shares(monkeypatch):
    """A sender too many is counted."""
    monkeypatch.setattr(RedividedBand, "share_hz", lambda self, num: self._bandwidth_hz / (num + 0.2))


def slower_training(monkeypatch):
    draw = ExponentialTime.draw
    monkeypatch.setattr(ExponentialTime, "draw", lambda self, rng, num: 1.15 * draw(self, rng, num))


def one_more(monkeypatch):
    monkeypatch.setattr(FirstK, "num_wanted", property(lambda self: self.num_updates + 1))


def stronger_gains(monkeypatch):
    vectors = Rayleigh.vectors
    monkeypatch.setattr(Rayleigh, "vectors", lambda self, *asked: 1.3**0.5 * vectors(self, *asked))


def channels_that_stay(monkeypatch):
    monkeypatch.setattr(EveryEdgeRound, "of_job", lambda self, job: (0,))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("mm1", slower_service),
        ("md1", slower_service),
        ("mg1", slower_service),
        ("mmc", one_server_more),
        ("priorities", nobody_first),
        ("conservation", idle_while_somebody_waits),
        ("patience", longer_patience),
        ("finite-buffer", a_place_more),
        ("finite-buffer", slower_service),
        ("on-off", longer_bursts),
        ("tandem", slower_service),
        ("age", slower_service),
        ("shared-band", uneven_shares),
        ("together", uneven_shares),
        ("barrier", slower_training),
        ("barrier", one_more),
        ("unequal-barrier", one_more),
        ("faded-upload", stronger_gains),
        ("faded-upload", channels_that_stay),
        ("success-counts", channels_that_stay),
        ("retransmission", stronger_gains),
    ],
)
def test_what_is_wrong_turns_it_red(name: str, wrong: Breaking, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong(monkeypatch)
    assert red(name, 0.25 if name == "barrier" else 0.1)


# --- The page ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def points() -> pd.DataFrame:
    return pd.read_csv(POINTS)


def test_the_page_is_made_of_its_tables(points):
    coverage = pd.read_csv(DOCS / "laws-coverage.csv")
    assert (DOCS / "laws.md").read_text(encoding="utf-8") == page(points, LAWS, coverage)
    keys = points.loc[(points["theory"] == CLOSED_FORM) & (points["method"] != "exact"), ["law", "quantity"]]
    assert set(map(tuple, coverage[["law", "quantity"]].to_numpy())) == set(map(tuple, keys.to_numpy()))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("law,", "laws,", r"has no column 'law'; .* Use the name law"),
        ("200,0.0", "200,7,0.0", r"row 2.*Use"),
        (",0.965,", ",96.5 %,", r"row 2, column 'covered': '96.5 %' is no number. Use"),
        (",200,", ",,", r"row 2, column 'num_runs': is empty. Use"),
    ],
)
def test_a_damaged_table_of_coverage_is_refused_by_its_row(old, new, said, points, tmp_path):
    path, kept = tmp_path / "coverage.csv", (DOCS / "laws-coverage.csv").read_text()
    path.write_text(kept.replace(old, new, 1))
    with pytest.raises(ConfigurationError, match=rf"coverage\.csv.*{said}"):
        save_page(points, LAWS, str(path), tmp_path / "laws.md")
    assert not (tmp_path / "laws.md").exists()


def test_a_table_of_coverage_is_read_from_its_file(points, tmp_path):
    save_page(points, LAWS, str(DOCS / "laws-coverage.csv"), tmp_path / "laws.md")
    assert (tmp_path / "laws.md").read_text(encoding="utf-8") == (DOCS / "laws.md").read_text(
        encoding="utf-8"
    )
    with pytest.raises(ConfigurationError, match=r"none\.csv: .*Use"):
        save_page(points, LAWS, str(tmp_path / "none.csv"), tmp_path / "other.md")


@pytest.mark.parametrize("name", LAWS)
def test_every_symbol_of_a_formula_is_explained(name):
    """Among its symbols or by the formula itself; the page explains E, P and t, and i, k and n count."""

    def letters(text: str) -> set[str]:
        return set(re.findall(r"(?<![A-Za-z])(?:[A-Za-z]|mu|rho|lambda)(?![A-Za-z])", text))

    law = LAWS[name]
    formula = law.formula.replace("M/H2/1", "")
    explained = letters(law.symbols) | set(re.findall(r"(?:^|[;,] )(\w)(?:_\w)? = ", formula))
    assert letters(formula) - set("EPtikn") <= explained


def test_the_picture_has_every_wrong_theory_where_it_is(points):
    axes = drawn(points, {name: law.title for name, law in LAWS.items()}).axes[0]
    crosses = next(line for line in axes.lines if line.get_label() == "wrong theory")
    found = np.sort(np.asarray(crosses.get_xdata(), dtype=float))
    keys = ["law", "quantity"]
    right = points[points["theory"] == CLOSED_FORM].set_index(keys)["predicted"]
    wrong = points[(points["theory"] != CLOSED_FORM) & (points["method"] != "exact")]
    ratio = wrong["predicted"].to_numpy() / right[list(map(tuple, wrong[keys].to_numpy()))].to_numpy()
    assert found == pytest.approx(np.sort(ratio), rel=1e-12)
    low, high = axes.get_xlim()
    assert low < found[0]
    assert found[-1] < high


def test_the_pages_theories_are_the_laws(points):
    for name, law in LAWS.items():
        own = points[points["law"] == name]
        theories = {CLOSED_FORM: law.predict(), **law.wrong()}
        for theory, numbers in theories.items():
            shown = own[own["theory"] == theory].set_index("quantity")["predicted"]
            assert dict(shown) == pytest.approx(dict(numbers), rel=1e-12)
    assert set(points.loc[points["theory"] == CLOSED_FORM, "verdict"]) == {"agrees"}
    assert not_caught(points) == {}


@pytest.mark.parametrize("name", ["together", "age"])
def test_the_pages_clock_is_what_is_run(name, points):
    """The rows of a law, run again in full."""
    again = validation.compared({name: LAWS[name]}, validation.Options())
    shown = points[points["law"] == name].reset_index(drop=True)
    own, others = (frame.drop(columns="remark") for frame in (again, shown))  # which is empty
    pd.testing.assert_frame_equal(own, others, check_exact=False, rtol=1e-9)


def test_measured_intervals_cover():
    """With 200 runs a coverage of 95 % has a standard error of 1.5 %."""
    coverage = pd.read_csv(DOCS / "laws-coverage.csv")
    assert coverage["covered"].min() >= 0.9
    assert coverage["covered"].mean() >= 0.94
    assert (coverage["flagged"] <= 0.05).all()


# --- By hand ----------------------------------------------------------------------------------------------


def test_a_wrong_theory_that_nothing_catches_is_exit_code_1(monkeypatch, tmp_path, capsys):
    def near(self):
        return {"near": {name: 1.001 * number for name, number in self.predict().items()}}

    monkeypatch.setattr(type(LAWS["age"]), "wrong", near)
    options = validation.Options(laws=("age",), size=0.3, margin=0.35, out=str(tmp_path))
    assert validation.main(options) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "Not caught: Age of updates through M/M/1: near. The power of this run is" in said


def test_a_law_that_there_is_not_is_refused():
    with pytest.raises(ConfigurationError, match=r"there is no law 'mm2'.*mm1"):
        validation.Options(laws=("mm2",))


def test_mean_age_by_hand():
    """Made at 0, 1 and 3, come at 1, 2 and 5: from age 1 to 2, then from 1 to 4, in three windows."""
    made_s, come_s = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 5.0])
    ages_s = mean_ages_s(made_s, come_s, per_window=1)
    fine_s = 1.0 + (np.arange(300_000) + 0.5) * 4.0 / 300_000
    age_s = np.where(fine_s < 2.0, fine_s, fine_s - 1.0)
    expected_s = age_s.reshape(3, -1).mean(axis=1)
    assert ages_s == pytest.approx(expected_s, rel=1e-5)


def test_packets_that_find_nobody_by_hand():
    """The third comes while another server has the second; the fourth was lost, so none meets it."""
    arrivals_s = np.array([0.0, 1.0, 1.5, 2.5, 4.0, 4.5])
    departures_s = np.array([0.5, 3.0, 1.75, np.inf, 4.25, 5.0])
    is_message = np.array([False, True, False, True, True, False])
    order = np.array([3, 0, 5, 1, 4, 2])
    packets = Packets(arrivals_s[order], departures_s[order], np.full(6, 0.25), is_message[order])
    assert packets.found_empty.tolist() == [True, True, False, False, True, True]
    assert packets.waits_s[:3] == pytest.approx([0.25, 1.75, 0.0])
    assert packets.begins(packets.of_messages).tolist() == [True, False, True]
    assert packets.begins(~packets.of_messages).tolist() == [True, True, True]


def test_samples_that_are_too_short_are_flagged():
    few = Independent(values=np.arange(199.0)).interval(0.95)
    never = Regenerating(found_empty=np.zeros(9, dtype=bool), values=np.ones(9)).interval(0.95)
    assert (few.too_noisy, never.too_noisy) == (True, True)
    assert not Independent(values=np.arange(200.0)).interval(0.95).too_noisy


def test_the_closed_forms_that_are_named_are_there():
    for name, law in LAWS.items():
        assert (DOCS.parent / "analysis/closed_forms" / f"{law.module.replace('.', '/')}.py").exists()
        assert re.fullmatch(r"[a-z0-9-]+", name)
