"""Presence: the port of when a client is there; a device without one always is.

| kind | a client is there |
|---|---|
| `OnOff` | for a drawn time, then away for a drawn time, again and again |
| `PresenceWindows` | in the windows of a table (`presence_windows`) |

Edge servers choose among those who are there when an edge round begins. Who leaves in the middle of a job is
cut there: what it has spent is spent, its job's fate is "left", and an upload under way is closed.

Usage::

    @part
    class OfficeHours(Presence):
        \"\"\"From nine to five, every day.\"\"\"

        def windows(self, sim, client):
            for day in itertools.count():
                yield 86_400.0 * day + 32_400.0, 86_400.0 * day + 61_200.0

Scope and limitations: a client comes and goes whatever it does. It keeps its samples, and what it has kept
from one training to the next, while it is away. Everything with presence is played by events.

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
from cosim.queues.service import Exponential, ServiceLaw

BLOCK = 16
"""Durations that are drawn together."""
_MOST_TOO_SHORT = 10_000
"""Times on in a row that may be too short for the clock. [no source]"""


Window = tuple[float, float]
"""From (included) and to (excluded), in s."""


@part
class Presence(Port, ABC):
    """When a client is there."""

    def check(self, clients: Sequence[str]) -> None:
        """Refuse the clients of a run, before the clock starts.

        Raises:
            ConfigurationError: What does not fit, and the usual fix.
        """

    @abstractmethod
    def windows(self, sim: Simulation, client: str) -> Iterator[Window]:
        """When a client is there: from (included) and to (excluded) in s, in order, as far as it is asked.

        After the last it never comes back. What it draws, it draws by the client's name.
        """


@part
class OnOff(Presence):
    """There for a drawn time, then away for a drawn time, all independent of each other.

    In the long run a client is there for E[on] / (E[on] + E[off]) of the time.

    Attributes:
        on: How long it stays. [no source]
        off: How long it is away. [no source]
        start: How it begins: stationary, as one that has come and gone for ever, so that it is there with
            its share of time, and what is left of its stay or absence is an equilibrium residual; on or off,
            as one that has just come or just left. [no source]
    """

    on: ServiceLaw = Exponential(rate_per_s=0.1)
    off: ServiceLaw = Exponential(rate_per_s=0.1)
    start: Literal["stationary", "on", "off"] = "stationary"

    @property
    def share(self) -> float:
        """Share of time that a client is there in the long run."""
        return self.on.mean_s / (self.on.mean_s + self.off.mean_s)

    @override
    def windows(self, sim: Simulation, client: str) -> Iterator[Window]:
        """By draws of the client's own."""
        stays, absences = self._durations(sim, client, "on"), self._durations(sim, client, "off")
        rng, now_s, num_too_short = sim.stream(client, "presence", 0), 0.0, 0
        is_on = self.start == "on"
        if self.start == "stationary":
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
            if now_s > from_s:  # else it is too short for the clock's float64
                num_too_short = 0
                yield from_s, now_s
            elif (num_too_short := num_too_short + 1) > _MOST_TOO_SHORT:
                raise ConfigurationError(
                    f"OnOff.on: {type(self.on).__name__} draws times that are too short for the clock, one "
                    f"after the other up to {now_s:.6g} s. Use longer times, or a lower rate."
                )

    def _durations(self, sim: Simulation, client: str, what: Literal["on", "off"]) -> Iterator[float]:
        """Draws of a law, which are finite and above 0.

        Raises:
            ConfigurationError: A law that draws something else.
        """
        law: ServiceLaw = getattr(self, what)
        rng = sim.stream(client, f"presence {what}", 0)
        while True:
            drawn_s = np.asarray(law.draw(rng, BLOCK), dtype=float)
            if not ((drawn_s > 0.0) & np.isfinite(drawn_s)).all():
                raise ConfigurationError(
                    f"OnOff.{what}: {type(law).__name__} draws {drawn_s!r:.80}: must be finite times above 0 "
                    "s. Use another law."
                )
            yield from drawn_s.tolist()
