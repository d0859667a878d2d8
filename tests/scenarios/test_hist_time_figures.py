"""The reproductions of Figs. 8 and 9: what they run, write and claim, and that claims can fail."""

import importlib
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import cosim
from scenarios import aircomp
from scenarios.command_line.console import console
from scenarios.reproduce.hist import time_figures as hist_time_figures
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    EQUAL,
    OMA_HFEDAVG,
    OMA_HIST,
    OPTIMAL,
    Options,
    at_other_times,
    is_earlier,
    over_seeds,
    round_durations_s,
    system,
    time_to_s,
    timing_only,
)

FIGURES = {
    name: importlib.import_module(f"scenarios.reproduce.hist.{name}")
    for name in ("fig8a", "fig8b", "fig8c", "fig9a", "fig9b", "fig9c")
}


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setattr(console, "width", 300)


def tiny(algorithm, seed, num_global_rounds, **settings):
    """The same setting on synthetic data with a small model."""
    made = system(algorithm, seed, min(2, num_global_rounds), **settings)
    training = cosim.evolve(
        made.protocol.training,
        steps=cosim.SameSteps(num_local_steps=2),
        local=cosim.Sgd(batch_size=10, learning_rate=0.01),
        num_edge_rounds=2,
    )
    return cosim.evolve(
        made,
        model="relu-12-24-4",
        data=cosim.Synthetic(),
        protocol=cosim.evolve(made.protocol, training=training),
    )


def shrink(monkeypatch, make=tiny):
    for module in FIGURES.values():
        if hasattr(module, "system"):
            monkeypatch.setattr(module, "system", make)


