"""Job costs: bits and energy of the updates that a server has applied.

Bits and joules are summed job by job as rows are handed over, in the order of the tables, and forgotten when
a job can no longer be applied. The cost of an applied cell is the sum over its jobs that had ended by then.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from cosim.names import CLOUD
from cosim.records.columns import Columns
from cosim.records.rows import DONE, NO_JOB, NO_ROUND, UP

COLUMNS = ("sent_bits", "energy_j")
_Job = tuple[str, int]
_Costs = dict[_Job, tuple[float, float]]
_NOTHING = (0.0, 0.0)


@attrs.frozen
class JobCosts:
    """Costs of jobs that may still be applied: owner and number -> bits sent, joules.

    Attributes:
        of_clients: Costs of clients' jobs; None until a server is asynchronous.
        of_cells: Costs of cells' jobs, by edge; None until the cloud is asynchronous.
    """

    of_clients: _Costs | None = None
    of_cells: _Costs | None = None

    def after(self, tables: Mapping[str, Columns]) -> "tuple[Columns, JobCosts]":
        """Bits sent and joules of the updates among further rows, and the costs after these rows."""
        updates, versions = tables["updates"], tables["versions"]
        if self.of_clients is None and not len(versions["server"]):
            return {column: np.zeros(len(updates["client"])) for column in COLUMNS}, self
        of_clients, of_cells = dict(self.of_clients or {}), dict(self.of_cells or {})
        for node, job, energy_j in _rows(tables["spans"], "node", "job", "energy_j"):
            if job != NO_JOB:
                _add(of_clients, (node, job), 0.0, energy_j)
        transfers = _rows(tables["transfers"], "client", "job", "direction", "sent_bits")
        for client, job, direction, sent_bits in transfers:
            if direction == UP:
                _add(of_clients, (client, job), sent_bits, 0.0)
        has_cells = self.of_cells is not None or bool(versions["server"].isin([CLOUD]).any())
        applied = list(_rows(updates, "client", "job"))
        applied_s = dict(zip(applied, updates["applied_s"].tolist(), strict=True))
        gone = set(applied)
        columns = ("client", "job", "edge", "global_round", "edge_round", "end_s", "outcome")
        for client, job, edge, global_round, edge_round, end_s, outcome in _rows(tables["fates"], *columns):
            cell = edge, global_round - 1
            if has_cells and global_round != NO_ROUND and end_s <= applied_s.get(cell, math.inf):
                _add(of_cells, cell, *of_clients.get((client, job), _NOTHING))
            if outcome != DONE or edge_round != NO_ROUND:
                gone.add((client, job))
        known = of_clients | of_cells
        found = np.array([known.get(job, _NOTHING) for job in applied]).reshape(-1, len(COLUMNS))
        last = dict(sorted(applied))
        return dict(zip(COLUMNS, found.T, strict=True)), JobCosts(
            {job: cost for job, cost in of_clients.items() if job not in gone},
            {(of, job): cost for (of, job), cost in of_cells.items() if job > last.get(of, NO_JOB)}
            if has_cells
            else None,
        )


def _rows(columns: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(columns[name].tolist() for name in names), strict=True)


def _add(costs: _Costs, job: _Job, sent_bits: float, energy_j: float) -> None:
    before_bits, before_j = costs.get(job, _NOTHING)
    costs[job] = before_bits + sent_bits, before_j + energy_j
