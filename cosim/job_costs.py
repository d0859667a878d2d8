"""Job costs: what the updates that a server has applied had cost their clients."""

from typing import TYPE_CHECKING

from cosim.records import NO_JOB, UP

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("sent_bits", "energy_j")


def with_costs(tables: "dict[str, pd.DataFrame]") -> "pd.DataFrame":
    """The table of applied updates with bits sent and joules, of a client's job or of all jobs of a cell's.

    Args:
        tables: All tables of a run, by name.
    """
    import pandas as pd  # not before there is a table

    updates, spans, jobs = tables["updates"], tables["spans"], tables["fates"]
    if not len(updates):
        return updates.assign(**dict.fromkeys(COLUMNS, 0.0))
    spans = spans[spans["job"] != NO_JOB].rename(columns={"node": "client"})
    given = pd.MultiIndex.from_frame(jobs[["client", "job"]])
    in_cells = pd.MultiIndex.from_arrays([jobs["edge"], jobs["global_round"] - 1])
    wanted = pd.MultiIndex.from_frame(updates[["client", "job"]])
    transfers, found = tables["transfers"], {}
    for column, rows in (("sent_bits", transfers[transfers["direction"] == UP]), ("energy_j", spans)):
        of_jobs = rows.groupby(["client", "job"])[column].sum()
        of_cells = of_jobs.reindex(given, fill_value=0.0).set_axis(in_cells).groupby(level=[0, 1]).sum()
        of_client, of_cell = (of.reindex(wanted).fillna(0.0).to_numpy() for of in (of_jobs, of_cells))
        found[column] = of_client + of_cell  # nobody is both
    return updates.assign(**found)
