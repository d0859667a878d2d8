"""Claims of HIST's Figs. 8 and 9 on numbers made up for them: they come out, do not show, are too noisy."""

import importlib
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from run_here import MISSING, NO, NOISY, YES, claimed, each_seed, ends, verdicts

import cosim
from analysis.closed_forms.over_the_air import AirDistortion
from cosim import ConfigurationError
from scenarios.reproduce.hist import time_figures
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    EQUAL,
    OMA_HFEDAVG,
    OMA_HIST,
    Options,
)

pytestmark = pytest.mark.usefixtures("unwritten_pictures")
FIGURES = {
    name: importlib.import_module(f"scenarios.reproduce.hist.{name}")
    for name in ("fig8a", "fig8b", "fig8c", "fig9a", "fig9b", "fig9c")
}
NEVER = math.inf


@pytest.fixture
def two(tmp_path):
    """Two seeds: where they have the same, their interval has no width, else it is too wide."""
    return {"seeds": 2, "out": tmp_path}


def with_seed(own, seed):
    """A value, or of several that of the seed."""
    return own[seed - 1] if isinstance(own, tuple) else own


def curve(times_s, accuracies):
    return pd.DataFrame({"version": range(len(times_s)), "time_s": times_s, "accuracy": accuracies})


def reaching(taken_s):
    """Evaluations that have held 90 % at a time, or 10 % for 1000 s."""
    if taken_s == NEVER:
        return curve([0.0, 500.0, 1000.0], [0.1] * 3)
    return curve([0.0, taken_s, 1000.0], [0.1, 0.9, 0.9])


def makes_up(monkeypatch, evaluations):
    """Lets figures take these evaluations of a label and a seed for runs."""

    def result(label, made):
        return SimpleNamespace(evaluations=evaluations(label.rpartition(", K=")[0], made.seed), folder=None)

    monkeypatch.setattr(time_figures, "run_all", each_seed(result))


def judged(name, options):
    """Exit code and verdicts."""
    return FIGURES[name].main(options), verdicts(options.folder(""), f"hist-{name}")


def durations(ratio):
    """Global rounds of 10 s with equal sizes, and what a seed has of it with optimised ones."""

    def round_durations_s(made):
        sizes = made.protocol.submodel_sizes
        return np.full(20, 10.0) * (1.0 if sizes == EQUAL else np.resize(ratio(made.seed), 20))

    return round_durations_s


# --- Fig. 8 -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("less", "verdict", "quick"),
    [
        (0.1, YES, YES),
        (2.9, YES, YES),
        (-0.1, NO, YES),
        (3.1, NO, NO),
        ((0.5, 2.5), NOISY, NOISY),
    ],
)
def test_fig8a_wants_optimised_sizes_to_learn_slightly_slower(less, verdict, quick, two, monkeypatch):
    """By up to 3 points, in the mean over the rounds; the quick form asks for no more."""
    points = {"w optimised sizes, H=20": less, "w optimised sizes, H=40": 1.0}

    def evaluations(label, seed):
        return curve([0.0, 1.0, 2.0], [0.1, 0.6 - 0.02 * with_seed(points.get(label, 0.0), seed), 0.7])

    makes_up(monkeypatch, evaluations)
    assert judged("fig8a", Options(quick=True, **two)) == (0, [quick, YES])
    assert judged("fig8a", Options(**two)) == (0, [verdict, YES])
    assert ends(claimed(two["out"], "hist-fig8a")[0])[0][0] == pytest.approx(np.mean(less), abs=1e-9)


SHORTER = {
    "always": (lambda seed: 0.9, YES),
    "never": (lambda seed: 1.1, NO),
    "but one round": (lambda seed: [0.9] * 19 + [1.01] if seed == 5 else 0.9, NO),
    "with one of five seeds": (lambda seed: 0.9 if seed == 5 else 1.0, NOISY),
}
EARLIER = [
    (100.0, 120.0, YES),
    (120.0, 100.0, NO),
    ((100.0, 130.0), 120.0, NOISY),
    (100.0, NEVER, YES),
    (NEVER, 100.0, NO),
    (NEVER, NEVER, NOISY),
]


