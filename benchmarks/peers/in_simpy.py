"""simpy: the events of W5 as bare processes.

A client waits twice and writes two rows, a server waits for all. It has no radio, no energy and no tables:
the least that an event simulation in Python can cost.
"""

import time
from typing import Any

import simpy

from benchmarks.peers import work
from benchmarks.peers.entry import Told, asked, tell


def timed(num_clients: int) -> Told:
    """Run the rounds of a fleet."""
    environment = simpy.Environment()
    rows: list[tuple[str, str, float, float]] = []

    def spend(name: str, activity: str, duration_s: float) -> Any:
        start_s = environment.now
        yield environment.timeout(duration_s)
        rows.append((name, activity, start_s, environment.now))

    def client(number: int) -> Any:
        yield from spend(f"client-{number:04d}", "train", 1.0 + 0.001 * number)
        yield from spend(f"client-{number:04d}", "send", 0.5 + 0.002 * number)

    def server() -> Any:
        for _ in range(work.FLEET_ROUNDS):
            yield environment.all_of([environment.process(client(number)) for number in range(num_clients)])

    start_s = time.perf_counter()
    environment.process(server())
    environment.run()
    return Told(len(rows) // 2, time.perf_counter() - start_s)


if __name__ == "__main__":
    tell(timed(work.num_clients(asked().name)), "simpy")
