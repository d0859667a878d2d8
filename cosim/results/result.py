"""Results: the tables of one run, and the folder that holds them.

A run folder has `config.json` (reloads to the same run), `provenance.json`, `summary.json`, the tables
`spans`, `transfers`, `fates`, `plans`, `rounds`, `tallies`, `versions`, `updates`, `clients`, `stations` and
`evaluations` as Parquet (`cosim.records.tables`), and, where something is learned, `checkpoint.npz`. Every
file is written whole or not at all, tables as the run goes (`cosim.engine.store.row_groups`). The summary
keeps the checksum of each table's file (`cosim.files.on_disk.checksum`), so that one that has changed since
is not taken for what the run has written.

Usage::

    result = Result.load("runs/a")
    result.evaluations[["time_s", "accuracy"]]
"""

import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.configuration.calls import checked_call
from cosim.configuration.port import Picture
from cosim.display.short_tables import in_a_line, table
from cosim.files.on_disk import checksum, place, read_json, shown
from cosim.names import CLOUD
from cosim.records.measures import are_as_good
from cosim.records.rows import UP
from cosim.records.tables import SEEDS, TABLES
from cosim.results.checkpoint_file import learned_in
from cosim.results.provenance import check_version, noted
from cosim.results.summary import COMPLETE, NO_VERSION, SUMMARY, Summary, summary_of
from cosim.results.tables import Tables, file_of, of_direction, read_table
from cosim.results.unreadable import Unreadable

if TYPE_CHECKING:
    import pandas as pd


_COUNTS = {"seed": SEEDS - 1, "num_cells": 1e8, "num_clients": 1e8}
"""Of the system in config.json, by which runs are compared and drawn -> the largest. [no source]"""


