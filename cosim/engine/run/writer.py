"""Run writer: saves tables, checkpoint and kept model of a run in its folder while it goes on."""

import time
from collections.abc import Callable
from typing import Any

import attrs

from cosim.engine.run.options import RunOptions
from cosim.engine.servers.cloud import Cloud, VersionReport
from cosim.engine.store.checkpoint import Checkpoint
from cosim.engine.store.kept_model import Kept, kept_by
from cosim.engine.store.row_groups import RowGroups
from cosim.results.provenance import add_note
from cosim.results.result import Result
from cosim.results.summary import NO_VERSION, RUNNING

_SAVE_EVERY_WALL_S, _SAVE_EVERY_SAVES = 15.0, 10.0
"""At least this long between saves, and this many times as long as a save took, since each writes all tables.
[no source]"""


class RunWriter:
    """Saves tables and checkpoint of a run in its folder now and then, and passes on what it hears.

    Attributes:
        time_s: How far the run has come.
        is_replaying: True if it has not come to the checkpoint yet, so that what is saved already stays.

    Args:
        cloud: The cloud, to whose versions it listens by `heard`.
        origin: What provenance.json says of this process, where it resumes a run.
    """

    def __init__(
        self,
        rows: RowGroups,
        cloud: Cloud,
        config: dict[str, Any],
        origin: dict[str, Any],
        options: RunOptions,
        listener: Callable[[VersionReport], None],
    ) -> None:
        resumed, learner = cloud.resumed, cloud.learner
        self.time_s, self.is_replaying = 0.0, resumed is not None
        self._rows, self._folder, self._learner, self._journal = rows, rows.folder, learner, cloud.journal
        self._config, self._origin, self._options, self._listener = config, origin, options, listener
        self._column = kept_by(options.keep, learner.measures if cloud.evaluation.learns else {})
        self._best: Kept | None = None  # the model that is kept so far
        if resumed is not None:
            version = resumed.version if resumed.kept_version is None else resumed.kept_version
            self._best = Kept(resumed.evaluation_of(version), learner.stored_model(resumed.learned))
        self._kept = self._replayed = -1 if resumed is None else resumed.version
        self._evaluated: VersionReport | None = None
        self._save_at = time.monotonic() + _SAVE_EVERY_WALL_S

    def heard(self, report: VersionReport) -> None:
        """Record a new version; a version that is only replayed is not saved again."""
        self.time_s = report.progress.time_s
        self._rows.gather()
        if report.version >= self._replayed:
            if self.is_replaying:
                self.is_replaying = False
                if self._folder is not None:
                    add_note(self._folder, self._origin)
            if report.evaluation:
                evaluated = Kept(report.evaluation, report.model)
                self._best = self._best.or_better(evaluated, self._column) if self._best else evaluated
                self._evaluated = report if self._folder else report._replace(living={}, trained={})
                if self._rows.digest is not None:
                    self._rows.digest.mark(report.moment)
                every, num_new = self._options.checkpoint_every, report.version - max(self._kept, 0)
                if every and num_new >= every:
                    self._keep_model()
            if self._folder is not None and time.monotonic() > self._save_at:
                begun = time.monotonic()
                self.save(RUNNING)
                took_s = time.monotonic() - begun
                self._save_at = time.monotonic() + max(_SAVE_EVERY_WALL_S, _SAVE_EVERY_SAVES * took_s)
        self._listener(report)

    def save(self, status: str) -> Result:
        """Write what there is; returns the tables."""
        self._keep_model()
        kept_version = NO_VERSION if self._best is None else self._best.evaluation.version
        accuracies = None
        if self._best is not None:
            accuracies = self._learner.client_accuracies(self._best.model, self._rows.num_clients)
        return self._rows.result(self._config, status, self.time_s, kept_version, accuracies)

    def _keep_model(self) -> None:
        """Save the last evaluated model, unless it is kept already."""
        evaluated, best = self._evaluated, self._best
        if self._folder is None or best is None or evaluated is None or evaluated.version == self._kept:
            return
        is_other = best.evaluation.version != evaluated.version
        arrays, weights = self._learner.arrays, self._learner.weights(evaluated.model)
        values = self._learner.state(evaluated.model)
        Checkpoint(
            version=evaluated.version,
            rows={} if self._rows.digest is None else self._rows.digest.at(evaluated.moment),
            weights=weights,
            companions={name: own for name, own in values.items() if name not in weights},
            states={name: self._learner.state(state) for name, state in evaluated.states.items()},
            evaluations=self._rows.kept.evaluations,
            journal=self._journal,
            living={name: arrays(model.settled) for name, model in evaluated.living.items()},
            trained={name: arrays(weights) for name, weights in evaluated.trained.items()},
            keep=self._options.keep,
            kept_version=best.evaluation.version if is_other else None,
            kept=self._learner.weights(best.model) if is_other else {},
        ).save(self._folder)
        self._kept = evaluated.version
        self._evaluated = evaluated._replace(living={}, trained={})  # which frees them

    def with_what_was_learned(self, result: Result) -> Result:
        """The tables with the model that is kept, and the network that has its weights."""
        if self._best is None:
            return result
        model = self._best.model
        network = self._learner.network_of(model)
        return attrs.evolve(result, learned=self._learner.weights(model), network=network)
