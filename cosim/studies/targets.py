"""Targets of a run that has not begun: they must suit the headline of its task.

Scope and limitations: if a system names no task, the data set suggests one. The data set is loaded only if a
target is not a share, or the end of the run asks for the headline, which may be a metric's column.

Usage::

    check_targets(system, (0.8,), held=1, data_dir=None)

Validation: tests/studies/test_targets_asked.py.
"""

from collections.abc import Sequence
from pathlib import Path

from cosim.configuration import ConfigurationError, asks_in
from cosim.configuration.going_together import LEARNING
from cosim.data.loading import load
from cosim.records.measures import Measure
from cosim.system.system import System
from cosim.tasks.port import Task
from cosim.tasks.suggested import task_for


def check_targets(system: System, targets: Sequence[float], held: int, data_dir: Path | None) -> None:
    """Refuse targets that a run of a system cannot reach, whatever it learns, that of its end included.

    Args:
        held: Evaluations in a row at which they must be reached.

    Raises:
        ConfigurationError: Nothing is learned, a target is no share where the headline is one, or the run's
            own end comes before it.
    """
    if targets and not system.evaluation.learns:
        kind = type(system.evaluation).__name__
        raise ConfigurationError(
            f"target {targets[0]:.15g}: with evaluation = {kind} nothing is learned, so no target can "
            "be reached. Use EveryVersions, or no target."
        )
    beyond = [target for target in targets if not 0.0 <= target <= 1.0]
    if beyond:
        headline_of(system, data_dir).check_target(beyond[0])
    if asks_in(system.end, LEARNING):
        headline, end = headline_of(system, data_dir), type(system.end).__name__
        system.end.check(headline)
        for target in targets:
            if system.end.comes_before(target, held, headline):
                raise ConfigurationError(
                    f"target {target:.15g}, held {held}: the run's own {end} may end it earlier. Use "
                    f"the same target there: --end.target {target:.15g} --end.held {held}."
                )


def headline_of(system: System, data_dir: Path | None) -> Measure:
    """The headline of a run of a system; the data are loaded where only they tell."""
    task = task_of(system, data_dir)
    found = task.headline_of(system.data.outline)
    if found is None:
        found = task.headline_of(load(system.data, system.seed, data_dir).dataset)
    assert found is not None
    return found


def task_of(system: System, data_dir: Path | None) -> Task:
    """The task that a run of a system will learn; where it names none, its data set says which."""
    if system.task is not None:
        return system.task
    return task_for(None, system.data.outline or load(system.data, system.seed, data_dir).dataset)
