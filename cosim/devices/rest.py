"""Rest: the time of a device between its activities, and the power that it takes then.

A device that has nothing to do idles, and after `sleeps_after_s` it sleeps until its next activity. The time
since its last activity is written down when the next one begins, and at the end of the run for everyone, also
for those who never took part; so the spans of a device tile the whole run, without gap or overlap. Idling
that is over is written down before the rows of its time are handed over. Where no device takes power at rest,
nothing is written.

A client whose battery is empty (`cosim.devices.charge`) is absent, and takes none.

Records written: `Span` "idle", "sleep" and "empty", of no job.

Scope and limitations: waking and falling asleep take no time and no energy of their own. Energy at rest is
no part of a job's, nor of a job's energy budget; what a client takes while it waits for its turn is.

Validation: tests/devices/test_rest.py.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.devices.charge import Charge
from cosim.devices.device import DeviceArrays
from cosim.instants import instant_after
from cosim.links.link import Places
from cosim.names import by_number
from cosim.records import DONE, REST, Span
from cosim.rows.trace import Trace


class Stretch(NamedTuple):
    """An activity at rest of many clients; arrays have one shape.

    Attributes:
        from_s: When it begins.
        to_s: When it ends; who ends no later than it begins has none of it.
        energy_j: What it takes; 0 for those.
    """

    from_s: NDArray[np.float64]
    to_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]

    @property
    def lasts_s(self) -> NDArray[np.float64]:
        """How long each has it."""
        return np.maximum(self.to_s - self.from_s, 0.0)


class AtRest(NamedTuple):
    """What some devices do at rest; arrays have shape (devices,), those of `DeviceArrays`."""

    idle_w: NDArray[np.float64]
    sleep_w: NDArray[np.float64]
    sleeps_after_s: NDArray[np.float64]

    @classmethod
    def of(cls, devices: DeviceArrays, places: Places) -> "AtRest":
        """Those at some places."""
        return cls(devices.idle_w[places], devices.sleep_w[places], devices.sleeps_after_s[places])

    def stretches(
        self, since_s: NDArray[np.float64], until_s: float | NDArray[np.float64]
    ) -> tuple[Stretch, Stretch]:
        """Idling and sleeping, as `REST` names them, from one time to another; infinite since: none."""
        asleep_s = np.minimum(instant_after(since_s, self.sleeps_after_s), until_s)
        idle_j = self.idle_w * np.maximum(asleep_s - since_s, 0.0)
        sleep_j = self.sleep_w * np.maximum(until_s - asleep_s, 0.0)
        return Stretch(since_s, asleep_s, idle_j), Stretch(
            asleep_s, np.broadcast_to(until_s, asleep_s.shape), sleep_j
        )


@attrs.frozen(eq=False)
class Rest:
    """The rest of the clients of a run; arrays of shape (clients,).

    Attributes:
        since_s: When each has ended its last activity, 0 before its first; infinite while it is at work.
        is_idled: Whose idling since then is written down, since it has fallen asleep.
        taken_j: What each has taken at rest, but for the rest that it is at; None: nobody asks.
    """

    devices: DeviceArrays
    since_s: NDArray[np.float64]
    is_idled: NDArray[np.bool_]
    taken_j: NDArray[np.float64] | None

    @classmethod
    def of(cls, devices: DeviceArrays, *, counts: bool) -> "Rest":
        """That of devices before anything has happened.

        Args:
            counts: Whether somebody asks what is taken on the way (`energy_j`), as evaluations do.
        """
        num = len(devices)
        return cls(devices, np.zeros(num), np.zeros(num, dtype=bool), np.zeros(num) if counts else None)

    def begin(self, places: Places, now_s: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Let activities of some begin; returns since when each has rested, and whose idling is written."""
        since_s, is_idled = np.array(self.since_s[places]), np.array(self.is_idled[places])
        if self.taken_j is not None:
            self.taken_j[places] += self._since_j(places, since_s, now_s)
        self.since_s[places], self.is_idled[places] = np.inf, False
        return since_s, is_idled

    def fall_asleep(self, until_s: float) -> NDArray[np.int64]:
        """Places of those who fell asleep by then and whose idling is not written yet, as it is now."""
        asleep_s = instant_after(self.since_s, self.devices.sleeps_after_s)
        places = np.flatnonzero((asleep_s <= until_s) & (asleep_s > self.since_s) & ~self.is_idled)
        self.is_idled[places] = True
        return places

    def energy_j(self, now_s: float) -> float:
        """What all have taken at rest up to now, where it counts that."""
        assert self.taken_j is not None
        return float((self.taken_j + self._since_j(slice(None), self.since_s, now_s)).sum())

    def _since_j(self, places: Places, since_s: NDArray[np.float64], now_s: float) -> NDArray[np.float64]:
        idle, sleep = AtRest.of(self.devices, places).stretches(since_s, now_s)
        return idle.energy_j + sleep.energy_j


