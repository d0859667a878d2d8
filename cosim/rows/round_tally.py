"""Round tally: sums over what the clients of an edge round on arrays do, told as `RoundRows` are."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.records import NO_ROUND, UP, Tally
from cosim.rows.round_rows import Cut, RoundOf, Way

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "max": 1.0}
"""Those of the time of an upload."""

_UPLOADS = {f"upload_{name}_s": math.nan for name in QUANTILES}
_NOTHING: dict[str, Any] = dict.fromkeys(Tally._fields, 0) | dict.fromkeys(
    [name for name in Tally._fields if name.endswith(("_s", "_j"))], 0.0
)


class RoundTally:
    """The tally of one edge round, with the same verbs as `RoundRows`.

    Args:
        rest: Sums over what its clients did before it.
    """

    def __init__(self, of: RoundOf, rest: Mapping[str, float]) -> None:
        self.of = of
        self._sums = _NOTHING | _UPLOADS | dict(rest)

    def spent(
        self,
        activity: str,
        from_s: NDArray[np.float64],
        to_s: NDArray[np.float64],
        power_w: NDArray[np.float64],
        cut: Cut,
    ) -> None:
        """Add times and energies."""
        lasts_s = cut.lasts_s(from_s, to_s)
        self._sums[f"{activity}_s"] += lasts_s.sum()
        self._sums[f"{activity}_j"] += (power_w * lasts_s).sum()

    def carried(self, direction: str, opens_s: NDArray[np.float64], way: Way, bits: int, cut: Cut) -> None:
        """Add bits; of uploads also find how long they took."""
        sent_bits = (bits - way.bits_left(cut.at_s)).sum()
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

    def ended(
        self,
        end_s: float,
        ends_s: NDArray[np.float64],
        counts: NDArray[np.bool_],
        cut: Cut,
    ) -> None:
        """Count what has arrived."""
        self._sums["num_arrived"] = int(counts.sum())

    def at(self, now_s: float) -> Tally:
        """The tally of a round that ends now."""
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
    """That of all clients of a cell at the end of a run, which belongs to no round."""
    known = {
        "edge": edge,
        "global_round": NO_ROUND,
        "edge_round": NO_ROUND,
        "start_s": start_s,
        "end_s": end_s,
    }
    values: dict[str, Any] = _NOTHING | _UPLOADS | dict(rest) | known
    return Tally(**values)
