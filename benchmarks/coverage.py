"""How often do our intervals contain the truth?

Each interval is made many times from fresh runs whose true mean is known. Printed are, in %, the share of
runs flagged too noisy ("flag"), the coverage of all runs ("all") and that of the unflagged ones ("unfl.").

    t             10 replications: means of 50 exponential values, or normal values
    shares        5 and 20 replications from 0 to 1: coverage of Student's t, how often its ends leave
                  0 to 1, coverage on the logit
    times         2 to 20 times to a target of skewed laws: coverage of Student's t cut to what is possible,
                  which reports show, of Hall's transformation, and of Student's t of logarithms carried over
                  to the mean; in brackets their mean half widths, relative to the mean
    batch means   AR(1) of coefficient 0.9 that starts 20 standard deviations of its noise off; waiting in
                  M/M/1 at load 0.5 from an empty start
    ranks         12 designs on shared seeds, of which none is better: how often some are told apart
    regenerative  sojourn times in M/H2/1 (rates 8 and 2 per s): mean, and share below the 90 % and 99 %
                  points; "plain" is the coverage of ratio and t interval without our corrections; "packets"
                  cuts as many packets of an older queue into cycles, which drops both ends

The longest regenerative runs are repeated less often, since a load has --packets in all.

    python benchmarks/coverage.py
    python benchmarks/coverage.py --times
    python benchmarks/coverage.py --replications 200 --packets 4e6
"""

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.signal import lfilter
from typing_extensions import override

from analysis.intervals.batch_means import batch_means
from analysis.intervals.bounded import mean_within
from analysis.intervals.ranks import ranks
from analysis.intervals.regenerative import cycles, regenerative
from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import Interval, mean_interval, quantile, t_interval
from scenarios.validate.queue_arrays import waiting_s

RATES_PER_S = (8.0, 2.0)
LOADS = ((2.0, 0.9), (2.0, 0.7), (2.0, 0.5), (2.0, 0.3), (2.8, 0.5))
"""Arrivals per second and probability of the faster stage."""
NUM_CYCLES = (50, 200, 500, 1000, 5000, 20000)
RUN_PACKETS, PART_PACKETS = 20_000, 2_000_000
LEAST_UNFLAGGED = 50


