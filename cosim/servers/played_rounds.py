"""Played rounds: what is kept of edge rounds that were played as arrays.

Rows of their clients, made many rounds at a time when a table is; or a row for each round, made at its end,
so that memory grows with rounds and not with clients.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.links.uplink import Uploads
from cosim.records import DONE, DOWN, UP, Columns, Fate, Row, Span, Tally, Trace, Transfer, Words
from cosim.servers.array_round import ArrayRound

QUANTILES = (0.1, 0.5, 0.9, 1.0)
"""Those of a tally."""


class PlayedRounds:
    """Edge rounds that have ended, in that order.

    Args:
        keeps_rows: Whether rows of clients are kept; else a `Tally` of each round.
    """

    def __init__(self, trace: Trace, *, keeps_rows: bool) -> None:
        self._trace, self.keeps_rows = trace, keeps_rows
        self._rounds: list[ArrayRound] = []
        trace.columns = self.columns

    def add(self, played: ArrayRound) -> None:
        """Keep a round that has ended."""
        if self.keeps_rows:
            self._rounds.append(played)
        else:
            self._trace.record(_tally(played))

    def columns(self) -> dict[type[Row], Columns]:
        """The rows of all rounds, by column."""
        return _columns(self._rounds) if self._rounds else {}


def _tally(played: ArrayRound) -> Tally:
    fleet, places, job = played.clients.fleet, played.clients.places, played.job
    (end_s, counts, _), trained_s, ends_s = played.ending, played.trained_s, played.uploads.ends_s
    granted_s = trained_s if played.uploads.granted_s is None else played.uploads.granted_s
    sends, arrives = trained_s <= end_s, ends_s <= end_s
    begins_s = np.minimum(played.begins_s, end_s)
    train_s = np.minimum(trained_s, end_s) - begins_s
    waited_s = np.minimum(granted_s, end_s)
    send_s = np.where(sends, np.minimum(ends_s, end_s) - waited_s, 0.0)
    upload_s = np.sort((ends_s - trained_s)[arrives])
    num_sent, num_arrived = int(sends.sum()), len(upload_s)
    p10_s, p50_s, p90_s, max_s = (
        float(upload_s[math.ceil(q * num_arrived) - 1]) if num_arrived else math.nan for q in QUANTILES
    )
    return Tally(
        fleet.edge,
        job.global_round,
        job.edge_round,
        played.start_s,
        end_s,
        len(trained_s),
        num_sent,
        int(counts.sum()),
        train_s.sum(),
        np.where(sends, waited_s - trained_s, 0.0).sum() if granted_s is not trained_s else 0.0,
        send_s.sum(),
        (fleet.train_w[places] * train_s).sum(),
        (fleet.send_w[places] * send_s).sum(),
        num_sent * played.upload_bits,
        (played.upload_bits - played.uploads.bits_left(end_s)).sum(),
        p10_s,
        p50_s,
        p90_s,
        max_s,
        *_received(played),
    )


def _received(played: ArrayRound) -> tuple[float, float, float]:
    """Time, energy and bits of its downloads."""
    if played.received is None:
        return 0.0, 0.0, 0.0
    fleet, downloads, end_s = played.clients.fleet, played.received, played.ending.end_s
    granted_s = played.start_s if downloads.granted_s is None else np.minimum(downloads.granted_s, end_s)
    receive_s = np.minimum(downloads.ends_s, end_s) - granted_s
    received_j = fleet.receive_w[played.clients.places] * receive_s
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
    train_w = all_of([of.clients.fleet.train_w[of.clients.places] for of in rounds])
    send_w = all_of([of.clients.fleet.send_w[of.clients.places] for of in rounds])
    number = each([of.job.number for of in rounds])
    clients, edges = _names(rounds, sizes)
    words = [DONE, *dict.fromkeys(of.ending.reason for of in rounds)]
    reason = each([words.index(of.ending.reason) for of in rounds])
    shared = {
        "client": clients,
        "edge": edges,
        "global_round": each([of.job.global_round for of in rounds]),
        "edge_round": each([of.job.edge_round for of in rounds]),
        "job": number,
    }
    counts = all_of([of.ending.counts for of in rounds])
    fates = shared | {
        "start_s": start_s,
        "end_s": np.minimum(ends_s, end_s),
        "outcome": Words(words, np.where(counts, 0, reason)),
    }

    def carried(
        opens_s: NDArray[np.float64], ways: Sequence[Uploads], bits: Sequence[int], direction: str
    ) -> Columns:
        """Rows of uploads or downloads, of who would open none, too."""
        done_s, payload_bits = all_of([way.ends_s for way in ways]), each(bits)
        ended_s = [of.ending.end_s for of in rounds]
        left_bits = all_of([way.bits_left(cut_s) for way, cut_s in zip(ways, ended_s, strict=True)])
        return shared | {
            "start_s": opens_s,
            "end_s": np.minimum(done_s, end_s),
            "payload_bits": payload_bits,
            "sent_bits": payload_bits - left_bits,
            "arrived": done_s <= end_s,
            "direction": Words([direction], np.zeros(len(done_s), dtype=np.int64)),
        }

    uploads = [of.uploads for of in rounds]
    sends = trained_s <= end_s
    sent = carried(trained_s, uploads, [of.upload_bits for of in rounds], UP)
    transfers = [{name: values[sends] for name, values in sent.items()}]
    waited_s = _granted_s(uploads, trained_s)
    activities = [
        ("train", begins_s, trained_s, train_w, sends),
        (
            "wait",
            trained_s,
            waited_s,
            0.0 * send_w,
            waited_s < end_s,
        ),  # who is granted at the cut waits no more
        ("send", waited_s, ends_s, send_w, ends_s <= end_s),
    ]
    downloads = [of.received for of in rounds if of.received is not None]
    if downloads:
        received_s = all_of([way.ends_s for way in downloads])
        receive_w = all_of([of.clients.fleet.receive_w[of.clients.places] for of in rounds])
        transfers.append(carried(start_s, downloads, [of.download_bits for of in rounds], DOWN))
        waited_s = _granted_s(downloads, start_s)
        activities += [
            ("wait", start_s, waited_s, 0.0 * receive_w, waited_s < end_s),
            ("receive", waited_s, received_s, receive_w, received_s <= end_s),
        ]
    spans = []
    for activity, from_s, to_s, power_w, is_done in activities:
        stop_s = np.minimum(to_s, end_s)
        which = np.flatnonzero(stop_s > from_s)
        spans.append(
            {
                "node": clients[which],
                "activity": Words([activity], np.zeros(len(which), dtype=np.int64)),
                "start_s": from_s[which],
                "end_s": stop_s[which],
                "energy_j": (power_w * (stop_s - from_s))[which],
                "outcome": Words(words, np.where(is_done, 0, reason)[which]),
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


def _names(rounds: Sequence[ArrayRound], sizes: Sequence[int]) -> tuple[Words, Words]:
    """Client and edge server of each row."""
    fleets = list({id(of.clients.fleet): of.clients.fleet for of in rounds}.values())
    firsts = dict(zip(map(id, fleets), np.cumsum([0, *(len(of.names) for of in fleets)]), strict=False))
    which = {id(fleet): number for number, fleet in enumerate(fleets)}
    places = [
        firsts[id(of.clients.fleet)] + np.arange(len(of.clients.fleet.names))[of.clients.places]
        for of in rounds
    ]
    clients = Words([name for fleet in fleets for name in fleet.names], np.concatenate(places))
    edges = np.repeat([which[id(of.clients.fleet)] for of in rounds], sizes)
    return clients, Words([fleet.edge for fleet in fleets], edges)


def _stacked(parts: Sequence[Columns]) -> Columns:
    """Rows one below the other; words are the same list, or few."""
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
            recoded = [np.array([words.index(word) for word in of.words])[of.codes] for of in values]
            stacked[name] = Words(words, np.concatenate(recoded))
    return stacked
