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
    """Energy and bits of a run up to a time.

    Attributes:
        worked_j: Energy of all nodes, without clients at rest.
        rest_j: Energy of clients at rest.
        sent_bits: Bits sent by all clients.
        received_bits: Bits received by all clients.
    """

    worked_j: float = 0.0
    rest_j: float = 0.0
    sent_bits: float = 0.0
    received_bits: float = 0.0

    @property
    def energy_j(self) -> float:
        """Energy of all nodes."""
        return self.worked_j + self.rest_j

    def plus(self, other: "Spent") -> "Spent":
        """Energy and bits of both together."""
        return Spent(*(one + of_other for one, of_other in zip(self, other, strict=True)))


class Totals(NamedTuple):
    """Sums over rows.

    Attributes:
        by_rows: Energy and bits of spans and transfers.
        by_tallies: Energy and bits of tallies, which stand for the others.
        at_evaluations: Energy and bits up to each evaluation.
        num_updates: Number of updates of edge rounds that have ended, and of jobs that belong to none.
        num_dropped: Number of these that were dropped.
    """

    by_rows: Spent = Spent()
    by_tallies: Spent = Spent()
    at_evaluations: tuple[Spent, ...] = ()
    num_global_rounds: int = 0
    num_updates: int = 0
    num_dropped: int = 0

    @property
    def spent(self) -> Spent:
        """Energy and bits up to the last row."""
        return self.by_rows.plus(self.by_tallies)

    def after(self, tables: Mapping[str, Columns], times_s: Sequence[float]) -> "Totals":
        """Sums after some more rows.

        Args:
            times_s: Times of the evaluations among them, ascending; each ends a stretch.
        """
        spans, transfers, tallies = tables["spans"], tables["transfers"], tables["tallies"]
        rounds, fates, at_rest = tables["rounds"], tables["fates"], spans["activity"].isin(REST)
        goes_up = transfers["direction"].isin([UP])
        of_rows = (
            (spans["end_s"], np.where(at_rest, 0.0, spans["energy_j"])),
            (spans["end_s"], np.where(at_rest, spans["energy_j"], 0.0)),
            (transfers["end_s"], np.where(goes_up, transfers["sent_bits"], 0.0)),
            (transfers["end_s"], np.where(goes_up, 0.0, transfers["sent_bits"])),
        )
        energies_j = [np.sum([tallies[of] for of in columns], axis=0) for columns in (WORKED_J, RESTED_J)]
        of_tallies = (*energies_j, tallies["sent_bits"], tallies["received_bits"])
        by_rows = _running(self.by_rows, of_rows, times_s)
        by_tallies = _running(self.by_tallies, [(tallies["end_s"], of) for of in of_tallies], times_s)
        evaluated = map(Spent.plus, by_rows[:-1], by_tallies[:-1])
        edge_rounds, global_rounds = (rounds["level"].isin([level]) for level in ("edge", "global"))
        jobs = (fates["edge_round"] == NO_ROUND) & ~fates["outcome"].isin([END_OF_RUN])
        num_wanted = int(rounds["num_participants"][edge_rounds].sum())
        num_late = num_wanted - int(rounds["num_arrived"][edge_rounds].sum())
        return Totals(
            by_rows[-1],
            by_tallies[-1],
            (*self.at_evaluations, *evaluated),
            self.num_global_rounds + int(global_rounds.sum()),
            self.num_updates + num_wanted + int(jobs.sum()),
            self.num_dropped + num_late + int((jobs & ~fates["outcome"].isin([DONE])).sum()),
        )


def _running(
    start: Spent,
    amounts: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    times_s: Sequence[float],
) -> list[Spent]:
    """Running sums at each time, and after all rows, which come stretch by stretch.

    Args:
        amounts: Ends of the rows, and amount of each, for each sum.
    """
    found = []
    for begun, (end_s, amount) in zip(start, amounts, strict=True):
        sums = np.cumsum(np.concatenate(([begun], amount)))
        num_rows = np.searchsorted(np.sort(end_s), times_s, side="right")
        found.append([*sums[num_rows].tolist(), float(sums[-1])])
    return [Spent(*at) for at in zip(*found, strict=True)]
