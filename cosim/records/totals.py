"""Totals: sums over the rows of a run that were handed over, in the order of its tables.

Each is one running sum from the first row to the last, so that it depends neither on the clock nor on the
groups in which rows are handed over.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.records.columns import Columns
from cosim.records.rows import DONE, END_OF_RUN, NO_ROUND, REST, RESTED_J, UP, WORKED_J


class Spent(NamedTuple):
    """Bits and energy of clients and servers up to a time, at work and at rest, by rows and by tallies."""

    spans_j: float = 0.0
    rest_j: float = 0.0
    tallied_j: float = 0.0
    tallied_rest_j: float = 0.0
    uploads_bits: float = 0.0
    tallied_up_bits: float = 0.0
    downloads_bits: float = 0.0
    tallied_down_bits: float = 0.0

    @property
    def worked_j(self) -> float:
        """Energy of all nodes, without clients at rest."""
        return self.spans_j + self.tallied_j

    @property
    def energy_j(self) -> float:
        """Energy of all nodes."""
        return self.worked_j + self.rest_j + self.tallied_rest_j

    @property
    def sent_bits(self) -> float:
        """Bits sent by all clients."""
        return self.uploads_bits + self.tallied_up_bits

    @property
    def received_bits(self) -> float:
        """Bits received by all clients."""
        return self.downloads_bits + self.tallied_down_bits


class Totals(NamedTuple):
    """Sums over rows.

    Attributes:
        spent: Bits and energy up to the last row.
        at_evaluations: Bits and energy up to each evaluation.
        num_updates: Number of updates of edge rounds that have ended, and of jobs that belong to none.
        num_dropped: Number of these that were dropped.
    """

    spent: Spent = Spent()
    at_evaluations: tuple[Spent, ...] = ()
    num_global_rounds: int = 0
    num_updates: int = 0
    num_dropped: int = 0

    def after(self, tables: Mapping[str, Columns], times_s: Sequence[float]) -> "Totals":
        """Sums after some more rows.

        Args:
            times_s: Times of the evaluations among them, ascending; each ends a stretch.
        """
        spans, transfers, tallies = tables["spans"], tables["transfers"], tables["tallies"]
        rounds, fates, at_rest = tables["rounds"], tables["fates"], spans["activity"].isin(REST)
        is_upload = transfers["direction"].isin([UP])
        worked_j, rest_j = (
            np.sum([tallies[of] for of in columns], axis=0) for columns in (WORKED_J, RESTED_J)
        )
        amounts = (
            (spans["end_s"], np.where(at_rest, 0.0, spans["energy_j"])),
            (spans["end_s"], np.where(at_rest, spans["energy_j"], 0.0)),
            (tallies["end_s"], worked_j),
            (tallies["end_s"], rest_j),
            (transfers["end_s"], np.where(is_upload, transfers["sent_bits"], 0.0)),
            (tallies["end_s"], tallies["sent_bits"]),
            (transfers["end_s"], np.where(is_upload, 0.0, transfers["sent_bits"])),
            (tallies["end_s"], tallies["received_bits"]),
        )
        runs = [_running(start, *amount, times_s) for start, amount in zip(self.spent, amounts, strict=True)]
        *evaluated, spent = (Spent(*map(float, row)) for row in zip(*runs, strict=True))
        edge_rounds, global_rounds = (rounds["level"].isin([level]) for level in ("edge", "global"))
        jobs = (fates["edge_round"] == NO_ROUND) & ~fates["outcome"].isin([END_OF_RUN])
        num_wanted = int(rounds["num_participants"][edge_rounds].sum())
        num_late = num_wanted - int(rounds["num_arrived"][edge_rounds].sum())
        return Totals(
            spent,
            (*self.at_evaluations, *evaluated),
            self.num_global_rounds + int(global_rounds.sum()),
            self.num_updates + num_wanted + int(jobs.sum()),
            self.num_dropped + num_late + int((jobs & ~fates["outcome"].isin([DONE])).sum()),
        )


def _running(
    start: float, end_s: NDArray[np.float64], amount: NDArray[np.float64], times_s: Sequence[float]
) -> NDArray[np.float64]:
    """Running sum at each time, and after all rows, which come stretch by stretch."""
    sums = np.cumsum(np.concatenate(([start], amount)))
    num_rows = np.searchsorted(np.sort(end_s), times_s, side="right")
    return np.append(sums[num_rows], sums[-1])
