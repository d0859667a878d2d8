"""How fast are the queue on the event clock and its twin of arrays, beside Ciw?

Packets per second of an M/M/1 and of an M/H2/1 queue at a load of 0.775, in turn in one process, so that a
slow moment of the machine falls on all; every way draws its own random numbers:

    Ciw       ciw.Simulation until all packets have left, with the records that it writes by default
    station   cosim.queues.station on the event clock: an arrival and a departure event for each packet
    arrays    scenarios.validate.queue_arrays.simulate, 50 times as many packets

Medians over the repetitions.

    python benchmarks/queueing.py
    python benchmarks/queueing.py --repetitions 15 --packets 20000
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from cosim.clock.simulation import Simulation
from cosim.queues.arrivals import PoissonArrivals
from cosim.queues.initial_work import StationaryWork
from cosim.queues.service import Exponential, HyperExponential
from cosim.queues.station import Station
from scenarios.validate.queue_arrays import simulate

try:
    import ciw
    import ciw.dists
except ModuleNotFoundError:
    sys.exit("this benchmark needs Ciw, which is in the test extra: pip install -e '.[test]'")

ARRIVALS_PER_S = 2.0
LAWS = {
    "M/M/1": Exponential(rate_per_s=ARRIVALS_PER_S / 0.775),
    "M/H2/1": HyperExponential(weights=(0.3, 0.7), rates_per_s=(8.0, 2.0)),
}
ARRAYS_FACTOR = 50
"""An array run of as few packets as the others would be too short to time."""


def ciw_rate(law: Exponential | HyperExponential, num_packets: int, seed: int) -> float:
    """Packets per second of Ciw."""
    service = (
        ciw.dists.Exponential(law.rate_per_s)
        if isinstance(law, Exponential)
        else ciw.dists.HyperExponential(list(law.rates_per_s), list(law.weights))
    )
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(ARRIVALS_PER_S)],
        service_distributions=[service],
        number_of_servers=[1],
    )
    ciw.seed(seed)
    begin_s = time.perf_counter()
    ciw.Simulation(network).simulate_until_max_customers(num_packets, method="Finish")
    return num_packets / (time.perf_counter() - begin_s)


def station_rate(law: Exponential | HyperExponential, num_packets: int, seed: int) -> float:
    """Packets per second of the station on the clock."""
    begin_s = time.perf_counter()
    sim = Simulation(seed)
    station = Station(sim, "path", PoissonArrivals(rate_per_s=ARRIVALS_PER_S), law, StationaryWork())
    sim.run(sim.spend("server", "wait", num_packets / ARRIVALS_PER_S))
    return station.num_served / (time.perf_counter() - begin_s)


def arrays_rate(law: Exponential | HyperExponential, num_packets: int, seed: int) -> float:
    """Packets per second of the arrays."""
    begin_s = time.perf_counter()
    simulate(ARRIVALS_PER_S, law, ARRAYS_FACTOR * num_packets, np.random.default_rng(seed))
    return ARRAYS_FACTOR * num_packets / (time.perf_counter() - begin_s)


def measure(law: Exponential | HyperExponential, num_packets: int, repetitions: int) -> dict[str, float]:
    """Packets per second of each way, medians over the repetitions."""
    ways: dict[str, Callable[[int], float]] = {
        "Ciw": partial(ciw_rate, law, num_packets),
        "station": partial(station_rate, law, num_packets),
        "arrays": partial(arrays_rate, law, num_packets),
    }
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for seed in range(1, repetitions + 1):
        for way, rate in ways.items():
            rates[way].append(rate(seed))
    return {way: statistics.median(found) for way, found in rates.items()}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--repetitions", type=int, default=7, help="timings of each way (default: 7)")
    parser.add_argument("--packets", type=int, default=50_000, help="packets of a run (default: 50000)")
    options = parser.parse_args()
    if options.repetitions < 1 or options.packets < 1:
        parser.error("--repetitions and --packets must be at least 1")
    print(
        f"numpy {np.__version__}, Ciw {ciw.__version__}, packets per second, medians of {options.repetitions}"
    )
    columns = ("Ciw", "station", "arrays", "station/Ciw", "arrays/station")
    print(f"{'queue':8}" + "".join(f"{c:>{max(12, len(c) + 2)}}" for c in columns))
    for name, law in LAWS.items():
        rates = measure(law, options.packets, options.repetitions)
        cells = (
            *(f"{rates[way]:,.0f}" for way in ("Ciw", "station", "arrays")),
            f"{rates['station'] / rates['Ciw']:.1f}",
            f"{rates['arrays'] / rates['station']:.0f}",
        )
        row = "".join(f"{v:>{max(12, len(c) + 2)}}" for c, v in zip(columns, cells, strict=True))
        print(f"{name:8}{row}", flush=True)


if __name__ == "__main__":
    main()