@pytest.mark.parametrize("name", SHORTER)
def test_fig8b_wants_every_round_to_be_no_longer(name, two, monkeypatch):
    """Timing only, with five seeds even if fewer are asked for."""
    ratio, verdict = SHORTER[name]
    monkeypatch.setattr(FIGURES["fig8b"], "round_durations_s", durations(ratio))
    makes_up(monkeypatch, lambda label, seed: reaching(100.0 if label.startswith("w ") else 120.0))
    code, said = judged("fig8b", Options(quick=True, **two))
    assert (code, said) == ({YES: 0, NO: 1, NOISY: 3}[verdict], [verdict] * 2 + [YES] * 2)


@pytest.mark.parametrize(("optimised", "equal", "verdict"), EARLIER)
def test_fig8b_wants_the_accuracy_earlier(optimised, equal, verdict, two, monkeypatch):
    monkeypatch.setattr(FIGURES["fig8b"], "round_durations_s", durations(lambda seed: 0.9))
    times_s = {"w optimised sizes, H=20": optimised, "w/o optimised sizes, H=20": equal}
    times_s |= {"w optimised sizes, H=40": 100.0, "w/o optimised sizes, H=40": 120.0}
    makes_up(monkeypatch, lambda label, seed: reaching(with_seed(times_s[label], seed)))
    assert judged("fig8b", Options(quick=True, **two)) == (0, [YES, YES, verdict, YES])


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, {}),
        ({"HIST w/o, N=4": 79.0}, {5: NO, 9: NO}),
        ({"HFedAvg, N=4": 79.0}, {5: NO, 10: NO}),
        ({"HFedAvg, N=8": (150.0, 900.0)}, {7: NOISY, 11: NOISY, 12: NOISY}),
        ({"HFedAvg, N=8": 560.0}, {12: NO}),
        ({"HIST w, N=2": 79.0}, {8: NO}),
        ({"HIST w, N=6": (50.0, 90.0)}, {6: NOISY, 8: NOISY, 12: NOISY}),
        ({"HIST w/o, N=6": NEVER}, {9: NO, 12: NOISY}),
        ({"HFedAvg, N=6": 800.0}, {10: NO, 11: NO, 12: NO}),
    ],
)
def test_fig8c_claims(changes, wrong, two, monkeypatch):
    """For 2, 4, 6 and 8 cells: shorter rounds, the fastest, and how the time changes with their number."""
    cells = (2, 4, 6, 8)
    times_s = {
        f"{name}, N={n}": base - 10.0 * n if n < 8 else at_8
        for name, base, at_8 in (
            ("HIST w", 120.0, 100.0),
            ("HIST w/o", 220.0, 220.0),
            ("HFedAvg", 420.0, 700.0),
        )
        for n in cells
    } | changes
    monkeypatch.setattr(FIGURES["fig8b"], "round_durations_s", durations(lambda seed: 0.9))
    makes_up(monkeypatch, lambda label, seed: reaching(with_seed(times_s[label], seed)))
    code, said = judged("fig8c", Options(**two))
    assert (code, said) == (0, [wrong.get(number, YES) for number in range(4 + 4 + 4 + 1)])
    table = pd.read_csv(two["out"] / "hist-fig8c.csv").set_index(["curve", "seed"])["time_s"]
    for label, taken_s in times_s.items():
        assert [table[label, seed] for seed in (1, 2)] == [with_seed(taken_s, seed) for seed in (1, 2)]


def test_fig8c_fails_where_rounds_are_longer(two, monkeypatch):
    monkeypatch.setattr(FIGURES["fig8b"], "round_durations_s", durations(lambda seed: 1.1))
    makes_up(monkeypatch, lambda label, seed: reaching(100.0))
    assert judged("fig8c", Options(quick=True, **two)) == (1, [NO, NO])


# --- Fig. 9 -------------------------------------------------------------------------------------------------


