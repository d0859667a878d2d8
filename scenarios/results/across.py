"""Claims across figures: what a paper says of several tables together, judged from the tables that are kept.

Nothing is run for it: a claim is made as in `scenarios.reproduce`, from the values of every seed.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from scenarios.reproduce.claims import Claim, Floats, Found, Quantity
from scenarios.results.reproductions import RAWHFL_TABLES, Told, is_quick

TABLES = {"II": "rawhfl-table2", "III": "rawhfl-table3", "IV": "rawhfl-table4"}
LAWS = {"II": "v = 0.3", "III": "v = 0.7", "IV": "v from 0.1 to 0.8"}
UPPER, CENTRAL = "H-FedAvg-UB", "central SGD"
RAWHFL = ("RawHFL, Z=2", "RawHFL, Z=4", "RawHFL, Z=6")
OTHERS = ("H-FedAvg-M1", "H-FedAvg-M2", "FedAvg-UB")
NEAR = 0.02
"""Accuracies that are nearly the same, as in Fig. 9. [no source]"""
SAME_J = 1e-9
"""Rounding of energies."""


class Entry(NamedTuple):
    """Entry of a table, with every seed."""

    accuracy: Floats
    edge_round_j: Floats


Tables = Mapping[str, Mapping[str, Entry]]
"""Table -> algorithm -> its entry."""


def claims_across(folder: Path, figures: Iterable[Told]) -> list[Told]:
    """Claims across Tables II to IV of RawHFL, by each reading that is kept of all three with the same seeds.

    Args:
        folder: Folder of the kept tables.
        figures: Figures that are kept.
    """
    kept = {told["figure"]: told for told in figures if not is_quick(told)}
    endings = sorted(name.removeprefix(TABLES["II"]) for name in kept if name.startswith(TABLES["II"]))
    found = []
    for ending in endings:
        own = [kept.get(name + ending) for name in TABLES.values()]
        if None not in own and len({tuple(told["seeds"]) for told in own if told}) == 1:
            tables = {label: entries_of(folder / f"{name}{ending}.csv") for label, name in TABLES.items()}
            found.append(
                {
                    "figure": RAWHFL_TABLES + ending,
                    "command": "",
                    "caption": "Tables II to IV of the RawHFL paper together. "
                    f"Values are of {', '.join(name + ending for name in TABLES.values())}.",
                    "claims": [told_of(claim) for claim in claims(tables)],
                }
            )
    return found


def entries_of(path: Path) -> dict[str, Entry]:
    """Entries of a table, by algorithm."""
    table = pd.read_csv(path).sort_values("seed")
    return {
        str(name): Entry(own["accuracy"].to_numpy(), own["edge_round_j"].to_numpy())
        for name, own in table.groupby("algorithm")
    }


def claims(tables: Tables) -> list[Claim]:
    """Claims of the text that are of all three tables."""
    return [
        Claim(
            paper=f"RawHFL is nearly as accurate as {UPPER} with every Z, in all three tables (here: within "
            f"{NEAR:g})",
            quantities=[
                Quantity(
                    words=f"{LAWS[label]}: {name} less {UPPER}",
                    values=own[name].accuracy - own[UPPER].accuracy,
                    least=-NEAR,
                    most=NEAR,
                )
                for label, own in tables.items()
                for name in RAWHFL
            ],
        ),
        Claim(
            paper=f"of the federated algorithms {UPPER} is the best, in all three tables (here: none is "
            f"ahead by {NEAR:g})",
            quantities=[
                Quantity(
                    words=f"{LAWS[label]}: {name} less {UPPER}",
                    values=own[name].accuracy - own[UPPER].accuracy,
                    most=NEAR,
                )
                for label, own in tables.items()
                for name in (*RAWHFL, *OTHERS)
            ],
        ),
        Claim(
            paper=f"the gap between {CENTRAL} and RawHFL is higher for a small v than for a large one",
            quantities=[
                Quantity(
                    words=f"{CENTRAL} less RawHFL, Z=4: with {LAWS['II']} less with {LAWS['III']}",
                    values=gap(tables["II"]) - gap(tables["III"]),
                    least=0.0,
                )
            ],
        ),
        Claim(
            paper="all three tables have the same energies: they do not depend on v",
            quantities=[
                Quantity(
                    words=f"{name}, an edge round with {LAWS[label]} less with {LAWS['II']}",
                    values=tables[label][name].edge_round_j - tables["II"][name].edge_round_j,
                    least=-SAME_J,
                    most=SAME_J,
                    unit="J",
                )
                for label in ("III", "IV")
                for name in (*RAWHFL, *OTHERS, UPPER)
            ],
        ),
    ]


def gap(own: Mapping[str, Entry]) -> Floats:
    """Gap between central SGD and RawHFL with every seed."""
    return own[CENTRAL].accuracy - own[RAWHFL[1]].accuracy


def told_of(claim: Claim) -> Told:
    """A claim as kept figures have it."""
    return {
        "paper": claim.paper,
        "is_ours": claim.is_ours,
        "verdict": claim.verdict,
        "quantities": [dict(_quantity(found)) for found in claim.found],
    }


def _quantity(found: Found) -> Iterator[tuple[str, str | float | None]]:
    yield "in_words", found.in_words
    for end, value in (("least", found.least), ("most", found.most)):
        yield end, value if math.isfinite(value) else None
