"""Targets of what has not been run: refused where the headline cannot have them, whatever tells it."""

import attrs
import pytest

import cosim
from cosim import ConfigurationError, Never, System
from cosim.data import Synthetic
from cosim.records.measures import Measure
from cosim.studies.study import Study
from cosim.studies.targets import check_targets
from cosim.tasks import Classification, Regression

pytestmark = pytest.mark.quick

SYSTEM = System(num_cells=2, num_clients=4, model="relu-12-8-4", data=Synthetic())
SHARE = Measure("test accuracy", higher_is_better=True, is_share=True)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (80.0, "target 80: test accuracy is a share, from 0 to 1. Did you mean 0.8?"),
        (1.5, "target 1.5: test accuracy is a share, from 0 to 1. Use 0.8, for 80 %."),
        (2.0, "Use 0.8, for 80 %."),
        (140.0, "Use 0.8, for 80 %."),
        (-0.1, "Use 0.8, for 80 %."),
    ],
)
def test_a_share_lies_from_0_to_1(target, words):
    with pytest.raises(ConfigurationError) as refused:
        SHARE.check_target(target)
    assert str(refused.value).endswith(words)


def test_shares_and_errors_may_be_targets():
    for target in (0.0, 0.8, 1.0):
        SHARE.check_target(target)
    Measure("test MSE", higher_is_better=False).check_target(80.0)


@pytest.mark.parametrize("task", [None, Classification()])
def test_the_task_or_the_data_tell_that_it_is_a_share(task):
    system = attrs.evolve(SYSTEM, task=task)
    check_targets(system, (0.1, 1.0), 1, None)
    with pytest.raises(ConfigurationError, match=r"Did you mean 0\.8\?"):
        check_targets(system, (0.1, 80.0), 1, None)


def test_data_are_loaded_only_where_they_must_tell(monkeypatch):
    def loaded(*_):
        raise AssertionError("loaded")

    monkeypatch.setattr(Synthetic, "load", loaded)
    check_targets(SYSTEM, (0.8,), 1, None)
    check_targets(attrs.evolve(SYSTEM, task=Regression()), (80.0,), 1, None)
    with pytest.raises(AssertionError, match="loaded"):
        check_targets(SYSTEM, (80.0,), 1, None)


def test_the_target_of_an_end_is_one_too():
    """Without reading pictures or texts where the data say what they suggest; else once they are read."""
    check_targets(attrs.evolve(SYSTEM, end=cosim.AfterTarget(target=0.8)), (), 1, None)
    with pytest.raises(ConfigurationError, match=r"AfterTarget.target = 80: .*Did you mean 0\.8\?"):
        check_targets(attrs.evolve(SYSTEM, end=cosim.AfterTarget(target=80.0)), (), 1, None)


@pytest.mark.parametrize(
    ("target", "held", "fits"),
    [(0.8, 2, True), (0.7, 1, True), (0.9, 2, False), (0.8, 3, False), (0.5, 3, False)],
)
def test_an_end_by_scores_may_not_come_before_what_is_asked(target, held, fits):
    """Else the run would say of a target that it was not reached, though it was never tried."""
    system = attrs.evolve(SYSTEM, end=cosim.AfterTarget(target=0.8, held=2))
    if fits:
        check_targets(system, (target,), held, None)
        return
    with pytest.raises(ConfigurationError, match=rf"--end.target {target} --end.held {held}"):
        check_targets(system, (target,), held, None)


def test_an_end_by_a_loss_may_not_come_before_a_lower_one():
    end = cosim.AfterTarget(target=0.5)
    system = attrs.evolve(SYSTEM, task=Regression(), end=end)
    check_targets(system, (0.7, 0.5), 1, None)
    with pytest.raises(ConfigurationError, match="may end it earlier"):
        check_targets(system, (0.4,), 1, None)


def test_where_nothing_is_learned_nothing_is_reached():
    timed = attrs.evolve(SYSTEM, evaluation=Never())
    check_targets(timed, (), 1, None)
    with pytest.raises(ConfigurationError, match="evaluation = Never nothing is learned"):
        check_targets(timed, (0.8,), 1, None)


def test_a_study_refuses_before_it_begins(tmp_path):
    with pytest.raises(ConfigurationError, match=r"Did you mean 0\.8\?"):
        Study(SYSTEM, {"num_cells": (1, 2)}, 1, targets=(0.5, 80.0)).run(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_so_does_a_result():
    result = cosim.run(attrs.evolve(SYSTEM, end=cosim.AfterRounds(num_global_rounds=1)))
    with pytest.raises(ConfigurationError, match=r"Did you mean 0\.8\?"):
        result.at_target(80.0)
