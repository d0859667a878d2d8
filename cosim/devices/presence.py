"""Presence: the port of the times when a client is present; a device without one always is.

| kind | a client is present |
|---|---|
| `OnOff` | for a drawn time, then away for a drawn time, again and again |
| `PresenceWindows` | in the windows of a table (`presence_windows`) |

Edge servers choose among the clients that are present when an edge round begins. A client that leaves during
a job is cut off: the energy it used stays counted, its job's fate is "left", and an upload under way is
closed.

Usage::

    @part
    class OfficeHours(Presence):
        \"\"\"From nine to five, every day.\"\"\"

        def windows(self, sim, client):
            for day in itertools.count():
                yield 86_400.0 * day + 32_400.0, 86_400.0 * day + 61_200.0

Scope and limitations: a client comes and goes independently of what it does. While it is away it keeps its
samples and its state between trainings. Systems with presence run by events.

Validation: scenarios/validate/presence.py, against renewal theory; tests/devices/test_presence.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from typing_extensions import override

from cosim.clock.instants import LATEST_S
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, Port, part
from cosim.configuration.port import Picture
from cosim.queues.service import Exponential, ServiceLaw

BLOCK = 16
"""Number of durations that are drawn together."""
_MOST_TOO_SHORT = 10_000
"""Most consecutive times that may be too short for the clock. [no source]"""


Window = tuple[float, float]
"""Start (included) and end (excluded), in s."""


@part
class Presence(Port, ABC):
    """Times when a client is present."""

    @override
    def pictures(self) -> tuple[Picture, ...]:
        return ("presence",)

    def check(self, clients: Sequence[str]) -> None:
        """Refuse the clients of a run, before the clock starts.

        Raises:
            ConfigurationError: The clients do not fit; the message says why and what to use.
        """

    @abstractmethod
    def windows(self, sim: Simulation, client: str) -> Iterator[Window]:
        """Windows in which a client is present: start (included) and end (excluded) in s, in order.

        They are asked for on demand; after the last window the client never comes back. Draws are made by the
        client's name.
        """


@part
class OnOff(Presence):
    """There for a drawn time, then away for a drawn time, all independent of each other.

    In the long run a client is present for E[on] / (E[on] + E[off]) of the time.

    Attributes:
        on: Time that it stays. [no source]
        off: Time that it is away. [no source]
        initial_state: State at time 0: stationary, as if it had come and gone for ever, so that it is present
            with its share of time, and the rest of its stay or absence is an equilibrium residual; on or off,
            as if it had just come or just left. [no source]
    """

    on: ServiceLaw = Exponential(rate_per_s=0.1)
    off: ServiceLaw = Exponential(rate_per_s=0.1)
    initial_state: Literal["stationary", "on", "off"] = "stationary"

    @property
    def share(self) -> float:
        """Share of time that a client is present in the long run."""
        return self.on.mean_s / (self.on.mean_s + self.off.mean_s)

    @override
    def windows(self, sim: Simulation, client: str) -> Iterator[Window]:
        stays, absences = self._durations(sim, client, "on"), self._durations(sim, client, "off")
        rng, now_s, num_too_short = sim.stream(client, "presence", 0), 0.0, 0
        is_on = self.initial_state == "on"
        if self.initial_state == "stationary":
            is_on = bool(rng.random() < self.share)
            law = self.on if is_on else self.off
            left_s = float(law.draw_residual(rng, 1)[0])
            if is_on:
                yield 0.0, left_s
            now_s, is_on = left_s, not is_on
        while now_s < LATEST_S:
            if not is_on:
                now_s += next(absences)
            from_s, now_s, is_on = now_s, now_s + next(stays), False
            if now_s > from_s:  # else it is too short for float64
                num_too_short = 0
                yield from_s, now_s
            elif (num_too_short := num_too_short + 1) > _MOST_TOO_SHORT:
                raise ConfigurationError(
                    f"OnOff.on: {type(self.on).__name__} keeps drawing times that are too short for "
                    f"the clock, up to {now_s:.6g} s. Use longer times, or a lower rate.",
                    "OnOff.on",
                )

    def _durations(self, sim: Simulation, client: str, what: Literal["on", "off"]) -> Iterator[float]:
        """Draws of a law, finite and above 0.

        Raises:
            ConfigurationError: The law draws something else.
        """
        law: ServiceLaw = getattr(self, what)
        rng = sim.stream(client, f"presence {what}", 0)
        while True:
            drawn_s = np.asarray(law.draw(rng, BLOCK), dtype=float)
            if not ((drawn_s > 0.0) & np.isfinite(drawn_s)).all():
                raise ConfigurationError(
                    f"OnOff.{what}: {type(law).__name__} draws {drawn_s!r:.80}: must be a finite time "
                    "above 0 s. Use another law.",
                    f"OnOff.{what}",
                )
            yield from drawn_s.tolist()
