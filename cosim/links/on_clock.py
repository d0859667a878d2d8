"""On a clock: uploads of a machine, by timers.

A timer comes at the machine's next change, unless an earlier timer is set, or the `done` of an upload with a
certain end.
"""

import math

from typing_extensions import override

from cosim.clock.simulation import Event, Simulation
from cosim.links.machine import NO_NUMBERS, Machine
from cosim.links.upload import Upload


class OnClock:
    """A resource that uploads share, on a clock.

    Args:
        machine: The way in which they share it; driven only from here.
    """

    def __init__(self, sim: Simulation, machine: Machine) -> None:
        self._sim, self._machine = sim, machine
        self._uploads: dict[int, MachineUpload] = {}
        self._timer_s, self._dues_s, self._is_ending = math.inf, set[float](), False

    def open(self, number: int, bits: float) -> "MachineUpload":
        """Begin an upload of the client with this number."""
        upload = self._uploads[number] = MachineUpload(self, self._sim, number, bits, self._machine.has_turns)
        self._machine.go_through(self._sim.now_s, (number,))
        self._tell()
        return upload

    def close(self, upload: "MachineUpload") -> None:
        """Stop an upload, unless it has ended."""
        number = upload.number
        if self._uploads.get(number) is upload:
            del self._uploads[number]
            self._machine.go_through(self._sim.now_s, NO_NUMBERS, (number,))
            self._tell()
            upload.stopped_bits = self._machine.left_bits.pop(number)

    def _tell(self) -> None:
        """Report what has come, first by number, and come again at the next change."""
        machine = self._machine
        if machine.granted_s:
            for number in sorted(machine.granted_s):
                self._uploads[number].granted.succeed()  # type: ignore[union-attr]
            machine.granted_s.clear()
        if machine.due_s:
            for number in sorted(machine.due_s):
                due_s, done = machine.due_s[number], self._uploads[number].done
                done.callbacks.append(self._come)  # type: ignore[union-attr]
                self._sim.at(due_s, done)
                self._dues_s.add(due_s)
            machine.due_s.clear()
        if machine.ends_s:
            for number in sorted(machine.ends_s):
                done = self._uploads.pop(number).done
                if not done.triggered:
                    done.succeed()
            machine.ends_s.clear()
        next_s = machine.next_change_s
        if next_s < self._timer_s and next_s not in self._dues_s:
            self._timer_s = next_s
            self._sim.at(next_s).callbacks.append(self._come)  # type: ignore[union-attr]
        if machine.awaits_end and not self._is_ending:
            self._is_ending = True
            self._sim.end_of_instant().callbacks.append(self._end_instant)  # type: ignore[union-attr]

    def _come(self, _event: Event) -> None:
        now_s = self._sim.now_s
        self._dues_s.discard(now_s)
        if self._timer_s <= now_s:
            self._timer_s = math.inf
        if self._machine.next_change_s <= now_s:
            self._machine.go_through(now_s, NO_NUMBERS)
        self._tell()

    def _end_instant(self, _event: Event) -> None:
        self._is_ending = False
        if self._machine.awaits_end:
            self._machine.leave_instant(self._sim.now_s)
            self._tell()


class MachineUpload(Upload):
    """An upload of a machine.

    Attributes:
        stopped_bits: Bits that were left when it was stopped; None if it was not.
    """

    takes_time = True
    stopped_bits: float | None = None

    def __init__(self, way: OnClock, sim: Simulation, number: int, bits: float, has_turns: bool) -> None:
        self.number, self._way, self._bits = number, way, float(bits)
        self.done: Event = sim.event()
        self.granted: Event | None = sim.event() if has_turns else None

    @property
    @override
    def bits_left(self) -> float:
        if self.stopped_bits is not None:
            return self.stopped_bits
        return 0.0 if self.done.processed else self._bits

    @override
    def close(self) -> None:
        self._way.close(self)
