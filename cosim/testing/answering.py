"""Answering: what the second process does, one request after the other (`cosim.testing.second_process`)."""

import datetime
import importlib
import importlib.util
import os
import pickle
import random
import signal
import sys
import time
import types
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import attrs
import numpy as np
from typing_extensions import override

import cosim.engine.run.run
from cosim.client_values.port import PerGroup
from cosim.clock.draws import Draws
from cosim.configuration import ConfigurationError
from cosim.configuration.port import parts_of
from cosim.devices.drawn_devices import DrawnDevices
from cosim.ends.evaluation_times import Never
from cosim.radio.fading import NoFading
from cosim.radio.radio import Radio
from cosim.records.tables import GROWING
from cosim.system.system import System
from cosim.testing.contract import Contracts, Reached
from cosim.testing.second_process import Answer, Asked

LATER_S = 403 * 86_400 + 26_009
"""By how much the wall clock is ahead of that of the first process."""
_ENGINE = __name__.partition(".")[0]


def serve_pipes() -> None:
    """Answer what comes by the standard input, at the standard output, which own parts do not see."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the first process
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nowhere, number)
    serve(requests, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer all requests."""
    _set_clocks()
    watch = _Watch()
    while True:
        try:
            asked: Asked = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(_answer(asked, watch), answers)
        answers.flush()


_executed: dict[tuple[str, int], types.ModuleType] = {}


def _answer(asked: Asked, watch: "_Watch") -> Answer:
    sys.path[:] = asked.path
    os.chdir(asked.folder)
    try:
        if asked.script is not None:
            _execute(asked.script, asked.num_contracts)
        for name in asked.modules:
            if asked.script is None or name not in (asked.script[2], Path(asked.script[0]).stem, "__main__"):
                importlib.import_module(name)
        system, network = pickle.loads(asked.pickled)
    except (Exception, SystemExit) as error:
        return Answer(not_found=f"{type(error).__name__}: {error}")
    try:
        result = cosim.engine.run.run.run(system, network, num_workers=2, clock="events")
        made = watch.made_for_all_seeds(system, network, asked.modules)
    except (Exception, SystemExit) as error:
        return Answer(failed=f"{type(error).__name__}: {error}")
    return Answer(dict(result.tables), result.learned, made=made)


def _execute(script: tuple[str, str | None, str | None], num_contracts: int) -> None:
    """Execute the script of the first process up to a contract, as its main module."""
    file, package, name = script
    if (file, num_contracts) not in _executed:
        main = types.ModuleType("__mp_main__")
        main.__file__, main.__package__ = file, package
        main.__spec__ = None if name is None else importlib.util.find_spec(name)
        sys.modules["__main__"] = sys.modules["__mp_main__"] = main
        Contracts.num, Contracts.stops_at = 0, num_contracts
        with suppress(Reached, SystemExit):
            exec(compile(Path(file).read_bytes(), file, "exec"), vars(main))
        _executed[file, num_contracts] = main
    sys.modules["__main__"] = sys.modules["__mp_main__"] = _executed[file, num_contracts]


def _set_clocks() -> None:
    """Let it be another day for all that is imported from now on."""
    now_s, now_ns, local, universal = time.time, time.time_ns, time.localtime, time.gmtime
    time.time = lambda: now_s() + LATER_S
    time.time_ns = lambda: now_ns() + LATER_S * 10**9
    time.localtime = lambda at_s=None: local(time.time() if at_s is None else at_s)
    time.gmtime = lambda at_s=None: universal(time.time() if at_s is None else at_s)

    class Later(datetime.datetime):
        @classmethod
        @override
        def now(cls, tz: datetime.tzinfo | None = None) -> "Later":
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        @override
        def utcnow(cls) -> "Later":
            return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    class LaterDay(datetime.date):
        @classmethod
        @override
        def today(cls) -> "LaterDay":
            return cls.fromtimestamp(time.time())

    datetime.datetime, datetime.date = Later, LaterDay  # type: ignore[misc]


class _Watch:
    """Records the generators that modules of a user make."""

    def __init__(self) -> None:
        self._of_modules: tuple[str, ...] = ()
        self._made: list[str] = []
        make, init = np.random.default_rng, Draws.__init__

        def default_rng(*given: Any, **named: Any) -> np.random.Generator:
            self._note(1)
            return make(*given, **named)

        def draws(own: Draws, seed: int) -> None:
            self._note(1 if type(own) is Draws else 2)
            init(own, seed)

        np.random.default_rng = default_rng
        Draws.__init__ = draws  # pyright: ignore[reportAttributeAccessIssue]
        for of, name in ((np.random, "RandomState"), (np.random, "PCG64"), (random, "Random")):
            setattr(of, name, self._watched(getattr(of, name)))

    def _watched(self, kind: type) -> type:
        """A subclass that records the modules that make one; all of the class count as its own."""
        note = self._note

        class Kind(type):
            @override
            def __instancecheck__(cls, one: object) -> bool:
                return isinstance(one, kind)

        def init(own: Any, *given: Any, **named: Any) -> None:
            note(1)
            kind.__init__(own, *given, **named)

        return Kind(kind.__name__, (kind,), {"__init__": init, "__module__": kind.__module__})

    def _note(self, depth: int) -> None:
        frame = sys._getframe(depth + 1)
        if frame.f_globals.get("__name__") in self._of_modules:
            self._made.append(f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}")

    def made_for_all_seeds(self, system: System, network: Any, modules: tuple[str, ...]) -> str:
        """Place where one of these modules makes a generator, if another seed changes nothing; else empty."""
        quiet = _quieted(system) if modules else None  # ours draw from streams, which tests of their own hold
        if quiet is None:
            return ""
        self._of_modules, self._made = (*modules, "__mp_main__"), []
        try:
            one = cosim.engine.run.run.run(quiet, network, clock="events").tables
            if not self._made:
                return ""
            other = cosim.engine.run.run.run(
                attrs.evolve(quiet, seed=quiet.seed + 1), network, clock="events"
            ).tables
        except ConfigurationError:
            return ""
        finally:
            self._of_modules = ()
        is_same = all(one[name].equals(other[name]) for name in GROWING)  # of clients a distance differs
        return self._made[0] if is_same else ""


def _quieted(system: System) -> System | None:
    """A timing-only copy of a system in which none of our parts draws; None if the system reads losses."""
    devices, uplink = system.devices, system.uplink
    if isinstance(devices, DrawnDevices):
        steady_hz = PerGroup(values=devices.min_frequency_hz.numbers[:1])
        devices = attrs.evolve(devices, min_frequency_hz=steady_hz, max_frequency_hz=steady_hz)
    if isinstance(uplink, Radio) and not any(_is_own(part) for part in parts_of(uplink)):
        uplink = attrs.evolve(uplink, fading=NoFading())
    try:
        return attrs.evolve(system, devices=devices, uplink=uplink, evaluation=Never())
    except ConfigurationError:
        return None


def _is_own(part: object) -> bool:
    return type(part).__module__.partition(".")[0] != _ENGINE
