"""Does the clock agree with the success rate of an upload through busy queues (VHFL, Theorem 2, Fig. 7)?

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

from analysis.closed_forms.sojourn import Sojourn
from analysis.intervals.batch_means import batch_means
from analysis.intervals.statistics import binomial, familywise
from analysis.plots import style
from scenarios.command_line.console import console, made, save_picture, save_table
from scenarios.validate.sojourns import (
    WEIGHT_BEYOND,
    Options,
    Sojourns,
    first_messages_in_time,
    in_arrays,
    messages_in_time,
    on_the_clock,
    success_intervals,
)

__all__ = ["Options", "main"]

FAMILY_ERROR = 0.05
MARGIN = 0.25
"""Half width at which a point decides, as a part of the rarer outcome's probability."""


def weights_swapped(theory: Sojourn, waits_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Nothing where that is the same theory, or has no equilibrium."""
    (fast, slow), rates_per_s = theory.weights, theory.rates_per_s
    load = theory.arrival_rate_per_s * (slow / rates_per_s[0] + fast / rates_per_s[1])
    if fast == slow or rates_per_s[0] == rates_per_s[1] or load >= 1.0:
        return None
    return attrs.evolve(theory, weights=(slow, fast)).success_rate(waits_s)


def waiting_time_only(theory: Sojourn, waits_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The packet's own service forgotten."""
    return theory.success_rate_before_service(waits_s)


def one_stage(theory: Sojourn, waits_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """M/M/1; nothing where that is the same theory."""
    if 0.0 in theory.weights or theory.rates_per_s[0] == theory.rates_per_s[1]:
        return None
    return 1.0 - np.exp(-theory.arrival_rate_per_s * (1.0 / theory.load - 1.0) * waits_s)


WRONG_THEORIES: dict[str, Callable[[Sojourn, NDArray[np.float64]], NDArray[np.float64] | None]] = {
    "weights swapped": weights_swapped,
    "waiting time, not sojourn time": waiting_time_only,
    "M/M/1 of the same mean service": one_stage,
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
                row[name] = None if rates is None else interval.verdict(float(rates[place]))
            rows.append(row)
    return pd.DataFrame(rows)


def what_if(options: Options) -> Table:
    """Messages that the formula does not describe, beside its success rate for T_p at gamma = 0.9."""
    theory = options.theory(WEIGHT_BEYOND)
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


def drawn(options: Options, points: pd.DataFrame) -> Figure:
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
    return figure


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    folder = made(Path(options.out))
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
            own = points[points["fast_weight"] == fast_weight]
            if own[name].isna().all():
                continue  # not wrong here, or no theory
            counts = [int((own[own["method"] == m][name] == "disagrees").sum()) for m in methods]
            failed |= min(counts) == 0
            caught.add_row(name, f"{fast_weight:g}", *(f"{n} of {len(own) // 2}" for n in counts))
    console.print(caught)
    with console.status("what the formula does not cover"):
        beyond = what_if(options)
    console.print(beyond)
    save_table(points, folder / "success-rate.csv")
    save_picture(drawn(options, points), folder / "success-rate.png")
    console.print(f"Table:   {folder / 'success-rate.csv'}\nPicture: {folder / 'success-rate.png'}")
    return int(failed)