def noisy_curves(monkeypatch, losses, swings=3.0):
    """Accuracies of 70 % less some points by SNR in dB, over the last three rounds.

    Args:
        swings: Times as much do they change from round to round at -20 dB.
    """

    def evaluations(label, seed):
        name, _, level = label.partition(", ")
        level_db = None if name == OMA_HIST else int(level.split(" dB")[0])
        last = 0.7 - 0.01 * with_seed(losses.get(level_db, 0.0), seed)
        swing = 0.01 * (with_seed(swings, seed) if level_db == -20 else 1.0)
        return curve(range(6), [0.1, 0.5, 0.2, last - swing, last, last + swing])

    makes_up(monkeypatch, evaluations)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ({0: 0.0, -20: 5.0}, [YES, YES]),
        ({0: 2.9, -20: 3.1}, [YES, YES]),
        ({0: 3.1, -20: 5.0}, [NO, YES]),
        ({0: -3.1, -20: 5.0}, [NO, YES]),
        ({0: (0.0, 4.0), -20: 5.0}, [NOISY, YES]),
        ({0: 0.0, -20: 2.9}, [YES, NO]),
        ({0: 0.0, -20: (2.0, 8.0)}, [YES, NOISY]),
    ],
)
def test_fig9a_judges_noise_by_three_points(losses, expected, two, monkeypatch):
    """Nothing is required of the quick form, and of another setting than the paper's."""
    fig9a = FIGURES["fig9a"]
    noisy_curves(monkeypatch, losses)
    assert judged("fig9a", fig9a.Options(quick=True, **two)) == (0, expected)
    symmetric = fig9a.Options(grey_levels="symmetric", **two)
    assert fig9a.main(symmetric) == 0
    assert verdicts(two["out"], "hist-fig9a-symmetric") == [YES, YES, *expected, YES]


@pytest.mark.parametrize(
    ("losses", "code", "expected"),
    [({-20: 2.9}, 1, [YES] * 3 + [NO]), ({0: (0.0, 4.0), -20: 5.0}, 3, [YES, YES, NOISY, YES])],
)
def test_fig9a_in_full_requires_all_of_its_claims(losses, code, expected, two, monkeypatch):
    noisy_curves(monkeypatch, losses)
    assert judged("fig9a", FIGURES["fig9a"].Options(**two)) == (code, [*expected, YES])


@pytest.mark.parametrize(("swings", "verdict"), [(2.1, YES), (1.9, NO), (0.5, NO), ((1.5, 4.0), NOISY)])
def test_fig9a_wants_oscillations_at_the_lowest_snr(swings, verdict, two, monkeypatch):
    noisy_curves(monkeypatch, {-20: 5.0}, swings)
    assert judged("fig9a", FIGURES["fig9a"].Options(**two)) == (0, [YES] * 4 + [verdict])


def test_fig9a_claims_nothing_where_the_paper_does_not(two, monkeypatch):
    """At -10 dB."""
    noisy_curves(monkeypatch, {-10: 2.0, -20: 5.0})
    assert judged("fig9a", FIGURES["fig9a"].Options(**two)) == (0, [YES] * 5)
    papers = [claim["paper"].partition(":")[0] for claim in claimed(two["out"], "hist-fig9a")]
    assert papers == ["20 dB", "10 dB", "0 dB", "-20 dB", "-20 dB"]


def name_of(made):
    """Runs of an algorithm in Fig. 9."""
    is_air = isinstance(made.uplink.sharing, cosim.radio.OverTheAir)
    if isinstance(made.protocol, cosim.Hist):
        return AIR_HIST if is_air else OMA_HIST
    return AIR_HFEDAVG if is_air else OMA_HFEDAVG