class Writer(Protocol):
    """Writes down rest where rounds are played on arrays."""

    def close(self, now_s: float) -> None:
        """Everyone's, at the end of a run."""
        ...

    def fall_asleep(self, until_s: float) -> None:
        """The idling of those who fell asleep by then, and are still at rest."""
        ...


class Rests:
    """The rest of a run's clients by their names, as a clock tells what they do.

    Args:
        names: Of all clients, in the order of their numbers.
        charges: Of those that have a battery, by name.

    Attributes:
        rest: Theirs.
        written_by: Writes rest down where rounds are played on arrays; None: this does.
    """

    def __init__(self, rest: Rest, names: Sequence[str], trace: Trace, charges: Mapping[str, Charge]) -> None:
        self.rest, self.charges = rest, charges
        self.written_by: Writer | None = None
        self._names, self._trace = names, trace
        trace.before_group = self.fall_asleep
        self._places: dict[str, int] = {}
        self._empty_since_s: dict[str, float] = {}
        for node, charge in charges.items():
            charge.on_change = partial(self.turn, node)
            if not charge.is_there:
                self.turn(node, False, 0.0)

    def begin(self, node: str, now_s: float, power_w: float) -> None:
        """Let an activity begin; nodes other than clients do not rest."""
        if (place := self._place(node)) < 0:
            return
        if node in self.charges:
            self.charges[node].begin(power_w)
        self._write(node, place, now_s)

    def end(self, node: str, now_s: float) -> None:
        """Let a rest begin."""
        if (place := self._place(node)) < 0:
            return
        if node in self.charges:
            self.charges[node].end()
        if node not in self._empty_since_s:
            self.rest.since_s[place] = now_s

    def turn(self, node: str, is_there: bool, now_s: float) -> None:
        """Let the battery of a client be empty, or have charged."""
        place = self._place(node)
        if is_there:
            self._write_empty(node, now_s)
            self.rest.since_s[place] = now_s
        else:
            self._write(node, place, now_s)
            self._empty_since_s[node] = now_s

    @property
    def most_rows(self) -> int:
        """Rows of a rest, at most: idling, sleep where somebody sleeps, empty where there are batteries."""
        devices = self.rest.devices
        return 1 + bool(np.isfinite(devices.sleeps_after_s).any()) + devices.have_batteries

    def close(self, now_s: float) -> None:
        """Write down everyone's rest at the end of a run."""
        if self.written_by is not None:
            return self.written_by.close(now_s)
        for place in np.flatnonzero(self.rest.since_s < now_s).tolist():
            self._write(self._names[place], place, now_s)
        for node in [*self._empty_since_s]:
            self._write_empty(node, now_s)

    def fall_asleep(self, until_s: float) -> None:
        """Write down the idling of those who fell asleep by then, and are still at rest."""
        if self.written_by is not None:
            return self.written_by.fall_asleep(until_s)
        devices = self.rest.devices
        for place in map(int, self.rest.fall_asleep(until_s)):
            since_s = self.rest.since_s.item(place)
            asleep_s = instant_after(since_s, devices.sleeps_after_s.item(place))
            energy_j = devices.idle_w.item(place) * (asleep_s - since_s)
            self._record(Span(self._names[place], REST[0], since_s, asleep_s, energy_j, DONE))

    def energy_j(self, now_s: float) -> float:
        """What all clients have taken at rest up to now."""
        return self.rest.energy_j(now_s)

    def _record(self, span: Span) -> None:
        """Keep a span that may have ended before others that are kept."""
        spans = self._trace.spans
        if not spans or spans[-1].end_s <= span.end_s:
            spans.append(span)
        else:
            insort(spans, span, key=lambda kept: kept.end_s)

    def _place(self, node: str) -> int:
        found = self._places.get(node)
        if found is None:
            kind, number = by_number(node)
            found = self._places[node] = number if kind == "client" and number < len(self._names) else -1
        return found

    def _write(self, node: str, place: int, now_s: float) -> None:
        """Write down the rest of a client, which is over."""
        rest, devices, taken_j = self.rest, self.rest.devices, 0.0
        since_s, rest.since_s[place] = rest.since_s.item(place), np.inf
        is_idled, rest.is_idled[place] = rest.is_idled.item(place), False
        if since_s >= now_s:
            return
        asleep_s = min(instant_after(since_s, devices.sleeps_after_s.item(place)), now_s)
        for activity, from_s, to_s, power_w in (
            (REST[0], since_s, asleep_s, devices.idle_w.item(place)),
            (REST[1], asleep_s, now_s, devices.sleep_w.item(place)),
        ):
            if to_s > from_s:
                energy_j = power_w * (to_s - from_s)
                taken_j += energy_j
                if not (is_idled and activity == REST[0]):
                    self._record(Span(node, activity, from_s, to_s, energy_j, DONE))
        if rest.taken_j is not None:
            rest.taken_j[place] += taken_j

    def _write_empty(self, node: str, now_s: float) -> None:
        since_s = self._empty_since_s.pop(node)
        if since_s < now_s:
            self._trace.spans.append(Span(node, REST[2], since_s, now_s, 0.0, DONE))
