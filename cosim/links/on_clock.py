"""On a clock: uploads of a machine, by timers.

A timer comes at the machine's next change; of several that a change has set the last one counts.
"""

import math
from collections.abc import Sequence

from cosim.links.machine import NOBODY, Machine
from cosim.links.upload import Upload
from cosim.simulation import Event, Simulation


class OnClock:
    """What uploads share, on a clock.

    Args:
        machine: How they share it; nobody else drives it.
    """

    def __init__(self, sim: Simulation, machine: Machine) -> None:
        self._sim, self._machine = sim, machine
        self._uploads: dict[int, MachineUpload] = {}
        self._due_s, self._is_settling = -1.0, False

    def open(self, number: int, bits: float) -> "MachineUpload":
        """Begin an upload of the client with this number."""
        upload = self._uploads[number] = MachineUpload(self, self._sim, number, bits, self._machine.has_turns)
        self._go_on((self._sim.now_s,), (number,))
        return upload

    def close(self, upload: "MachineUpload") -> None:
        """Stop an upload, unless it has ended."""
        number = upload.number
        if self._uploads.get(number) is upload:
            del self._uploads[number]
            self._go_on(NOBODY, NOBODY, (number,))
            upload.left = self._machine.left_bits.pop(number)

    def _go_on(
        self, begins_s: Sequence[float], numbers: Sequence[int], stops: Sequence[int] = NOBODY
    ) -> None:
        """Bring the machine up to this instant."""
        self._machine.play(begins_s, numbers, self._sim.now_s, stops)
        self._tell()

    def _tell(self) -> None:
        """Say what has come, first by number, and come again at the next change."""
        machine = self._machine
        if machine.granted_s:
            for number in sorted(machine.granted_s):
                self._uploads[number].granted.succeed()  # type: ignore[union-attr]
            machine.granted_s.clear()
        if machine.ends_s:
            for number in sorted(machine.ends_s):
                self._uploads.pop(number).done.succeed()
            machine.ends_s.clear()
        next_s = machine.next_change_s
        if next_s != self._due_s:
            self._due_s = next_s
            if next_s < math.inf:
                self._sim.at(next_s).callbacks.append(lambda _: self._come(next_s))  # type: ignore[union-attr]
        if not (machine.is_settled or self._is_settling):
            self._is_settling = True
            self._sim.end_of_instant().callbacks.append(self._settle)  # type: ignore[union-attr]

    def _come(self, time_s: float) -> None:
        if time_s == self._due_s:
            self._due_s = -1.0
            self._go_on(NOBODY, NOBODY)

    def _settle(self, _event: Event) -> None:
        self._is_settling = False
        if not self._machine.is_settled:
            self._machine.settle(self._sim.now_s)
            self._tell()


class MachineUpload(Upload):
    """An upload of a machine.

    Attributes:
        left: Bits that were left when it was stopped.
    """

    def __init__(self, way: OnClock, sim: Simulation, number: int, bits: float, has_turns: bool) -> None:
        self.number, self.left, self._way = number, float(bits), way
        self.done: Event = sim.event()
        self.granted: Event | None = sim.event() if has_turns else None

    @property
    def bits_left(self) -> float:
        return 0.0 if self.done.processed else self.left

    def close(self) -> None:
        self._way.close(self)
