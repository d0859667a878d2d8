"""Round tally: sums over the activities of an edge round's clients on arrays."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from cosim.recording.told_round import Carried, Ended, RoundOf, Spent, ToldRound
from cosim.records.rows import BY_CLIENT, END_OF_RUN, NO_ROUND, UP, WAIT, Tally

if TYPE_CHECKING:
    from cosim.recording.history import History
    from cosim.recording.kept_rows import KeptRows
    from cosim.records.client_sums import ClientSums

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "max": 1.0}
"""Quantiles of the time of an upload."""

_UPLOADS = {f"upload_{name}_s": math.nan for name in QUANTILES}
_NOTHING: dict[str, Any] = dict.fromkeys(Tally._fields, 0) | dict.fromkeys(
    [name for name in Tally._fields if name.endswith(("_s", "_j"))], 0.0
)


class RoundTally(ToldRound):
    """Tally of one edge round.

    Args:
        clients: Sums of each client, to which its part is added.
        rest: Sums over its clients' rest before it.
    """

    __slots__ = ("_clients", "_sums")

    def __init__(
        self, of: RoundOf, history: "History | None", clients: "ClientSums", rest: Mapping[str, float]
    ) -> None:
        super().__init__(of, history)
        self._clients = clients
        self._sums = _NOTHING | _UPLOADS | dict(rest)

    @override
    def keep_in(self, kept: "KeptRows", now_s: float) -> None:
        kept.record(self.at(now_s))

    @override
    def _add_spent(self, spent: Spent) -> None:
        lasts_s = spent.cut.lasts_s(spent.from_s, spent.to_s)
        energy_j, which = spent.power_w * lasts_s, self.of.clients.which
        self._sums[f"{spent.activity}_s"] += lasts_s.sum()
        self._sums[f"{spent.activity}_j"] += energy_j.sum()
        self._clients.add("energy_j", which, energy_j)
        if spent.activity == WAIT:
            self._clients.add("wait_s", which, lasts_s)

    @override
    def _add_carried(self, carried: Carried) -> None:
        _, direction, opens_s, way, bits, cut = carried
        each_bits = bits - way.bits_left(cut.at_s)
        sent_bits = each_bits.sum()
        self._clients.add(
            "sent_bits" if direction == UP else "received_bits", self.of.clients.which, each_bits
        )
        if direction != UP:
            self._sums["received_bits"] += sent_bits
            return
        num_sent = int((opens_s <= cut.at_s).sum())
        took_s = np.sort((way.ends_s - opens_s)[way.ends_s <= cut.at_s])
        self._sums |= {"num_trained": num_sent, "payload_bits": num_sent * bits, "sent_bits": sent_bits}
        if num := len(took_s):
            self._sums |= {
                f"upload_{name}_s": float(took_s[math.ceil(share * num) - 1])
                for name, share in QUANTILES.items()
            }

    @override
    def _add_ended(self, ended: Ended) -> None:
        _, _, _, has_arrived, cut = ended
        self._sums["num_arrived"] = int(has_arrived.sum())
        which, is_lost = self.of.clients.which, ~has_arrived
        self._clients.add("num_arrived", which, has_arrived)
        if cut.is_given_up is not None:
            self._clients.add("num_late", which, is_lost & cut.is_given_up)
            is_lost &= ~cut.is_given_up
        if cut.reason != END_OF_RUN:
            self._clients.add("num_left" if cut.reason in BY_CLIENT else "num_late", which, is_lost)

    def at(self, now_s: float) -> Tally:
        """Tally of a round that ends now."""
        of = self.of
        known: dict[str, Any] = {
            "edge": of.edge,
            "global_round": of.global_round,
            "edge_round": of.edge_round,
        }
        known |= {"start_s": of.start_s, "end_s": now_s, "num_participants": of.num}
        values: dict[str, Any] = self._sums | known
        return Tally(**values)


def tally_of_rest(edge: str, start_s: float, end_s: float, rest: Mapping[str, float]) -> Tally:
    """Tally of the rest of a cell's clients at the end of a run, which belongs to no round."""
    known = {
        "edge": edge,
        "global_round": NO_ROUND,
        "edge_round": NO_ROUND,
        "start_s": start_s,
        "end_s": end_s,
    }
    values: dict[str, Any] = _NOTHING | _UPLOADS | dict(rest) | known
    return Tally(**values)
