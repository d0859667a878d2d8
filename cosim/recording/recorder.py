"""Recorder: the one place where the events of a run are recorded.

A simulation makes it, and passes it to all parts. Activities of one client or server are told by `spent`,
`carried` and `ended`; activities of all clients of an edge round on arrays together, when it is over
(`cosim.recording.told_round`). They are kept as rows, or as sums if only a tally of each round is kept.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.recording.history import History
from cosim.recording.kept_rows import KeptRows
from cosim.recording.told_round import ToldRound, tally_of, tally_of_rest
from cosim.records.client_sums import ClientSums
from cosim.records.rows import NO_JOB, Fate, Row, Span, Transfer, quick_row

if TYPE_CHECKING:
    from cosim.clock.event_clock import Clock
    from cosim.engine.clients.rest import Rest


Write = Callable[[Iterable[Span]], None]
"""Function that keeps spans that have ended, perhaps before others that are already kept."""


@attrs.frozen(kw_only=True, eq=False)
class Recording:
    """Options of a recorder.

    Attributes:
        rest: Makes the recorder of clients' rest between their activities; None if they take no power then.
        num_remembered: Number of clients whose history parts read; 0 if no part reads it.
        tallied: Cells with a tally of each edge round on arrays, in place of rows of its clients, all or
            none: edge server -> numbers of its clients.
    """

    rest: "Callable[[Clock, Write], Rest] | None" = None
    num_remembered: int = 0
    tallied: Mapping[str, slice] = MappingProxyType({})


NOTHING_ELSE = Recording()
"""Rows of all recorded events, and no more."""


class Recorder(KeptRows):
    """Recorder of one run.

    Attributes:
        history: Sums over the ended jobs of each client; None if no part reads them.
        rest: Clients' rest between their activities; None if they take no power then.
        at_end: Functions of the end of the run that give a row each, of what is counted over a whole run.
    """

    def __init__(self, clock: "Clock", recording: Recording) -> None:
        super().__init__()
        num = recording.num_remembered
        self.history = History(num) if num else None
        self.rest = None if recording.rest is None else recording.rest(clock, self._insert)
        self.at_end: list[Callable[[float], Row]] = []
        self._tallied = recording.tallied
        if self._tallied:
            self.client_sums = ClientSums(max(which.stop for which in self._tallied.values()))
        self._tallies_rest = False  # until the first edge round with a tally

    # One client or server.

    def began(self, node: str, now_s: float, power_w: float) -> None:
        """Begin an activity of a node, with its power, if clients have rest."""
        assert self.rest is not None
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
        """Record an activity of a node, which took time and power."""
        if self.rest is not None:
            self.rest.end(node, end_s)
        if end_s > start_s:
            energy_j = power_w * (end_s - start_s)
            self.spans.append(quick_row(Span, (node, activity, start_s, end_s, energy_j, outcome, job)))
            if self.history is not None and job != NO_JOB:
                self.history.spent(node, energy_j)

    def carried(self, transfer: Transfer) -> None:
        """Record an upload or download of a client that has ended."""
        self.transfers.append(transfer)

    def ended(self, fate: Fate) -> None:
        """Record a job of a client that has ended."""
        self.fates.append(fate)
        if self.history is not None:
            self.history.ended(fate.client, fate.end_s - fate.start_s, fate.outcome)

    @override
    def overrule(self, reasons: Mapping[tuple[str, int], str]) -> None:
        super().overrule(reasons)
        if self.history is not None:
            for (client, _), reason in reasons.items():
                self.history.overruled(client, reason)

    @override
    def complete(self, until_s: float) -> None:
        """Record the idling of clients that are asleep now, and fell asleep by an instant."""
        if self.rest is not None and not self._tallies_rest:
            self.many.add_rest(self.rest.fall_asleep(until_s))

    # The clients of an edge round on arrays.

    def begin_round(
        self, which: NDArray[np.int64] | slice, start_s: float, ends_s: NDArray[np.float64]
    ) -> Mapping[str, float]:
        """Begin an edge round, before which its clients have rested, and after which they rest again.

        Args:
            which: Numbers of the clients.
            ends_s: Instant at which each is going to end, shape (clients,).

        Returns:
            Sums over the rest before the round, where it is tallied; else nothing.
        """
        if self.rest is None:
            return {}
        rested = self.rest.begin_many(which, start_s)
        self.rest.end_many(which, ends_s)  # now, since an evaluation may ask before they end
        if self.client_sums is not None:
            self._tallies_rest = True
            return rested.tally(self.client_sums)
        self.many.add_rest(rested)
        return {}

    def end_round(self, told: ToldRound, now_s: float) -> None:
        """Keep an edge round that is over."""
        if self.rest is not None:
            self.rest.end_many(told.clients.which, told.ends_s)
        if self.history is not None:
            self.history.add_round(told)
        if self.client_sums is None:
            self.many.add(told)
        else:
            self.record(tally_of(told, now_s, self.client_sums))

    # The end.

    def close(self, now_s: float) -> None:
        """End the run, and with it the rest of all clients; record what is counted over a whole run."""
        for row_at in self.at_end:
            self.record(row_at(now_s))
        if self.rest is None:
            return
        self._insert(self.rest.close(now_s))
        if self.client_sums is None or not self._tallies_rest:
            self.many.add_rest(self.rest.begin_many(slice(0, len(self.rest.names)), now_s))
            return
        for edge, which in self._tallied.items():
            rested = self.rest.begin_many(which, now_s)
            start_s = min(rested.since_s.min(), now_s)
            self.record(tally_of_rest(edge, start_s, now_s, rested.tally(self.client_sums)))

    def rest_j(self, now_s: float) -> float:
        """Energy of all clients at rest up to now."""
        return 0.0 if self.rest is None else self.rest.energy_j(now_s)

    def _insert(self, spans: Iterable[Span]) -> None:
        """Keep spans that may have ended before others that are already kept."""
        kept = self.spans
        for span in spans:
            if not kept or kept[-1].end_s <= span.end_s:
                kept.append(span)
            else:
                insort(kept, span, key=lambda other: other.end_s)