def times_over_snr(monkeypatch, changes):
    """Numbers of seconds, less with more SNR; OMA's runs at other SNR than 20 dB are only clocked."""
    bases_s = {OMA_HFEDAVG: 400.0, AIR_HFEDAVG: 300.0, OMA_HIST: 200.0, AIR_HIST: 100.0}

    def evaluations(label, seed):
        name, snr_db = label.removesuffix(" dB").split(", ")
        return reaching(with_seed(changes.get(label, bases_s[name] - float(snr_db)), seed))

    def at_other_times(learned, systems):
        assert [made.seed for made in systems] == [1, 2]
        for own, made in zip(learned, systems, strict=True):
            pd.testing.assert_frame_equal(own, evaluations(f"{name_of(made)}, 20 dB", made.seed))
        return [
            evaluations(f"{name_of(made)}, {made.uplink.link.snr_db.values[0]:g} dB", made.seed)
            for made in systems
        ]

    makes_up(monkeypatch, evaluations)
    monkeypatch.setattr(FIGURES["fig9b"], "at_other_times", at_other_times)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, {}),
        ({"OMA-HIST, 20 dB": 70.0}, {0: NO}),
        ({"AirComp-HIST, 20 dB": (60.0, 250.0)}, {0: NOISY, 3: NOISY}),
        ({"OMA-HFedAvg, 20 dB": 401.0}, {1: NO}),
        ({"OMA-HIST, 20 dB": 201.0}, {2: NO}),
        ({"AirComp-HFedAvg, 20 dB": 301.0}, {}),
    ],
)
def test_fig9b_claims(changes, wrong, two, monkeypatch):
    """In the quick form AirComp-HIST is fastest at 20 dB, OMA's time falls from 0 to 20 dB, full power."""
    times_over_snr(monkeypatch, changes)
    options = FIGURES["fig9b"].Options(quick=True, **two)
    assert judged("fig9b", options) == (0, [wrong.get(n, YES) for n in range(4)])


@pytest.mark.parametrize(
    ("changes", "code", "wrong"),
    [
        ({"AirComp-HIST, -20 dB": 500.0}, 0, {0: NO}),
        ({"AirComp-HIST, -20 dB": NEVER}, 0, {0: NO, 5: NO}),
        ({"AirComp-HIST, -10 dB": (110.0, NEVER)}, 0, {1: NOISY, 6: NOISY, 14: NOISY}),
        ({"AirComp-HIST, 0 dB": 500.0}, 1, {2: NO, 14: NO, 15: NO}),
        ({"AirComp-HIST, 20 dB": (60.0, 250.0)}, 3, {4: NOISY, 10: NOISY, 17: NOISY}),
        ({"OMA-HFedAvg, -20 dB": 50.0}, 0, {0: NO, 11: NO, 15: NO}),
    ],
)
def test_fig9b_in_full_requires_speed_from_0_db_on(changes, code, wrong, two, monkeypatch):
    times_over_snr(monkeypatch, changes)
    options = FIGURES["fig9b"].Options(**two)
    assert judged("fig9b", options) == (code, [*(wrong.get(n, YES) for n in range(18)), MISSING])


def test_fig9b_asks_the_paper_from_0_db_on_and_the_rest_of_itself(two, monkeypatch):
    """The text names no SNR; nor does it say that a client uses all of its power."""
    times_over_snr(monkeypatch, {})
    FIGURES["fig9b"].main(FIGURES["fig9b"].Options(**two))
    found = claimed(two["out"], "hist-fig9b")
    ours = [number for number, claim in enumerate(found) if claim["is_ours"]]
    assert ours == [0, 1, 5, 6, *range(11, 19)]
    assert found[-1]["command"] == "cosim reproduce hist-fig9b --grey-levels symmetric --seeds 3"
    assert all("-" not in claim["paper"].partition(" dB")[0] for claim in found if claim["is_required"])


def test_full_power_is_that_of_n_j_clients_squared():
    """Eq. 25 for 15 clients: all of the power at -23.5 dB leaves the noise of 0 dB as printed."""
    fig9b, gains = FIGURES["fig9b"], np.linspace(0.5, 3.0, 15)

    def noise(snr_db, **power):
        return AirDistortion(power_w=10 ** (snr_db / 10), noise_w=1.0, gains=gains, **power).element_mse

    assert pytest.approx(23.5218, abs=1e-4) == fig9b.FULL_POWER_DB
    assert noise(-fig9b.FULL_POWER_DB, is_full_power=True) == pytest.approx(noise(0.0), rel=1e-12)
    assert noise(-fig9b.STEP_DB, is_full_power=True) < noise(0.0)
    assert noise(-10 * math.log10(15), is_full_power=True) != pytest.approx(noise(0.0), rel=0.1)
    made = FIGURES["fig9b"].system(AIR_HIST, 1, 1)
    assert made.num_clients / made.num_cells == 15
    assert made.uplink.sharing.transmit_power == "as-printed"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [({}, YES), ({"AirComp-HIST, 20 dB": 91.0}, NO), ({"AirComp-HIST, 10 dB": (60.0, 120.0)}, NOISY)],
)
def test_fig9b_on_symmetric_levels_asks_only_whether_the_time_falls(changes, verdict, two, monkeypatch):
    asked = []

    def evaluations(label, seed):
        asked.append(label)
        name = label.removesuffix(" symmetric")
        assert name != label
        return reaching(with_seed(changes.get(name, 100.0 - float(name.split()[1])), seed))

    makes_up(monkeypatch, evaluations)
    options = FIGURES["fig9b"].Options(grey_levels="symmetric", **two)
    assert FIGURES["fig9b"].main(options) == 0
    assert verdicts(two["out"], "hist-fig9b-symmetric") == [verdict]
    assert list(dict.fromkeys(asked)) == [f"AirComp-HIST, {snr_db} dB symmetric" for snr_db in (0, 10, 20)]


