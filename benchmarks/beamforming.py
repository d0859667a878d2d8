"""How good are receive beams, and how long do they take?

Random Rayleigh drops of cells with M antennas and n clients, all of the same drops:

    receive_beams       cosim.radio.sharing.beamforming, with its default starts and with four times as many
    randomised          the relaxation's covariance X; the best of as many random beams ~ CN(0, X)
    mean channel        matched to the mean of the clients' unit channels
    principal           principal eigenvector of the sum of h_i h_i^H over the clients
    SLSQP               scipy on (32) from one start, the principal eigenvector

"of best" is the value min_i |a^H h_i|^2 over the best that any way, or receive_beams with as many starts as
asked for, finds of the same drop; "of bound" over the certified bound of the relaxation. Shares are given for
the worst and for the median drop; "below 1 %" is the share of drops that miss the best by more than that. ms
is per problem: the whole batch in one call, over its size; and the median of calls of one problem. In turn in
one process, medians over the repetitions; the variable below keeps linear algebra on one thread.

    OPENBLAS_NUM_THREADS=1 python benchmarks/beamforming.py
    OPENBLAS_NUM_THREADS=1 python benchmarks/beamforming.py --drops 100 --starts 8000
    OPENBLAS_NUM_THREADS=1 python benchmarks/beamforming.py --spread-db 20
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from cosim.radio.sharing.beamforming import gains, receive_beams
from scenarios.validate.beamforming_bound import relaxation

CASES = ((10, 3), (10, 10), (10, 15), (10, 20), (10, 30), (4, 15))
NUM_BATCHED = 20
NUM_DRAWS = 1000

Channels = NDArray[np.complex128]
Beams = NDArray[np.complex128]


class Row(NamedTuple):
    """Outcome of a way on all drops; no batched time where drops are solved one by one."""

    gain: NDArray[np.float64]
    single_s: float
    batched_s: float | None


def drops(num_drops: int, num_antennas: int, num_clients: int, spread_db: float) -> Channels:
    """Rayleigh channels; the clients' mean powers are spread evenly in dB."""
    rng = np.random.default_rng([num_antennas, num_clients])
    parts = rng.standard_normal((2, num_drops, num_clients, num_antennas)) / np.sqrt(2.0)
    power_db = -rng.uniform(0.0, spread_db, (num_drops, num_clients, 1))
    return (parts[0] + 1j * parts[1]) * 10.0 ** (power_db / 20.0)


def unit(beams: Beams) -> Beams:
    """Scaled to length 1."""
    return beams / np.linalg.norm(beams, axis=-1, keepdims=True)


def mean_channel(channels: Channels) -> Beams:
    """Matched to the mean of the unit channels."""
    return unit(unit(channels).sum(axis=1))


def principal(channels: Channels) -> Beams:
    """Principal eigenvectors of the sums of h h^H."""
    return np.linalg.eigh(channels.swapaxes(1, 2) @ channels.conj())[1][..., -1]


def randomised(channels: Channels) -> Beams:
    """The best of random beams whose covariance solves the relaxation."""
    rng = np.random.default_rng(1)
    found = []
    for h in channels:
        values, vectors = np.linalg.eigh(relaxation(h).covariance)
        parts = rng.standard_normal((2, NUM_DRAWS, h.shape[1]))
        draws = (parts[0] + 1j * parts[1]) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        draws = unit(draws)
        found.append(draws[(np.abs(draws @ h.conj().T) ** 2).min(axis=1).argmax()])
    return np.array(found)


