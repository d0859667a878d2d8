"""By machine: links that uploads share, as a machine without a clock says."""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.jobs.job import Places
from cosim.links.machine import Machine
from cosim.links.on_arrays import MachineUploads
from cosim.links.on_clock import OnClock
from cosim.links.port import InRound, Sender
from cosim.links.upload import Upload
from cosim.links.way import Way


class MachineWay(Way):
    """One machine for the whole run on a clock; one for each edge round on arrays."""

    def __init__(self, *of_cell: Any) -> None:
        super().__init__(*of_cell)
        self._sent, self._ends_s = _Sent(None, self._clients), math.inf
        self._machine = self.link.machine(self._sent)
        self._on_clock = OnClock(self._sim, self._machine)

    @override
    def begin_round(self, num_clients: int, ends_s: float = math.inf, places: Places | None = None) -> None:
        super().begin_round(num_clients, ends_s, places)
        self._ends_s = ends_s
        self._machine.begin_round(num_clients, ends_s)

    @override
    def _open(self, sender: Sender) -> Upload:
        self._sent[sender.place] = sender
        return self._on_clock.open(sender.place, sender.payload.bits)

    @override
    def _uploads(self, of: InRound) -> MachineUploads | None:
        """By events where something is refused that may never be needed, as a course that is over."""
        sent, ends_s = _Sent(of, self._clients), self._ends_s

        def make() -> Machine:
            machine = self.link.machine(sent)
            machine.begin_round(len(of.begins_s), ends_s)
            return machine

        with suppress(ConfigurationError):
            return MachineUploads(make, of.begins_s, of.payload.bits, ends_s)
        return None


class _Sent(dict[int, Sender]):
    """Numbers are the places of clients in the cell; in a round on arrays, among its participants."""

    def __init__(self, in_round: InRound | None, clients: Sequence[str]) -> None:
        self.in_round, self._clients = in_round, clients

    def __missing__(self, number: int) -> Sender:
        assert self.in_round is not None
        places, begins_s, payload, job, powers_w = self.in_round
        place = number if isinstance(places, slice) else places.item(number)
        power_w = None if powers_w is None else powers_w.item(number)
        found = Sender(self._clients[place], place, payload, job, power_w, begins_s.item(number))
        self[number] = found
        return found
