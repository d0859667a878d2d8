"""History: what has become of the jobs of each client that are over, as sums by client.

It is kept where a part says that it reads it (`Port.reads_history`), from what the recorder is told, on both
clocks alike; so it is there without rows (`records = "rounds"`), with rows in a folder, and after a resume.

Scope and limitations: a job counts when its edge round is over, or when an asynchronous job is; until then a
rule sees what was before it. Rest is no part of a job.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.names import client_number
from cosim.records import DONE
from cosim.rows.round_rows import GIVEN_UP, Cut, RoundOf, RoundRows, Way
from cosim.rows.round_tally import RoundTally


class Past(NamedTuple):
    """What has become of the jobs of some clients that are over; arrays have shape (clients,).

    Attributes:
        num_jobs: How many there were.
        num_arrived: Those whose update counted.
        energy_j: What all of them took.
        lasted_s: How long all of them lasted, until they had ended or were cut.
        last_j: What the last one took; 0 without one.
        last_s: How long the last one lasted; 0 without one.
        outcomes: What became of jobs -> how many.
    """

    num_jobs: NDArray[np.int64]
    num_arrived: NDArray[np.int64]
    energy_j: NDArray[np.float64]
    lasted_s: NDArray[np.float64]
    last_j: NDArray[np.float64]
    last_s: NDArray[np.float64]
    outcomes: Mapping[str, NDArray[np.int64]]


class History:
    """That of all clients of a run.

    Args:
        num: How many they are.
    """

    def __init__(self, num: int) -> None:
        self._num_jobs = np.zeros(num, dtype=np.int64)
        self._energy_j, self._lasted_s, self._last_j, self._last_s = np.zeros((4, num))
        self._open_j = np.zeros(num)
        self._outcomes: dict[str, NDArray[np.int64]] = {DONE: np.zeros(num, dtype=np.int64)}
        self._became: dict[str, str] = {}

    def of(self, which: Any) -> Past:
        """That of some clients, by their numbers, as it is now."""
        outcomes = {outcome: np.array(counts[which]) for outcome, counts in self._outcomes.items()}
        return Past(
            num_jobs=np.array(self._num_jobs[which]),
            num_arrived=outcomes[DONE],
            energy_j=np.array(self._energy_j[which]),
            lasted_s=np.array(self._lasted_s[which]),
            last_j=np.array(self._last_j[which]),
            last_s=np.array(self._last_s[which]),
            outcomes=outcomes,
        )

    # One client, by events.

    def spent(self, node: str, energy_j: float) -> None:
        """A node has taken energy in a job."""
        if (number := client_number(node)) is not None:
            self._open_j[number] += energy_j

    def ended(self, client: str, lasted_s: float, outcome: str) -> None:
        """A job of a client is over."""
        self._became[client] = outcome
        self._add(_number(client), lasted_s, outcome)

    def overruled(self, client: str, outcome: str) -> None:
        """The last job of a client has come to another end."""
        self._outcomes[self._became[client]][_number(client)] -= 1
        self._counts(outcome)[_number(client)] += 1
        self._became[client] = outcome

    # Many clients, on arrays.

    def spent_by(self, which: Any, energy_j: NDArray[np.float64]) -> None:
        """Clients have taken energy in their jobs."""
        self._open_j[which] += energy_j

    def ended_by(
        self,
        numbers: NDArray[np.int64],
        lasted_s: NDArray[np.float64],
        outcomes: Mapping[str, NDArray[np.bool_]],
    ) -> None:
        """Jobs of clients are over.

        Args:
            outcomes: What became of jobs -> True for those, shape (clients,); each has one.
        """
        for outcome, of_these in outcomes.items():
            if of_these.any():
                self._add(numbers[of_these], lasted_s[of_these], outcome)

    def _add(self, which: Any, lasted_s: Any, outcome: str) -> None:
        self._num_jobs[which] += 1
        self._counts(outcome)[which] += 1
        self._energy_j[which] += self._open_j[which]
        self._lasted_s[which] += lasted_s
        self._last_j[which], self._last_s[which] = self._open_j[which], lasted_s
        self._open_j[which] = 0.0

    def _counts(self, outcome: str) -> NDArray[np.int64]:
        return self._outcomes.setdefault(outcome, np.zeros(len(self._num_jobs), dtype=np.int64))


def unread() -> ConfigurationError:
    """The error of a part that reads a history which is not kept."""
    return ConfigurationError(
        "history: what has become of the jobs of clients is kept only where a part says that it reads it. "
        "Usual fix: reads_history = True in the class that does."
    )


def _number(client: str) -> int:
    number = client_number(client)
    assert number is not None
    return number


class HeardRound:
    """Tells a history, too, what is told of an edge round on arrays, by the same verbs.

    Attributes:
        told: Its rows, or its tally.
    """

    def __init__(self, told: RoundRows | RoundTally, history: History) -> None:
        self.told, self._history = told, history

    @property
    def of(self) -> RoundOf:
        """Whose round it is."""
        return self.told.of

    def spent(
        self,
        activity: str,
        from_s: NDArray[np.float64],
        to_s: NDArray[np.float64],
        power_w: NDArray[np.float64],
        cut: Cut,
    ) -> None:
        """Each client does something."""
        lasts_s = cut.lasts_s(from_s, to_s)
        self._history.spent_by(self.of.clients.which, power_w * lasts_s)
        self.told.spent(activity, from_s, to_s, power_w, cut)

    def carried(self, direction: str, opens_s: NDArray[np.float64], way: Way, bits: int, cut: Cut) -> None:
        """Each client sends or receives bits."""
        self.told.carried(direction, opens_s, way, bits, cut)

    def ended(self, end_s: float, ends_s: NDArray[np.float64], counts: NDArray[np.bool_], cut: Cut) -> None:
        """Each client has ended its part."""
        is_given_up = ~counts if cut.is_given_up is not None else np.zeros(len(counts), dtype=bool)
        if cut.is_given_up is not None:
            is_given_up &= cut.is_given_up
        outcomes = {DONE: counts, GIVEN_UP: is_given_up}
        outcomes[cut.reason] = (~counts & ~is_given_up) | outcomes.get(cut.reason, np.zeros_like(counts))
        self._history.ended_by(self.of.clients.numbers, ends_s - self.of.start_s, outcomes)
        self.told.ended(end_s, ends_s, counts, cut)
