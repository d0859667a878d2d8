"""Kinds: the clients of a run by the names of their kinds, and how many of their jobs were late.

Usage::

    for kind, own in by_kind(result).items():
        print(kind, late_in_words(own))  # sensor 300 of 300 late

Validation: tests/analysis/test_client_kinds.py.
"""

from collections.abc import Mapping

import pandas as pd

from cosim.engine.store.results import Result

ALL = "all clients"
"""Name of the clients of a run whose devices have no kinds."""


def by_kind(result: Result) -> Mapping[str, pd.DataFrame]:
    """Rows of the table of clients, by kind, by name; all together where there are no kinds."""
    clients = result.clients
    if "kind" not in clients:
        return {ALL: clients}
    return {str(kind): own for kind, own in clients.groupby("kind")}


def late_in_words(clients: pd.DataFrame) -> str:
    """How many jobs of some clients were late, such as 300 of 300 late."""
    return f"{int(clients['num_late'].sum()):,} of {int(clients['num_jobs'].sum()):,} late"
