"""Versions: what an asynchronous protocol says of the weights of updates is what it has used."""

from cosim.configuration.port import parts_of
from cosim.protocols.asynchronous.changes import Change
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.asynchronous.rule import Arrival
from cosim.system.system import System
from cosim.testing.laws.broken import broken

MOST_UPDATES = 100
"""A protocol that wants more for a version is not tried."""


def check_weights(system: System) -> None:
    """Check the weights that the asynchronous protocols of a system report.

    Raises:
        BrokenLaw: The first that was not used.
    """
    for part in parts_of(system):
        if isinstance(part, Asynchronous):
            _check_weights_of(part, system.num_clients)


def _check_weights_of(protocol: Asynchronous, num_clients: int) -> None:
    """Move a model along changes whose results are unit vectors: each weight can be read off the model."""
    from cosim.testing.laws.unit_models import factors_of, unit_models

    sizes = range(1, MOST_UPDATES)
    num_updates = 3 if protocol.period_s is not None else next(filter(protocol.is_due, sizes), None)
    if num_updates is None:
        return
    *models, model = unit_models(2 * num_updates + 1)
    results, starts = models[:num_updates], models[num_updates:]
    arrivals = [
        Arrival(place % num_clients, Change(start, result), staleness=place)
        for place, (start, result) in enumerate(zip(starts, results, strict=True))
    ]
    moved, weights = protocol.moved(model, arrivals, num_clients)
    used = factors_of(moved)[:num_updates]
    for place, (weight, factor) in enumerate(zip(weights, used, strict=True)):
        if abs(weight - factor) > 1e-6 * max(abs(weight), abs(factor)):
            where = f"{type(protocol).__name__}.moved reports a weight of {weight:g} for an update that is "
            where += f"{place} versions late, and its factor in the model is {factor:g}"
            raise broken("updates", where, "weights that are returned before they are divided")