def test_fig9b_counts_no_accuracy_that_was_not_held():
    """A single lucky evaluation lies above what two in a row have."""
    lucky = curve([0.0, 1.0, 2.0, 3.0, 4.0], [0.1, 0.9, 0.6, 0.7, 0.2])
    assert FIGURES["fig9b"].highest_of([lucky, reaching(NEVER)]).tolist() == [0.6, 0.1]


def times_over_clients(monkeypatch, changes, sending):
    """Seconds to the target that fit the paper, and nanoseconds that a client sends for each parameter."""

    def evaluations(label, seed):
        name, _, per_cell = label.partition(", n_j=")
        n = int(per_cell)
        usual_s = {AIR_HFEDAVG: 300.0, OMA_HIST: 170.0 + 2.0 * n, AIR_HIST: 100.0 + 0.05 * abs(n - 22)}[name]
        return reaching(with_seed(changes.get(label, usual_s), seed))

    def sending_of_clients_s(made):
        name, per_cell = name_of(made), made.num_clients // 4
        usual_ns = 1.0 * per_cell if name == OMA_HIST else 5.0
        return 1e-9 * with_seed(sending.get((name, per_cell), usual_ns), made.seed)

    makes_up(monkeypatch, evaluations)
    monkeypatch.setattr(FIGURES["fig9c"], "sending_of_clients_s", sending_of_clients_s)


@pytest.mark.parametrize(
    ("changes", "sending", "wrong"),
    [
        ({}, {}, {}),
        ({"AirComp-HIST, n_j=15": 201.0}, {}, {0: NO}),
        ({"OMA-HIST, n_j=15": (50.0, 300.0)}, {}, {0: NOISY}),
        ({"AirComp-HFedAvg, n_j=15": NEVER}, {}, {}),
        ({}, {(OMA_HIST, 20): 15.0}, {1: NO}),
        ({}, {(OMA_HIST, 20): 20.9}, {}),
        ({}, {(OMA_HIST, 20): 21.1}, {1: NO}),
        ({}, {(OMA_HIST, 30): (31.0, 24.0)}, {1: NOISY}),
        ({}, {(AIR_HFEDAVG, 20): 5.1}, {2: NO}),
        ({}, {(AIR_HIST, 30): 4.9}, {3: NO}),
    ],
)
def test_fig9c_claims(changes, sending, wrong, two, monkeypatch):
    """The fastest with 15 clients in a cell, and how long a parameter is sent with 10 to 30."""
    times_over_clients(monkeypatch, changes, sending)
    code, said = judged("fig9c", FIGURES["fig9c"].Options(quick=True, **two))
    required = {verdict for claim, verdict in wrong.items() if claim != 0}
    assert code == (1 if NO in required else 3 if NOISY in required else 0)
    assert said == [wrong.get(number, YES) for number in range(4)]


