"""Job costs: what the updates that a server has applied had cost their clients.

Bits and joules are summed job by job as rows are handed over, in the order of the tables, and forgotten when
a job can no longer be applied. A cell that is applied has cost what those of its jobs took that had ended by
then.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np

from cosim.names import CLOUD
from cosim.records import DONE, NO_JOB, NO_ROUND, UP

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("sent_bits", "energy_j")
_KEY = ["client", "job"]


@attrs.frozen
class JobCosts:
    """Costs of jobs that may yet be applied, of clients and of cells.

    Attributes:
        of_clients: Columns client, job, sent_bits, energy_j; None: no server was asynchronous so far.
        of_cells: The same of cells; None: the cloud was not, so far.
    """

    of_clients: "pd.DataFrame | None" = None
    of_cells: "pd.DataFrame | None" = None

    def after(self, tables: "Mapping[str, pd.DataFrame]") -> "tuple[pd.DataFrame, JobCosts]":
        """The updates of some more rows, with bits sent and joules; and the costs after these rows."""
        updates, versions = tables["updates"], tables["versions"]
        if self.of_clients is None and not len(versions):
            return updates.assign(**dict.fromkeys(COLUMNS, 0.0)), self
        import pandas as pd  # not before there is a table

        spans = tables["spans"][tables["spans"]["job"] != NO_JOB].rename(columns={"node": "client"})
        spent = spans[[*_KEY, "energy_j"]].assign(sent_bits=0.0)
        transfers = tables["transfers"]
        sent = transfers.loc[transfers["direction"] == UP, [*_KEY, "sent_bits"]].assign(energy_j=0.0)
        of_clients = _sums([self.of_clients, spent, sent])
        # From now on of jobs: their edges, rounds and ends where they have ended.
        ended = tables["fates"][[*_KEY, "edge", "global_round", "edge_round", "end_s", "outcome"]]
        jobs = ended.merge(of_clients, on=_KEY, how="left").fillna(dict.fromkeys(COLUMNS, 0.0))
        cells, of_cells = self.of_cells, None
        if cells is not None or (versions["server"] == CLOUD).any():
            own = jobs[jobs["global_round"] != NO_ROUND]
            own = own.assign(client=own["edge"], job=own["global_round"] - 1)
            applied_s = own[_KEY].merge(updates[[*_KEY, "applied_s"]], on=_KEY, how="left")["applied_s"]
            in_time = ~(own["end_s"].to_numpy() > applied_s.to_numpy())
            of_cells = _sums([cells, own.loc[in_time, [*_KEY, *COLUMNS]]])
        known = [of for of in (of_clients, of_cells) if of is not None]
        costs = updates[_KEY].merge(pd.concat(known), on=_KEY, how="left")
        found = {column: costs[column].fillna(0.0).to_numpy() for column in COLUMNS}
        waits = jobs[(jobs["outcome"] == DONE) & (jobs["edge_round"] == NO_ROUND)]
        gone = pd.concat([_without(ended[_KEY], waits), updates[_KEY]])
        return updates.assign(**found), JobCosts(
            _without(of_clients, gone), None if of_cells is None else _after_these(of_cells, updates)
        )


def _sums(parts: "list[pd.DataFrame | None]") -> "pd.DataFrame":
    """Sums of costs by client and job, one after the other."""
    import pandas as pd

    rows = pd.concat([part for part in parts if part is not None], ignore_index=True)
    group = rows.groupby(_KEY, sort=False).ngroup().to_numpy()
    first = rows.loc[~rows.duplicated(_KEY), _KEY].reset_index(drop=True)
    return first.assign(
        **{column: np.bincount(group, rows[column].to_numpy(), len(first)) for column in COLUMNS}
    )


def _after_these(of_cells: "pd.DataFrame", updates: "pd.DataFrame") -> "pd.DataFrame":
    """Costs of jobs of cells after the last ones that were applied."""
    last = updates.groupby("client")["job"].max().reindex(of_cells["client"])
    return of_cells[~(of_cells["job"].to_numpy() <= last.to_numpy(dtype=float))]


def _without(rows: "pd.DataFrame", others: "pd.DataFrame") -> "pd.DataFrame":
    """Rows whose job is none of the others'."""
    import pandas as pd

    keys, gone = (pd.MultiIndex.from_frame(frame[_KEY]) for frame in (rows, others))
    return rows[~keys.isin(gone)]
