"""Recorder: the one place where what happens in a run is written down.

It is made before all else, and handed to all. What one client or server does is told by `spent`, `carried`
and `ended`; what all clients of an edge round on arrays do by the same verbs of what `begin_round` gives,
with an array for each number (`cosim.rows.round_rows`): rows, or sums where only a tally of each is kept.
"""

from bisect import insort
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.records import NO_JOB, Fate, Span, Transfer
from cosim.rows.history import HeardRound, History
from cosim.rows.kept_rows import KeptRows
from cosim.rows.round_rows import RoundOf, RoundRows
from cosim.rows.round_tally import RoundTally, tally_of_rest

Told = RoundRows | RoundTally | HeardRound
"""What the story of an edge round on arrays is told to."""

Which = NDArray[np.int64] | slice
"""Numbers of clients, as an index."""


class Recorder(KeptRows):
    """What happens in one run.

    Attributes:
        history: What has become of the jobs of each client; None: no part reads it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: History | None = None
        self._cells: Mapping[str, Which] | None = None

    # How it records.

    def follow(self, rest: Any) -> None:
        """From now on write down what clients do between their activities, too.

        Args:
            rest: That of all clients, at its beginning (`cosim.devices.rest`).
        """
        self.rest = rest
        for node, charge in rest.charges.items():
            if not charge.is_there:
                self.turned(node, False, 0.0)

    def remember(self, num_clients: int) -> History:
        """From now on keep what becomes of the jobs of each client."""
        self.history = History(num_clients)
        return self.history

    def sum_up(self, cells: Mapping[str, Which]) -> None:
        """From now on keep a tally of each edge round in place of rows of its clients.

        Args:
            cells: Edge server -> numbers of its clients.
        """
        self._cells = cells

    @property
    def keeps_rows(self) -> bool:
        """True unless there is only a tally of each edge round."""
        return self._cells is None

    @property
    def rest_rows(self) -> int:
        """Rows of a rest between two activities, at most."""
        return 0 if self.rest is None else self.rest.most_rows

    # One client or server.

    def began(self, node: str, now_s: float, power_w: float) -> None:
        """An activity of a node begins, which takes a power; where clients rest."""
        self._insert(self.rest.begin(node, now_s, power_w))

    def spent(
        self,
        node: str,
        activity: str,
        start_s: float,
        end_s: float,
        power_w: float,
        outcome: str,
        job: int = NO_JOB,
    ) -> None:
        """A node has done something, which took time and power."""
        if self.rest is not None:
            self.rest.end(node, end_s)
        if end_s > start_s:
            energy_j = power_w * (end_s - start_s)
            self.spans.append(Span(node, activity, start_s, end_s, energy_j, outcome, job))
            if self.history is not None and job != NO_JOB:
                self.history.spent(node, energy_j)

    def carried(self, transfer: Transfer) -> None:
        """An upload or download of a client has ended."""
        self.transfers.append(transfer)

    def ended(self, fate: Fate) -> None:
        """A job of a client has ended."""
        self.fates.append(fate)
        if self.history is not None:
            self.history.ended(fate.client, fate.end_s - fate.start_s, fate.outcome)

    def overrule(self, reasons: Mapping[tuple[str, int], str]) -> None:
        super().overrule(reasons)
        if self.history is not None:
            for (client, _), reason in reasons.items():
                self.history.overruled(client, reason)

    def turned(self, node: str, is_there: bool, now_s: float) -> None:
        """The battery of a client is empty, or has charged."""
        self._insert(self.rest.turn(node, is_there, now_s))

    def complete(self, until_s: float) -> None:
        """Record the idling of clients that sleep now, and fell asleep by an instant."""
        if self.rest is not None and self._cells is None:
            self.many.add_rest(self.rest.fall_asleep(until_s))

    # The clients of an edge round on arrays.

    def begin_round(self, of: RoundOf) -> Told:
        """Let an edge round begin, whose clients end their rest; returns what its story is told to."""
        told = self._told(of)
        return told if self.history is None else HeardRound(told, self.history)

    def _told(self, of: RoundOf) -> RoundRows | RoundTally:
        rest, of_rest = self.rest, {}
        if rest is not None:
            rested = rest.begin_many(of.clients.which, of.start_s)
            if self._cells is None:
                self.many.add_rest(rested)
            else:
                of_rest = rest.sums(rested)
        return RoundRows(of) if self._cells is None else RoundTally(of, of_rest)

    def let_rest(self, which: Which, ends_s: NDArray[np.float64]) -> None:
        """Let the rest of clients begin, of each at its own time."""
        if self.rest is not None:
            self.rest.end_many(which, ends_s)

    def end_round(self, told: Told, now_s: float) -> None:
        """Keep an edge round whose story is told."""
        if isinstance(told, HeardRound):
            told = told.told
        if isinstance(told, RoundRows):
            self.many.add(told)
        else:
            self.record(told.at(now_s))

    # The end.

    def close(self, now_s: float) -> None:
        """Let the run end, and with it the rest of all clients."""
        if self.rest is None:
            return
        if self._cells is None:
            self._insert(self.rest.close(now_s))
            self.many.add_rest(self.rest.begin_many(slice(0, len(self.rest.names)), now_s))
            return
        for edge, which in self._cells.items():
            rested = self.rest.begin_many(which, now_s)
            start_s = min(rested.since_s.min(), now_s)
            self.record(tally_of_rest(edge, start_s, now_s, self.rest.sums(rested)))

    def rest_j(self, now_s: float) -> float:
        """What all clients have taken at rest up to now."""
        return 0.0 if self.rest is None else self.rest.energy_j(now_s)

    def _insert(self, spans: Iterable[Span]) -> None:
        """Keep spans that may have ended before others that are kept."""
        kept = self.spans
        for span in spans:
            if not kept or kept[-1].end_s <= span.end_s:
                kept.append(span)
            else:
                insort(kept, span, key=lambda other: other.end_s)
