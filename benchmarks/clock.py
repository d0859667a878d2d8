"""Client-rounds per second of a timing-only run, beside bare SimPy processes.

A client-round is one client's local round: it trains, then it sends, and both are written down as spans.
"bare" runs nothing else: SimPy processes with two timeouts and two rows each, all of an edge round waited for
together. "hist" is `cosim run hist` without learning, from its configuration to its tables: fading, rates,
the shared band, payloads, transfers, rounds, sorting; by events, and on arrays. "40 cells" are as large,
"1,000 in a cell" is one with fading and a deadline; "drawn" has a deadline and takes two thirds, or half, of
the clients in turn; "rounds" keeps no rows of clients; "resting" has devices that idle. All are measured in
turn, in one process, by its processor time.

    python benchmarks/clock.py
    python benchmarks/clock.py --num-global-rounds 40 --repetitions 11
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import simpy

import cosim
import models
from cosim.radio.sharing.port import Sharing
from cosim.records.rows import DONE, Span
from scenarios import hist

Process = Iterator[simpy.Event]


def bare(num_edge_rounds: int, num_clients: int) -> int:
    """Edge rounds of clients that wait twice and write two spans; returns the number of client-rounds."""
    environment = simpy.Environment()
    spans: list[Span] = []

    def spend(name: str, activity: str, duration_s: float) -> Any:
        start_s = environment.now
        yield environment.timeout(duration_s)
        spans.append(Span(name, activity, start_s, environment.now, duration_s, DONE))

    def client(number: int) -> Any:
        yield from spend(f"client-{number:04d}", "train", 1.0 + 0.001 * number)
        yield from spend(f"client-{number:04d}", "send", 0.5 + 0.002 * number)

    def server() -> Any:
        for _ in range(num_edge_rounds):
            yield environment.all_of([environment.process(client(number)) for number in range(num_clients)])

    environment.process(server())
    environment.run()
    return len(spans) // 2


def timing_only(
    system: cosim.System,
    clock: Literal["events", "arrays"] = "events",
    records: Literal["all", "rounds"] = "all",
) -> int:
    """One run without learning; returns the number of client-rounds."""
    network = models.build(system.model)
    return cosim.run(system, network, num_workers=1, clock=clock, records=records).summary.num_updates


def drawn(system: cosim.System, num_participants: int) -> cosim.System:
    """Add a deadline, and draw `num_participants` clients of each cell for every edge round."""
    assert isinstance(system.protocol, cosim.Hist | cosim.HFedAvg)
    waiting = cosim.Deadline(deadline_s=60.0)
    selection = cosim.selection.Uniform(num_participants=num_participants)
    training = cosim.evolve(system.protocol.training, selection=selection, waiting=waiting)
    return cosim.evolve(system, protocol=cosim.evolve(system.protocol, training=training))


def resting(system: cosim.System) -> cosim.System:
    """With devices that take power between their activities."""
    devices = cosim.evolve(system.devices, idle_w=0.3, sleep_w=0.01, sleeps_after_s=60.0)
    return cosim.evolve(system, devices=devices)


def large_cell(num_edge_rounds: int, sharing: Sharing) -> cosim.System:
    """1,000 clients in one cell."""
    waiting = cosim.Deadline(deadline_s=60.0)
    return cosim.System(
        num_cells=1,
        num_clients=1000,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(split=cosim.data.Sampled()),
        uplink=cosim.Radio(sharing=sharing),
        protocol=cosim.HFedAvg(training=cosim.EdgeTraining(num_edge_rounds=num_edge_rounds, waiting=waiting)),
        end=cosim.AfterRounds(num_global_rounds=2),
        evaluation=cosim.Never(),
    )


def main() -> None:
    """Read the options, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--num-global-rounds", type=int, default=200)
    parser.add_argument("--repetitions", type=int, default=5)
    asked = parser.parse_args()

    base = hist.system()
    end = cosim.AfterRounds(num_global_rounds=asked.num_global_rounds)
    fixed = cosim.evolve(base, end=end, evaluation=cosim.Never())
    redivided = cosim.evolve(fixed, uplink=cosim.Radio(sharing=cosim.radio.RedividedShares()))
    counted = cosim.run(fixed, models.build(fixed.model), clock="arrays")
    num_edge_rounds = len(counted.rounds) - asked.num_global_rounds
    many = cosim.evolve(fixed, num_cells=40, num_clients=600, end=cosim.AfterRounds(num_global_rounds=20))
    fixed_cell, redivided_cell = (
        large_cell(50, cosim.FixedShares()),
        large_cell(10, cosim.radio.RedividedShares()),
    )
    ways: dict[str, Callable[[], int]] = {
        "bare": lambda: bare(num_edge_rounds, base.num_clients // base.num_cells),
        "hist": lambda: timing_only(fixed),
        "hist, arrays": lambda: timing_only(fixed, "arrays"),
        "hist, resting": lambda: timing_only(resting(fixed)),
        "hist, resting, arrays": lambda: timing_only(resting(fixed), "arrays"),
        "hist, redivided": lambda: timing_only(redivided),
        "40 cells, arrays": lambda: timing_only(many, "arrays"),
        "... drawn": lambda: timing_only(drawn(many, 10), "arrays"),
        "1,000 in a cell": lambda: timing_only(large_cell(5, cosim.FixedShares())),
        "... redivided": lambda: timing_only(large_cell(5, cosim.radio.RedividedShares())),
        "... on arrays": lambda: timing_only(fixed_cell, "arrays"),
        "... rounds": lambda: timing_only(fixed_cell, "arrays", "rounds"),
        "... on arrays, resting": lambda: timing_only(resting(fixed_cell), "arrays"),
        "... rounds, resting": lambda: timing_only(resting(fixed_cell), "arrays", "rounds"),
        "... rounds, drawn": lambda: timing_only(drawn(fixed_cell, 500), "arrays", "rounds"),
        "... redivided, arrays": lambda: timing_only(redivided_cell, "arrays", "rounds"),
        "... over the air": lambda: timing_only(large_cell(50, cosim.radio.OverTheAir()), "arrays", "rounds"),
    }
    per_s: dict[str, list[float]] = {name: [] for name in ways}
    for repetition in range(asked.repetitions + 1):
        for name, way in ways.items():
            gc.collect()  # no way pays for what another has left
            start_s = time.process_time()
            num_client_rounds = way()
            if repetition:  # the first one warms up
                per_s[name].append(num_client_rounds / (time.process_time() - start_s))
    print(f"client-rounds per second of processor time, medians of {asked.repetitions}")
    print(f"{num_edge_rounds:,} edge rounds of {base.num_clients // base.num_cells} clients")
    for name, rates in per_s.items():
        shares = [rate / other for rate, other in zip(rates, per_s["bare"], strict=True)]
        print(f"{name:22} {statistics.median(rates):8,.0f}  {statistics.median(shares):5.2f} of bare")


if __name__ == "__main__":
    main()
