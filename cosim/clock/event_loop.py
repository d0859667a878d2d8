"""Event loop: runs the events of a clock until a given one, and ends a run in which time stands still.

A duration below the resolution of the clock takes no time, so a process that waits for it again and again
would run events at one instant for ever. No sound system has 300,000 of them in less than a microsecond,
or, with many nodes, hundreds for each.

An interrupt that reaches a process, or that a part has swallowed, ends the run at the next event or soon
after.
"""

import math
from collections.abc import Generator
from heapq import heappop
from itertools import repeat
from typing import Any

import simpy
from simpy.core import StopSimulation

from cosim.configuration import ConfigurationError
from cosim.files.interrupts import raise_fallen

_MOST_EVENTS, _MOST_EACH, _WITHIN_S = 300_000, 300, 1e-6
"""Most events, most events of each node, and the simulated time in which they count. [no source]"""
_AT_ONCE = 50_000
"""Events between two looks at the clock. [no source]"""
_NUM_NAMED = 100
"""Events that are searched for the processes which the error names. [no source]"""
_VERBS = ("cosim.clock.", "simpy.")


def run_events(environment: simpy.Environment, last: simpy.Event, num_nodes: int) -> None:
    """Run events until the last has come.

    Args:
        num_nodes: Number of nodes that may be active.

    Raises:
        ConfigurationError: Time stands still.
    """
    assert last.callbacks is not None
    last.callbacks.append(StopSimulation.callback)
    most = max(_MOST_EVENTS, _MOST_EACH * num_nodes)
    try:
        while True:
            from_s, num_events = environment.now, 0
            while environment.now - from_s < _WITHIN_S:
                if num_events >= most:
                    raise _stands_still(environment, from_s, num_events)
                _step(environment, _AT_ONCE)
                num_events += _AT_ONCE
                raise_fallen()
    except StopSimulation:
        return


def _step(environment: simpy.Environment, num_events: int) -> None:
    """Run some events as `Environment.step` does, without a call for each."""
    queue = environment._queue
    for _ in repeat(None, num_events):
        environment._now, _, _, event = heappop(queue)
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)
        if not (event._ok or event.defused):
            raise failure_of(event)


def failure_of(event: simpy.Event) -> BaseException:
    """Exception of an event that has failed, as a copy with a traceback of its own."""
    event.defused = True
    failure: BaseException = type(event._value)(*event._value.args)
    failure.__cause__ = event._value
    return failure


def _stands_still(environment: simpy.Environment, from_s: float, num_events: int) -> ConfigurationError:
    names: dict[str, None] = {}
    for _ in repeat(None, _NUM_NAMED):
        if environment.peek() < math.inf:
            *_, event = environment._queue[0]
            names.update(dict.fromkeys(filter(None, map(_woken_by, event.callbacks or ()))))
        environment.step()
    where = f", the last of them in {' and '.join(sorted(names)[:3])}" if names else ""
    return ConfigurationError(
        f"time stands still at {from_s:.15g} s: {num_events:,} events in less than a "
        f"microsecond{where}. The usual reason is a time that is too short, or a rate that is too "
        "high. Use a longer time, or a lower rate."
    )


def _woken_by(callback: Any) -> str | None:
    """Innermost process, or function, that an event wakes; None means only a part of the clock."""
    owner = getattr(callback, "__self__", None)
    if not isinstance(owner, simpy.Process):
        is_verb = str(getattr(callback, "__module__", "")).startswith(_VERBS)
        return None if is_verb else getattr(callback, "__qualname__", "").partition(".<locals>")[0]
    return name_of(owner._generator)


def name_of(process: Any) -> str | None:
    """Name of the innermost process outside the clock; None if there is none."""
    found, inner = None, process
    while isinstance(inner, Generator) and (frame := getattr(inner, "gi_frame", None)) is not None:
        if not frame.f_globals.get("__name__", "").startswith(_VERBS):
            found = frame.f_code.co_qualname
        inner = getattr(inner, "gi_yieldfrom", None)
    return found
