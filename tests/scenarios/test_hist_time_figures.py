"""The reproductions of HIST's Figs. 8 and 9: what they run, measure and write."""

import importlib
import itertools
import json
import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from run_here import NO, YES, Captured, claimed, each_seed, exit_code_of

import cosim
from cosim.configuration import to_dict
from scenarios import aircomp
from scenarios.reproduce.hist import time_figures
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    EQUAL,
    OMA_HFEDAVG,
    OMA_HIST,
    OPTIMAL,
    Options,
    at_other_times,
    round_durations_s,
    system,
    times_to,
    timing_only,
)

FIGURES = {
    name: importlib.import_module(f"scenarios.reproduce.hist.{name}")
    for name in ("fig8a", "fig8b", "fig8c", "fig9a", "fig9b", "fig9c")
}


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
        data=cosim.data.Synthetic(),
        protocol=cosim.evolve(made.protocol, training=training),
    )


@cache
def once(made):
    """The run of a system, which figures have in common."""
    return cosim.run(made, num_workers=1)


sending_once = cache(FIGURES["fig9c"].sending_of_clients_s)


def shrink(monkeypatch, make=tiny):
    for module in FIGURES.values():
        if hasattr(module, "system"):
            monkeypatch.setattr(module, "system", make)
    monkeypatch.setattr(time_figures, "run_all", each_seed(lambda label, made: once(made)))
    monkeypatch.setattr(FIGURES["fig9c"], "sending_of_clients_s", sending_once)


# --- Systems ------------------------------------------------------------------------------------------------


def test_the_four_systems_differ_in_sharing_and_protocol_only():
    four = {name: system(name, 3, 7) for name in (OMA_HIST, OMA_HFEDAVG, AIR_HIST, AIR_HFEDAVG)}
    assert {name: made.uplink.sharing for name, made in four.items()} == {
        OMA_HIST: cosim.FixedShares(),
        OMA_HFEDAVG: cosim.FixedShares(),
        AIR_HIST: cosim.radio.OverTheAir(),
        AIR_HFEDAVG: cosim.radio.OverTheAir(),
    }
    assert isinstance(four[AIR_HIST].protocol, cosim.Hist)
    assert isinstance(four[AIR_HFEDAVG].protocol, cosim.HFedAvg)
    assert {made.protocol.training.local.learning_rate for made in four.values()} == {0.01}
    assert {made.uplink.fading.num_antennas for made in four.values()} == {10}
    assert {made.protocol.training.steps.num_local_steps for made in four.values()} == {40}
    assert {made.devices for made in four.values()} == {cosim.DrawnDevices()}
    assert system(AIR_HIST, 3, 7).uplink.fading.redrawn == cosim.radio.EveryEdgeRound()
    assert system(OMA_HIST, 3, 7).uplink.fading.redrawn == cosim.radio.EveryGlobalRound()
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
        data=cosim.data.Synthetic(),
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


def test_time_to_a_target_counts_from_where_it_begins_to_hold():
    one, other = (
        pd.DataFrame({"time_s": [0.0, 1.0, 2.0, 3.0, 4.0], "accuracy": accuracies})
        for accuracies in ([0.1, 0.6, 0.5, 0.6, 0.7], [0.1, 0.2, 0.3, 0.4, 0.9])
    )
    assert list(times_to([one, other], 0.3).taken) == [1.0, 2.0]
    assert list(times_to([one, other], 0.55).taken) == [3.0, math.inf]
    assert list(times_to([one, other], 0.55).lasted) == [4.0, 4.0]


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


# --- Figures ------------------------------------------------------------------------------------------------


def test_one_folder_has_one_name_for_each_system_and_no_other_under_it(monkeypatch):
    """Figures of one number share their runs; Figs. 8a and 8b have the very same, 9b has HIST's of 9a."""
    asked = {}

    def capture(folder, systems, options):
        asked[folder] = systems
        raise Captured

    monkeypatch.setattr(time_figures, "run_all", capture)
    known, names, of_8 = {}, {}, []
    forms = ({}, {"quick": True}, {"num_global_rounds": 9})
    for form, (name, figure) in itertools.product(forms, FIGURES.items()):
        scales = ("positive", "symmetric") if name in ("fig9a", "fig9b") else (None,)
        for scale in scales:
            with pytest.raises(Captured):
                figure.main(figure.Options(**form, **({} if scale is None else {"grey_levels": scale})))
            ((folder, systems),) = asked.items()
            asked.clear()
            for label, made in systems.items():
                assert known.setdefault((folder, label), made) == made
                assert names.setdefault((folder, json.dumps(to_dict(made))), label) == label
            if name in ("fig8a", "fig8b"):
                of_8.append((folder, systems))
    assert of_8[0] == of_8[1]
    assert len({folder for folder, _ in known}) == 3


