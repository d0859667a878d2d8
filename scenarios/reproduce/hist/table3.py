"""Table III of the HIST journal paper: LoRA on GPT-2, 20 Newsgroups, upload per client to 70 % and 76 %.

Adapters of rank 16 on the attention of all 12 layers travel, 2.25 MB; GPT-2 and a random classification head
are frozen. 60 clients as in Section VI-A, H = 40 and E = 5 as in Appendix A; batches (of 8) and rate (0.1)
have no source. The weights of GPT-2 are looked for in $COSIM_GPT2, the messages with --data-dir and
$COSIM_DATA; both need `pip install 'cosim[lora]'`. Of the quick form's made-up texts nothing is asked.

    cosim reproduce hist-table3 --quick
    COSIM_GPT2=~/gpt2 cosim reproduce hist-table3 --data-dir ~/20news --device cuda
"""

import os

import pandas as pd

import cosim
from scenarios.command_line.console import made
from scenarios.reproduce.claims import Claim
from scenarios.reproduce.figures import Options
from scenarios.reproduce.hist import stand_in_texts
from scenarios.reproduce.hist.table_entries import PaperTable, grid_claim, usual_claims
from scenarios.reproduce.hist.tables import Setting, entries_of, run_table

__all__ = ["Options", "main"]

TABLE = PaperTable(
    name="hist-table3",
    entries={
        0.70: {"shards": (50.63, 78.75, 33.75, 83.25), "cell-iid": (32.63, 56.25, 21.94, 60.75)},
        0.76: {"shards": (168.75, 258.75, 100.69, 267.75), "cell-iid": (111.38, 166.50, 72.56, 177.45)},
    },
    unit="MB",
    multiple=2.25,
    multiple_bits=32 * 12 * 16 * (768 + 2304),
    multiple_words="one upload of 12 adapters of rank 16 from 768 to 2304, 2.25 MB",
)


def setting(options: Options) -> Setting:
    """Setting that is run."""
    training = cosim.EdgeTraining(
        steps=cosim.SameSteps(num_local_steps=5 if options.quick else 40),
        local=cosim.Sgd(batch_size=8, learning_rate=QUICK_RATE if options.quick else 0.1),
    )
    base = cosim.System(
        seed=options.seed,
        num_clients=12 if options.quick else 60,
        model=f"gpt2lora-16-{stand_in_texts.NUM_GROUPS if options.quick else 20}",
        data=cosim.data.Newsgroups20(),
        protocol=cosim.Hist(training=training),
    )
    if options.quick:
        rounds = {("HIST", 4): 6, ("HFedAvg", 4): 4}
        replaced = (
            f"GPT-2's 12 layers by {stand_in_texts.NUM_LAYERS} narrow ones of random weights, 20 Newsgroups "
            f"by {stand_in_texts.NUM_GROUPS} groups of made-up texts, 60 clients by 12, H = 40 by 5, "
            f"rate 0.1 by {QUICK_RATE:g}, 70 % by 50 %; one split."
        )
        return Setting(base, ("shards",), (4,), rounds, (0.5,), replaced)
    rounds = {("HIST", 2): 35, ("HFedAvg", 2): 28, ("HIST", 4): 42, ("HFedAvg", 4): 30}
    return Setting(base, ("shards", "cell-iid"), (2, 4), rounds, (0.70, 0.76))


QUICK_RATE = 1.0


def claims_in(frame: pd.DataFrame, options: Options) -> list[Claim]:
    """The claims, by the table's rows."""
    found = [grid_claim(TABLE)]
    return found if options.quick else found + usual_claims(entries_of(TABLE, setting(options), frame))


def main(options: Options) -> int:
    """Run, print, compare."""
    if not options.quick:
        return run_table(TABLE, setting(options), options, claims_in)
    folder = made(options.folder(TABLE.name)) / "stand-in"
    stand_in_texts.write(folder)
    os.environ["COSIM_GPT2"] = str(folder / "gpt2")
    return run_table(TABLE, setting(options), cosim.evolve(options, data_dir=folder), claims_in)
