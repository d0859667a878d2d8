"""Row groups: the tables of a run while it goes on, in memory or as files that grow.

Usage::

    rows = RowGroups(sim.recorder, num_clients=30, folder=folder, described=described)
    ...
    rows.gather()  # when the global model has a new version
    ...
    result = rows.result(config, "running", sim.now_s)
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosim.engine.store.table_file import TableFile
from cosim.files.interrupts import interrupts_deferred
from cosim.files.on_disk import write_json
from cosim.recording.digest import Digest
from cosim.recording.kept_rows import KeptRows
from cosim.records.client_sums import ClientSums
from cosim.records.columns import Columns
from cosim.records.job_costs import JobCosts
from cosim.records.tables import AT_EVALUATIONS, ENDS, TABLES, columns_of, ordered
from cosim.records.totals import Totals
from cosim.results.result import Result
from cosim.results.summary import CHECKSUMS, NO_VERSION, RUNNING, SUMMARY, Summary
from cosim.results.tables import Tables, arrow_of, file_of, read_table, table_of

if TYPE_CHECKING:
    import pandas as pd

GROUP_ROWS = 200_000
"""Rows that make a group, of all tables together. [no source]"""


class RowGroups:
    """The tables of a run: groups of rows that were handed over, sums over them, and what is open.

    Args:
        folder: Where they are written. None means that they stay in memory.
        described: Gives the columns of the table of clients that are no sums, from the number of jobs of
            each. None means that there are none.
        group_rows: About how many rows of all tables together make a group of whole stretches.
        digest: Digest of the rows, told before any are forgotten. None means that none is kept.
    """

    def __init__(
        self,
        kept: KeptRows,
        num_clients: int,
        folder: Path | None = None,
        group_rows: int = GROUP_ROWS,
        digest: Digest | None = None,
        described: Callable[[NDArray[np.int64]], Columns] | None = None,
    ) -> None:
        self.kept, self.num_clients, self.folder = kept, num_clients, folder
        self._group_rows, self.digest = group_rows, digest
        self._totals, self._costs = Totals(), JobCosts()
        self._sums, self._described = kept.client_sums or ClientSums(num_clients), described
        self._groups: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
        self._files = {} if folder is None else {name: TableFile(file_of(folder, name)) for name in TABLES}
        self._failure: BaseException | None = None

    def gather(self) -> None:
        """Take over the rows of whole stretches, where they make a group."""
        until_s = self.kept.whole_until_s(self._group_rows)
        if until_s is not None:
            self.kept.complete(until_s)
            self._close(until_s)

    def result(
        self,
        config: dict[str, Any],
        status: str,
        time_s: float,
        kept_version: int = NO_VERSION,
        accuracies: NDArray[np.float64] | None = None,
    ) -> Result:
        """Result of a run of a configuration so far; its files are written, each whole or not at all.

        Args:
            kept_version: Of the model that is kept.
            accuracies: Of that model on the test share of each client; None if clients have none.

        Raises:
            ConfigurationError: A file cannot be written.
        """
        if self._failure is not None:
            raise self._failure
        columns, totals, _ = self._read()
        learned = {} if accuracies is None else {"accuracy": accuracies}
        sums = self._sums.after(columns).columns()
        described = {} if self._described is None else self._described(sums["num_jobs"])
        columns["clients"] = {**described, **learned, **sums}
        evaluations, spent = self.kept.evaluations, totals.at_evaluations
        energies_j = [own.worked_j + row.rest_j for own, row in zip(spent, evaluations, strict=False)]
        bits = [own.sent_bits / self.num_clients for own in spent]
        beside = dict(zip(AT_EVALUATIONS, (np.array(energies_j, float), np.array(bits, float)), strict=True))
        columns["evaluations"] = columns_of("evaluations", evaluations) | beside
        summary = Summary.of(totals, evaluations, self.num_clients, status, time_s, kept_version)
        if self.folder is None:
            groups = {name: list(own) for name, own in self._groups.items()}
            tables = Tables(partial(_joined, groups, columns))
        else:
            checksums = {
                name: file.save(arrow_of(columns[name]), goes_on=status == RUNNING)
                for name, file in self._files.items()
            }
            write_json(self.folder / SUMMARY, summary._asdict() | {CHECKSUMS: checksums})
            tables = Tables(partial(read_table, self.folder))
        return Result(config=config, summary=summary, folder=self.folder, tables=tables)

    def discard(self) -> None:
        """Remove what is in no file that was saved."""
        for file in self._files.values():
            file.discard()

    def _close(self, until_s: float) -> None:
        """Take over the rows that ended by then; all of them or, where it fails, none that are saved."""
        with interrupts_deferred():
            try:
                tables, self._totals, self._costs = self._read(until_s)
                self._sums.add_rows(tables)
                for name, columns in tables.items():
                    if len(columns[ENDS[TABLES[name]]]):
                        if self._files:
                            self._files[name].append(arrow_of(columns))
                        else:
                            self._groups[name].append(table_of(columns))
                if self.digest is not None:
                    self.digest.let_go(until_s)
                self.kept.forget(until_s)
            except BaseException as error:
                self._failure = error
                raise

    def _read(self, until_s: float = math.inf) -> tuple[dict[str, Columns], Totals, JobCosts]:
        """The columns of the rows that ended by then, and the sums and costs after them."""
        stretches_s = self.kept.stretches_s
        tables = {
            name: ordered(name, columns, stretches_s) for name, columns in self.kept.tables(until_s).items()
        }
        found, costs = self._costs.after(tables)
        tables["updates"] |= found
        new = self.kept.evaluations[len(self._totals.at_evaluations) :]
        times_s = [row.time_s for row in new if row.time_s <= until_s]
        return tables, self._totals.after(tables, times_s), costs


def _joined(
    groups: "dict[str, list[pd.DataFrame]]", columns: dict[str, Columns], name: str
) -> "pd.DataFrame":
    """The table of groups that were handed over and of columns that come last; both are given away."""
    import pandas as pd  # not before there is a table

    own, last = groups.pop(name), table_of(columns.pop(name))
    return pd.concat([*own, last], ignore_index=True) if own else last
