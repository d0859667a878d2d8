"""Asked: what a class overrides of its port is asked in a run, else it does nothing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
from typing import Any

from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.configuration.port import parts_of
from cosim.data.port import Data
from cosim.data.splits.port import Split
from cosim.devices.cycles import Cycles
from cosim.devices.port import Devices
from cosim.devices.power_control import PowerControl
from cosim.devices.presence import Presence
from cosim.devices.processor import Processor
from cosim.devices.training_time import DrawnTime, TrainingTime
from cosim.devices.transmit_power import TransmitPower
from cosim.links.port import Link
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.asynchronous.staleness import Staleness
from cosim.protocols.asynchronous.starts import Starts
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.port import Protocol
from cosim.radio.fading import Fading
from cosim.radio.propagation.port import Propagation
from cosim.radio.sharing.port import Sharing
from cosim.selection.port import Selection
from cosim.server_updates.port import ServerUpdate
from cosim.system.system import System
from cosim.tasks.port import Task
from cosim.testing.laws.broken import broken
from cosim.training.local_steps import LocalSteps
from cosim.training.port import LocalTraining
from cosim.waiting.port import Waiting

IN_EVERY_RUN: Mapping[type, tuple[str, ...]] = {
    Protocol: ("run",),
    CellTraining: ("run",),
    Asynchronous: ("moved", "is_due"),
    Starts: ("begin", "replace"),
    Staleness: ("weight",),
    Selection: ("participants",),
    LocalSteps: ("of_clients",),
    Waiting: ("wait",),
    Devices: ("of_clients",),
    Processor: ("frequency_hz", "duration_s", "power_w"),
    PowerControl: ("power_w",),
    TrainingTime: ("training_s",),
    DrawnTime: ("draw",),
    TransmitPower: ("highest_w",),
    Presence: ("windows",),
    Cycles: ("of_clients",),
    Link: ("of_cells",),
    Sharing: ("bands",),
    Propagation: ("of_cells",),
    Fading: ("vectors", "gains", "course"),
}
"""Port -> methods that are asked in a run of a system with the part, where a class overrides them."""
WHERE_IT_LEARNS: Mapping[type, tuple[str, ...]] = {
    LocalTraining: ("train",),
    ServerUpdate: ("weights", "step", "moved", "mean_of"),
    Codec: ("transmit", "arrived"),
    ModelCodec: ("received",),
    Task: ("loss", "sums"),
    Data: ("load", "held"),
    Split: ("deal",),
}
"""Likewise, where something is learned."""


class Asked:
    """Records which methods of own parts are called."""

    def __init__(self, system: System) -> None:
        self._methods: dict[tuple[type, str], str] = {}
        self._asked: set[tuple[type, str]] = set()
        self._learns = system.evaluation.learns
        for part in parts_of(system):
            self._add(type(part))

    def _add(self, kind: type) -> None:
        tables = (IN_EVERY_RUN, WHERE_IT_LEARNS) if self._learns else (IN_EVERY_RUN,)
        names = [
            name for table in tables for port, own in table.items() if issubclass(kind, port) for name in own
        ]
        for name in names:
            owner = next(cls for cls in kind.__mro__ if name in vars(cls))
            method = vars(owner)[name]
            if isinstance(method, FunctionType) and not _is_ours(owner) and not _is_ours(method):
                self._methods[owner, name] = kind.__name__

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Record what is called meanwhile."""
        usual = {(owner, name): vars(owner)[name] for owner, name in self._methods}
        for (owner, name), method in usual.items():
            setattr(owner, name, self._noting(owner, name, method))
        try:
            yield
        finally:
            for (owner, name), method in usual.items():
                setattr(owner, name, method)

    def _noting(self, owner: type, name: str, method: FunctionType) -> Any:
        @wraps(method)
        def noting(*given: Any, **named: Any) -> Any:
            self._asked.add((owner, name))
            return method(*given, **named)

        return noting

    def check(self) -> None:
        """Check that all have been asked.

        Raises:
            BrokenLaw: The first that has not.
        """
        for (owner, name), kind in self._methods.items():
            if (owner, name) not in self._asked:
                where = f"{kind}.{name} is never asked in the runs of a small system with the part"
                raise broken("asked", where, "another method or another part that does not ask it")


def _is_ours(of: Any) -> bool:
    return of.__module__.partition(".")[0] == __name__.partition(".")[0]
