"""The ranking of algorithms: what sets them apart, how step sizes are chosen, and what is written."""

import math

import pandas as pd
import pytest
from fixtures.fixes import FIX

import cosim
from cosim.configuration import to_dict
from scenarios.reproduce import ranking
from scenarios.reproduce.ranking import NAME, Options, main, tuned
from scenarios.reproduce.ranking_algorithms import ALGORITHMS, REFERENCE, SETTINGS, Rates
from scenarios.reproduce.ranking_shown import against, latex

FEW = {name: ALGORITHMS[name] for name in (REFERENCE, "4-bit QSGD", "FedBuff")}
ONE = {"rate": SETTINGS["rate"]}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_differ_in_what_they_do_alone(name):
    """Data, devices, band and clients at work are FedAvg's, so runs of one seed are paired."""
    rates, other = ALGORITHMS[name].grid[-1], ALGORITHMS[REFERENCE].grid[-1]
    for setting in SETTINGS.values():
        own = to_dict(ALGORITHMS[name].system(rates, setting, 5, 1))
        usual = to_dict(ALGORITHMS[REFERENCE].system(other, setting, 5, 1))
        differ = {field for field in usual if own[field] != usual[field]}
        assert differ == {"FedBuff": {"protocol", "end"}}.get(name) or differ <= {"protocol", "codec"}
        assert bool(differ) == (name != REFERENCE)


def test_step_sizes_of_a_grid_are_those_that_reach_the_target_first(monkeypatch, tmp_path):
    """Two of three seeds miss it at 0.03, one at 0.3; where none reaches it, accuracy decides."""
    monkeypatch.setattr(ranking, "ALGORITHMS", FEW)
    seconds = {"0.03": (1.0, math.nan, math.nan), "0.1": (3.0, 3.1, 2.9), "0.3": (2.0, 2.0, math.nan)}
    accuracy = {"0.03": 0.7, "0.1": 0.8, "0.3": 0.9, "1": 0.1}

    def made_up(designs, seeds, first_seed, folder, options):
        assert (seeds, first_seed) == (3, 1_000_004)
        rows = []
        for number, (name, (_, algorithm, rates)) in enumerate(designs.items()):
            never = (math.nan,) * 3
            taken = never if algorithm == "FedBuff" else seconds.get(str(rates), never)
            for seed, time_s in enumerate(taken):
                row = {"design": number, "name": name, "seed": seed, "status": "complete", "time_s": 10.0}
                row |= {"last_version": 9, "accuracy": accuracy[str(rates)], "time_to_0.85_held_2_s": time_s}
                rows.append(row)
        runs = pd.DataFrame(rows)
        runs.attrs["targets"] = ["0.85_held_2"]
        return runs

    monkeypatch.setattr(ranking, "run_designs", made_up)
    found = tuned(Options(seed=4), tmp_path)
    assert len(found) == 3 * 3
    for setting in SETTINGS:
        assert found[f"{setting}: {REFERENCE}"] == (setting, REFERENCE, Rates(0.1))
        assert found[f"{setting}: FedBuff"] == (setting, "FedBuff", Rates(0.3))


def test_small(monkeypatch, tmp_path, capsys):
    """Tuned and ranked on other seeds; what is written is what the runs say; nothing is run twice."""
    monkeypatch.setattr(ranking, "ALGORITHMS", FEW)
    monkeypatch.setattr(ranking, "SETTINGS", ONE)
    options = Options(quick=True, num_rounds=10, target=0.25, out=tmp_path / "all")
    assert main(options) == 0
    said = capsys.readouterr().out
    table = pd.read_csv(tmp_path / "all" / f"{NAME}.csv")
    assert list(table.columns[:4]) == ["setting", "algorithm", "cost", "local_rate"]
    runs = pd.read_parquet(tmp_path / "all" / "ranked" / "runs.parquet")
    assert sorted(runs["seed"].unique()) == [1, 2]
    tuning = pd.read_parquet(tmp_path / "all" / "tuning" / "runs.parquet")
    assert set(tuning["seed"]) == {1_000_001}
    for column, cost in (("time_to_0.25_held_2_s", "seconds"), ("energy_to_0.25_held_2_j", "joules")):
        own = table[table["cost"] == cost].set_index("algorithm")
        for name, of in runs.groupby("name"):
            if of[column].notna().all():
                mean = math.sqrt(math.prod(of[column]))
                assert own.loc[name.removeprefix("rate: "), "geometric_mean"] == pytest.approx(mean)
    bits = table[table["cost"] == "bits"].set_index("algorithm")
    assert bits.loc["4-bit QSGD", "ratio"] < 0.2
    assert "fewer than 6 seeds" in said
    assert (tmp_path / "all" / f"{NAME}.png").stat().st_size > 10_000
    assert (tmp_path / "all" / f"{NAME}.tex").read_text().startswith(r"\begin{tabular}{llllll}")
    monkeypatch.setattr("cosim.studies.order.run", None)  # any run now fails
    assert main(options) == 0


def test_who_differs_is_said():
    from analysis.intervals.ranks import Ranks
    from analysis.intervals.statistics import Interval
    from analysis.rankings import Ranked

    def entry(name, low, high):
        ratio = Interval(estimate=1.0, low=low, high=high, level=0.95)
        facts = {"cost": "bits", "num_reached": 2, "num_runs": 2, "taken": 2e3}
        return Ranked(name=name, ratio=ratio, ranks=Ranks(1, 2), **facts)

    a, b, c = entry("a", 0.5, 0.9), entry("b", 0.9, 1.1), entry("c", 1.2, 1.4)
    assert against([a, b, c]) == "less: a; more: c; 1 cannot be told apart from it."
    assert against([b, b]) == "none can be told apart from it."
    assert against([]) == "nothing to compare."
    assert latex({"rate": {"seconds": [a, b, c], "bits": [a, b, c]}}).count("1 to 2 (2 kbit)") == 6


@pytest.mark.parametrize("wrong", [{"seeds": 1}, {"target": 1.0}, {"num_rounds": 1}, {"workers": 0}])
def test_bad_options_are_refused(wrong):
    with pytest.raises(cosim.ConfigurationError, match=FIX):
        Options(**wrong)
