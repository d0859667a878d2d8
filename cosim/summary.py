"""Summary: one run in one line, as summary.json has it beside the checksums of its tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cosim.files import read_json
from cosim.records import DONE, DOWN, END_OF_RUN, NO_ROUND, UP, Measure, Trace, from_json
from cosim.tables import TABLES, of_direction

if TYPE_CHECKING:
    import pandas as pd

SUMMARY, CHECKSUMS = "summary.json", "checksums"
COMPLETE = "complete"
"""The status of a run that has come to its end."""


class Summary(NamedTuple):
    """One run in one line.

    `scores` are those of the last evaluation by column, `measures` what they mean; both are empty without
    one. Updates are the clients' of all rounds that have ended, and of jobs that belong to none.
    `bits_per_client` counts what was really sent, dropped uploads included; `received_bits_per_client` what
    clients have really received.
    """

    status: str
    num_global_rounds: int
    time_s: float
    scores: Mapping[str, float]
    measures: Mapping[str, Measure]
    energy_j: float
    num_updates: int
    num_dropped: int
    bits_per_client: float
    received_bits_per_client: float

    @classmethod
    def of(
        cls,
        trace: Trace,
        tables: "Mapping[str, pd.DataFrame]",
        num_clients: int,
        status: str,
        time_s: float,
    ) -> "Summary":
        """That of a trace, and of the tables of its rows."""
        spans, rounds = tables["spans"], tables["rounds"]
        tallies, fates = tables["tallies"], tables["fates"]
        edge_rounds, global_rounds = (rounds[rounds["level"] == level] for level in ("edge", "global"))
        jobs = fates[(fates["edge_round"] == NO_ROUND) & (fates["outcome"] != END_OF_RUN)]
        num_dropped = int((jobs["outcome"] != DONE).sum())
        num_updates = int(edge_rounds["num_participants"].sum())
        tallied_j = tallies["receive_j"] + tallies["train_j"] + tallies["send_j"]
        up, down = (of_direction(tables["transfers"], way)["sent_bits"] for way in (UP, DOWN))
        sent_bits = float(up.sum()) + float(tallies["sent_bits"].sum())
        received_bits = float(down.sum()) + float(tallies["received_bits"].sum())
        return cls(
            status=status,
            num_global_rounds=len(global_rounds),
            time_s=time_s,
            scores=trace.evaluations[-1].scores if trace.evaluations else {},
            measures=trace.evaluations[-1].measures if trace.evaluations else {},
            energy_j=float(spans["energy_j"].sum()) + float(tallied_j.sum()),
            num_updates=num_updates + len(jobs),
            num_dropped=num_dropped + num_updates - int(edge_rounds["num_arrived"].sum()),
            bits_per_client=sent_bits / num_clients,
            received_bits_per_client=received_bits / num_clients,
        )

    @property
    def headline(self) -> tuple[str, Measure] | None:
        """Column and meaning of the first score; None without an evaluation."""
        return next(iter(self.measures.items()), None)


def summary_of(folder: Path) -> tuple[Summary, dict[str, str]]:
    """What summary.json says of a run, and the checksum of each table's file.

    Raises:
        ValueError: It cannot be read, or is none; says so in a few words.
    """
    values = read_json(folder / SUMMARY)
    checksums = values.pop(CHECKSUMS, None)
    summary = from_json(Summary, values)
    if summary.scores.keys() != summary.measures.keys():
        raise ValueError("it has other scores than measures")
    if not isinstance(checksums, dict) or checksums.keys() != TABLES.keys():
        raise ValueError(f"its {CHECKSUMS} are not those of {', '.join(TABLES)}")
    return summary, checksums
