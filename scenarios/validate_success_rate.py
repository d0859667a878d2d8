"""Does the clock agree with the success rate of an upload through a busy network (VHFL, Theorem 2, Fig. 7)?

A packet of a hyper-exponential M/G/1 queue arrives within T_p with probability gamma. For alpha_1 from 0.3
to 0.9 and gammas from 0.3 to 0.98 the closed form gives T_p; the station on the event clock and the same
queue as arrays then measure how many packets arrive within it. Intervals come from regeneration cycles, at a
level at which all points together err with probability 5 % at most. Wrong theories (weights swapped, waiting
time in place of sojourn time, M/M/1 of the same mean) must come out as *disagrees* somewhere.

Below, what the formula does not cover: messages so frequent that they queue behind each other, clients that
share a path, a queue that starts empty.

    cosim validate success-rate
"""

from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.table import Table

from analysis.batch_means import batch_means
from analysis.closed_forms.sojourn import Sojourn
from analysis.plots import style
from analysis.regenerative import cycles, regenerative
from analysis.statistics import Interval, binomial, familywise
from cosim import HyperExponential, Simulation
from cosim.configuration import (
    ConfigurationError,
    at_least,
    between,
    configuration,
    field,
    not_empty,
    not_negative,
    positive,
)
from cosim.queueing.arrays import simulate
from cosim.queueing.station import Station
from cosim.simulation import Event, Story
from cosim.topology import client_name
from scenarios.console import console

FAMILY_ERROR = 0.05
MARGIN = 0.25
"""Half width at which a point decides, as a part of the rarer outcome's probability."""


