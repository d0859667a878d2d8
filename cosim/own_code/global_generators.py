"""Global generators: torch's, NumPy's and Python's `random`, one of each for all threads of a process.

What a function of a user's draws from them follows from the run's seed, whatever else the process does: such
a function is called under `seeded`, and the generators are put back where they were. What must not draw from
them, because many of it run side by side, is called by `without_draws`.

Two such calls of different threads cannot change each other: `seeded` has the generators to itself, calls
that must not draw run beside each other, and none of them beside a `seeded`. A call in which the generators
moved is repeated alone before it is blamed.

A generator without a seed, as `np.random.default_rng()`, asks the system for randomness, which
`asked_for_randomness` notes.

Scope and limitations: a thread of the user's own that draws meanwhile, outside cosim, is not held up. Of
CUDA, the generators of devices that are in use already.
"""

import os
import pickle
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")
TORCHS, NUMPYS = "torch's global generator", "numpy's global generator"
PYTHONS = "Python's global generator"
_ON_CUDA = "torch's global generator on CUDA"
_NUM_CALLS = 3
"""Calls in all of which a generator must move for a call to have drawn from it. [no source]"""

_MASK = 2**32 - 1


class _Turns:
    """Threads that use the generators: one alone, or many that leave them as they are."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.num_beside, self.num_waiting, self.is_alone = 0, 0, False


class _Hold(NamedTuple):
    """Hold of a call, and of the calls that it makes, on the generators."""

    alone: bool
    thread: int


_turns = _Turns()
_held: ContextVar[_Hold | None] = ContextVar("generators held", default=None)


def _of_a_child() -> None:
    """A forked process has none of the threads that this one waited for."""
    global _turns
    _turns = _Turns()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_of_a_child)


@contextmanager
def alone() -> Iterator[None]:
    """Have the global generators to oneself; what is called meanwhile, on threads of its own too, has so."""
    held, own = _held.get(), threading.get_ident()
    if held is not None and (held.alone or held.thread != own):
        yield
        return
    turns = _turns
    given_up = 0 if held is None else 1  # of one's own, for which one would wait for ever
    with turns.changed:
        turns.num_beside -= given_up
        turns.num_waiting += 1
        try:
            turns.changed.wait_for(lambda: not turns.is_alone and turns.num_beside <= 0)
            turns.is_alone = True
        except BaseException:
            turns.num_beside += given_up
            raise
        finally:
            turns.num_waiting -= 1
            turns.changed.notify_all()
    token = _held.set(_Hold(True, own))
    try:
        yield
    finally:
        _held.reset(token)
        with turns.changed:
            turns.is_alone = False
            turns.num_beside += given_up
            turns.changed.notify_all()


@contextmanager
def _beside() -> Iterator[None]:
    """Run beside others that leave the generators as they are, and beside nothing that changes them."""
    if _held.get() is not None:
        yield
        return
    turns = _turns
    with turns.changed:
        turns.changed.wait_for(lambda: not turns.is_alone and not turns.num_waiting)
        turns.num_beside += 1
    token = _held.set(_Hold(False, threading.get_ident()))
    try:
        yield
    finally:
        _held.reset(token)
        with turns.changed:
            turns.num_beside -= 1
            turns.changed.notify_all()


@contextmanager
def seeded(key: int) -> Iterator[None]:
    """Seed the global generators by a key, 0 to 2**64 - 1, for a while; then restore them."""
    with kept():
        import torch

        torch.default_generator.manual_seed(key)
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(key)
        np.random.seed([key & _MASK, key >> 32])  # noqa: NPY002
        random.seed(key)
        yield


@contextmanager
def kept() -> Iterator[None]:
    """Have the global generators to oneself, and put them back afterwards."""
    with alone():
        before = states()
        try:
            yield
        finally:
            _put_back(before)


def states() -> dict[str, Any]:
    """Name of each global generator -> its state, for comparison."""
    import torch

    on_cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {
        TORCHS: torch.get_rng_state().numpy().tobytes(),
        _ON_CUDA: [state.numpy().tobytes() for state in on_cuda],
        NUMPYS: pickle.dumps(np.random.get_state(legacy=False)),  # noqa: NPY002
        PYTHONS: random.getstate(),
    }


def _put_back(found: dict[str, Any]) -> None:
    import torch

    def state(of: bytes) -> torch.Tensor:
        return torch.frombuffer(bytearray(of), dtype=torch.uint8)

    torch.set_rng_state(state(found[TORCHS]))
    if found[_ON_CUDA]:
        torch.cuda.set_rng_state_all([state(of_device) for of_device in found[_ON_CUDA]])
    np.random.set_state(pickle.loads(found[NUMPYS]))  # noqa: NPY002
    random.setstate(found[PYTHONS])


def moved(before: dict[str, Any]) -> list[str]:
    """Names of the global generators whose states were others before."""
    return [name for name, state in states().items() if state != before[name]]


def without_draws(call: Callable[[], T]) -> tuple[T, list[str]]:
    """Result of a call, and names of the global generators that it draws from.

    Args:
        call: May be made again, alone, where a generator moved; then others may have moved it.
    """
    with _beside():
        before = states()
        found = call()
        drawn = moved(before)
    for _ in range(_NUM_CALLS - 1):
        if not drawn:
            break
        with kept():
            before = states()
            found, of_python = _draws_of_python(call)
            drawn = [name for name in moved(before) if name != PYTHONS or of_python]
    return found, drawn


def _draws_of_python(call: Callable[[], T]) -> tuple[T, bool]:
    """Result of a call, and True if this thread drew from Python's generator, as its profile tells."""
    usual, drew = sys.getprofile(), False

    def noted(frame: Any, event: str, of: Any) -> None:
        nonlocal drew
        drew |= event == "c_call" and getattr(of, "__self__", None) is random._inst  # type: ignore[attr-defined]

    sys.setprofile(noted)
    try:
        return call(), drew
    finally:
        sys.setprofile(usual)


_asked = threading.local()
_system_randomness = random._urandom  # type: ignore[attr-defined]


def _noted_randomness(size: int) -> bytes:
    """Random bytes of the operating system; noted for the thread that asks, if it is watched."""
    if (notes := getattr(_asked, "notes", None)) is not None:
        notes.append(size)
    return _system_randomness(size)


@contextmanager
def asked_for_randomness(notes: list[int] | None = None) -> Iterator[list[int]]:
    """A list of what this thread asks the system for, as generators without a seed do: numbers of bytes.

    Scope and limitations: NumPy's generators, `secrets` and `random.SystemRandom`. One that is made of a key,
    as `np.random.Philox(key=1)`, asks without need, so the function is to be tried again.
    """
    before, notes = getattr(_asked, "notes", None), [] if notes is None else notes
    random._urandom = _noted_randomness  # type: ignore[attr-defined]
    _asked.notes = notes
    try:
        yield notes
    finally:
        _asked.notes = before