class AtTarget(NamedTuple):
    """Time, energy and bits of a run when it reached a target.

    Attributes:
        time_s: Simulated time.
        energy_j: Energy of all clients.
        bits_per_client: Bits sent, dropped uploads included, mean over clients.
        version: Version of the global model; the global round, where there are rounds.
    """

    time_s: float
    energy_j: float
    bits_per_client: float
    version: int


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Result:
    """Result of a run: its tables, and what follows from them.

    Attributes:
        config: The configuration, as in config.json.
        tables: Name -> rows, read or made when they are first asked for.
        folder: Where it lies, or None.
        learned: Weights of the model that the run keeps, by default the one that was evaluated last, of
            version `summary.kept_version`; None in a result that was loaded (`weights`).
        network: The torch.nn.Module of a run with these weights, in evaluation mode; None if nothing was
            learned, and in a result that was loaded.
        pictures: Pictures that the parts of the system bring to the overview; in a result that was loaded,
            the ones that have names.
    """

    config: dict[str, Any]
    summary: Summary
    tables: "Mapping[str, pd.DataFrame]"
    folder: Path | None = None
    learned: dict[str, NDArray[np.float32]] | None = attrs.field(default=None, repr=False)
    network: Any = attrs.field(default=None, repr=False)
    pictures: tuple[Picture, ...] = ()

    @override
    def __repr__(self) -> str:
        return in_a_line("Result", self._shown())

    def _repr_html_(self) -> str:
        return table("Result", self._shown())

    def _shown(self) -> dict[str, str]:
        """Summary for a reader."""
        told = self.summary
        shown = {
            "status": told.status_in_words,
            self.progress[1]: f"{self.progress[0]:,}",
            "simulated": f"{told.time_s:.4g} s",
            **{
                m.words: m.shown(told.scores[name])
                for name, m in told.measures.items()
                if name in told.scores
            },
            "energy": f"{told.energy_j:.4g} J",
            "dropped updates": f"{told.num_dropped:,} of {told.num_updates:,}",
        }
        if self.keeps_another:
            shown["kept model"] = f"version {told.kept_version}"
        return shown if self.folder is None else shown | {"folder": str(self.folder)}

    @property
    def keeps_another(self) -> bool:
        """True if its weights are of another version than the one that was evaluated last."""
        kept = self.summary.kept_version
        return kept != NO_VERSION and kept != self.evaluations["version"].iloc[-1]

    @property
    def spans(self) -> "pd.DataFrame":
        """One row per activity (`records.Span`)."""
        return self.tables["spans"]

    @property
    def transfers(self) -> "pd.DataFrame":
        """One row per upload and download (`records.Transfer`)."""
        return self.tables["transfers"]

    @property
    def uploads(self) -> "pd.DataFrame":
        """Transfers that go up."""
        return of_direction(self.transfers, UP)

    @property
    def fates(self) -> "pd.DataFrame":
        """One row per job of a client that has ended (`records.Fate`)."""
        return self.tables["fates"]

    @property
    def plans(self) -> "pd.DataFrame":
        """One row per client and edge round (`records.Allotment`) where a protocol plans."""
        return self.tables["plans"]

    @property
    def rounds(self) -> "pd.DataFrame":
        """One row per edge round and global round (`records.Round`)."""
        return self.tables["rounds"]

    @property
    def tallies(self) -> "pd.DataFrame":
        """One row per edge round (`records.Tally`), in a run that keeps no rows of its clients."""
        return self.tables["tallies"]

    @property
    def versions(self) -> "pd.DataFrame":
        """One row per version of the model of an asynchronous server (`records.Version`)."""
        return self.tables["versions"]

    @property
    def updates(self) -> "pd.DataFrame":
        """One row per update that an asynchronous server has applied (`records.Applied`).

        With `sent_bits` and `energy_j` of the client's job, or of all jobs of the cell's.
        """
        return self.tables["updates"]

    @property
    def clients(self) -> "pd.DataFrame":
        """One row per client (`records.ClientTotals`), in the order of their numbers."""
        return self.tables["clients"]

    @property
    def stations(self) -> "pd.DataFrame":
        """One row per station of a queued link (`records.Traffic`)."""
        return self.tables["stations"]

    @property
    def evaluations(self) -> "pd.DataFrame":
        """One row per evaluation (`records.Evaluation`), a column for each score.

        With `energy_j`, the energy of all clients, and `bits_per_client`, the mean of the bits sent, both up
        to that time. Activities count when they end, rest and sleep as they pass.
        """
        return self.tables["evaluations"]

    @property
    def has_rounds(self) -> bool:
        """True if the global model comes from round to round, and not from version to version."""
        return not (self.versions["server"] == CLOUD).any()

    @property
    def progress(self) -> tuple[int, str]:
        """Progress: number of global rounds, or of versions where there are no rounds."""
        if self.has_rounds:
            return self.summary.num_global_rounds, "global rounds"
        return int((self.versions["server"] == CLOUD).sum()), "versions"

    @property
    def weights(self) -> dict[str, NDArray[np.float32]] | None:
        """Name -> values of the trained model that the run keeps (`run(keep=...)`).

        None if nothing was learned. A network loads them, as tensors, by `load_state_dict` with
        `strict=False`.
        """
        if self.learned is not None or self.folder is None:
            return self.learned
        return learned_in(self.folder)

    @classmethod
    @checked_call
    def load(cls, folder: str | Path) -> "Result":
        """Read a run folder.

        Raises:
            ConfigurationError: The folder is not a run folder, a file is missing, damaged or not what the run
                has written, or a newer cosim has written it.

        Warns:
            UserWarning: A table of a run that is not complete is not what its summary tells of.
        """
        folder, name = place(folder), "config.json"
        check_version(folder)
        fix = "Give the folder that a run printed."
        tables = Tables(partial(read_table, folder))
        try:
            config = read_json(folder / name)
            if not isinstance(config.get("system"), dict):
                raise ValueError("no 'system' in it")
            for field, most in _COUNTS.items():
                value = config["system"].get(field, 1)
                if type(value) is int and value > most:
                    fix = (
                        f"Use cosim run --config with a copy of {shown(folder / name)}, of a smaller {field}."
                    )
                if type(value) is not int or not 0 <= value <= most:
                    raise ValueError(f"{field} = {value!r:.80}: must be a whole number up to {most:g}")
            name, fix = SUMMARY, f"Run cosim run --resume {shown(folder)}, which simulates what is missing."
            summary, checksums = summary_of(folder)
            for table in TABLES:
                name = file_of(folder, table).name
                is_as_written = checksum(folder / name) == checksums[table]
                if not is_as_written and summary.status == COMPLETE:
                    raise ValueError("it has changed since the run wrote it (its checksum differs)")
                if not is_as_written:
                    tables[table]
                    warnings.warn(
                        f"{shown(folder / name)}: does not match {SUMMARY}. The run was stopped while "
                        f"it saved, or the file is damaged. {fix}",
                        stacklevel=2,
                    )
        except (OSError, ValueError) as error:
            what = f"{shown(folder)} cannot be read as a run folder: {name}: {error}."
            raise Unreadable(what, fix) from None
        pictures = noted(folder).get("pictures", ())
        names = tuple(map(str, pictures)) if isinstance(pictures, list) else ()
        return cls(config=config, summary=summary, folder=folder, tables=tables, pictures=names)

    def with_tables(self, **tables: "pd.DataFrame") -> "Result":
        """The same result with other rows of some tables."""
        return attrs.evolve(self, tables={**self.tables, **tables})

    @checked_call
    def at_target(self, target: float, held: int = 1) -> AtTarget | None:
        """Time, energy and bits when the headline, the first score, was at least as good as a target.

        A model that has diverged reaches none (`records.are_sound`).

        Args:
            held: Evaluations in a row at which it must be so; it counts as reached at the last of them.

        Returns:
            None if the run never got there, or was over before it had held.

        Raises:
            ConfigurationError: The headline is a share, and no share can be the target.
        """
        if self.summary.headline is None:
            return None
        _, measure = self.summary.headline
        measure.check_target(target)
        scores = {column: self.evaluations[column].to_numpy() for column in self.summary.measures}
        is_good = are_as_good(self.summary.measures, scores, target)
        starts = [n for n in range(len(is_good) - held + 1) if is_good[n : n + held].all()]
        if not starts:
            return None
        row = self.evaluations.iloc[starts[0] + held - 1]
        return AtTarget(
            time_s=float(row["time_s"]),
            energy_j=float(row["energy_j"]),
            bits_per_client=float(row["bits_per_client"]),
            version=int(row["version"]),
        )

    @checked_call
    def time_to_target_s(self, target: float, held: int = 1) -> float | None:
        """Simulated time of a target (`at_target`), or None."""
        reached = self.at_target(target, held)
        return None if reached is None else reached.time_s
