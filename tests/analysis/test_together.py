"""Several folders as one table: what is paired, what is named, and targets that no study had asked for."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from analysis.studies import compared
from analysis.tables.factors import factors_of
from analysis.together import together
from cosim import (
    AfterRounds,
    ConfigurationError,
    EdgeTraining,
    HFedAvg,
    Hist,
    Result,
    Sgd,
    System,
    evolve,
    run,
)
from cosim.data import Synthetic
from cosim.studies.study import Study
from cosim.training.local_steps import SameSteps

TRAINING = EdgeTraining(num_edge_rounds=1, steps=SameSteps(num_local_steps=2), local=Sgd(batch_size=10))
BASE = System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    protocol=Hist(training=TRAINING),
    end=AfterRounds(num_global_rounds=3),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two studies, in which designs are called alike, and three single runs."""
    found = tmp_path_factory.mktemp("together")
    grid = {"bandwidth_hz": (1e6, 2e6)}
    with ThreadPoolExecutor(1) as executor:
        Study(BASE, grid, 2, targets=(0.3,)).run(found / "hist", executor=executor)
        other = evolve(BASE, protocol=HFedAvg(training=TRAINING))
        Study(other, grid, 3).run(found / "averaging", executor=executor)
    for name, seed, num_cells in (("one", 1, 2), ("two", 2, 2), ("three", 1, 1)):
        run(evolve(BASE, seed=seed, num_cells=num_cells), out=found / name)
    return found


def test_designs_of_several_studies_are_paired_on_the_seeds_that_they_share(folder):
    runs = together([folder / "hist", folder / "averaging"])
    assert runs["design"].nunique() == 4
    assert list(runs.attrs["fields"]) == ["uplink.sharing.bandwidth_hz"]
    assert runs["name"].iloc[0] == "hist: 1 MHz"
    head, cells = factors_of(runs)
    assert head == ["folder", "bandwidth (MHz)"]
    assert cells[3] == ["averaging", "2"]
    found = {(row.design, row.metric): row for row in compared(runs)}
    energy_j = runs.set_index(["design", "seed"])["energy_j"]
    steps = [energy_j[2, seed] - energy_j[0, seed] for seed in (1, 2)]
    assert found[2, "energy_j"].num_runs == 3
    assert found[2, "energy_j"].difference.estimate == pytest.approx(np.mean(steps), rel=1e-12)


def test_folders_of_one_name_are_told_apart_by_their_paths(folder):
    copied = folder / "copy" / "hist"
    shutil.copytree(folder / "hist", copied)
    runs = together([folder / "hist", copied])
    assert list(runs["study"].unique()) == [str(folder / "hist"), str(copied)]


def test_single_runs_that_differ_in_the_seed_only_are_one_design(folder):
    runs = together([folder / name for name in ("one", "two", "three")])
    assert list(runs["name"]) == ["one", "one", "three"]
    assert list(runs["seed"]) == [1, 2, 1]
    of_study = together([folder / "hist"]).query("design == 0")
    alone = Result.load(folder / "one").summary
    assert runs["accuracy"][0] == alone.scores["accuracy"]
    assert (runs["time_s"][0], of_study["seed"].tolist()) == (alone.time_s, [1, 2])
    mixed = together([folder / "hist", folder / "one"])
    assert list(mixed["name"]) == ["1 MHz"] * 2 + ["2 MHz"] * 2 + ["one"]


def test_a_target_that_a_study_was_not_asked_for_is_read_off_its_runs(folder):
    asked = together([folder / "hist"], targets=(0.3, 0.25))
    assert asked.attrs["targets"] == ["0.3", "0.25"]
    for row in asked.itertuples():
        own = Result.load(folder / "hist" / row.folder).at_target(0.25)
        (column,) = asked.loc[[row.Index], "time_to_0.25_s"]
        assert column == own.time_s if own else np.isnan(column)
    held = together([folder / "averaging", folder / "one"], targets=(0.25,), held=2)
    assert held.attrs["targets"] == ["0.25_held_2"]
    assert len(held) == 7


def test_a_folder_that_is_neither_is_refused(folder):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        together([folder / "nothing"])