OMA_RISES, FALLS, RISES, SLIGHTER = range(5, 9)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, {}),
        ({"AirComp-HIST, n_j=15": 500.0}, {1: NO, SLIGHTER: NO, FALLS: NO}),
        ({"AirComp-HIST, n_j=30": 500.0}, {4: NO, SLIGHTER: NO}),
        ({"OMA-HIST, n_j=30": 191.0}, {}),
        ({"OMA-HIST, n_j=30": 189.0}, {OMA_RISES: NO}),
        ({"OMA-HIST, n_j=30": (189.5, 190.5)}, {OMA_RISES: NOISY}),
        ({"OMA-HIST, n_j=30": NEVER}, {SLIGHTER: NOISY}),
        ({"AirComp-HFedAvg, n_j=20": 400.0}, {SLIGHTER: NO}),
        ({"AirComp-HFedAvg, n_j=20": NEVER}, {SLIGHTER: NOISY}),
        ({"AirComp-HIST, n_j=10": 100.1}, {FALLS: NO}),
        ({"AirComp-HIST, n_j=20": (99.0, 101.5)}, {FALLS: NOISY}),
        ({"AirComp-HIST, n_j=25": 101.0}, {RISES: NO}),
    ],
)
def test_fig9c_in_full_asks_how_the_time_goes_with_clients(changes, wrong, two, monkeypatch):
    """Speed is required with 15 clients only."""
    times_over_clients(monkeypatch, changes, {})
    expected = [wrong.get(number, YES) for number in range(5 + 4 + 3)]
    assert judged("fig9c", FIGURES["fig9c"].Options(**two)) == (int(1 in wrong), expected)


@pytest.mark.parametrize(
    ("learned", "changes", "said"),
    [
        ((20, 10, 15, 10), {}, [YES] * 3 + [MISSING, YES, MISSING, MISSING]),
        (
            (20, 10, 15),
            {"AirComp-HIST, n_j=10": 100.1},
            [YES] * 3 + [MISSING, NO, MISSING, MISSING],
        ),
        ((30, 10), {"OMA-HIST, n_j=30": 189.0}, [YES] * 2 + [NO, *[MISSING] * 3]),
        ((25, 30), {"AirComp-HIST, n_j=25": 101.0}, [YES] * 2 + [MISSING, MISSING, NO, MISSING]),
        ((10, 15, 20, 30), {}, [YES] * 6 + [MISSING, MISSING]),
    ],
)
def test_fig9c_with_some_clients_tells_what_they_show(learned, changes, said, two, monkeypatch):
    """The fastest with each, trends that they span, the others as not run, and all that sending shows."""
    times_over_clients(monkeypatch, changes, {})
    options = FIGURES["fig9c"].Options(num_clients_per_cell=learned, **two)
    assert judged("fig9c", options) == (0, [*said, *[YES] * 3])
    assert options.command("hist-fig9c").partition(" --seeds")[0] == "cosim reproduce hist-fig9c"
    words = " ".join(map(str, learned))
    assert options.command("hist-fig9c").endswith(f" --num-clients-per-cell {words}")
    for claim in claimed(two["out"], "hist-fig9c"):
        is_run = claim["verdict"] != MISSING
        assert bool(claim["quantities"]) == is_run
        assert is_run or (claim["command"], claim["core_hours"]) == ("cosim reproduce hist-fig9c", 8.0)


@pytest.mark.parametrize("learned", [(), (12,), (10, 40)])
def test_fig9c_knows_the_clients_of_the_paper(learned):
    with pytest.raises(ConfigurationError, match=r"some of 10, 15, 20, 25, 30\. Use 10 15 20"):
        FIGURES["fig9c"].Options(num_clients_per_cell=learned)


def test_the_table_of_fig9c_holds_both_panels(two, monkeypatch):
    """Learned with 15 clients in a cell, clocked with all; a run that missed has no end."""
    sending = {(OMA_HIST, 30): (31.0, 29.5)}
    times_over_clients(monkeypatch, {"OMA-HIST, n_j=15": (50.0, NEVER)}, sending)
    FIGURES["fig9c"].main(FIGURES["fig9c"].Options(quick=True, **two))
    table = pd.read_csv(two["out"] / "hist-fig9c.csv").set_index(["curve", "seed"])
    assert len(table) == 3 * 5 * 2
    assert table["time_s"].loc["OMA-HIST, n_j=15"].tolist() == [50.0, NEVER]
    assert table["time_s"].notna().sum() == 3 * 2
    assert table["sending_ns_per_parameter"].loc["OMA-HIST, n_j=30"].tolist() == pytest.approx([31.0, 29.5])
    assert table["sending_ns_per_parameter"].loc["AirComp-HIST, n_j=25"].tolist() == pytest.approx([5.0] * 2)
