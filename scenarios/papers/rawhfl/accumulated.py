"""Accumulated gradients: how RawHFL moves an edge's model along the updates that have arrived.

Source: RawHFL, equation 15.
"""

from collections.abc import Sequence

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.protocols.asynchronous.changes import Change, moved_along
from cosim.values.pending import PendingModel, PendingUpdate


def accumulate(
    model: PendingModel, updates: Sequence[PendingUpdate], coefficients: Sequence[float]
) -> PendingModel:
    """A model moved along its clients' accumulated gradients.

    A client that trains from w to w_u with rate eta has the accumulated gradient g_u = (w - w_u) / eta, so
    w - eta sum (alpha_u / p_u) g_u = w + sum (alpha_u / p_u) (w_u - w), over the clients whose updates
    arrived; their coefficients need not sum to 1.

    Args:
        model: Where all updates start.
        updates: At least one.
        coefficients: One per update: alpha_u / p_u, the client's weight over the probability that its update
            arrives.
    """
    if not updates:
        raise ConfigurationError(
            "there are no updates whose gradients could be added up. Keep the old model when no "
            "update arrives."
        )
    if len(coefficients) != len(updates) or not np.isfinite(np.asarray(coefficients, dtype=float)).all():
        raise ConfigurationError(
            f"coefficients = {coefficients}: must be {len(updates)} finite numbers, one for each "
            "update. Check that no update that arrived had a probability of 0."
        )
    elsewhere = [update.client for update in updates if update.model is not model]
    if elsewhere:
        raise ConfigurationError(
            f"updates of {', '.join(elsewhere)} start from another model than the one that they should "
            "move. Train from the model that is moved."
        )
    changes = [Change(model, update) for update in updates]
    return moved_along(model, changes, [float(coefficient) for coefficient in coefficients], 1.0)
