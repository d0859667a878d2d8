"""Absence: the clients that are not there when a run can go no further, and why."""

from collections.abc import Sequence

from cosim.clock.event_clock import STUCK, Deadlock
from cosim.engine.clients.availability import Availability
from cosim.names import client_name


def with_the_absent(stuck: Deadlock, availabilities: Sequence[Availability] | None) -> Deadlock:
    """A deadlock's error with the absent clients, by the first cause of each; as it is if all are present.

    Args:
        availabilities: Of all clients. None means that all always are present.
    """
    absent: dict[str, list[int]] = {}
    fixes: dict[str, str] = {}
    for number, availability in enumerate(availabilities or ()):
        if (cause := availability.missing) is not None:
            absent.setdefault(cause.reason, []).append(number)
            fixes[cause.reason] = cause.returns_by
    if availabilities is None or not absent:
        return stuck
    found = [
        f"{len(numbers)} of {len(availabilities)} clients ({reason}), such as {client_name(numbers[0])}"
        for reason, numbers in absent.items()
    ]
    return Deadlock(
        f"{STUCK} Absent are {'; '.join(found)}. Use end = AfterSeconds, or {' and '.join(fixes.values())}."
    )