@pytest.mark.parametrize("name", FIGURES)
def test_a_reproduction_writes_its_table_and_its_picture(name, tmp_path, monkeypatch):
    shrink(monkeypatch)
    code = FIGURES[name].main(FIGURES[name].Options(quick=True, seeds=2, target=0.3, out=tmp_path))
    table = pd.read_csv(tmp_path / f"hist-{name}.csv")
    assert {"curve", "seed"} <= set(table.columns)
    assert set(table["seed"]) == {1, 2}
    if "accuracy" in table:
        for (label, seed), rows in table.groupby(["curve", "seed"]):
            assert list(rows["version"]) == [0, 1, 2], (label, seed)
    else:
        assert not table.duplicated(["curve", "seed"]).any()
        assert (table["time_s"].dropna() > 0.0).all()
    assert (tmp_path / f"hist-{name}.png").read_bytes().startswith(b"\x89PNG")
    told = claimed(tmp_path, f"hist-{name}")
    assert told
    assert code == exit_code_of(told)


def test_sizes_that_make_rounds_longer_are_caught(monkeypatch):
    """Equal and optimised sizes swapped: the required claim of Figs. 8b and 8c fails."""

    def swapped(algorithm, seed, num_global_rounds, **settings):
        sizes = {EQUAL: OPTIMAL, OPTIMAL: EQUAL}[settings.pop("sizes", EQUAL)]
        return tiny(algorithm, seed, num_global_rounds, sizes=sizes, **settings)

    options = Options(quick=True)
    for make, verdict in ((tiny, YES), (swapped, NO)):
        monkeypatch.setattr(FIGURES["fig8b"], "system", make)
        assert FIGURES["fig8b"].shorter(4, 20, options).verdict == verdict


def test_airtime_that_grows_with_the_clients_is_caught():
    """OMA taken for AirComp, and the other way round: the statements of Fig. 9c about n_j fail."""
    fig9c, as_in_fig9c = FIGURES["fig9c"], {"sizes": OPTIMAL, "grey_levels": "positive"}
    sending_ns = {
        name: {
            per_cell: np.array(
                [
                    1e9 * sending_once(tiny(name, seed, 2, num_clients=4 * per_cell, **as_in_fig9c))
                    for seed in (1, 2, 3)
                ]
            )
            for per_cell in fig9c.CLIENTS
        }
        for name in (OMA_HIST, AIR_HIST, AIR_HFEDAVG)
    }
    for name, other in ((OMA_HIST, AIR_HIST), (AIR_HIST, OMA_HIST), (AIR_HFEDAVG, OMA_HIST)):
        assert fig9c.upload_claim(name, sending_ns[name]).verdict == YES
        assert fig9c.upload_claim(name, sending_ns[other]).verdict != YES


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
        Options(**options)


def test_fig9b_clocks_oma_for_as_many_rounds_as_it_learns(tmp_path, monkeypatch):
    """At every SNR; over the air fewer where noise keeps HIST from the target, whose runs are Fig. 9a's."""
    asked, clocked = {}, {}

    def run(folder, systems, options):
        asked.setdefault(folder, []).append(
            {label.rpartition(", K=")[0]: made for label, made in systems.items()}
        )
        if len(asked[folder]) == 1:
            raise InterruptedError
        evaluations = pd.DataFrame({"version": [0, 1], "time_s": [0.0, 1.0], "accuracy": [0.1, 0.2]})
        return {label: [SimpleNamespace(evaluations=evaluations)] for label in systems}

    def at_other_times(learned, systems):
        for made in systems:
            name = OMA_HIST if isinstance(made.protocol, cosim.Hist) else OMA_HFEDAVG
            clocked.setdefault(name, set()).add(made.end.num_global_rounds)
        return learned

    monkeypatch.setattr(time_figures, "run_all", run)
    monkeypatch.setattr(FIGURES["fig9b"], "at_other_times", at_other_times)
    monkeypatch.setattr(FIGURES["fig9b"], "tell", lambda *told, **others: 0)
    with pytest.raises(InterruptedError):
        FIGURES["fig9a"].main(FIGURES["fig9a"].Options(seeds=1, out=tmp_path))
    FIGURES["fig9b"].main(FIGURES["fig9b"].Options(seeds=1, out=tmp_path))
    of_fig9a, systems = asked["hist-fig9"]
    assert {label: made.end.most_rounds for label, made in systems.items()} == {
        "OMA-HIST, 20 dB": 200,
        "OMA-HFedAvg, 20 dB": 100,
        **{f"AirComp-HIST, {snr_db} dB": 100 if snr_db < 0 else 200 for snr_db in (-20, -10, 0, 10, 20)},
        **{f"AirComp-HFedAvg, {snr_db} dB": 50 if snr_db < 0 else 100 for snr_db in (-20, -10, 0, 10, 20)},
    }
    assert clocked == {OMA_HIST: {200}, OMA_HFEDAVG: {100}}
    for label in ("AirComp-HIST, -20 dB", "AirComp-HIST, -10 dB"):
        assert systems[label] == of_fig9a[label]
