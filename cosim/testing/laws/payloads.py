"""Payloads: what clients are given to carry is a load of the run, in the bits of its codecs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cosim.clock.simulation import Process, Simulation
from cosim.engine.clients.client import Client
from cosim.engine.servers.workload import Load, Workload
from cosim.jobs.payload import Payload
from cosim.protocols.assignment import Assignment
from cosim.system.system import System
from cosim.testing.laws.broken import broken


class Payloads:
    """Records the loads of a run, and what its clients carry."""

    def __init__(self, system: System) -> None:
        self._codec, self._model_codec = system.codec, system.model_codec
        self._loads: dict[str, set[Payload]] = {"upload": set(), "download": set()}
        self._carried: dict[tuple[str, Payload], str] = {}

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Record a run by events meanwhile."""
        load_of, local_round = Workload._load, Client.local_round

        def noting_load(own: Workload, *given: Any) -> Load:
            load = load_of(own, *given)
            self._loads["upload"].add(load.upload)
            self._loads["download"].add(load.download)
            return load

        def noting_round(own: Client, sim: Simulation, assignment: Assignment, *given: Any) -> Process:
            self._carried.setdefault(("upload", assignment.payload), own.name)
            self._carried.setdefault(("download", assignment.download), own.name)
            return local_round(own, sim, assignment, *given)

        loads: Any = Workload
        clients: Any = Client
        loads._load, clients.local_round = noting_load, noting_round
        try:
            yield
        finally:
            loads._load, clients.local_round = load_of, local_round

    def check(self) -> None:
        """Check what was carried.

        Raises:
            BrokenLaw: The first that is no load of the run and has other bits than the codec gives it.
        """
        for (way, payload), client in self._carried.items():
            if payload not in self._loads[way] and payload.bits != self._bits(way, payload):
                where = f"{way} of {client}: {payload.bits:g} bits for {payload.num_values:g} values"
                has = f", which have {self._bits(way, payload):g}"
                raise broken("bits", where + has, "a payload that is put together beside cloud.workload")

    def _bits(self, way: str, payload: Payload) -> float:
        num_values = int(payload.num_values)
        if way == "upload":
            return self._codec.payload(num_values).bits
        if self._model_codec is not None:
            return self._model_codec.payload(num_values).bits
        return self._codec.model_payload(num_values).bits
