"""Table I of the HIST journal paper: LeNet-5 on Fashion-MNIST, upload per client to 70 % and 80 %.

The network is the one without padding, whose ten uploads are the table's 1.69 MB. 60 clients (Section VI-A;
the authors' public code shows 40) train 2 local epochs of batches of 50, so 40 steps, with the code's rate
0.01; E = 5 as in Section VI-B. The default is what 2 cores run within hours, N = 4 to 70 %, beside which the
rest stands as not run; --paper-scale is the whole table, in days. The quick form is the fully non-i.i.d.
split with N = 4, with 12 clients, 20 steps of rate 0.1 and 60 %.

    cosim reproduce hist-table1 --quick
    cosim reproduce hist-table1 --paper-scale
"""

from itertools import product

import pandas as pd

import cosim
import models
from scenarios.reproduce.claims import Claim
from scenarios.reproduce.hist.figures import SPLITS, Options
from scenarios.reproduce.hist.table_entries import PaperTable, grid_claim, label, usual_claims
from scenarios.reproduce.hist.tables import Setting, entries_of, run_table, upload_bits

__all__ = ["Options", "main"]

MODEL = "lenet5-10"
WHOLE_CORE_HOURS = 140.0
"""Of the whole table with five seeds, at most: 3.3 were taken by 480 of its 20,100 rounds."""
TABLE = PaperTable(
    name="hist-table1",
    entries={
        0.70: {"shards": (13.20, 23.66, 8.08, 20.28), "cell-iid": (4.40, 6.76, 3.32, 11.84)},
        0.80: {"shards": (115.30, 206.18, 76.06, 246.74), "cell-iid": (38.72, 86.20, 24.72, 89.58)},
    },
    unit="MB",
    multiple=1.69,
    multiple_bits=10 * upload_bits(models.build(MODEL)),
    multiple_words="ten uploads of 44,426 parameters, 1.69 MB",
)


def setting(options: Options) -> Setting:
    """Setting that is run."""
    training = cosim.EdgeTraining(
        steps=cosim.SameSteps(num_local_steps=20 if options.quick else 40),
        local=cosim.Sgd(learning_rate=0.1 if options.quick else 0.01),
    )
    base = cosim.System(
        seed=options.seed,
        num_clients=12 if options.quick else 60,
        model=MODEL,
        protocol=cosim.Hist(training=training),
    )
    if options.quick:
        rounds = {("HIST", 4): 10, ("HFedAvg", 4): 6}
        return Setting(base=base, splits=("shards",), cells=(4,), rounds=rounds, accuracies=(0.6,))
    splits = ("shards", "cell-iid")
    if options.paper_scale:
        rounds = {("HIST", 2): 480, ("HFedAvg", 2): 450, ("HIST", 4): 570, ("HFedAvg", 4): 510}
        return Setting(base=base, splits=splits, cells=(2, 4), rounds=rounds, accuracies=(0.7, 0.8))
    rounds = {("HIST", 4): 75, ("HFedAvg", 4): 60}
    return Setting(base=base, splits=splits, cells=(4,), rounds=rounds, accuracies=(0.7,))


def claims_in(frame: pd.DataFrame, options: Options) -> list[Claim]:
    """The claims, by the table's rows; in the default form also the ones that it has no rows for."""
    entries = entries_of(TABLE, setting(options), frame)
    claims = [grid_claim(TABLE), *usual_claims(entries, [label("HIST", 4, "shards")])]
    if options.quick or options.paper_scale:
        return claims
    command = f"cosim reproduce {TABLE.name} --paper-scale"
    known = {(entry.accuracy, entry.num_cells) for entry in entries}
    missing = [
        f"N = {num_cells}, to {100 * accuracy:g} %: the four entries"
        for accuracy, num_cells in product(TABLE.entries, (2, 4))
        if (accuracy, num_cells) not in known
    ]
    missing += [
        f"{words}, to {100 * accuracy:g} %: HIST's advantage grows from N = 2 to 4"
        for accuracy, words in product(TABLE.entries, SPLITS.values())
    ]
    whole = [Claim(paper=paper, command=command, core_hours=WHOLE_CORE_HOURS) for paper in missing]
    return claims + whole


def main(options: Options) -> int:
    """Run, print, compare."""
    return run_table(TABLE, setting(options), options, claims_in)