class Queue(NamedTuple):
    """M/H2/1 in equilibrium: Pollaczek-Khinchine mean and the law of the sojourn time."""

    arrivals_per_s: float
    fast_share: float

    @property
    def load(self) -> float:
        (fast, slow), share = RATES_PER_S, self.fast_share
        return self.arrivals_per_s * (share / fast + (1.0 - share) / slow)

    @property
    def mean_s(self) -> float:
        (fast, slow), share = RATES_PER_S, self.fast_share
        square_s2 = 2.0 * (share / fast**2 + (1.0 - share) / slow**2)
        waits_s = self.arrivals_per_s * square_s2 / (2.0 * (1.0 - self.load))
        return self.load / self.arrivals_per_s + waits_s

    def success_rate(self, deadline_s: float) -> float:
        """P(sojourn <= deadline), by partial fractions of the transform."""
        (fast, slow), rate = RATES_PER_S, self.arrivals_per_s
        mixed = self.fast_share * fast + (1.0 - self.fast_share) * slow
        one, two = np.roots([1.0, fast + slow - rate, mixed * rate + fast * slow - rate * (fast + slow)])

        def part(root: float, other: float) -> float:
            numerator = (1.0 - self.load) * (mixed * root + fast * slow)
            return numerator * np.exp(root * deadline_s) / ((root - other) * root)

        return float(1.0 + part(one, two) + part(two, one))

    def deadline_s(self, success_rate: float) -> float:
        roots = brentq(lambda s: self.success_rate(s) - success_rate, 0.0, 100.0 * self.mean_s)
        return float(roots)  # type: ignore[arg-type]

    def packets(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Waiting and sojourn times from an empty start, each shape (packets,)."""
        rates_per_s = np.where(rng.random(count) < self.fast_share, *RATES_PER_S)
        services_s = rng.standard_exponential(count) / rates_per_s
        arrivals_s = np.cumsum(rng.exponential(1.0 / self.arrivals_per_s, count))
        waits_s = waiting_s(arrivals_s, services_s)
        return waits_s, waits_s + services_s


def plain_regenerative(sums: np.ndarray, lengths: np.ndarray) -> Interval:
    """The textbook's interval: ratio, linearised variance, t."""
    ratio, num_cycles = sums.sum() / lengths.sum(), len(sums)
    spread = np.std(sums - ratio * lengths, ddof=1) / lengths.mean() / np.sqrt(num_cycles)
    half_width = quantile(0.95, num_cycles - 1) * spread
    return Interval(estimate=ratio, low=ratio - half_width, high=ratio + half_width, level=0.95)


class Coverage(NamedTuple):
    """Of one setting: runs, shares of flagged and of covering runs, and of covering among unflagged runs."""

    num_runs: int
    flagged: float
    covered: float
    covered_unflagged: float | None

    @override
    def __str__(self) -> str:
        unflagged = "  ---" if self.covered_unflagged is None else f"{100 * self.covered_unflagged:5.1f}"
        return f"{100 * self.flagged:5.1f} {100 * self.covered:5.1f} {unflagged}"


def coverage(intervals: Sequence[Interval], truth: float) -> Coverage:
    """Shares of intervals that are flagged, and that contain the truth."""
    flagged = np.array([interval.too_noisy for interval in intervals])
    covered = np.array([interval.contains(truth) for interval in intervals])
    num_unflagged = int(np.sum(~flagged))
    unflagged = float(covered[~flagged].mean()) if num_unflagged >= LEAST_UNFLAGGED else None
    return Coverage(len(flagged), float(flagged.mean()), float(covered.mean()), unflagged)


def ar1(rng: np.random.Generator, num_observations: int) -> np.ndarray:
    """Autoregressive series with coefficient 0.9 that starts far from its mean."""
    noise = rng.standard_normal(num_observations)
    noise[0] = 20.0
    return np.asarray(lfilter([1.0], [1.0, -0.9], noise))


def mm1(rng: np.random.Generator, num_packets: int) -> np.ndarray:
    """Waiting times in s of an M/M/1 queue at half load."""
    return waiting_s(np.cumsum(rng.exponential(1.0, num_packets)), rng.exponential(0.5, num_packets))


def print_series(num_replications: int, rng: np.random.Generator) -> None:
    """Print the coverage of intervals for means and series."""
    print("                              flag   all unfl.")
    means = rng.standard_exponential((num_replications, 10, 50)).mean(axis=2)
    print(f"t, 10 exponential means      {coverage([t_interval(row) for row in means], 1.0)}")
    normal = rng.standard_normal((num_replications, 10))
    print(f"t, 10 normal values          {coverage([t_interval(row) for row in normal], 0.0)}")
    print("")
    kinds: list[tuple[str, Callable[..., np.ndarray], float]] = [("AR(1)", ar1, 0.0), ("M/M/1", mm1, 0.5)]
    for name, draw, truth in kinds:
        for length in (1000, 4000, 16_000, 32_000):
            runs = [batch_means(draw(rng, length)) for _ in range(num_replications)]
            print(f"{name}, {length:5d} observations    {coverage(runs, truth)}")


def beta(mean: float, deviation: float) -> Callable[[np.random.Generator, tuple[int, int]], np.ndarray]:
    """Beta law of a mean and a deviation."""
    both = mean * (1.0 - mean) / deviation**2 - 1.0
    return lambda rng, shape: rng.beta(mean * both, (1.0 - mean) * both, shape)


def half_zeros(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Half of the values zero, the others from a beta law with mean 0.1."""
    return np.where(rng.random(shape) < 0.5, 0.0, rng.beta(2.0, 18.0, shape))


def print_shares(num_replications: int, rng: np.random.Generator) -> None:
    """Print the coverage of intervals for shares."""
    laws = {
        "beta, mean 0.9, deviation 0.02 ": (0.9, beta(0.9, 0.02)),
        "beta, mean 0.95, deviation 0.04": (0.95, beta(0.95, 0.04)),
        "beta, mean 0.02, deviation 0.02": (0.02, beta(0.02, 0.02)),
        "beta, mean 0.01, deviation 0.02": (0.01, beta(0.01, 0.02)),
        "counts of 100, mean 0.01       ": (0.01, lambda rng, shape: rng.binomial(100, 0.01, shape) / 100.0),
        "half of the values 0, mean 0.05": (0.05, half_zeros),
    }
    print("\nshares                              5 values           20 values")
    for name, (truth, draw) in laws.items():
        cells = []
        for num_values in (5, 20):
            runs = draw(rng, (num_replications, num_values))
            plain, logit = [t_interval(run) for run in runs], [share_interval(run) for run in runs]
            outside = np.mean([found.low < 0.0 or found.high > 1.0 for found in plain])
            covered = [coverage(found, truth).covered for found in (plain, logit)]
            cells.append(" ".join(f"{100 * share:5.1f}" for share in (covered[0], outside, covered[1])))
        print(f"{name}  {'  '.join(cells)}", flush=True)


Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
RARE = "1 or 2, in 10 % late by 5"
TIMES: dict[str, tuple[float, Draw]] = {
    "lognormal, deviation 30 %": (1.0, lambda rng, shape: lognormal(rng, shape, 0.3)),
    "lognormal, deviation 60 %": (1.0, lambda rng, shape: lognormal(rng, shape, 0.6)),
    "lognormal, deviation 100 %": (1.0, lambda rng, shape: lognormal(rng, shape, 1.0)),
    "1 and an exponential time": (2.0, lambda rng, shape: 1.0 + rng.standard_exponential(shape)),
    "exponential": (1.0, lambda rng, shape: rng.standard_exponential(shape)),
    RARE: (2.0, lambda rng, shape: rng.integers(1, 3, shape) + 5.0 * late(rng, shape)),
}
"""Times to a target -> their mean, and how they are drawn."""
SEEDS, COMPARED = (*range(2, 10), 10, 20), (5, 10, 20)
"""Seeds that are tried, and seeds with which ways are compared."""


def lognormal(rng: np.random.Generator, shape: tuple[int, int], deviation: float) -> np.ndarray:
    """Of mean 1 and a relative deviation."""
    square = np.log(1.0 + deviation**2)
    return rng.lognormal(-square / 2.0, np.sqrt(square), shape)


def late(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """True in one of ten."""
    return rng.random(shape) < 0.1


def log_interval(values: np.ndarray) -> Interval:
    """Student's t of logarithms of the mean, by the delta method: m exp(-+ t s / (m sqrt(n)))."""
    found = t_interval(values)
    reach = np.exp(found.half_width / found.estimate)
    return Interval(
        estimate=found.estimate, low=found.estimate / reach, high=found.estimate * reach, level=found.level
    )


def print_times(num_replications: int, rng: np.random.Generator) -> None:
    """Print the coverage of intervals for the mean of skewed times, by the number of seeds."""
    print("\ntimes                        seeds  Student's t, cut   Hall            of logarithms")
    ways: list[Callable[[np.ndarray], Interval]] = [
        lambda values: mean_within(values, 0.0, np.inf),
        mean_interval,
        log_interval,
    ]
    covered: dict[int, list[float]] = {}
    for name, (truth, draw) in TIMES.items():
        for num_seeds in SEEDS:
            drawn, cells = draw(rng, (num_replications, num_seeds)), []
            for way in ways if num_seeds in COMPARED else ways[:1]:
                found = [way(row) for row in drawn]
                share = coverage(found, truth).covered
                width = np.median([interval.half_width for interval in found]) / truth
                cells.append((share, f"{100 * share:5.1f} ({width:5.2f})"))
            if name != RARE:
                covered.setdefault(num_seeds, []).append(cells[0][0])
            if num_seeds in COMPARED:
                print(f"{name:28s} {num_seeds:4d}   {'    '.join(cell for _, cell in cells)}", flush=True)
    for num_seeds, shares in covered.items():
        told = f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %"
        print(f"{num_seeds} seeds: {told} (Student's t, cut, of all laws but the last)")


def print_ranks(num_replications: int, rng: np.random.Generator) -> None:
    """12 designs of which none takes more than another, on shared seeds."""
    print("\nranks: studies in which some are told apart     2 seeds  5 seeds 10 seeds")
    for name, factor in (("all spread alike", 1.0), ("3 of them spread twice as much", 2.0)):
        spreads = np.where(np.arange(12) < 3, factor, 1.0)[:, None]
        cells = []
        for num_seeds in (2, 5, 10):
            logs = rng.normal(size=(num_replications, 12, num_seeds)) * spreads / 10.0
            told = [
                any(found.of(design).worst < 12 for design in range(12)) for found in map(ranks, np.exp(logs))
            ]
            cells.append(f"{100.0 * np.mean(told):6.1f} %")
        print(f"{name:46s} {' '.join(cells)}", flush=True)


def per_packet(queue: Queue, sojourns_s: np.ndarray) -> tuple[np.ndarray, tuple[float, ...]]:
    """Sojourn, successes at the two deadlines; shape (packets, 3); and their true means."""
    deadlines_s = [queue.deadline_s(rate) for rate in (0.9, 0.99)]
    values = np.stack([sojourns_s, *(sojourns_s <= deadline_s for deadline_s in deadlines_s)], axis=1)
    return values, (queue.mean_s, 0.9, 0.99)


def print_regenerative(num_replications: int, num_packets: int, rng: np.random.Generator) -> None:
    """Print the coverage of regenerative intervals, load by load."""
    print("\n                     mean sojourn              90 % in time              99 % in time")
    print("load  cycles        " + "   plain  flag   all unfl."[1:] * 3 + "   runs")
    for queue in (Queue(*load) for load in LOADS):
        parts, short_runs, truths = [], [], ()
        for _ in range(max(1, num_packets // PART_PACKETS)):
            waits_s, sojourns_s = queue.packets(rng, PART_PACKETS)
            values, truths = per_packet(queue, sojourns_s)
            parts.append(cycles(waits_s == 0.0, values))
            for i in range(0, PART_PACKETS, RUN_PACKETS)[: num_replications - len(short_runs)]:
                short_runs.append(cycles(waits_s[i : i + RUN_PACKETS] == 0.0, values[i : i + RUN_PACKETS]))
        sums, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
        for num_cycles in NUM_CYCLES:
            ends = range(num_cycles, len(lengths) + 1, num_cycles)[:num_replications]
            runs = [(sums[i - num_cycles : i], lengths[i - num_cycles : i]) for i in ends]
            print_row(queue, f"{num_cycles:6d}       ", runs, truths)
        print_row(queue, f"{RUN_PACKETS:6d} packets", short_runs, truths)


def print_row(
    queue: Queue, label: str, runs: list[tuple[np.ndarray, np.ndarray]], truths: tuple[float, ...]
) -> None:
    """Print the row of one load and number of cycles."""
    cells = []
    for index, truth in enumerate(truths):
        plain = coverage([plain_regenerative(sums[:, index], lengths) for sums, lengths in runs], truth)
        ours = coverage([regenerative(sums[:, index], lengths) for sums, lengths in runs], truth)
        cells.append(f"{100 * plain.covered:5.1f} {ours}")
    print(f"{queue.load:.3f} {label} {'  '.join(cells)} {len(runs):6d}", flush=True)


def main() -> None:
    """Read the options and print all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=2000, help="runs of each setting, at most")
    parser.add_argument("--packets", type=float, default=4e7, help="packets of each load")
    parser.add_argument("--times", action="store_true", help="print the coverage of times alone")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    if options.times:
        print_times(10 * options.replications, rng)
        return
    print_series(options.replications, rng)
    print_shares(10 * options.replications, np.random.default_rng(options.seed))
    print_times(10 * options.replications, np.random.default_rng(options.seed))
    print_ranks(options.replications, np.random.default_rng(options.seed))
    print_regenerative(options.replications, int(options.packets), rng)
    error = np.sqrt(0.0475 / options.replications)
    print(f"\nStandard error of a coverage of 95 %: {100 * error:.1f} % at {options.replications} runs")


if __name__ == "__main__":
    main()
