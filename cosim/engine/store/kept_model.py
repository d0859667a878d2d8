"""Kept model: which of the evaluated models of a run is its result (`run(keep=...)`).

| keep | the model that a run gives back, and its folder keeps |
|---|---|
| last | of the last evaluation |
| best | of the evaluation with the best headline, the first column |
| a column, such as macro_f1 | of the evaluation with the best value in it |

Of equal values the earliest counts. A value that is no number, or of a model that has diverged
(`records.are_sound`), is never the best; where there is no other, the last model is kept. A stopped run goes
on with the best so far, which is in its checkpoint beside the model that it goes on from, and keeps bit for
bit what an uninterrupted run keeps.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import shown
from cosim.records.measures import Measure, are_sound
from cosim.records.rows import Evaluation
from cosim.values.pending import PendingModel

LAST, BEST = "last", "best"


def kept_by(keep: str, measures: Mapping[str, Measure]) -> str | None:
    """The column by which a model is kept; None if the last model is kept.

    Args:
        measures: Column -> what is reported in it, the headline first.

    Raises:
        ConfigurationError: There is no such column, or none at all.
    """
    if keep == LAST:
        return None
    if keep in measures:
        return keep
    if keep == BEST and measures:
        return next(iter(measures))
    rule, fix = f"must be one of {', '.join([LAST, BEST, *measures])}", BEST
    if not measures:
        rule, fix = "must be last, since nothing is learned", LAST
    raise ConfigurationError(f"run: keep = {shown(keep)}: {rule}. Use keep={fix!r}.")


class Kept(NamedTuple):
    """A model of an evaluation."""

    evaluation: Evaluation
    model: PendingModel

    def or_better(self, later: "Kept", column: str | None) -> "Kept":
        """Return the better of this and a later model, by a column; the later one where `column` is None."""
        if column is None or not self._counts(column):
            return later
        value, other = self.evaluation.scores[column], later.evaluation.scores[column]
        is_as_good = self.evaluation.measures[column].is_as_good(value, other)
        return self if is_as_good or not later._counts(column) else later

    def _counts(self, column: str) -> bool:
        """True if its value is a number, of a model that has not diverged."""
        scores = self.evaluation.scores
        return not math.isnan(scores[column]) and bool(are_sound(self.evaluation.measures, scores))
