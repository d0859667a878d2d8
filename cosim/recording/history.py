"""History: sums over the ended jobs of each client.

It is kept if a part says that it reads it (`Port.reads_history`), from the events that the recorder is told,
on both clocks; so it is there without rows (`records = "rounds"`), with rows in a folder, and after a resume.

Scope and limitations: a job counts when its edge round is over, or when an asynchronous job is; until then a
rule sees the state before it. Rest is not part of a job.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.names import client_number
from cosim.recording.told_round import GIVEN_UP, ToldRound
from cosim.records.rows import DONE


class Past(NamedTuple):
    """Sums over the ended jobs of some clients; arrays have shape (clients,).

    Attributes:
        num_arrived: Number of jobs whose update counted.
        energy_j: Energy of all jobs.
        lasted_s: Total duration of all jobs, until they had ended or were cut.
        last_j: Energy of the last job; 0 without one.
        last_s: Duration of the last job; 0 without one.
        outcomes: Outcome of jobs -> their number.
    """

    num_jobs: NDArray[np.int64]
    num_arrived: NDArray[np.int64]
    energy_j: NDArray[np.float64]
    lasted_s: NDArray[np.float64]
    last_j: NDArray[np.float64]
    last_s: NDArray[np.float64]
    outcomes: Mapping[str, NDArray[np.int64]]


class History:
    """History of all clients of a run."""

    def __init__(self, num_clients: int) -> None:
        self._num_jobs = np.zeros(num_clients, dtype=np.int64)
        self._sums = {name: np.zeros(num_clients) for name in ("energy_j", "lasted_s", "last_j", "last_s")}
        self._open_j = np.zeros(num_clients)
        self._outcomes: dict[str, NDArray[np.int64]] = {DONE: np.zeros(num_clients, dtype=np.int64)}
        self._became: dict[str, str] = {}

    def of(self, which: Any) -> Past:
        """Current history of some clients, by their numbers."""
        outcomes = {outcome: np.array(counts[which]) for outcome, counts in self._outcomes.items()}
        sums = {name: np.array(values[which]) for name, values in self._sums.items()}
        return Past(np.array(self._num_jobs[which]), outcomes[DONE], **sums, outcomes=outcomes)

    # One client, by events.

    def spent(self, node: str, energy_j: float) -> None:
        """Add energy of a node's job."""
        if (number := client_number(node)) is not None:
            self._open_j[number] += energy_j

    def ended(self, client: str, lasted_s: float, outcome: str) -> None:
        """Add the end of a client's job."""
        self._became[client] = outcome
        self._add(_number(client), lasted_s, outcome)

    def overruled(self, client: str, outcome: str) -> None:
        """Change the outcome of a client's last job."""
        self._outcomes[self._became[client]][_number(client)] -= 1
        self._counts(outcome)[_number(client)] += 1
        self._became[client] = outcome

    # Many clients, on arrays.

    def add_round(self, told: ToldRound) -> None:
        """Add the jobs of an edge round that is over."""
        which, counts, cut = told.clients.which, told.counts, told.cut
        for spent in told.spans:
            self._open_j[which] += spent.power_w * spent.lasts_s
        is_given_up = ~counts & (False if cut.is_given_up is None else cut.is_given_up)
        became = [(DONE, counts), (GIVEN_UP, is_given_up), (cut.reason, ~counts & ~is_given_up)]
        for outcome, of_these in became:
            if of_these.any():
                lasted_s = (told.ends_s - told.start_s)[of_these]
                self._add(told.clients.numbers[of_these], lasted_s, outcome)

    def _add(self, which: Any, lasted_s: Any, outcome: str) -> None:
        self._num_jobs[which] += 1
        self._counts(outcome)[which] += 1
        job_j, sums = self._open_j[which], self._sums
        sums["energy_j"][which] += job_j
        sums["lasted_s"][which] += lasted_s
        sums["last_j"][which], sums["last_s"][which] = job_j, lasted_s
        self._open_j[which] = 0.0

    def _counts(self, outcome: str) -> NDArray[np.int64]:
        return self._outcomes.setdefault(outcome, np.zeros(len(self._num_jobs), dtype=np.int64))


def past_of(history: History | None, which: Any) -> Past:
    """Outcomes of some clients' jobs.

    Raises:
        ConfigurationError: They are not kept, as no part says that it reads them.
    """
    if history is None:
        raise ConfigurationError(
            "history: the outcomes of clients' jobs are kept only if a part declares that it reads them. "
            "Set reads_history = True in its class."
        )
    return history.of(which)


def _number(client: str) -> int:
    number = client_number(client)
    assert number is not None
    return number