@configuration
class Options:
    """What is compared.

    Attributes:
        arrival_rate_per_s: Background packets per second, lambda_N. [VHFL, Section V-E]
        rates_per_s: Service rates mu_1 and mu_2. [VHFL, Section V-E]
        fast_weights: Values of alpha_1. [no source: Fig. 7a has four]
        success_rates: Values of gamma, at whose T_p is measured. [no source]
        num_packets: Packets on the clock, for each alpha_1. [no source]
        num_array_packets: Packets in arrays, for each alpha_1. [no source]
        seed: Names the arrivals and services. [no source]
        out: Folder of the table and the picture. [no source]
    """

    arrival_rate_per_s: float = field(positive, default=2.0)
    rates_per_s: tuple[float, float] = field(positive, default=(8.0, 2.0))
    fast_weights: tuple[float, ...] = field(not_empty, between(0.0, 1.0), default=(0.3, 0.5, 0.7, 0.9))
    success_rates: tuple[float, ...] = field(
        not_empty, between(0.01, 0.999), default=(0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
    )
    num_packets: int = field(at_least(1000), default=1_000_000)
    num_array_packets: int = field(at_least(1000), default=5_000_000)
    seed: int = field(not_negative, default=1)
    out: str = "validations/success-rate"

    def __attrs_post_init__(self) -> None:
        for fast_weight in self.fast_weights:
            try:
                self.theory(fast_weight)
            except ConfigurationError:
                raise
            except ValueError as error:
                raise ConfigurationError(f"alpha_1 = {fast_weight:g}: {error}") from None

    def service(self, fast_weight: float) -> HyperExponential:
        """The service law of an alpha_1."""
        return HyperExponential(weights=(fast_weight, 1.0 - fast_weight), rates_per_s=self.rates_per_s)

    def theory(self, fast_weight: float) -> Sojourn:
        """Theorem 2 for an alpha_1."""
        law = self.service(fast_weight)
        return Sojourn(
            arrival_rate_per_s=self.arrival_rate_per_s, weights=law.weights, rates_per_s=law.rates_per_s
        )


@attrs.frozen(kw_only=True, eq=False)
class Sojourns:
    """Packets of one queue: sojourn times in s and which found the system empty, each shape (packets,)."""

    sojourn_s: NDArray[np.float64]
    found_idle: NDArray[np.bool_]


def on_the_clock(options: Options, fast_weight: float) -> Sojourns:
    """The public's packets at a station, event by event."""
    sim = Simulation(options.seed)
    law = options.service(fast_weight)
    station = Station(
        sim, f"path-{fast_weight}", options.arrival_rate_per_s, law, "stationary", keep_packets=True
    )
    sim.run(sim.spend("observer", "watch", options.num_packets / options.arrival_rate_per_s))
    assert station.packets is not None
    rows = np.array([(p.arrival_s, p.departure_s) for p in station.packets])
    found_idle = np.concatenate(([False], rows[1:, 0] >= rows[:-1, 1]))
    return Sojourns(sojourn_s=rows[:, 1] - rows[:, 0], found_idle=found_idle)


def in_arrays(options: Options, fast_weight: float) -> Sojourns:
    """The same queue by Lindley's recursion, with packets of its own."""
    rng = Simulation(options.seed).stream(f"arrays-{fast_weight}", "packets")
    packets = simulate(
        options.arrival_rate_per_s, options.service(fast_weight), options.num_array_packets, rng
    )
    return Sojourns(sojourn_s=packets.sojourn_s, found_idle=packets.found_idle)


def success_intervals(sojourns: Sojourns, waits_s: NDArray[np.float64], level: float) -> list[Interval]:
    """The share of packets that stay no longer than each T_p."""
    return [
        regenerative(*cycles(sojourns.found_idle, sojourns.sojourn_s <= wait_s), level=level)
        for wait_s in waits_s
    ]


WRONG_THEORIES: dict[str, Callable[[Sojourn, NDArray[np.float64]], NDArray[np.float64]]] = {
    "weights swapped": lambda theory, waits_s: attrs.evolve(
        theory, weights=theory.weights[::-1]
    ).success_rate(waits_s),
    "waiting time, not sojourn time": lambda theory, waits_s: theory.success_rate_before_service(waits_s),
    "M/M/1 of the same mean service": lambda theory, waits_s: (
        1.0 - np.exp(-theory.arrival_rate_per_s * (1.0 / theory.load - 1.0) * waits_s)
    ),
}


def compare(options: Options, measure: Callable[[Options, float], Sojourns], method: str) -> pd.DataFrame:
    """A row per alpha_1 and gamma: T_p, interval, verdicts on Theorem 2 and on each wrong theory."""
    num_points = 2 * len(options.fast_weights) * len(options.success_rates)
    level = familywise(num_points, FAMILY_ERROR)
    rows = []
    for fast_weight in options.fast_weights:
        theory = options.theory(fast_weight)
        gammas = np.array(options.success_rates)
        waits_s = np.array([theory.waiting_time_s(gamma) for gamma in gammas])
        wrong = {name: rate(theory, waits_s) for name, rate in WRONG_THEORIES.items()}
        with console.status(f"{method}, alpha_1 = {fast_weight:g}"):
            intervals = success_intervals(measure(options, fast_weight), waits_s, level)
        for place, interval in enumerate(intervals):
            margin = MARGIN * min(gammas[place], 1.0 - gammas[place])
            row = {
                "method": method,
                "fast_weight": fast_weight,
                "load": theory.load,
                "waiting_time_s": waits_s[place],
                "success_rate": gammas[place],
                "estimate": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "verdict": interval.verdict(float(gammas[place]), margin),
            }
            for name, rates in wrong.items():
                row[name] = interval.verdict(float(rates[place]))
            rows.append(row)
    return pd.DataFrame(rows)


def what_if(options: Options) -> Table:
    """Messages that the formula does not describe, beside its success rate for T_p at gamma = 0.9."""
    theory = options.theory(0.5)
    wait_s = theory.waiting_time_s(0.9)
    table = Table(
        title=f"What Theorem 2 does not cover (alpha_1 = 0.5, T_p = {wait_s:.3g} s, 95 % intervals)",
        title_justify="left",
    )
    for heading in ("messages", "rho with them", "formula", "in time"):
        table.add_column(heading)

    def load(every_s: float, num_senders: int = 1) -> str:
        return f"{theory.load * (1.0 + num_senders / every_s / theory.arrival_rate_per_s):.3f}"

    for every_s in (20.0, 2.0, 1.25):
        in_time = messages_in_time(options, wait_s, every_s, num_senders=1, num_rounds=20_000)
        words = f"one sender, a message every {every_s:g} s"
        table.add_row(words, load(every_s), "0.9", batch_means(in_time).text(3))
    for num_senders in (4, 12):
        in_time = messages_in_time(options, wait_s, 60.0, num_senders, num_rounds=2_000)
        words = f"{num_senders} senders at once on one path, every 60 s"
        table.add_row(words, load(60.0, num_senders), "0.9", batch_means(in_time).text(3))
    for after_s in (0.0, 2.0, 10.0):
        num_in_time, num_paths = first_messages_in_time(options, wait_s, after_s)
        words = f"first message, {after_s:g} s after an empty start"
        table.add_row(words, f"{theory.load:.3f}", "0.9", binomial(num_in_time, num_paths).text(3))
    return table


def messages_in_time(
    options: Options, wait_s: float, every_s: float, num_senders: int, num_rounds: int
) -> NDArray[np.float64]:
    """Share of the messages of a round that come in time, for each round, shape (rounds,)."""
    sim = Simulation(options.seed)
    law = options.service(0.5)
    station = Station(sim, f"path-every-{every_s}", options.arrival_rate_per_s, law, "stationary")
    in_time = np.zeros(num_rounds)

    def rounds() -> Story:
        for number in range(num_rounds):
            yield from sim.spend("senders", "wait", every_s)
            for sender in range(num_senders):
                listen(sim, station, client_name(sender), wait_s, in_time, number)
        yield from sim.spend("senders", "wait", 1000.0 * law.mean_s)

    sim.run(rounds())
    return in_time / num_senders


def first_messages_in_time(
    options: Options, wait_s: float, after_s: float, num_paths: int = 4000
) -> tuple[int, int]:
    """How many of so many first messages come in time, each on a path of its own that starts empty."""
    sim = Simulation(options.seed)
    in_time = np.zeros(num_paths)
    law = options.service(0.5)
    stations = [
        Station(sim, f"path-{number}", options.arrival_rate_per_s, law, "empty")
        for number in range(num_paths)
    ]

    def start() -> Story:
        yield from sim.spend("senders", "wait", after_s)
        for number, station in enumerate(stations):
            listen(sim, station, client_name(number), wait_s, in_time, number)
        yield from sim.spend("senders", "wait", 2.0 * wait_s)

    sim.run(start())
    return int(in_time.sum()), num_paths


def listen(
    sim: Simulation, station: Station, sender: str, wait_s: float, in_time: NDArray[np.float64], number: int
) -> None:
    """Send a message and count it if it comes in time."""
    sent_s = sim.now_s

    def count(_done: Event) -> None:
        in_time[number] += sim.now_s - sent_s <= wait_s

    station.send(sender, num_packets=1).done.callbacks.append(count)  # type: ignore[union-attr]


def draw(options: Options, points: pd.DataFrame, path: Path) -> None:
    """Fig. 7: gamma over T_p for each alpha_1, and T_p over gamma; lines theory, marks the clock."""
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    on_clock = points[points["method"] == "clock"]
    longest_s = 1.15 * float(points["waiting_time_s"].max())
    for index, fast_weight in enumerate(options.fast_weights):
        theory = options.theory(fast_weight)
        own = on_clock[on_clock["fast_weight"] == fast_weight]
        look = style(index, num_points=1)
        line = {**look, "marker": ""}
        marks = {**look, "linestyle": "none", "capsize": 2, "elinewidth": 0.8}
        errors = [own["estimate"] - own["low"], own["high"] - own["estimate"]]
        waits_s = np.linspace(0.0, longest_s, 400)
        left.plot(waits_s, theory.success_rate(waits_s), **line)
        left.errorbar(own["waiting_time_s"], own["estimate"], yerr=errors, **marks)
        gammas = np.linspace(0.05, 0.99, 200)
        right.plot(gammas, [theory.waiting_time_s(gamma) for gamma in gammas], **line)
        right.errorbar(own["estimate"], own["waiting_time_s"], xerr=errors, **marks)
        right.plot([], [], label=rf"$\alpha_1$ = {fast_weight:g}, $\rho$ = {theory.load:.3g}", **look)
    left.set(
        xlabel="delay bound $T_p$ (s)", ylabel=r"success rate $\gamma$", ylim=(0.0, 1.02), xlim=(0.0, None)
    )
    right.set(xlabel=r"success rate $\gamma$", ylabel="delay bound $T_p$ (s)", yscale="log")
    right.legend(title="lines: Theorem 2, marks: clock", fontsize=8)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=200)


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    methods = {"clock": on_the_clock, "arrays": in_arrays}
    points = pd.concat(
        [compare(options, measure, method) for method, measure in methods.items()], ignore_index=True
    )
    level = familywise(len(points), FAMILY_ERROR)
    title = f"Success rate at T_p ({100 * level:.4g} % intervals: all {len(points)} hold with 95 %)"
    table = Table(title=title, title_justify="left")
    for heading in ("alpha_1", "rho", "T_p (s)", "Theorem 2", "clock", "verdict", "arrays", "verdict"):
        table.add_column(heading)
    sides = [points[points["method"] == method].to_dict("records") for method in methods]
    for clock, arrays in zip(*sides, strict=True):
        measured = [
            text
            for side in (clock, arrays)
            for text in (f"{side['estimate']:.4f} [{side['low']:.4f}, {side['high']:.4f}]", side["verdict"])
        ]
        table.add_row(
            f"{clock['fast_weight']:g}",
            f"{clock['load']:.3f}",
            f"{clock['waiting_time_s']:.4f}",
            f"{clock['success_rate']:g}",
            *measured,
        )
    console.print(table)
    caught = Table(title="Wrong theories: points at which they disagree (must be at least one)")
    for heading in ("theory", "alpha_1", *methods):
        caught.add_column(heading)
    failed = bool((points["verdict"] != "agrees").any())
    for name in WRONG_THEORIES:
        for fast_weight in options.fast_weights:
            if name == "weights swapped" and fast_weight == 0.5:
                continue  # the same theory
            own = points[points["fast_weight"] == fast_weight]
            counts = [int((own[own["method"] == m][name] == "disagrees").sum()) for m in methods]
            failed |= min(counts) == 0
            caught.add_row(name, f"{fast_weight:g}", *(f"{n} of {len(own) // 2}" for n in counts))
    console.print(caught)
    with console.status("what the formula does not cover"):
        beyond = what_if(options)
    console.print(beyond)
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    points.to_csv(folder / "success-rate.csv", index=False)
    draw(options, points, folder / "success-rate.png")
    console.print(f"Table:   {folder / 'success-rate.csv'}\nPicture: {folder / 'success-rate.png'}")
    return int(failed)
