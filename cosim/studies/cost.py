"""Cost: estimated duration of the runs of a study, before they start.

A round of the first design runs with its learning and its evaluation, and a few rounds of every design
without (a timing-only probe). This measures the cost of a round's events in each design, the cost of learning
an update in the first, and the number of updates in a round of each. If the first design loses every update,
the first design that does not gives the cost of learning; if all do, it is the same for each round.

Scope and limitations: an estimate. Networks, batches and data sets of other designs are assumed equal to the
first one's, all rounds equal and evaluated, and cores undisturbed by each other. A design whose clock cannot
run without learning is assumed to cost what the first one does. If the first cannot be measured, there is no
estimate.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from attrs import evolve

from cosim.configuration import ConfigurationError
from cosim.ends.evaluation_times import EveryVersions, Never
from cosim.ends.port import Progress
from cosim.engine.run.run import run
from cosim.engine.servers.cloud import VersionReport
from cosim.system.system import System

_PROBE_WALL_S = 0.2
_ALL_PROBES_WALL_S = 3.0
_LEARNING_WALL_S = 1.0


class Measured(NamedTuple):
    """Beginning of a run.

    Attributes:
        begin_s: Wall time until its clock started.
        per_unit_s: Wall time of one unit that its end counts, such as a round.
        updates_per_unit: Updates that arrived in it.
        num_units: Number of units until its end.
    """

    begin_s: float
    per_unit_s: float
    updates_per_unit: float
    num_units: float

    @property
    def wall_s(self) -> float:
        """Wall time of the whole run."""
        return self.begin_s + self.num_units * self.per_unit_s


class Enough(Exception):
    """Signal that the beginning of a run has been measured."""


def costs_s(systems: Sequence[System], data_dir: Path | None) -> list[float] | None:
    """Wall time of a run of each system, on one core; None if the first cannot be measured."""
    first, *_ = systems
    learnt = measured(first, data_dir, _LEARNING_WALL_S)
    if learnt is None:
        return None
    probes: list[Measured | None] = []
    started = time.monotonic()
    for system in systems:
        has_time = time.monotonic() - started < _ALL_PROBES_WALL_S
        probes.append(probed(system, data_dir) if has_time else None)
    if probes[0] is None or not first.evaluation.learns:
        return [(learnt if probe is None else probe).wall_s for probe in probes]
    alone, with_learning = probes[0], learnt
    for system, probe in zip(systems, probes, strict=True):
        if probe is not None and probe.updates_per_unit:
            found = learnt if system is first else measured(system, data_dir, _LEARNING_WALL_S)
            alone, with_learning = (alone, learnt) if found is None else (probe, found)
            break
    learning_s = max(with_learning.per_unit_s - alone.per_unit_s, 0.0)

    def wall_s(probe: Measured) -> float:
        share = probe.updates_per_unit / alone.updates_per_unit if alone.updates_per_unit else 1.0
        return learnt.begin_s + probe.num_units * (probe.per_unit_s + learning_s * share)

    return [learnt.wall_s if probe is None else wall_s(probe) for probe in probes]


def probed(system: System, data_dir: Path | None) -> Measured | None:
    """Beginning of a run without learning; None if the system's clock needs learning."""
    try:
        return measured(evolve(system, evaluation=Never()), data_dir, _PROBE_WALL_S)
    except ConfigurationError:
        return None


def measured(system: System, data_dir: Path | None, enough_wall_s: float) -> Measured | None:
    """Beginning of a run; None if the run cannot begin.

    Args:
        enough_wall_s: Least wall time to run, if the run is that long; at least one round.
    """
    if system.evaluation.learns:
        system = evolve(system, evaluation=EveryVersions())
    called = time.monotonic()
    heard: list[tuple[float, float, int]] = []

    def listener(report: VersionReport) -> None:
        done, of, _ = system.end.counted(report.progress)
        now = time.monotonic()
        heard.append((now, done, report.progress.num_updates))
        if done and (now - called > enough_wall_s or done >= of):
            raise Enough("measured")

    try:
        run(system, data_dir=data_dir, num_workers=1, listener=listener)
    except Enough:
        pass
    except Exception:  # the study's own run will report the error
        return None
    if len(heard) < 2:
        return None
    begun, *_, last = heard[min(len(heard) - 2, 1) :]
    (wall_s, done, updates), (last_wall_s, last_done, last_updates) = begun, last
    units = max(last_done - done, 1e-9)
    return Measured(
        begin_s=heard[0][0] - called,
        per_unit_s=(last_wall_s - wall_s) / units,
        updates_per_unit=(last_updates - updates) / units,
        num_units=system.end.counted(Progress()).of,
    )
