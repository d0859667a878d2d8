"""Run writer: saves tables, checkpoint and kept model of a run in its folder while it goes on."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.engine.run.options import RunOptions
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.store.checkpoint import Checkpoint
from cosim.engine.store.kept_model import Kept
from cosim.engine.store.row_groups import RowGroups
from cosim.results.provenance import add_note
from cosim.results.result import Result
from cosim.results.summary import NO_VERSION, RUNNING

if TYPE_CHECKING:
    from cosim.engine.learning.learner import Learner

_SAVE_EVERY_WALL_S, _SAVE_EVERY_SAVES = 15.0, 10.0
"""At least this long between saves, and this many times as long as a save took, since each writes all tables.
[no source]"""


class RunWriter:
    """Saves tables and checkpoint of a run in its folder now and then, and passes on what it hears.

    Attributes:
        time_s: How far the run has come.
        is_replaying: True if it has not come to the checkpoint yet, so that what is saved already stays.

    Args:
        column: Column by which a model is kept. None means that the last is kept.
        origin: What provenance.json says of this process, where it resumes a run.
    """

    def __init__(
        self,
        rows: RowGroups,
        learner: "Learner",
        config: dict[str, Any],
        resumed: Checkpoint | None,
        listener: Callable[[VersionReport], None],
        options: RunOptions,
        column: str | None,
        origin: dict[str, Any],
    ) -> None:
        self.time_s = 0.0
        self._options, self._column, self._best = options, column, _best_of(resumed, learner)
        self._origin, self._learner, self._listener = origin, learner, listener
        self._config, self._rows, self._folder = config, rows, rows.folder
        self._replayed, self.is_replaying = resumed.version if resumed else -1, resumed is not None
        self._evaluated: VersionReport | None = None
        self._kept = self._replayed
        self._save_at = time.monotonic() + _SAVE_EVERY_WALL_S

    def heard(self, report: VersionReport) -> None:
        """Take note of a new version; what is only replayed is not saved again."""
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
            num_new = report.version - max(self._kept, 0)
            if (
                report.evaluation
                and self._options.checkpoint_every
                and num_new >= self._options.checkpoint_every
            ):
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
        return self._rows.result(self._config, status, self.time_s, kept_version, self._accuracies())

    def _accuracies(self) -> NDArray[np.float64] | None:
        """Accuracy of the kept model on the test share of each client, where clients have such shares."""
        if self._best is None:
            return None
        return self._learner.client_accuracies(self._best.model, self._rows.num_clients)

    def _keep_model(self) -> None:
        """Save the last evaluated model, unless it is kept already."""
        evaluated = self._evaluated
        if self._folder is None or evaluated is None or evaluated.version == self._kept:
            return
        arrays, weights = self._learner.arrays, self._learner.weights(evaluated.model)
        values = self._learner.state(evaluated.model)
        Checkpoint(
            version=evaluated.version,
            rows={} if self._rows.digest is None else self._rows.digest.at(evaluated.moment),
            weights=weights,
            companions={name: own for name, own in values.items() if name not in weights},
            states={name: self._learner.state(state) for name, state in evaluated.states.items()},
            evaluations=self._rows.kept.evaluations,
            journal=evaluated.journal,
            living={name: arrays(model.settled) for name, model in evaluated.living.items()},
            trained={name: arrays(weights) for name, weights in evaluated.trained.items()},
            keep=self._options.keep,
            **self._kept_elsewhere(evaluated.version),
        ).save(self._folder)
        self._kept = evaluated.version
        self._evaluated = evaluated._replace(living={}, trained={})  # let go of them

    def _kept_elsewhere(self, version: int) -> dict[str, Any]:
        """Entries of a checkpoint about the model that is kept, where that is not its own."""
        if self._best is None or self._best.evaluation.version == version:
            return {}
        weights = self._learner.weights(self._best.model)
        return {"kept_version": self._best.evaluation.version, "kept": weights}

    def with_what_was_learned(self, result: Result) -> Result:
        """The tables with the model that is kept, and the network that has its weights."""
        if self._best is None:
            return result
        model = self._best.model
        network = self._learner.network_of(model)
        return attrs.evolve(result, learned=self._learner.weights(model), network=network)


def _best_of(resumed: Checkpoint | None, learner: "Learner") -> Kept | None:
    """The model that a stopped run keeps so far."""
    if resumed is None:
        return None
    version = resumed.version if resumed.kept_version is None else resumed.kept_version
    return Kept(resumed.evaluation_of(version), learner.stored_model(resumed.learned))
