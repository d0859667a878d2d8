"""Changes: what clients and cells make of the models that they receive, and how a model moves along them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from cosim.protocols.combinations import LinearCombination
from cosim.values.pending import PendingModel, PendingUpdate


class Change(NamedTuple):
    """Change that a client or a server has made to a model that it received.

    Attributes:
        model: The model as it was received.
        result: A client's update, or the model of a cell.
    """

    model: PendingModel
    result: PendingUpdate | PendingModel


def moved_along(
    model: PendingModel, changes: Sequence[Change], weights: Sequence[float], divisor: float
) -> PendingModel:
    """Model plus the sum of weight / divisor times (result - model), each change with a model of its own.

    Where all start from the model itself and the weights add up to the divisor, nothing of it remains, and
    this is the mean of the results to the last bit. Running statistics and state are averaged
    (`cosim.protocols.combinations`).

    Args:
        changes: At least one.
        weights: One for each.
    """
    coefficients = [weight / divisor for weight in weights]
    started: dict[PendingModel, list[float]] = {model: []}
    for (start, _), weight in zip(changes, weights, strict=True):
        started.setdefault(start, []).append(weight)
    factors = {start: -math.fsum(of_start) / divisor for start, of_start in started.items()}
    factors[model] = 1.0 - math.fsum(started[model]) / divisor
    total = math.fsum(weights) / divisor
    kept = {start: 1.0 - min(1.0, total) if start is model else 0.0 for start in factors}
    return _combined(factors, changes, coefficients, (1.0 / max(1.0, total), kept))


def mixed(model: PendingModel, change: Change, share: float) -> PendingModel:
    """(1 - share) times a model + share times a result."""
    return _combined({model: 1.0 - share}, [change], [share])


def _combined(
    factors: dict[PendingModel, float],
    changes: Sequence[Change],
    coefficients: Sequence[float],
    averaging: tuple[float, dict[PendingModel, float]] | None = None,
) -> PendingModel:
    """The sum of results times coefficients, and of models times factors.

    Args:
        averaging: Scale of coefficients, and factors, for running statistics and state. None means the same.
    """
    updates: dict[PendingUpdate, float] = {}
    models: list[tuple[PendingModel, float]] = []
    for change, coefficient in zip(changes, coefficients, strict=True):
        if isinstance(change.result, PendingModel):
            models.append((change.result, coefficient))
        else:
            updates[change.result] = coefficient
    scale, kept = averaging or (1.0, factors)
    of_moving = [scale * factor for _, factor in models] + [kept[start] for start in factors]
    models += factors.items()
    summands, of_models = zip(*models, strict=True)
    of_updates = list(updates), list(updates.values())
    return LinearCombination(summands, of_models, *of_updates, scale=scale, factors_of_moving=of_moving)
