"""Presences: the laws of when clients are present, whatever they train."""

from collections.abc import Sequence
from itertools import islice

from cosim.clock.simulation import Simulation
from cosim.devices.presence import Presence, Window
from cosim.testing.laws.broken import broken

NUM_WINDOWS = 50
"""Windows of a client that are looked at."""


def check_windows(presence: Presence, clients: Sequence[str], seed: int) -> None:
    """Check that windows are in order, and everybody's own.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    presence.check(clients)
    alone = [_windows(presence, Simulation(seed), [client])[0] for client in clients]
    if alone != _windows(presence, Simulation(seed), clients):
        raise broken("own draws", "a client's windows change with the others'", "a stream of another name")
    for client, windows in zip(clients, alone, strict=True):
        before_s = 0.0
        for from_s, to_s in windows:
            if not before_s <= from_s < to_s:
                where = (
                    f"a window of {client} from {from_s} s to {to_s} s after one that ends at {before_s} s"
                )
                raise broken("order", where, "windows that are not sorted or overlap")
            before_s = to_s


def _windows(presence: Presence, sim: Simulation, clients: Sequence[str]) -> list[list[Window]]:
    """The first windows of clients, asked for in turn."""
    found: list[list[Window]] = [[] for _ in clients]
    asked = [iter(presence.windows(sim, client)) for client in clients]
    for _ in range(NUM_WINDOWS):
        for own, windows in zip(found, asked, strict=True):
            own += islice(windows, 1)
    return found
