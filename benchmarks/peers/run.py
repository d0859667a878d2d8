"""Peers: whole runs of the same work by other tools, beside cosim, in turn.

    python -m benchmarks.peers.environments FOLDER
    python -m benchmarks.peers.run FOLDER                                  # tables
    python -m benchmarks.peers.run FOLDER --page docs/peers.md             # into the page, with its picture
    python -m benchmarks.peers.run FOLDER --works W1 --tools cosim pfl --repetitions 1

Every number is of a whole process, from its start to its end, as a user waits for it: imports, reading the
samples, all rounds, the loss of the last model. The tools take turns, so that a slow moment of the machine
falls on all; medians of the repetitions. "inside" is the rate of the rounds alone, without start and end.

A run with other steps than `work` has, or with another loss than cosim's run, ends the benchmark, because a
comparison of different work says nothing.
"""

import argparse
import json
import math
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.peers import page, stages, work
from benchmarks.peers.environments import python_of
from benchmarks.peers.rows import ALONE, ROWS, Row
from benchmarks.peers.took import Took, took

LOSS_TOLERANCE = 0.02
"""Nats by which the loss of a tool may differ from cosim's: batches are drawn in another order."""
TIME_TOLERANCE_S = 1e-9


def run_of(row: Row, environments: Path, samples: Path, num_rounds: int | None) -> Took:
    """One run of a row."""
    python = python_of(row.tool, environments)
    command = [str(python), "-m", f"benchmarks.peers.in_{row.tool}", row.work]
    command += ["--samples", str(samples), "--cores", str(row.num_cores), "--way", row.way]
    command += [] if num_rounds is None else ["--rounds", str(num_rounds)]
    return took(command, row.num_cores, row.num_cores if row.way == ALONE else 1)


def check(row: Row, told: Any, loss: float) -> None:
    """Refuse a run that did other work.

    Args:
        loss: Loss of cosim's model.

    Raises:
        RuntimeError: The number of steps, the loss of the last model, or a time is another.
    """
    if row.work in work.TIMES:
        if difference_s(row, told) > TIME_TOLERANCE_S:
            raise RuntimeError(f"{row}: {difference_s(row, told)} s from arithmetic. Mend its program.")
        return
    learns = row.work in work.LEARNING
    if learns:
        wanted = work.LEARNING[row.work].client_steps
    else:
        wanted = work.num_clients(row.work) * work.FLEET_ROUNDS
    if told["client_steps"] != wanted:
        raise RuntimeError(f"{row}: {told['client_steps']} client-steps, not {wanted}. Mend its program.")
    if learns and row.tool != "ceiling" and abs(told["loss"] - loss) > LOSS_TOLERANCE:
        raise RuntimeError(f"{row}: a loss of {told['loss']}, not {loss}. Mend its program.")


def difference_s(row: Row, told: Any) -> float:
    """Largest difference of a version's time from arithmetic; infinite if their numbers differ."""
    wanted_s, found_s = work.version_times_s(row.work), np.array(told["times_s"])
    return float(np.abs(found_s - wanted_s).max()) if len(found_s) == len(wanted_s) else math.inf


def measured(name: str, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of a work: medians over the repetitions, in turn."""
    environments, rows = asked.environments.resolve(), [row for row in ROWS[name] if row.tool in asked.tools]
    found: dict[Row, list[Took]] = {row: [] for row in rows}
    with TemporaryDirectory() as folder:
        if name in work.LEARNING:
            work.write_samples(name, Path(folder))
        for _ in range(asked.repetitions):
            for row in rows:
                found[row].append(run_of(row, environments, Path(folder), asked.rounds))
                check(row, found[row][-1].told, found[rows[0]][0].told["loss"])
                print(f"{row.words}, {row.num_cores} cores: {found[row][-1]}", flush=True)
    return [in_medians(row, of) for row, of in found.items()]


def in_medians(row: Row, of: list[Took]) -> dict[str, Any]:
    """A row of the table."""
    return row._asdict() | {
        "words": row.words,
        "wall_s": statistics.median(own.wall_s for own in of),
        "processor_s": statistics.median(own.processor_s for own in of),
        "inside_s": statistics.median(own.told["inside_s"] for own in of),
        "client_steps": of[0].told["client_steps"],
        "loss": of[0].told["loss"],
        "versions": of[0].told["versions"],
        "num_times": len(of[0].told["times_s"]),
        "difference_s": difference_s(row, of[0].told) if row.work in work.TIMES else math.nan,
    }


def main() -> None:
    """Run what is asked for, print the tables, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("environments", type=Path)
    parser.add_argument("--works", nargs="+", default=list(ROWS), choices=list(ROWS))
    tools = list(dict.fromkeys(row.tool for rows in ROWS.values() for row in rows))
    parser.add_argument("--tools", nargs="+", default=tools, choices=tools)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, help="file for the results, as JSON")
    parser.add_argument("--page", type=Path, help="page whose tables and picture are written")
    parser.add_argument("--rounds", type=int, help="rounds of each work that learns, for a quick trial")
    asked = parser.parse_args()
    work.shorten(asked.rounds)
    results = {"machine": page.machine(), "repetitions": asked.repetitions, "works": {}}
    for name in asked.works:
        results["works"][name] = measured(name, asked)
        print(page.table(name, results["works"][name]), flush=True)
        if name == stages.STAGED and asked.rounds is None:
            results["stages"] = stages.table(stages.measured(name, stages.NUM_CORES, asked.repetitions))
            print(results["stages"], flush=True)
        if asked.out:
            asked.out.write_text(json.dumps(results, indent=1) + "\n")
        if asked.page:
            page.write(results, asked.page)


if __name__ == "__main__":
    main()
