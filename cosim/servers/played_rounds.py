"""Played rounds: what is kept of edge rounds that were played as arrays.

Rows of their clients, made many rounds at a time when they are handed over; or a row for each round, made at
its end, so that memory grows with rounds and not with clients.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.devices.fleet import Clients
from cosim.devices.rest import Stretch
from cosim.links.upload import Uploads
from cosim.records import DONE, DOWN, UP, Fate, Row, Span, Tally, Transfer
from cosim.rows.trace import Columns, Trace, Words
from cosim.servers.array_round import GIVEN_UP, ArrayRound
from cosim.servers.rested import Rested, spans_of

QUANTILES = (0.1, 0.5, 0.9, 1.0)
"""Those of a tally."""


class PlayedRounds:
    """Edge rounds that have ended, in that order.

    Args:
        keeps_rows: Whether rows of clients are kept; else a `Tally` of each round.
        rows_of_a_job: Rows that a local round of a client, and its rest before, write.
        cells: The clients of each cell, by its edge server.
    """

    def __init__(
        self, trace: Trace, *, keeps_rows: bool, rows_of_a_job: int, cells: Mapping[str, Clients]
    ) -> None:
        self._trace, self.keeps_rows, self._rows_of_a_job = trace, keeps_rows, rows_of_a_job
        self._cells = cells
        self._rounds: list[ArrayRound] = []
        self._num_jobs, self._forgotten_s = 0, -math.inf
        self._rested: list[Rested] = []
        trace.many = self

    def begin(self, played: ArrayRound) -> None:
        """Keep the rest that a round has ended, which may be handed over before the round."""
        if self.keeps_rows and played.rested is not None:
            self._rested.append(played.rested)

    def add(self, played: ArrayRound, now_s: float) -> None:
        """Keep a round that has ended at this instant."""
        if self.keeps_rows:
            self._rounds.append(played)
            self._num_jobs += len(played.trained_s)
        else:
            self._trace.record(_tally(played, now_s))

    def close(self, now_s: float) -> None:
        """Keep the rest of everybody until the end of a run, where devices take power at rest."""
        for edge, clients in self._cells.items():
            rested = Rested.begun(clients, now_s)
            assert rested is not None
            if self.keeps_rows:
                self._rested.append(rested)
            else:
                self._trace.record(rested.tally(edge))

    def fall_asleep(self, until_s: float) -> None:
        """Keep the idling of those who fell asleep by then, and are still at rest."""
        fleet = next(iter(self._cells.values())).fleet
        if self.keeps_rows and len((asleep := Rested.fallen_asleep(fleet, until_s)).since_s):
            self._rested.append(asleep)

    @property
    def num_rows(self) -> int:
        """About how many rows it has."""
        return self._rows_of_a_job * self._num_jobs

    def columns(self, until_s: float = math.inf, from_s: float = -math.inf) -> dict[type[Row], Columns]:
        """The rows that ended by then, and no earlier than from another time, by column."""
        rounds = [of for of in self._rounds if of.start_s <= until_s and from_s <= of.ending.end_s]
        rested = [of for of in self._rested if from_s <= of.until_s]
        found = _columns(rounds) if rounds else {}
        if rested:
            clients = _names([of.clients for of in rested])
            at_work = [found[Span]] if Span in found else []
            found[Span] = _stacked(at_work + spans_of(rested, clients))
        for kind, columns in found.items():
            ends_s = columns["end_s"]
            which = (self._forgotten_s < ends_s) & (from_s <= ends_s) & (ends_s <= until_s)
            if not which.all():
                found[kind] = {name: values[which] for name, values in columns.items()}
        return found

    def forget(self, until_s: float) -> None:
        """Let go of the rows that ended by then; nothing that ended so early may be added later."""
        self._rounds = [of for of in self._rounds if of.ending.end_s > until_s]
        self._num_jobs = sum(len(of.trained_s) for of in self._rounds)
        self._rested = [of for of in self._rested if of.until_s > until_s]
        self._forgotten_s = until_s


def _tally(played: ArrayRound, now_s: float) -> Tally:
    fleet, which, job = played.clients.fleet, played.clients.which, played.job
    (end_s, counts, _), trained_s, ends_s = played.ending, played.trained_s, played.uploads.ends_s
    closes_s = played.closes_s
    granted_s = trained_s if played.uploads.granted_s is None else played.uploads.granted_s
    sends, arrives = trained_s <= end_s, ends_s <= closes_s
    begins_s = np.minimum(played.begins_s, end_s)
    train_s = np.minimum(trained_s, end_s) - begins_s
    waited_s = np.minimum(granted_s, closes_s)
    send_s = np.where(sends, played.ends_s - waited_s, 0.0)
    upload_s = np.sort((ends_s - trained_s)[arrives])
    num_sent, num_arrived = int(sends.sum()), len(upload_s)
    idle, sleep = _NO_REST if played.rested is None else played.rested.stretches
    wait_s = np.where(sends, waited_s - trained_s, 0.0)
    p10_s, p50_s, p90_s, max_s = (
        float(upload_s[math.ceil(q * num_arrived) - 1]) if num_arrived else math.nan for q in QUANTILES
    )
    return Tally(
        played.edge,
        job.global_round,
        job.edge_round,
        played.start_s,
        now_s,
        len(trained_s),
        num_sent,
        int(counts.sum()),
        train_s.sum(),
        wait_s.sum(),
        send_s.sum(),
        idle.lasts_s.sum(),
        sleep.lasts_s.sum(),
        (played.train_w * train_s).sum(),
        (fleet.devices.idle_w[which] * wait_s).sum(),
        (played.send_w * send_s).sum(),
        idle.energy_j.sum(),
        sleep.energy_j.sum(),
        num_sent * played.upload_bits,
        (played.upload_bits - played.uploads.bits_left(closes_s)).sum(),
        p10_s,
        p50_s,
        p90_s,
        max_s,
        *_received(played),
    )


_NO_REST = (Stretch(np.zeros(0), np.zeros(0), np.zeros(0)),) * 2


def _received(played: ArrayRound) -> tuple[float, float, float]:
    """Time, energy and bits of its downloads."""
    if played.received is None:
        return 0.0, 0.0, 0.0
    fleet, downloads, end_s = played.clients.fleet, played.received, played.ending.end_s
    granted_s = played.start_s if downloads.granted_s is None else np.minimum(downloads.granted_s, end_s)
    receive_s = np.minimum(downloads.ends_s, end_s) - granted_s
    received_j = fleet.receive_w[played.clients.which] * receive_s
    bits = played.download_bits - downloads.bits_left(end_s)
    return float(receive_s.sum()), float(received_j.sum()), float(bits.sum())


def _columns(rounds: Sequence[ArrayRound]) -> dict[type[Row], Columns]:
    sizes = [len(of.trained_s) for of in rounds]

    def each(values: Sequence[Any]) -> NDArray[Any]:
        """A value of each round, for everyone in it."""
        return np.repeat(np.array(values), sizes)

    def all_of(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(arrays)

    start_s, end_s = each([of.start_s for of in rounds]), each([of.ending.end_s for of in rounds])
    begins_s = all_of([of.begins_s for of in rounds])
    trained_s, ends_s = all_of([of.trained_s for of in rounds]), all_of([of.uploads.ends_s for of in rounds])
    train_w = all_of([of.train_w for of in rounds])
    send_w = all_of([of.send_w for of in rounds])
    idle_w = all_of([of.clients.fleet.devices.idle_w[of.clients.which] for of in rounds])
    number = each([of.job.number for of in rounds])
    clients = _names([of.clients for of in rounds])
    edges = list(dict.fromkeys(of.edge for of in rounds))
    words = [*dict.fromkeys([DONE, GIVEN_UP, *(of.ending.reason for of in rounds)])]
    reason = each([words.index(of.ending.reason) for of in rounds])
    closes_s, up_reason = end_s, reason
    if any(of.gives_up_s is not None for of in rounds):
        closes_s = all_of([np.broadcast_to(of.closes_s, of.trained_s.shape) for of in rounds])
        never = [np.inf if of.gives_up_s is None else of.gives_up_s for of in rounds]
        gives_up_s = all_of([np.broadcast_to(of, size) for of, size in zip(never, sizes, strict=True)])
        up_reason = np.where(gives_up_s <= end_s, words.index(GIVEN_UP), reason)
    shared = {
        "client": clients,
        "edge": Words(edges, each([edges.index(of.edge) for of in rounds])),
        "global_round": each([of.job.global_round for of in rounds]),
        "edge_round": each([of.job.edge_round for of in rounds]),
        "job": number,
    }
    counts = all_of([of.ending.counts for of in rounds])
    fates = shared | {
        "start_s": start_s,
        "end_s": np.minimum(ends_s, closes_s),
        "outcome": Words(words, np.where(counts, 0, np.where(ends_s <= closes_s, reason, up_reason))),
    }

    def carried(
        opens_s: NDArray[np.float64],
        ways: Sequence[Uploads],
        bits: Sequence[int],
        direction: str,
        cuts_s: Sequence[float | NDArray[np.float64]],
        cut_s: NDArray[np.float64],
    ) -> Columns:
        """Rows of uploads or downloads, of who would open none, too."""
        done_s, payload_bits = all_of([way.ends_s for way in ways]), each(bits)
        left_bits = all_of([way.bits_left(own_s) for way, own_s in zip(ways, cuts_s, strict=True)])
        return shared | {
            "start_s": opens_s,
            "end_s": np.minimum(done_s, cut_s),
            "payload_bits": payload_bits,
            "sent_bits": payload_bits - left_bits,
            "arrived": done_s <= cut_s,
            "direction": Words([direction], np.zeros(len(done_s), dtype=np.int64)),
        }

    uploads = [of.uploads for of in rounds]
    sends = trained_s <= end_s
    up_bits, ended_s = [of.upload_bits for of in rounds], [of.ending.end_s for of in rounds]
    sent = carried(trained_s, uploads, up_bits, UP, [of.closes_s for of in rounds], closes_s)
    transfers = [{name: values[sends] for name, values in sent.items()}]
    waited_s = _granted_s(uploads, trained_s)
    activities = [
        ("train", begins_s, trained_s, train_w, sends, end_s, reason),
        # a client that is granted at the cut waits no more
        ("wait", trained_s, waited_s, idle_w, waited_s < closes_s, closes_s, up_reason),
        ("send", waited_s, ends_s, send_w, ends_s <= closes_s, closes_s, up_reason),
    ]
    downloads = [of.received for of in rounds if of.received is not None]
    if downloads:
        received_s = all_of([way.ends_s for way in downloads])
        receive_w = all_of([of.clients.fleet.receive_w[of.clients.which] for of in rounds])
        down_bits = [of.download_bits for of in rounds]
        transfers.append(carried(start_s, downloads, down_bits, DOWN, ended_s, end_s))
        waited_s = _granted_s(downloads, start_s)
        activities += [
            ("wait", start_s, waited_s, idle_w, waited_s < end_s, end_s, reason),
            ("receive", waited_s, received_s, receive_w, received_s <= end_s, end_s, reason),
        ]
    spans = []
    for activity, from_s, to_s, power_w, is_done, cut_s, why in activities:
        stop_s = np.minimum(to_s, cut_s)
        which = np.flatnonzero(stop_s > from_s)
        spans.append(
            {
                "node": clients[which],
                "activity": Words([activity], np.zeros(len(which), dtype=np.int64)),
                "start_s": from_s[which],
                "end_s": stop_s[which],
                "energy_j": (power_w * (stop_s - from_s))[which],
                "outcome": Words(words, np.where(is_done, 0, why)[which]),
                "job": number[which],
            }
        )
    return {Span: _stacked(spans), Transfer: _stacked(transfers), Fate: fates}


def _granted_s(ways: Sequence[Uploads], opens_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """When each may begin to send or to receive."""
    if all(way.granted_s is None for way in ways):
        return opens_s
    ends = np.cumsum([len(way.ends_s) for way in ways])[:-1]
    opened = np.split(opens_s, ends)
    return np.concatenate(
        [own_s if way.granted_s is None else way.granted_s for way, own_s in zip(ways, opened, strict=True)]
    )


def _names(of: Sequence[Clients]) -> Words:
    """Client of each row."""
    return Words(of[0].fleet.names, np.concatenate([clients.numbers for clients in of]))


def _stacked(parts: Sequence[Columns]) -> Columns:
    """Rows one below the other."""
    if len(parts) == 1:
        return parts[0]
    stacked: Columns = {}
    for name, first in parts[0].items():
        values = [of[name] for of in parts]
        if not isinstance(first, Words):
            stacked[name] = np.concatenate(values)
        elif all(of.words is first.words for of in values):
            stacked[name] = Words(first.words, np.concatenate([of.codes for of in values]))
        else:
            words = list(dict.fromkeys(word for of in values for word in of.words))
            place_of = {word: place for place, word in enumerate(words)}
            recoded = [np.array([place_of[word] for word in of.words])[of.codes] for of in values]
            stacked[name] = Words(words, np.concatenate(recoded))
    return stacked
