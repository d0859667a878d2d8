"""Rest: the time of a device between its activities, and the power that it takes then.

A device that has nothing to do idles, and after `sleeps_after_s` it sleeps until its next activity. The time
since its last activity is written down when the next one begins, and at the end of the run for all clients,
even for clients that never took part; so the spans of a device tile the whole run, without gap or overlap.
Idling that is over is written down before the rows of its time are handed over. Where no device takes power
at rest, nothing is written.

A client whose battery is empty (`cosim.engine.clients.charge`) is absent, and takes none.

Records written: `Span` "idle", "sleep" and "empty", of no job; kept by the recorder, which makes the rest.

Scope and limitations: waking and falling asleep take no time and no energy of their own. Energy at rest is
no part of a job's, nor of a job's energy budget; what a client takes while it waits for its turn is.

Validation: tests/engine/clients/test_rest.py.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.clock.event_clock import Clock
from cosim.clock.instants import instant_after
from cosim.devices.device import DeviceArrays
from cosim.engine.clients.charge import charges_of
from cosim.jobs.job import Places
from cosim.names import ClientNames, client_number
from cosim.recording.recorder import Write
from cosim.records.client_sums import ClientSums
from cosim.records.columns import Columns, Words
from cosim.records.rows import DONE, NO_JOB, REST, Span


class Rested(NamedTuple):
    """Rest of some clients that is over; arrays have shape (clients,).

    Attributes:
        numbers: The clients'.
        since_s: When each had ended its last activity, 0 before its first; infinite: it has not rested.
        is_idled: Whose idling is written down already.
        until_s: When all of it has ended.
        rest: That of all clients.
        has_ended: False where only the idling is meant, and sleep goes on.
    """

    numbers: NDArray[np.int64]
    since_s: NDArray[np.float64]
    is_idled: NDArray[np.bool_]
    until_s: float
    rest: "Rest"
    has_ended: bool = True

    def tally(self, clients: ClientSums) -> dict[str, float]:
        """Times and energies of idling and sleep that are not written down yet, as a `Tally` names them.

        Args:
            clients: Sums of each client of the run, to which its energies are added.
        """
        since_s, until_s = self.since_s, self.until_s
        asleep_s, idle_j, sleep_j = self.rest.stretches(self.numbers, since_s, until_s)
        idle_s = np.maximum(asleep_s - since_s, 0.0)
        if self.is_idled.any():
            idle_s, idle_j = (np.where(self.is_idled, 0.0, of) for of in (idle_s, idle_j))
        for each_j in (idle_j, sleep_j):
            clients.add("energy_j", self.numbers, each_j)
        return {
            "idle_s": idle_s.sum(),
            "sleep_s": np.maximum(until_s - asleep_s, 0.0).sum(),
            "idle_j": idle_j.sum(),
            "sleep_j": sleep_j.sum(),
        }


class Rest:
    """The rest of all clients of a run.

    Args:
        write: Gets spans of clients whose batteries are empty, or have charged, when they have ended.
        counts: True if what is taken on the way is asked for (`energy_j`), as evaluations do.

    Attributes:
        names: Names of all clients.
        charges: Charge of each client that has a battery, by name.
    """

    def __init__(self, devices: DeviceArrays, clock: Clock, write: Write, *, counts: bool) -> None:
        num = len(devices)
        self.names = ClientNames(0, num)
        self._devices, self._write = devices, write
        self._since_s, self._is_idled = np.zeros(num), np.zeros(num, dtype=bool)
        self._taken_j = np.zeros(num) if counts else None
        self._empty_since_s: dict[str, float] = {}
        self.charges = charges_of(devices, clock, self._turned)
        for node, charge in self.charges.items():
            if not charge.is_present:
                self._turned(node, False, 0.0)

    def energy_j(self, now_s: float) -> float:
        """Energy that all clients have taken at rest up to now, where it is counted."""
        assert self._taken_j is not None
        return float((self._taken_j + self._energies_j(slice(None), self._since_s, now_s)).sum())

    # One client, by events.

    def begin(self, node: str, now_s: float, power_w: float) -> Iterator[Span]:
        """Let an activity begin, which takes a power; gives the spans of the rest before it.

        Nodes other than clients do not rest.
        """
        if (number := client_number(node)) is None:
            return iter(())
        if node in self.charges:
            self.charges[node].begin(power_w)
        return self._ended(node, number, now_s)

    def end(self, node: str, now_s: float) -> None:
        """Let a rest begin."""
        if (number := client_number(node)) is None:
            return
        if node in self.charges:
            self.charges[node].end()
        if node not in self._empty_since_s:
            self._since_s[number] = now_s

    def _turned(self, node: str, is_present: bool, now_s: float) -> None:
        """Let the battery of a client be empty, or have charged."""
        number = client_number(node)
        assert number is not None
        if is_present:
            self._write(self._emptied(node, now_s))
            self._since_s[number] = now_s
        else:
            self._write(self._ended(node, number, now_s))
            self._empty_since_s[node] = now_s

    def close(self, now_s: float) -> Iterator[Span]:
        """End the run; gives the spans of clients with empty batteries."""
        for node in [*self._empty_since_s]:
            yield from self._emptied(node, now_s)

    def _ended(self, node: str, number: int, now_s: float) -> Iterator[Span]:
        devices, taken_j = self._devices, 0.0
        since_s, self._since_s[number] = self._since_s.item(number), np.inf
        is_idled, self._is_idled[number] = self._is_idled.item(number), False
        if since_s >= now_s:
            return
        asleep_s = min(instant_after(since_s, devices.sleeps_after_s.item(number)), now_s)
        for activity, from_s, to_s, power_w in (
            (REST[0], since_s, asleep_s, devices.idle_w.item(number)),
            (REST[1], asleep_s, now_s, devices.sleep_w.item(number)),
        ):
            if to_s > from_s:
                energy_j = power_w * (to_s - from_s)
                taken_j += energy_j
                if not (is_idled and activity == REST[0]):
                    yield Span(node, activity, from_s, to_s, energy_j, DONE)
        if self._taken_j is not None:
            self._taken_j[number] += taken_j

    def _emptied(self, node: str, now_s: float) -> Iterator[Span]:
        since_s = self._empty_since_s.pop(node)
        if since_s < now_s:
            yield Span(node, REST[2], since_s, now_s, 0.0, DONE)

    # Many at a time.

    def begin_many(self, which: Places, now_s: float) -> Rested:
        """Let activities of some clients begin; returns their rest before."""
        since_s, is_idled = np.array(self._since_s[which]), np.array(self._is_idled[which])
        if self._taken_j is not None:
            self._taken_j[which] += self._energies_j(which, since_s, now_s)
        self._since_s[which], self._is_idled[which] = np.inf, False
        numbers = np.arange(which.start, which.stop) if isinstance(which, slice) else which
        return Rested(numbers, since_s, is_idled, now_s, self)

    def end_many(self, which: Places, ends_s: NDArray[np.float64]) -> None:
        """Let their rest begin, of each at its own time."""
        self._since_s[which] = ends_s

    def fall_asleep(self, until_s: float) -> Rested:
        """Idling, not written yet, of clients that fell asleep by then and are still at rest."""
        asleep_s = instant_after(self._since_s, self._devices.sleeps_after_s)
        numbers = np.flatnonzero((asleep_s <= until_s) & (asleep_s > self._since_s) & ~self._is_idled)
        self._is_idled[numbers] = True
        none = np.zeros(len(numbers), dtype=bool)
        return Rested(numbers, self._since_s[numbers], none, until_s, self, has_ended=False)

    def spans(self, rested: Sequence[Rested]) -> Sequence[Columns]:
        """The spans of idling and of sleeping."""
        sizes = [len(of.numbers) for of in rested]
        numbers, since_s = (np.concatenate(values) for values in zip(*[of[:2] for of in rested], strict=True))
        until_s = np.repeat([of.until_s for of in rested], sizes)
        is_written = (
            np.concatenate([of.is_idled for of in rested]),
            np.repeat([not of.has_ended for of in rested], sizes),
        )
        asleep_s, *energies_j = self.stretches(numbers, since_s, until_s)
        found = []
        for activity, from_s, to_s in ((0, since_s, asleep_s), (1, asleep_s, until_s)):
            which = np.flatnonzero((to_s > from_s) & ~is_written[activity])
            found.append(
                {
                    "node": Words(self.names, numbers[which]),
                    "activity": Words(REST, np.full(len(which), activity)),
                    "start_s": from_s[which],
                    "end_s": to_s[which],
                    "energy_j": energies_j[activity][which],
                    "outcome": Words([DONE], np.zeros(len(which), dtype=np.int64)),
                    "job": np.full(len(which), NO_JOB),
                }
            )
        return found

    def stretches(
        self, which: Places, since_s: NDArray[np.float64], until_s: float | NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Times of falling asleep, and energies of idling and of sleep, from one time to another."""
        devices = self._devices
        asleep_s = np.minimum(instant_after(since_s, devices.sleeps_after_s[which]), until_s)
        idle_j = devices.idle_w[which] * np.maximum(asleep_s - since_s, 0.0)
        return asleep_s, idle_j, devices.sleep_w[which] * np.maximum(until_s - asleep_s, 0.0)

    def _energies_j(self, which: Places, since_s: NDArray[np.float64], now_s: float) -> NDArray[np.float64]:
        _, idle_j, sleep_j = self.stretches(which, since_s, now_s)
        return idle_j + sleep_j


def rest_rows(devices: DeviceArrays) -> int:
    """Rows of a rest between two activities, at most.

    Idling, sleep where devices sleep, empty where there are batteries; 0: they take no power, and have none.
    """
    if not (devices.takes_power_at_rest or devices.have_batteries):
        return 0
    return 1 + bool(np.isfinite(devices.sleeps_after_s).any()) + devices.have_batteries