def claims(output):
    """What the paper says, what came out here, and the verdict, of every claim that was printed."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines()]
    return [row for row in rows if len(row) == 3]


# --- Systems ------------------------------------------------------------------------------------------------


def test_the_four_systems_differ_in_sharing_and_protocol_only():
    four = {name: system(name, 3, 7) for name in (OMA_HIST, OMA_HFEDAVG, AIR_HIST, AIR_HFEDAVG)}
    assert {name: made.uplink.sharing for name, made in four.items()} == {
        OMA_HIST: cosim.FixedShares(),
        OMA_HFEDAVG: cosim.FixedShares(),
        AIR_HIST: cosim.OverTheAir(),
        AIR_HFEDAVG: cosim.OverTheAir(),
    }
    assert isinstance(four[AIR_HIST].protocol, cosim.Hist)
    assert isinstance(four[AIR_HFEDAVG].protocol, cosim.HFedAvg)
    assert {made.protocol.training.local.learning_rate for made in four.values()} == {0.01}
    assert {made.uplink.fading.num_antennas for made in four.values()} == {10}
    assert {made.protocol.training.steps.num_local_steps for made in four.values()} == {40}
    assert {made.devices for made in four.values()} == {cosim.DrawnDevices()}
    assert system(AIR_HIST, 3, 7).uplink.fading.redrawn == cosim.EveryEdgeRound()
    assert system(OMA_HIST, 3, 7).uplink.fading.redrawn == cosim.EveryGlobalRound()
    alike = system(OMA_HIST, 1, 1, alike=True).devices
    assert (alike.min_frequency_hz.values, alike.max_frequency_hz.values) == ((2e9,), (4e9,))


def test_the_scenario_is_the_papers_setting():
    """V_0 = 1e6 cycles, H = 40, E = 5, 15 kHz and 1/14 ms; one edge round by eqs. 37 and 38."""
    made = cosim.evolve(aircomp.system(), end=cosim.AfterRounds(num_global_rounds=1))
    result = timing_only(made)
    sends = result.spans[(result.spans["activity"] == "send") & result.spans["node"].str.startswith("client")]
    parameters = result.transfers["payload_bits"] / 32
    airtime_s = parameters * 15e3 / 20e6 / 14e3
    assert sorted(sends["end_s"] - sends["start_s"]) == pytest.approx(sorted(airtime_s), rel=1e-9)
    assert parameters.groupby(result.transfers["edge"]).first().sum() == 784 * 300 + 300 * 10


def test_the_scenarios_report_adds_up(tmp_path):
    made = aircomp.system()
    training = cosim.evolve(
        made.protocol.training,
        steps=cosim.SameSteps(num_local_steps=2),
        local=cosim.Sgd(batch_size=10, learning_rate=0.01),
        num_edge_rounds=2,
    )
    made = cosim.evolve(
        made,
        model="relu-12-24-4",
        data=cosim.Synthetic(),
        protocol=cosim.evolve(made.protocol, training=training),
        end=cosim.AfterRounds(num_global_rounds=2),
    )
    result = cosim.run(made, out=tmp_path / "a")
    table = aircomp.report(result)
    columns = [list(column.cells) for column in table.columns]
    assert columns[0] == ["edge-00", "edge-01", "edge-02", "edge-03"]
    for row, edge in enumerate(columns[0]):
        names = set(result.transfers[result.transfers["edge"] == edge]["client"])
        own = result.spans[result.spans["node"].isin(names)]
        for column, activity in ((1, "train"), (2, "wait"), (3, "send")):
            spans = own[own["activity"] == activity]
            mean_ms = 1e3 * (spans["end_s"] - spans["start_s"]).sum() / (15 * 2 * 2)
            assert columns[column][row] == f"{mean_ms:.3g} ms"
        assert columns[5][row] == "100.0 %"
    sizes = [float(cell) for cell in columns[4]]
    assert sum(sizes) == pytest.approx(24 * 16, abs=2)


# --- What is measured ---------------------------------------------------------------------------------------


def curve(times_s, accuracies):
    return pd.DataFrame({"version": range(len(times_s)), "time_s": times_s, "accuracy": accuracies})


def test_time_to_a_target_is_that_of_the_first_evaluation_there():
    found = curve([0.0, 1.0, 2.0, 3.0], [0.1, 0.6, 0.5, 0.8])
    assert [time_to_s(found, target) for target in (0.1, 0.55, 0.7, 0.81)] == [0.0, 1.0, 3.0, math.inf]


def test_earlier_means_reached_and_the_others_followed_for_as_long():
    fast, slow = curve([0.0, 1.0], [0.1, 0.7]), curve([0.0, 2.0], [0.1, 0.7])
    stopped, followed = curve([0.0, 0.5], [0.1, 0.3]), curve([0.0, 5.0], [0.1, 0.3])
    assert is_earlier([fast], [slow], 0.6)
    assert not is_earlier([slow], [fast], 0.6)
    assert not is_earlier([fast], [fast], 0.6)
    assert is_earlier([fast], [followed], 0.6)
    assert not is_earlier([fast], [stopped], 0.6)
    assert not is_earlier([followed], [followed], 0.6)
    assert not is_earlier([fast, slow], [slow, fast], 0.6)


def test_oma_learns_the_same_at_every_snr_and_is_only_clocked_again():
    """Weights do not depend on time: the whole run at another SNR has the very same table."""
    here, there = (tiny(OMA_HIST, 2, 2, snr_db=(level_db,)) for level_db in (0.0, 20.0))
    learned, wanted = (cosim.run(made).evaluations for made in (here, there))
    (found,) = at_other_times([learned], [there])
    np.testing.assert_allclose(found["time_s"], wanted["time_s"], rtol=1e-12)
    np.testing.assert_array_equal(found["accuracy"], wanted["accuracy"])
    assert not np.allclose(learned["time_s"], wanted["time_s"])


def test_round_durations_add_up_to_the_run():
    made = tiny(AIR_HIST, 1, 2)
    assert round_durations_s(made).sum() == pytest.approx(timing_only(made).rounds["end_s"].max(), rel=1e-12)


def test_interval_over_seeds():
    values = np.array([1.0, 2.0, 4.0])
    half = stats.t.ppf(0.975, 2) * values.std(ddof=1) / math.sqrt(3.0)
    mean = values.mean()
    assert over_seeds(values, " s") == f"{mean:.3g} [{mean - half:.3g}, {mean + half:.3g}] s"
    assert over_seeds(values[:1], " s") == "1 s"
    assert over_seeds(np.array([1.0, math.inf])) == "not reached by 1 of 2"
    assert over_seeds(np.array([math.inf])) == "not reached"


# --- Figures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_a_reproduction_writes_its_table_and_its_picture(name, tmp_path, monkeypatch, capsys):
    shrink(monkeypatch)
    FIGURES[name].main(FIGURES[name].Options(quick=True, seeds=2, out=tmp_path))
    table = pd.read_csv(tmp_path / f"hist-{name}.csv")
    assert {"curve", "seed"} <= set(table.columns)
    assert set(table["seed"]) == {1, 2}
    if "accuracy" in table:
        for (label, seed), rows in table.groupby(["curve", "seed"]):
            assert list(rows["version"]) == [0, 1, 2], (label, seed)
    assert (tmp_path / f"hist-{name}.png").read_bytes().startswith(b"\x89PNG")
    assert claims(capsys.readouterr().out)


def test_a_and_b_of_figure_8_share_their_runs(tmp_path, monkeypatch):
    shrink(monkeypatch)
    FIGURES["fig8b"].main(Options(quick=True, out=tmp_path))

    def fail(*args, **kwargs):
        raise AssertionError("ran again")

    monkeypatch.setattr("cosim.running.Simulation", fail)
    FIGURES["fig8a"].main(Options(quick=True, out=tmp_path))


def test_sizes_that_make_rounds_longer_are_caught(tmp_path, monkeypatch, capsys):
    """Equal and optimised sizes swapped: the required claim of Fig. 8b fails."""

    def swapped(algorithm, seed, num_global_rounds, **settings):
        sizes = {EQUAL: OPTIMAL, OPTIMAL: EQUAL}[settings.pop("sizes", EQUAL)]
        return tiny(algorithm, seed, num_global_rounds, sizes=sizes, **settings)

    shrink(monkeypatch, swapped)
    assert FIGURES["fig8b"].main(Options(quick=True, out=tmp_path)) == 1
    assert "DISAGREES" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("losses", "code"),
    [
        ({0: 0.0, -10: 0.02, -20: 0.05}, 0),
        ({0: 0.0, -10: 0.04, -20: 0.05}, 1),
        ({0: 0.031, -10: 0.0, -20: 0.05}, 1),
        ({0: 0.0, -10: 0.02, -20: 0.029}, 1),
    ],
)
def test_tolerance_of_noise_is_judged_by_three_points(losses, code, tmp_path, monkeypatch):
    fig9a = FIGURES["fig9a"]

    def fabricated(folder, systems, options):
        def accuracy(label):
            if label.startswith(fig9a.CLEAN):
                return 0.7
            return 0.7 - losses[int(label.split("SNR ")[1].split(" dB")[0])]

        return {
            label: [curve(range(6), [0.1, 0.5] + [accuracy(label)] * 4)] * options.seeds for label in systems
        }

    monkeypatch.setattr(fig9a, "play_seeds", fabricated)
    assert fig9a.main(fig9a.Options(quick=True, out=tmp_path)) == code


def test_airtime_that_grows_with_the_clients_is_caught(tmp_path, monkeypatch, capsys):
    """AirComp swapped with OMA: both required statements of Fig. 9c about n_j fail."""
    swap = {AIR_HIST: OMA_HIST, OMA_HIST: AIR_HIST, AIR_HFEDAVG: OMA_HFEDAVG}
    shrink(monkeypatch, lambda name, *where, **settings: tiny(swap[name], *where, **settings))
    assert FIGURES["fig9c"].main(Options(quick=True, out=tmp_path)) == 1
    verdicts = {row[0].split(":")[0]: row[2] for row in claims(capsys.readouterr().out)}
    assert {verdicts[name] for name in (AIR_HIST, OMA_HIST, AIR_HFEDAVG)} == {"DISAGREES"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 0}, "--seeds 0: must be at least 1"),
        ({"num_global_rounds": 0}, "--num-global-rounds 0"),
        ({"target": 1.0}, "--target 1: must lie between 0 and 1"),
    ],
)
def test_refused(options, message):
    with pytest.raises(cosim.ConfigurationError, match=message):
        hist_time_figures.Options(**options)
