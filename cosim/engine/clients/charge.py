"""Charge: the energy in the battery of a client, from event to event.

The battery is charged at c = `charge_w` all the time, up to its capacity, while the client takes the power p
of what it does, at work or at rest. Between two events its energy e is linear in time, so from an instant t
on it is empty at t + e / (p - c), where p > c, as a deadline is (`cosim.clock.instants`). The activity ends
there, with the outcome "battery empty", and the client is absent, without power (activity "empty"), until its
battery has charged to `returns_at_share` of its capacity. A full battery is charged with what is taken.

Scope and limitations: a client that is away for another reason keeps taking its power at rest. By events
only.

Validation: tests/engine/clients/test_charge.py.
"""

import math
from collections.abc import Callable

from typing_extensions import override

from cosim.clock.event_clock import Clock
from cosim.clock.instants import deadline_after, duration_between, instant_after
from cosim.clock.simulation import Event
from cosim.devices.battery import Battery
from cosim.devices.device import Device, DeviceArrays
from cosim.engine.clients.availability import Cause
from cosim.names import client_name
from cosim.records.rows import EMPTY
from cosim.units import ENERGY_ROUNDING

Turned = Callable[[str, bool, float], None]
"""Called when a battery is empty or has charged: client, whether it is present from now on, instant."""


class Charge(Cause):
    """Charge of a client's battery."""

    reason = EMPTY
    returns_by = "a charge_w above 0"

    def __init__(self, clock: Clock, client: str, device: Device, battery: Battery, turned: Turned) -> None:
        self._clock, self._client, self._device, self._battery = clock, client, device, battery
        self._turned = turned
        self._energy_j = battery.initial_share * battery.capacity_j
        self._is_empty = self._energy_j == 0.0
        self._since_s, self._power_w = clock.now, 0.0
        self._asleep_s = self._turn_s = math.inf
        self._event: Event = clock.event()
        self._is_awaited = False
        self._rest()

    @property
    @override
    def is_present(self) -> bool:
        """True unless it is empty and has not charged to the level of its return."""
        self._catch_up()
        return not self._is_empty

    @property
    def left_j(self) -> float:
        """Energy that it holds now."""
        self._count()
        return max(self._energy_j, 0.0)  # of an empty one, a rounding of the clock

    @property
    @override
    def is_over(self) -> bool:
        return not self.is_present and not self._battery.charge_w

    @override
    def change(self) -> Event:
        """An event when it is empty next, or has charged to the level of its return."""
        self._catch_up()
        if not self._is_awaited:
            self._is_awaited = True
            self._schedule()
        return self._event

    def begin(self, power_w: float) -> None:
        """Let an activity of a power begin; an empty battery gives none."""
        self._catch_up()
        if not self._is_empty:
            self._take(power_w, math.inf)

    def end(self) -> None:
        """Let a rest begin."""
        self._catch_up()
        self._rest()

    def _rest(self) -> None:
        device = self._device
        if self._is_empty:
            self._take(0.0, math.inf)
        elif device.sleeps_after_s > 0.0:
            self._take(device.idle_w, instant_after(self._clock.now, device.sleeps_after_s))
        else:
            self._take(device.sleep_w, math.inf)

    def _take(self, power_w: float, asleep_s: float) -> None:
        """Take a power from now on, and know when that will end."""
        self._count()
        self._power_w, self._asleep_s, self._turn_s = power_w, asleep_s, math.inf
        net_w = self._battery.charge_w - power_w
        if self._is_empty and net_w > 0.0:
            returns_at_j = self._battery.returns_at_share * self._battery.capacity_j
            self._turn_s = instant_after(self._clock.now, (returns_at_j - self._energy_j) / net_w)
        elif not self._is_empty and net_w < 0.0:
            left_j = self._energy_j + ENERGY_ROUNDING * self._battery.capacity_j  # exactly enough is enough
            self._turn_s = deadline_after(self._clock.now, left_j / -net_w)
        self._schedule()

    def _schedule(self) -> None:
        """Catch up at the next change, which alone keeps no run going unless it is awaited."""
        next_s = min(self._turn_s, self._asleep_s)
        if next_s < math.inf:
            self._clock.call_at(next_s, self._catch_up, in_background=not self._is_awaited)

    def _catch_up(self) -> None:
        """Apply the changes that are due at this instant, whichever part asks first."""
        while min(self._turn_s, self._asleep_s) <= self._clock.now:
            if self._turn_s <= self._clock.now:
                self._turn()
            else:
                self._take(self._device.sleep_w, math.inf)

    def _turn(self) -> None:
        self._turned(self._client, self._is_empty, self._clock.now)
        self._count()
        self._is_empty = not self._is_empty
        self._rest()
        event, self._event = self._event, self._clock.event()
        self._is_awaited = False
        if event.callbacks:  # else it would be an event that keeps the run going
            event.succeed()

    def _count(self) -> None:
        battery, lasted_s = self._battery, duration_between(self._since_s, self._clock.now)
        self._since_s = self._clock.now
        net_w = battery.charge_w - self._power_w
        full_s = (battery.capacity_j - self._energy_j) / net_w if net_w > 0.0 else math.inf
        self._energy_j = battery.capacity_j if lasted_s > full_s else self._energy_j + net_w * lasted_s


def charges_of(devices: DeviceArrays, clock: Clock, turned: Turned) -> dict[str, Charge]:
    """Charge of each client that has a battery, by name."""
    return {
        client_name(number): Charge(clock, client_name(number), devices[number], battery, turned)
        for number, battery in enumerate(devices.each("battery"))
        if battery is not None
    }