def slsqp(channels: Channels) -> Beams:
    """Scipy on max t with |a^H h_i|^2 >= t and |a|^2 <= 1, with derivatives."""
    m, found = channels.shape[2], []
    for h, start in zip(channels, principal(channels), strict=True):
        h = h / np.sqrt((np.abs(h) ** 2).sum(axis=1).min())

        def powers(v: NDArray[np.float64], h: Channels = h) -> NDArray[np.float64]:
            return np.abs(h.conj() @ (v[:m] + 1j * v[m:-1])) ** 2 - v[-1]

        def slopes(v: NDArray[np.float64], h: Channels = h) -> NDArray[np.float64]:
            pulls = (h.conj() @ (v[:m] + 1j * v[m:-1]))[:, None] * h
            return np.hstack([2.0 * pulls.real, 2.0 * pulls.imag, -np.ones((len(h), 1))])

        length = {
            "type": "ineq",
            "fun": lambda v: np.array([1.0 - v[:-1] @ v[:-1]]),
            "jac": lambda v: np.append(-2.0 * v[:-1], 0.0)[None],
        }
        v = np.concatenate([start.real, start.imag, [0.0]])
        v[-1] = powers(v).min()
        solution = minimize(
            lambda v: -v[-1],
            v,
            jac=lambda v: np.append(np.zeros(2 * m), -1.0),
            constraints=[{"type": "ineq", "fun": powers, "jac": slopes}, length],
            method="SLSQP",
        )
        found.append(unit(solution.x[:m] + 1j * solution.x[m:-1]))
    return np.array(found)


def measure(
    way: Callable[[Channels], Beams], channels: Channels, repetitions: int, *, is_batched: bool
) -> Row:
    """All drops, after one that does not count; calls of one problem and of a batch alternate."""
    way(channels[:1])
    single_s, batched_s, batch = [], [], channels[:NUM_BATCHED]
    for number in range(repetitions):
        place = number % len(channels)
        begin_s = time.perf_counter()
        way(channels[place : place + 1])
        middle_s = time.perf_counter()
        single_s.append(middle_s - begin_s)
        if is_batched:
            way(batch)
            batched_s.append((time.perf_counter() - middle_s) / len(batch))
    return Row(
        gain=gains(channels, way(channels)),
        single_s=statistics.median(single_s),
        batched_s=statistics.median(batched_s) if is_batched else None,
    )


def print_table(
    case: tuple[int, int], found: dict[str, Row], best: NDArray[np.float64], limit: NDArray[np.float64]
) -> None:
    """One line for each way."""
    print(f"\n{case[0]} antennas, {case[1]} clients; best of bound: median {np.median(best / limit):.4f}")
    columns = ("ms batched", "ms single", "of best", "(median)", "below 1 %", "of bound", "(median)")
    print(f"{'':24}" + "".join(f"{column:>12}" for column in columns))
    for name, row in found.items():
        of_best, of_bound = row.gain / best, row.gain / limit
        cells = (
            "" if row.batched_s is None else f"{1e3 * row.batched_s:.2f}",
            f"{1e3 * row.single_s:.2f}",
            f"{of_best.min():.4f}",
            f"{np.median(of_best):.4f}",
            f"{(of_best < 0.99).mean():.3f}",
            f"{of_bound.min():.4f}",
            f"{np.median(of_bound):.4f}",
        )
        print(f"{name:24}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--drops", type=int, default=40, help="drops of each case (default: 40)")
    parser.add_argument("--starts", type=int, default=3000, help="starts for the best (default: 3000)")
    parser.add_argument(
        "--spread-db", type=float, default=0.0, help="spread of the clients' mean powers (default: 0)"
    )
    parser.add_argument("--repetitions", type=int, default=7, help="timed calls (default: 7)")
    options = parser.parse_args()
    if min(options.drops, options.starts, options.repetitions) < 1:
        parser.error("--drops, --starts and --repetitions must be at least 1")
    print(f"python {sys.version.split()[0]}, numpy {np.__version__}; {options.spread_db:g} dB of spread")
    for case in CASES:
        channels = drops(options.drops, *case, options.spread_db)
        repetitions = options.repetitions
        found = {
            "receive_beams": measure(receive_beams, channels, repetitions, is_batched=True),
            "receive_beams, 256": measure(
                lambda h: receive_beams(h, num_starts=256), channels, repetitions, is_batched=True
            ),
            f"randomised, {NUM_DRAWS}": measure(randomised, channels, repetitions, is_batched=False),
            "mean channel": measure(mean_channel, channels, repetitions, is_batched=True),
            "principal": measure(principal, channels, repetitions, is_batched=True),
            "SLSQP, one start": measure(slsqp, channels, repetitions, is_batched=False),
        }
        many = gains(channels, receive_beams(channels, num_starts=options.starts))
        best = np.max([many, *(row.gain for row in found.values())], axis=0)
        limit = np.array([relaxation(h).bound for h in channels])
        print_table(case, found, best, limit)


if __name__ == "__main__":
    main()
