"""A machine by itself, by timers and on arrays: what it is told, at which instant, and what is left."""

import math

import numpy as np
import pytest

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.links.machine import Machine
from cosim.links.on_arrays import MachineUploads
from cosim.links.on_clock import OnClock

pytestmark = pytest.mark.quick

BITS = 100.0


class Slots(Machine):
    """Each upload lasts a second, whatever else is sent; uploads that end at one instant end together."""

    def __init__(self, log=None):
        super().__init__()
        self.begun_s, self.log = {}, [] if log is None else log

    def change(self, now_s, starts, stops):
        self.log.append((now_s, tuple(starts), tuple(stops)))
        for number in stops:
            self.left_bits[number] = BITS * (1.0 - (now_s - self.begun_s.pop(number)))
        for number in [number for number, begun_s in self.begun_s.items() if begun_s + 1.0 <= now_s]:
            self.ends_s[number] = now_s
            del self.begun_s[number]
        self.begun_s.update(dict.fromkeys(starts, now_s))
        self.next_change_s = min(self.begun_s.values(), default=math.inf) + 1.0


class AtOnce(Machine):
    """An upload that starts is granted when the instant is over, and ends in it."""

    has_turns = True

    def __init__(self):
        super().__init__()
        self.line, self.sends = [], None

    def change(self, now_s, starts, stops):
        self.left_bits.update(dict.fromkeys(stops, BITS))
        if self.next_change_s <= now_s:
            self.ends_s[self.sends], self.sends, self.next_change_s = now_s, None, math.inf
        self.line = [number for number in (*self.line, *starts) if number not in stops]
        self.awaits_end = self.sends is None and bool(self.line)

    def end_instant(self, now_s):
        self.line.sort()
        self.sends = self.line.pop(0)
        self.granted_s[self.sends] = self.next_change_s = now_s


def test_starts_of_an_instant_are_told_together_and_stops_at_the_last_one():
    """The first two end at 1 s before the others stop, in one call and in many."""
    begins_s, numbers = [0.0, 0.0, 0.5, 0.75], [0, 1, 2, 3]
    whole, steps = Slots(), Slots()
    whole.advance(begins_s, numbers, 1.25, (2, 3))
    for begin_s, own in ((0.0, (0, 1)), (0.5, (2,)), (0.75, (3,)), (1.0, ())):
        steps.advance([begin_s] * len(own), own, begin_s)
    steps.advance((), (), 1.25, (2, 3))
    assert whole.log == [
        (0.0, (0, 1), ()),
        (0.5, (2,), ()),
        (0.75, (3,), ()),
        (1.0, (), ()),
        (1.25, (), (2, 3)),
    ]
    for machine in (whole, steps):
        assert machine.ends_s == {0: 1.0, 1: 1.0}
        assert machine.left_bits == {2: 25.0, 3: 50.0}
    assert [row for row in steps.log if any(row[1:])] == [row for row in whole.log if any(row[1:])]


def test_a_machine_that_changes_for_ever_at_one_instant_is_refused(monkeypatch):
    class Restless(Slots):
        def change(self, now_s, starts, stops):
            self.next_change_s = now_s

    monkeypatch.setattr("cosim.links.machine.MOST_CHANGES", 10)
    with pytest.raises(ConfigurationError, match=r"Restless.next_change_s = 1\.0 at 1\.0 s: must be later"):
        Restless().advance([1.0], [0], 2.0)


def uploading(sim, way, name, number, start_s, cut_s, log):
    """Wait, send, and stop at an instant; notes when it ended and what was left."""
    yield sim.at(start_s)
    upload = way.open(number, BITS)
    yield sim.any_of([upload.done, sim.at(cut_s)])
    upload.close()
    log.append((sim.now_s, number, upload.bits_left))


def on_clock(machine, uploads):
    sim, log = Simulation(seed=1), []
    way = OnClock(sim, machine)
    jobs = [uploading(sim, way, str(number), number, *times, log) for number, times in enumerate(uploads)]
    sim.run(sim.together(jobs))
    return log


def test_timers_that_were_overtaken_do_nothing():
    """The change at 1 s is no longer due when its upload has stopped; each change is told once."""
    machine = Slots()
    log = on_clock(machine, [(0.0, 0.25), (0.5, 9.0), (0.75, 9.0)])
    assert log == [(0.25, 0, 75.0), (1.5, 1, 0.0), (1.75, 2, 0.0)]
    assert [now_s for now_s, *_ in machine.log] == [0.0, 0.25, 0.5, 0.75, 1.5, 1.75]
    assert not machine.left_bits
    assert not machine.ends_s


def test_ends_of_one_instant_come_by_number_whatever_their_machine_says():
    class Backwards(Slots):
        def change(self, now_s, starts, stops):
            super().change(now_s, starts, stops)
            self.ends_s = dict(reversed(self.ends_s.items()))

    log = on_clock(Backwards(), [(0.0, 9.0)] * 4)
    assert [number for _, number, _ in log] == [0, 1, 2, 3]


def test_what_a_client_has_closed_does_not_close_its_next():
    """An upload that has ended is closed late, when its client has begun another."""
    sim, seen = Simulation(seed=1), []

    def twice():
        way = OnClock(sim, Slots())
        first = way.open(0, BITS)
        yield first.done
        second = way.open(0, BITS)
        first.close()
        yield second.done
        seen.append((sim.now_s, first.bits_left, second.bits_left))

    sim.run(sim.together([twice()]))
    assert seen == [(2.0, 0.0, 0.0)]


def test_changes_at_the_end_of_an_instant_may_come_in_that_instant():
    """Three uploads that take no time, one after the other; by events and on arrays."""
    assert [(number, left) for _, number, left in on_clock(AtOnce(), [(1.0, 9.0)] * 3)] == [
        (0, 0.0),
        (1, 0.0),
        (2, 0.0),
    ]
    found = MachineUploads(AtOnce, np.array([1.0, 1.0, 1.0]), BITS, math.inf)
    assert found.granted_s.tolist() == found.ends_s.tolist() == [1.0, 1.0, 1.0]


def test_what_is_left_is_asked_for_at_any_instants_in_any_order():
    """Uploads of a second each; the machine that has gone on to 1.5 s is used for no other instant."""
    begins_s = np.array([0.25, 0.0, 1.0, 1.5])
    found = MachineUploads(Slots, begins_s, BITS, 1.5)
    assert found.ends_s.tolist() == [1.25, 1.0, math.inf, math.inf]
    expected = {1.5: [0.0, 0.0, 50.0, 100.0], 1.0: [25.0, 0.0, 100.0, 100.0], 0.5: [75.0, 50.0, 100.0, 100.0]}
    for cut_s in (1.0, 1.5, 0.5, 1.5, 1.0):
        assert found.bits_left(cut_s).tolist() == expected[cut_s]
    each_s = np.array([0.5, 0.75, 1.25, 1.0])
    assert found.bits_left(each_s).tolist() == [75.0, 25.0, 75.0, 100.0]
    assert MachineUploads(Slots, begins_s, BITS, 1.5).bits_left(1.5).tolist() == expected[1.5]
