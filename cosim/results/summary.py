"""Summary: one run in one line, as in summary.json, where the checksums of its tables are added."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cosim.files.on_disk import read_json
from cosim.records.measures import Measure, are_sound
from cosim.records.rows import Evaluation
from cosim.records.tables import TABLES
from cosim.records.totals import Totals
from cosim.results.from_json import from_json

SUMMARY, CHECKSUMS = "summary.json", "checksums"
RUNNING, COMPLETE = "running", "complete"
"""Status of a run that is not over, and of one that is complete."""
NO_VERSION = -1
"""Version that stands for no model."""


class Summary(NamedTuple):
    """One run in one line.

    `scores` are the scores of the last evaluation by column, `measures` their meaning; both are empty without
    one. Updates are the clients' updates of all rounds that have ended, and of jobs that belong to none.
    `bits_per_client` counts the bits actually sent, dropped uploads included; `received_bits_per_client` the
    bits actually received. `kept_version` is the version of the model whose weights the run keeps, or -1.
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
    kept_version: int = NO_VERSION

    @classmethod
    def of(
        cls,
        totals: Totals,
        evaluations: Sequence[Evaluation],
        num_clients: int,
        status: str,
        time_s: float,
        kept_version: int,
    ) -> "Summary":
        """Summary from sums over rows."""
        last = evaluations[-1] if evaluations else None
        return cls(
            status=status,
            num_global_rounds=totals.num_global_rounds,
            time_s=time_s,
            scores=last.scores if last else {},
            measures=last.measures if last else {},
            energy_j=totals.spent.energy_j,
            num_updates=totals.num_updates,
            num_dropped=totals.num_dropped,
            bits_per_client=totals.spent.sent_bits / num_clients,
            received_bits_per_client=totals.spent.received_bits / num_clients,
            kept_version=kept_version,
        )

    @property
    def headline(self) -> tuple[str, Measure] | None:
        """Column and meaning of the first score; None without an evaluation."""
        return next(iter(self.measures.items()), None)

    @property
    def is_diverged(self) -> bool:
        """True if training has diverged: a score of the last evaluation is not finite (`are_sound`)."""
        return not are_sound(self.measures, self.scores)

    @property
    def status_in_words(self) -> str:
        """Status, and a remark if training has diverged."""
        return f"{self.status}, diverged" if self.is_diverged else self.status


def summary_of(folder: Path) -> tuple[Summary, dict[str, str]]:
    """Summary of a run from its summary.json, and the checksum of each table's file.

    Raises:
        ValueError: The file cannot be read, or is not a summary; the message says so in a few words.
    """
    values = read_json(folder / SUMMARY)
    checksums = values.pop(CHECKSUMS, None)
    summary = from_json(Summary, values)
    if summary.scores.keys() != summary.measures.keys():
        raise ValueError("it has other scores than measures")
    if not isinstance(checksums, dict) or checksums.keys() != TABLES.keys():
        raise ValueError(f"its {CHECKSUMS} do not belong to {', '.join(TABLES)}")
    return summary, checksums
