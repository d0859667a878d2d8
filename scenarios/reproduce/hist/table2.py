"""Table II of the HIST journal paper: ResNet-18 on CIFAR-10, upload per client to 75 % and 80 %.

60 clients (Section VI-A) train 2 local epochs of batches of 50 (34 steps) with rate 0.01, as in the authors'
public code for LeNet-5; E = 5 as in Section VI-B. The table counts a network of 1,000 outputs, and HIST's
parts as its N-th, which no cut of channels that keeps residual sums gives (`models/resnet.py`); here each
upload counts what it holds, of a network of 10 outputs. CIFAR-10 is looked for with --data-dir, in
$COSIM_DATA and in the usual folders. In the quick form HIST and HFedAvg take nearly the same upload, so it
does not ask which takes less.

    cosim reproduce hist-table2 --quick
    cosim reproduce hist-table2 --data-dir ~/cifar-10 --device cuda
"""

import numpy as np
import pandas as pd

import cosim
from cosim.protocols.drawn_parts import even_counts
from cosim.values.submodels import NetworkShape, Part
from models.resnet import ResNet18
from scenarios.reproduce.claims import Claim
from scenarios.reproduce.figures import Options
from scenarios.reproduce.hist.table_entries import PaperTable, grid_claim, no_multiples, usual_claims
from scenarios.reproduce.hist.tables import Setting, entries_of, run_table, upload_bits

__all__ = ["Options", "main"]

COUNTED = ResNet18(1000, stem="imagenet", picture_side=224)
TABLE = PaperTable(
    name="hist-table2",
    entries={
        0.75: {"shards": (7.41, 11.34, 5.02, 13.08), "cell-iid": (5.67, 9.59, 3.93, 10.46)},
        0.80: {"shards": (37.06, 61.04, 23.11, 65.40), "cell-iid": (24.42, 40.98, 14.60, 43.60)},
    },
    unit="GB",
    multiple=0.436,
    multiple_bits=10 * upload_bits(COUNTED),
    multiple_words="ten uploads of ResNet-18 with 1,000 outputs, running statistics included, 0.436 GB",
)


def setting(options: Options) -> Setting:
    """Setting that is run."""
    if options.quick:
        training = cosim.EdgeTraining(
            steps=cosim.SameSteps(num_local_steps=5), local=cosim.Sgd(batch_size=20, learning_rate=0.05)
        )
        base = cosim.System(
            seed=options.seed,
            num_clients=20,
            model="resnet18grey-8-8-10",
            data=cosim.Digits(),
            protocol=cosim.Hist(training=training),
        )
        rounds = {("HIST", 2): 8, ("HFedAvg", 2): 5}
        replaced = (
            "CIFAR-10 by scikit-learn's digits (8 x 8 grey levels), 64 channels by 8, 60 clients by 20, 34 "
            "steps of 50 samples by 5 of 20, rate 0.01 by 0.05, 75 % by 50 %; one split, N = 2."
        )
        return Setting(base, ("shards",), (2,), rounds, (0.5,), replaced)
    training = cosim.EdgeTraining(
        steps=cosim.SameSteps(num_local_steps=34), local=cosim.Sgd(learning_rate=0.01)
    )
    base = cosim.System(
        seed=options.seed,
        num_clients=60,
        model="resnet18-64-10",
        data=cosim.data.Cifar10(),
        protocol=cosim.Hist(training=training),
    )
    rounds = {("HIST", 2): 75, ("HFedAvg", 2): 53, ("HIST", 4): 90, ("HFedAvg", 4): 60}
    return Setting(base, ("shards", "cell-iid"), (2, 4), rounds, (0.75, 0.80))


def part_claims() -> list[Claim]:
    """Claims that HIST's entries are multiples of an N-th of the network, not of a larger part."""
    shape = NetworkShape.of(COUNTED)
    claims = []
    for place, num_cells in ((0, 2), (2, 4)):
        entries = [numbers[place] for of in TABLE.entries.values() for numbers in of.values()]
        counts = even_counts(shape.num_units, num_cells)
        part = Part({group: np.arange(of_cells[0]) for group, of_cells in counts.items()})
        for words, share in (
            ("of an N-th of that", 1.0 / num_cells),
            ("of the least part that keeps residual sums", shape.num_values(part) / shape.num_values()),
        ):
            claims.append(
                Claim(
                    paper=f"N = {num_cells}: HIST's entries are multiples {words}",
                    quantities=[no_multiples(entries, share * TABLE.multiple, TABLE.unit)],
                    is_ours=True,
                )
            )
    return claims


def claims_in(frame: pd.DataFrame, options: Options) -> list[Claim]:
    """The claims, by the table's rows."""
    found = [grid_claim(TABLE), *part_claims()]
    return found if options.quick else found + usual_claims(entries_of(TABLE, setting(options), frame))


def main(options: Options) -> int:
    """Run, print, compare."""
    return run_table(TABLE, setting(options), options, claims_in)
