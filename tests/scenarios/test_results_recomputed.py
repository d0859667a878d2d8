"""The results that are kept: what claims say of each seed, computed again from the tables beside them.

A calculation knows the quantities that it is of by their words, and the table tells it the rest. Some tables
hold too little for some claims, which are then not looked at:

- HIST's Fig. 8c: durations of global rounds; Tables I to III: what their entries are multiples of, which no
  run decides;
- RawHFL's Fig. 6: the best possible guess, the mean of v;
- VHFL's Fig. 7: theory's waiting times beyond its points.
"""

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scenarios import results
from scenarios.reproduce.rawhfl.tables import PAPER_EDGE_ROUND_J

FIGURES = {path.stem: json.loads(path.read_text()) for path in sorted(results.FOLDER.glob("*.json"))}

Values = Sequence[float] | np.ndarray
"""Of every seed; NaN where it is unknown."""

Calculation = Callable[[pd.DataFrame, str, str], Values | None]
"""From the table, a claim's sentence and a quantity's words; None where it is of another quantity."""


def of_seeds(
    table: pd.DataFrame, column: str, act: Any = lambda values: values.iloc[-1], **where: str
) -> np.ndarray:
    """Something about a column with every seed, by default its last value."""
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table), where
    return np.array([act(rows[column]) for _, rows in table.groupby("seed")])


def until(table: pd.DataFrame, version: int) -> pd.DataFrame:
    """The table up to a global round, which it must have."""
    assert version in set(table["version"])
    return table[table["version"] <= version]


def found_in(pattern: str, *texts: str) -> str:
    """A pattern's group in the first of several texts that has it."""
    return next(found[1] for text in texts if (found := re.search(pattern, text)))


def split_in(sentence: str) -> str:
    return "shards" if "fully non-i.i.d." in sentence else "cell-iid"


# --- What is needed to a target -----------------------------------------------------------------------------

AMOUNT = r"(?:[\d.e+-]+(?: (?:s|uploads|MB|GB))?|\d+ of \d+ reached)"
SOONER = rf"(?:.* %(?: after)?, )?(.+?) {AMOUNT}, (.+?) {AMOUNT}; the latter over the former"


def sooner(algorithm: str, setting: str, curve: str, column: str) -> Calculation:
    """Cost of one design up to a target over another's.

    Args:
        algorithm: Pattern of an algorithm's name, in the quantity's words or else in the sentence.
        setting: Pattern of what else tells curves apart, with its number as the group.
        curve: A curve's name in the table.
        column: What is taken.
    """

    def calculated(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
        names = re.fullmatch(SOONER, words)
        if names is None:
            return None
        own, other = (
            taken(
                table,
                column,
                curve.format(
                    algorithm=found_in(f"({algorithm})", name, sentence),
                    setting=found_in(setting, name, names[1], sentence),
                    split=split_in(sentence),
                ),
                words,
            )
            for name in names.groups()
        )
        return [ratio(mine, others) for mine, others in zip(own, other, strict=True)]

    return calculated


def taken(table: pd.DataFrame, column: str, curve: str, words: str) -> list[tuple[float, float]]:
    """Of every seed what it takes to the target, and in all."""
    rows = table[table["curve"] == curve]
    assert len(rows), curve
    if "accuracy" not in table:
        of_seeds = rows.sort_values("seed")
        return list(zip(of_seeds[column], of_seeds[f"lasted_{column}"], strict=True))
    target = float(found_in(r"([\d.]+) %", words)) / 100.0
    return [held(of_seed, column, target) for _, of_seed in rows.groupby("seed")]


def held(run: pd.DataFrame, column: str, target: float) -> tuple[float, float]:
    """Two evaluations in a row count from the first."""
    is_reached, at = run["accuracy"].to_numpy() >= target, run[column].to_numpy()
    twice = at[:-1][is_reached[1:] & is_reached[:-1]]
    return (float(twice[0]) if len(twice) else math.inf), float(at[-1])


def ratio(own: tuple[float, float], other: tuple[float, float]) -> float:
    """A run that missed has taken as long as it lasted, at least; beyond that nothing is known."""
    if math.isinf(own[0]):
        return other[0] / own[1] if other[0] <= own[1] else math.nan
    if math.isinf(other[0]):
        return other[1] / own[0] if own[0] <= other[1] else math.nan
    return other[0] / own[0]


def advantage(column: str) -> Calculation:
    """Cost of HFedAvg over HIST's, for one number of cells over another."""

    def calculated(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
        found = re.fullmatch(r"HFedAvg's upload over HIST's, N = (\d+) over N = (\d+)", words)
        if found is None:
            return None
        many, few = (
            np.divide(
                *(
                    of_seeds(table, column, curve=f"{name} N={n}, {split_in(sentence)}")
                    for name in ("HFedAvg", "HIST")
                )
            )
            for n in found.groups()
        )
        return many / few

    return calculated


def over_paper(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """An entry of HIST's tables over the paper's, or over that of the other split."""
    if found := re.search(r"(HIST|HFedAvg) needs ([\d.]+) (?:MB|GB)", sentence):
        own = of_table(table, sentence, found[1], split_in(sentence))
        return own / float(found[2])
    if found := re.search(r"(HIST|HFedAvg) needs [\d.]+ times as much", sentence):
        own, other = (of_table(table, sentence, found[1], split) for split in ("shards", "cell-iid"))
        return own / other
    return None


def of_table(table: pd.DataFrame, sentence: str, name: str, split: str) -> np.ndarray:
    accuracy, n = float(found_in(r"to ([\d.]+) %", sentence)) / 100.0, int(found_in(r"N = (\d+)", sentence))
    rows = table[np.isclose(table["accuracy"], accuracy) & (table["num_cells"] == n)]
    column = next(name for name in table if str(name).startswith("upload_"))
    return of_seeds(rows, str(column), algorithm=name, split=split)


def of_entry(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """An entry of HIST's tables, whose accuracy the sentence names."""
    if not re.fullmatch(SOONER, words):
        return None
    accuracy = float(found_in(r"to ([\d.]+) %", sentence)) / 100.0
    rows = table[np.isclose(table["accuracy"], accuracy)]
    curves = rows["algorithm"] + " N=" + rows["num_cells"].astype(str) + ", " + rows["split"]
    column = next(name for name in table if str(name).startswith("upload_"))
    entry = sooner(*OF_SPLIT, column=str(column))
    return entry(rows.assign(curve=curves).drop(columns="accuracy"), sentence, words)


# --- HIST ---------------------------------------------------------------------------------------------------


def mean_accuracy(table: pd.DataFrame, **where: str) -> np.ndarray:
    """In per cent, over the global rounds."""
    return 100.0 * of_seeds(table[table["version"] > 0], "accuracy", np.mean, **where)


def faster(curve: Callable[[str, str], str]) -> Calculation:
    """Mean accuracies of two curves, named by what a quantity calls them and by the split."""

    def calculated(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
        names = re.fullmatch(r"mean accuracy over the rounds: (.+) less (.+)", words)
        if names is None:
            return None
        own, other = (mean_accuracy(table, curve=curve(name, split_in(sentence))) for name in names.groups())
        return own - other

    return calculated


def fig6_curve(name: str, split: str) -> str:
    edges, steps = (found_in(f"{letter} = (\\d+)", name, "E = 5, H = 20") for letter in "EH")
    return f"E={edges} H={steps}, {split}"


def same_bits(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """HIST's bits of the first global round times N, over HFedAvg's."""
    if words != "N times its share of them":
        return None
    n, split, first = int(found_in(r"N = (\d+)", sentence)), split_in(sentence), until(table, 1)
    own, other = (
        of_seeds(first, "bits_per_client", curve=f"{name} N={n}, {split}") for name in ("HIST", "HFedAvg")
    )
    return n * own / other


def at_equal_upload(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """Accuracy after a number of uploads, or the mean over uploads at which HFedAvg is evaluated."""
    parts = re.fullmatch(r"(?:mean accuracy at equal upload|after ([\d.e+]+) uploads): (.+) less (.+)", words)
    if parts is None:
        return None
    split, column = split_in(sentence), "uploads_per_client"
    of_hfedavg = table[table["curve"] == f"HFedAvg N=2, {split}"][column].unique()
    levels = [float(parts[1])] if parts[1] else sorted(of_hfedavg)[1:]

    def accuracy(design: str) -> np.ndarray:
        algorithm, n = found_in("(HFedAvg|HIST)", design, sentence), found_in(r"N = (\d+)", design, sentence)
        curve = f"{algorithm} N={n}, {split}"
        within = [table[table[column] <= level * (1.0 + 1e-5)] for level in levels]
        return np.mean([100.0 * of_seeds(rows, "accuracy", curve=curve) for rows in within], axis=0)

    return accuracy(parts[2]) - accuracy(parts[3])


def with_dropout(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """Accuracy with one N less that with another, in the mean over the second half of the rounds."""
    parts = re.fullmatch(r"mean accuracy at .+ uploads: N = (\d+) less N = (\d+)", words)
    if parts is None:
        return None
    own, other = (
        100.0
        * of_seeds(
            table,
            "accuracy",
            lambda rounds: rounds.iloc[len(rounds) // 2 :].mean(),
            curve=f"dropout N={n}, {split_in(sentence)}",
        )
        for n in parts.groups()
    )
    return own - other


def share_of_uploads(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """Uploads of HIST's first global round times N, over its edge rounds."""
    parts = re.fullmatch(r"N = (\d+): uploads over (\d+) / N", words)
    if parts is None:
        return None
    n, num_edge_rounds = map(int, parts.groups())
    curve = f"HIST N={n}, {split_in(sentence)}"
    return n * of_seeds(until(table, 1), "uploads_per_client", curve=curve) / num_edge_rounds


def gain(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    if not words.startswith("gain of mean accuracy from n' = 5 to 20"):
        return None
    differing, alike = (
        mean_accuracy(table, curve=f"n'=20, {split}") - mean_accuracy(table, curve=f"n'=5, {split}")
        for split in ("shards", "cell-iid")
    )
    return differing - alike


def of_sizes(table: pd.DataFrame, sentence: str) -> list[pd.DataFrame]:
    """The curves of optimised and of equal sizes for the sentence's H."""
    steps = found_in(r"H = (\d+)", sentence)
    return [table[table["curve"] == f"{words} optimised sizes, H={steps}"] for words in ("w", "w/o")]


def slower_with_sizes(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    if words != "mean accuracy over the rounds, equal sizes less optimised":
        return None
    own, other = map(mean_accuracy, of_sizes(table, sentence))
    return other - own


def shorter_rounds(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """Of the first 20 global rounds, in per cent; the longest of all as a ratio."""
    if "optimised sizes shorten the global rounds" not in sentence:
        return None
    own, other = (of_seeds(until(of, 20), "time_s", np.diff) for of in of_sizes(table, sentence))
    return [np.max(own / other)] if words.startswith("the longest") else 100.0 * np.mean(own / other, axis=1)


def earlier_with_sizes(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    by_curve = sooner("w/o|w", r"H = (\d+)", "{algorithm} optimised sizes, H={setting}", "time_s")
    return by_curve(table, sentence, words.replace("optimised", "w").replace("equal", "w/o"))


def with_noise(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    found = re.fullmatch(r"without noise less it, mean of the last (\d+) of \d+ rounds", words)
    curves = "no noise (OMA)", f"AirComp, SNR {found_in(r'(-?[0-9]+) dB', sentence)} dB"
    if words.startswith("change from round to round in the second half"):
        clean, noisy = (of_seeds(table, "accuracy", swing, curve=curve) for curve in curves)
        return noisy / clean
    if found is None:
        return None
    clean, noisy = (
        100.0 * of_seeds(table, "accuracy", lambda values: values.iloc[-int(found[1]) :].mean(), curve=curve)
        for curve in curves
    )
    return clean - noisy


def swing(accuracies: pd.Series) -> float:
    """From round to round in the second half, up and down."""
    return float(accuracies.iloc[len(accuracies) // 2 :].diff().abs().mean())


def over_snr(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """Times at the SNR that words or sentence name; with full power, at the ones that stand for it."""
    stand_ins = re.search(r"AirComp as printed at (\S+) dB, OMA at (\S+) dB", sentence)
    if stand_ins is not None:
        of_air, of_oma = (f"\\1 at {level_db} dB" for level_db in stand_ins.groups())
        words = re.sub(r"(OMA-\w+)", of_oma, re.sub(r"(AirComp-\w+)", of_air, words))
    return sooner(FOUR, r"(-?\d+) dB", "{algorithm}, {setting} dB", "time_s")(table, sentence, words)


def highest(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    if (name := re.fullmatch(r"highest accuracy held, (.+)", words)) is None:
        return None
    curve = f"{name[1]}, {found_in(r'(-?[0-9]+ dB)', sentence)}"
    return 100.0 * of_seeds(table, "highest_accuracy", curve=curve)


def slighter(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    """The longest over the shortest of the times, one algorithm over another."""
    found = re.fullmatch(r"longest over shortest time, (\S+) over (\S+)", words)
    if found is None:
        return None
    own, other = (
        table[table["curve"].str.startswith(f"{name},")].groupby("seed")["time_s"] for name in found.groups()
    )
    return ((own.max() / own.min()) / (other.max() / other.min())).replace(math.inf, math.nan).to_numpy()


def sending(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    found = re.fullmatch(r"sending time per parameter( and client)?: n_j = (\d+) over n_j = (\d+)", words)
    if found is None:
        return None
    name = sentence.partition(":")[0]
    own, other = (
        of_seeds(table, "sending_ns_per_parameter", curve=f"{name}, n_j={n}") / (int(n) if found[1] else 1)
        for n in found.groups()[1:]
    )
    return own / other


# --- RawHFL -------------------------------------------------------------------------------------------------


def rawhfl_energies(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    def mean_j(reading: str, name: str) -> np.ndarray:
        return of_seeds(table, "edge_round_j", reading=reading, algorithm=name)

    if words == "H-FedAvg-UB over RawHFL, Z=4":
        return mean_j("tables", "H-FedAvg-UB") / mean_j("tables", "RawHFL, Z=4")
    if found := re.fullmatch(r"(.+) over the paper's", words):
        reading = sentence.partition(":")[0]
        name = found[1]
        return mean_j("tables" if reading == name else reading, name) / PAPER_EDGE_ROUND_J[name]
    return None


def rawhfl_backhaul(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    bits = {name: of_seeds(table, "backhaul_bits", algorithm=name) for name in table["algorithm"].unique()}
    if words.endswith("less 1"):
        return bits["FedAvg-UB"] / bits["H-FedAvg-UB"] - 1.0
    if found := re.fullmatch(r"(.+), bits over s", words):
        return bits[found[1]] / 7_248_384
    return bits["FedAvg-UB"] / (12 * 7_248_384)


def rawhfl_complexity(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    if words == "power of U":
        logs = np.log(table.assign(program_s=table["plan_s"] / table["num_programs"]))
        return [np.polyfit(own["num_clients"], own["program_s"], 1)[0] for _, own in logs.groupby("seed")]
    found = re.fullmatch(r"U = (\d+), (\w+)(?: over that)?", words)
    own = table[table["num_clients"] == int(found[1])] if found else table
    if found and found[2] == "iterations":
        return own["num_programs"].to_numpy()
    num_clients, num_cells = own[["num_clients", "num_cells"]].iloc[0]
    if found and found[2] == "constraints":
        return [own["num_constraints"].iloc[0] / (2 * num_cells + 12 * num_clients)]
    return [own["num_variables"].iloc[0] / (5 * num_clients)]


def rawhfl_speed_up(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    def square(num_clients: int, num_steps: int) -> np.ndarray:
        return of_seeds(table, "square_gradient", num_clients=num_clients, num_steps=num_steps)

    num_clients, num_steps = map(int, re.search(r"B U = (\d+), T = (\d+)", words).groups())
    if words.endswith("over one client's"):
        return square(num_clients, num_steps) / square(1, int(table["num_steps"].max()))
    return None


def rawhfl_stragglers(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    if words.startswith("share of groups"):
        groups = np.random.default_rng(1).choice(table["m1_j"].to_numpy(), (100_000, 10))
        return [(groups.mean(axis=1) >= PAPER_EDGE_ROUND_J["H-FedAvg-M1"]).mean()]
    rules = {"the most that each can": "own", "common to a cell": "cell", "common to all cells": "all"}
    rule = rules[re.fullmatch(r"H-FedAvg-M2, ([^:]+): .+", sentence)[1]]
    if words == "H-FedAvg-M2 over the paper's":
        return table[f"m2_{rule}_j"].to_numpy() / PAPER_EDGE_ROUND_J["H-FedAvg-M2"]
    return table[f"m2_{rule}_steps"].to_numpy()


def rawhfl_fig5(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    share = "share of edge rounds "
    if found := re.fullmatch(r"edge rounds in which the least able client is, (.+)", words):
        return 100.0 * of_seeds(table, f"{share}able {found[1]}", min)
    if found := re.fullmatch(
        r"(.+), share of the edge rounds, most selected client less least selected", words
    ):
        return 100.0 * of_seeds(table, f"{share}selected, {found[1]}", np.ptp)
    return None


def rawhfl_fig6(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    v = found_in(r"v (?:= |from )([\d.]+(?: to [\d.]+)?)", words, sentence, "v = 0").replace(" to ", "-")

    def accuracy(z: str, version: str = "") -> np.ndarray:
        rows = until(table, int(version)) if version else table
        return of_seeds(rows, "accuracy", algorithm=f"RawHFL, Z={z}", v=v)

    def of_z(z: str, act: Any, of_v: str = v) -> np.ndarray:
        return of_seeds(table, "accuracy", act, algorithm=f"RawHFL, Z={z}", v=of_v)

    if found := re.search(r"change .* after round (\d+), Z = (\d+) less Z = (\d+)$", words):
        few, many = (
            of_z(z, lambda own: own.iloc[int(found[1]) :].diff().abs().mean()) for z in found.groups()[1:]
        )
        return 100.0 * (few - many)
    if found := re.fullmatch(r"RawHFL, Z=(\d): accuracy for v = (.+) less v = (.+)", words):
        own, other = (of_z(found[1], lambda own: own.iloc[-1], of_v) for of_v in found.groups()[1:])
        return 100.0 * (own - other)
    if found := re.match(
        r"RawHFL, Z=(\d), v = ([\d.]+) .*, v = ([\d.]+) .*; the latter over the former", words
    ):
        own, other = (of_z(found[1], rounds_to_most, of_v) for of_v in found.groups()[1:])
        return other / own
    if found := re.match(r"loss .*: Z = (\d+) less Z = (\d+)$", words):
        own, other = (of_seeds(table, "loss_nats", algorithm=f"RawHFL, Z={z}", v=v) for z in found.groups())
        return own - other
    if found := re.search(r"Z = (\d+) less Z = (\d+)$", words):
        return 100.0 * (accuracy(found[1]) - accuracy(found[2]))
    if found := re.fullmatch(r"after (\d+) rounds", words):
        return accuracy("4", found[1])
    if found := re.fullmatch(r"Z = (\d), gained after round (\d+)", words):
        return accuracy(found[1]) - accuracy(found[1], found[2])
    return None


def rounds_to_most(accuracies: pd.Series) -> float:
    """From which on two in a row have nine tenths of the last."""
    is_reached = accuracies.to_numpy() >= 0.9 * accuracies.iloc[-1]
    return float(np.flatnonzero(is_reached[1:] & is_reached[:-1])[0])


def rawhfl_fig7(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    def mean_j(name: str) -> np.ndarray:
        return of_seeds(table[table["share"].isna()], "energy_j", algorithm=name)

    if found := re.fullmatch(r"Algorithm 2, all cells: Z = (\d) less Z = (\d)", words):
        own, other = (mean_j(f"RawHFL, Z={z}") for z in found.groups())
        return own - other
    if words == "Algorithm 2":
        return mean_j(f"RawHFL, {sentence.partition(':')[0]}")
    if words == "energy of Algorithm 2 over that of the optimum":
        return mean_j("RawHFL, Z=4") / mean_j("exact, Z=4")
    if words == "H-FedAvg-UB over the optimum, Z = 4":
        return mean_j("H-FedAvg-UB, floors") / mean_j("exact, Z=4, floors")
    return mean_j("H-FedAvg-UB") / mean_j("RawHFL, Z=4")


def rawhfl_fig8(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    solver = "RawHFL" if words.startswith("Algorithm 2") else "exact"
    own, other = (
        of_seeds(table[table["share"].isna()], "energy_j", algorithm=f"{solver}, Z={z}") for z in (6, 2)
    )
    return own / other


def rawhfl_fig9(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    def last(column: str, name: str, version: str = "") -> np.ndarray:
        return of_seeds(until(table, int(version)) if version else table, column, algorithm=name)

    if found := re.fullmatch(r"accuracy after (\d+)", words):
        return last("accuracy", sentence.partition(":")[0], found[1])
    if found := re.fullmatch(r"energy after (\d+)", words):
        return last("energy_j", sentence.partition(":")[0], found[1])
    if found := re.fullmatch(r"(.+), after (\d+) over after (\d+)", words):
        own, other = (last("energy_j", found[1], version) for version in found.groups()[1:])
        return own / other
    if found := re.fullmatch(r"accuracy after (\d+) less after (\d+)", words):
        own, other = (last("accuracy", sentence.split()[0], version) for version in found.groups())
        return own - other
    if found := re.fullmatch(r"(\S+) less it, after (\d+)", words):
        own, other = (last("accuracy", name, found[2]) for name in (found[1], sentence.split()[0]))
        return own - other
    names = two_algorithms(sentence, words)
    if names is None:
        return None
    own, other = (last("energy_j" if "energy" in sentence else "accuracy", name) for name in names)
    return own - other


def two_algorithms(sentence: str, words: str) -> tuple[str, str] | None:
    """Whom a quantity compares."""
    name = r"(RawHFL, Z=\d|\S*FedAvg-\S+|central SGD)"
    found = re.fullmatch(f"{name} less {name}", words)
    if re.fullmatch(r"difference after \d+ rounds", words):
        found = re.match(r"(.+?) (?:is|ends) .*?as accurate as (\S+) ", sentence)
        assert found, sentence
    return None if found is None else (found[1], found[2])


def rawhfl_table(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    name = sentence.partition(":")[0]
    if re.fullmatch(r"after \d+ rounds", words):
        return of_seeds(table, "accuracy", algorithm=name)
    if words == "mean over the rounds":
        return of_seeds(table, "edge_round_j", algorithm=name)
    if words.startswith("all rounds, RawHFL, Z=6 less FedAvg-UB"):
        own, other = (
            of_seeds(table, "edge_round_j", algorithm=name) for name in ("RawHFL, Z=6", "FedAvg-UB")
        )
        return 400 * own - 100 * other
    if names := two_algorithms(sentence, words):
        own, other = (of_seeds(table, "accuracy", algorithm=name) for name in names)
        return own - other
    names = ("RawHFL, Z=4", "exact, Z=4") if "the optimum" in words else words.split(" over ")
    own, other = (of_seeds(table, "edge_round_j", algorithm=name) for name in names)
    return own / other


def rawhfl_fig10(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    by_guesses = table.pivot(index="seed", columns=["algorithm", "num_guesses"], values="accuracy")
    accuracy = {name: by_guesses[name].to_numpy() for name in table["algorithm"].unique()}
    accuracy["RawHFL"] = accuracy["RawHFL, Z=4"]
    if found := re.fullmatch(r"(.+), most apart", words):
        own, other = (accuracy[name] for name in found[1].split(" and "))
        return 100.0 * np.abs(own - other).max(axis=1)
    if found := re.fullmatch(r"(.+) less (.+), where it is (least|most)", words):
        ahead = 100.0 * (accuracy[found[1]] - accuracy[found[2]])
        if sentence.startswith("for all M"):
            return ahead.min(axis=1)
        return ahead[:, :7].min(axis=1) if found[3] == "least" else ahead[:, 7:].max(axis=1)
    if found := re.fullmatch(r"(.+) less (.+)", words):
        return 100.0 * (accuracy[found[1]] - accuracy[found[2]])[:, 0]
    if found := re.search(r"among the first (\d+) guesses", sentence):
        return accuracy[words][:, int(found[1]) - 1]
    return np.max([own - accuracy["best possible"] for own in accuracy.values()], axis=(0, 2))


# --- VHFL ---------------------------------------------------------------------------------------------------


def vhfl_fig4(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    measure = "train_mse" if "training loss" in sentence else "test_mse"
    own, other = (of_seeds(table, measure, curve=f"{w} global features") for w in ("with", "without"))
    return np.log(other) - np.log(own) if words.startswith("log of the MSE without them") else None


def vhfl_fig5(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    if words == "rounds that VHFL takes over those of horizontal FL":
        share = float(found_in(r"([\d.]+) % of horizontal", sentence)) / 100.0
        return [rounds_over(of_seed, share) for _, of_seed in table.groupby("seed")]
    measures = {"training loss": "train_mse", "error ratio": "error_ratio"}
    measure = next((own for of, own in measures.items() if of in sentence), "test_mse")
    curves = ("cloud training", "VHFL", "horizontal FL")
    cloud, own, other = (of_seeds(table, measure, curve=curve) for curve in curves)
    if words.endswith("horizontal FL less VHFL"):
        return other - own
    return (other + cloud) / 2.0 - own if words.endswith("gains, less half of the distance") else None


def rounds_over(of_seed: pd.DataFrame, share: float) -> float:
    """Rounds of VHFL over rounds of horizontal FL, until two in a row have a loss on horizontal FL's way.

    Which is from its start to the mean of its last ten.
    """
    vertical, horizontal = (
        of_seed.loc[of_seed["curve"] == curve, "train_mse"].to_numpy() for curve in ("VHFL", "horizontal FL")
    )
    target = horizontal[0] - share * (horizontal[0] - horizontal[-10:].mean())
    own, other = (
        float(np.flatnonzero((losses[1:] <= target) & (losses[:-1] <= target))[0])
        for losses in (vertical, horizontal)
    )
    return own / other


def vhfl_fig6(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    def losses(*curves: str, act: Any = np.mean) -> list[np.ndarray]:
        return [of_seeds(table, "train_mse", act, curve=curve) for curve in curves]

    if found := re.fullmatch(
        r"relative change .*, the fall from (.+) to (.+) less that from (.+) to (.+)", words
    ):
        first, second, third, fourth = losses(*found.groups(), act=steps_in_per_cent)
        return first - second - (third - fourth)
    if found := re.fullmatch(r"relative change .*, (.+) less (.+)", words):
        own, other = losses(*found.groups(), act=steps_in_per_cent)
        return own - other
    if found := re.fullmatch(r"log .* by epoch, E_l = (\d+) to (\d+) less (\d+) to (\d+)", words):
        first, second, third, fourth = losses(*(f"E_l = {number}" for number in found.groups()))
        by_first, by_last = (int(b) - int(a) for a, b in (found.groups()[:2], found.groups()[2:]))
        return 100.0 * (np.log(first / second) / by_first - np.log(third / fourth) / by_last)
    if found := re.fullmatch(r"mean training MSE over the rounds, (.+) over (.+)", words):
        own, other = losses(*found.groups())
        return own / other
    if found := re.fullmatch(
        r"mean training MSE, the ratio of (.+) to (.+) over that of (.+) to (.+)", words
    ):
        first, second, third, fourth = losses(*found.groups())
        return first / second * fourth / third
    return None


def steps_in_per_cent(losses: pd.Series) -> float:
    """Of the logarithm in the second half, up and down."""
    return 100.0 * float(np.log(losses).iloc[len(losses) // 2 :].diff().abs().mean())


def vhfl_fig7(table: pd.DataFrame, sentence: str, words: str) -> Values | None:
    if words.endswith("those that do not agree"):
        return [float((table["verdict"] != "agrees").sum())]
    waits_s = table.groupby(["fast_weight", "success_rate"])["waiting_time_s"].first()
    if found := re.match(r"T_p for alpha_1 = (.+) over that for (.+), the least", words):
        return [(waits_s[float(found[1])] / waits_s[float(found[2])]).min()]
    if found := re.match(r"growth of log T_p with gamma, from (.+) to (.+) over from (.+) to (.+)", words):
        low, high, first, last = map(float, found.groups())
        logs = np.log(waits_s[0.5])
        return [(logs[high] - logs[low]) / (high - low) / ((logs[last] - logs[first]) / (last - first))]
    return None


# --- All ----------------------------------------------------------------------------------------------------

OF_SPLIT = ("HIST|HFedAvg", r"N = (\d+)", "{algorithm} N={setting}, {split}")
FOUR = r"(?:OMA|AirComp)-\w+"
CALCULATIONS: dict[str, list[Calculation]] = {
    "hist-conf-fig2": [at_equal_upload, share_of_uploads],
    "hist-conf-fig3": [sooner(*OF_SPLIT, "uploads_per_client"), advantage("uploads_per_client")],
    "hist-fig4": [same_bits, at_equal_upload],
    "hist-fig5": [sooner(*OF_SPLIT, "uploads_per_client"), advantage("uploads_per_client")],
    "hist-fig5-dropout": [with_dropout],
    "hist-fig6": [faster(fig6_curve)],
    "hist-fig7": [faster("{}, {}".format), gain],
    "hist-fig8a": [slower_with_sizes],
    "hist-fig8b": [shorter_rounds, earlier_with_sizes],
    "hist-fig8c": [sooner("HIST w/o|HIST w|HFedAvg", r"N = (\d+)", "{algorithm}, N={setting}", "time_s")],
    "hist-fig9a": [with_noise],
    "hist-fig9b": [over_snr, highest],
    "hist-fig9c": [sooner(FOUR, r"n_j = (\d+)", "{algorithm}, n_j={setting}", "time_s"), slighter, sending],
    "hist-table1": [of_entry, over_paper],
    **{f"hist-table{number}": [] for number in (2, 3)},  # their quick forms ask nothing of the table
    "rawhfl-backhaul": [rawhfl_backhaul],
    "rawhfl-complexity": [rawhfl_complexity],
    "rawhfl-energies": [rawhfl_energies],
    "rawhfl-speed-up": [rawhfl_speed_up],
    "rawhfl-stragglers": [rawhfl_stragglers],
    **{f"rawhfl-fig5{reading}": [rawhfl_fig5] for reading in ("", "-printed")},
    "rawhfl-fig6-printed": [rawhfl_fig6],
    **{f"rawhfl-fig7{reading}": [rawhfl_fig7] for reading in ("", "-printed")},
    **{f"rawhfl-fig8{reading}": [rawhfl_fig8] for reading in ("", "-printed")},
    "rawhfl-fig9-printed": [rawhfl_fig9],
    "rawhfl-fig10-printed": [rawhfl_fig10],
    **{f"rawhfl-table{number}-printed": [rawhfl_table] for number in (2, 3, 4)},
    "vhfl-fig4": [vhfl_fig4],
    "vhfl-fig5": [vhfl_fig5],
    "vhfl-fig6": [vhfl_fig6],
    "vhfl-fig7": [vhfl_fig7],
}


def test_every_figure_is_computed_again():
    assert FIGURES.keys() == CALCULATIONS.keys()


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_claims_follow_from_the_table(name):
    """Every calculation is of some quantity; where less than the figure was run, one of them is."""
    table = pd.read_csv(results.FOLDER / f"{name}.csv", dtype={"v": str})
    told, is_used = FIGURES[name], dict.fromkeys(CALCULATIONS[name], False)
    for claim in told["claims"]:
        for quantity in claim["quantities"]:
            values = [math.nan if value is None else value for value in quantity["values"]]
            for calculated in is_used:
                again = calculated(table, claim["paper"], quantity["words"])
                if again is not None:
                    check(values, again, f"{claim['paper']}; {quantity['words']}")
                    is_used[calculated] = True
    needed = any if {"--quick", "--num-clients-per-cell"} & {*told["command"].split()} else all
    assert not is_used or needed(is_used.values()), (
        f"claims are worded anew, and a calculation knows none of them: {is_used}"
    )


def check(values: list[float], again: Values, words: str) -> None:
    """Check that values equal the table's."""
    assert values == pytest.approx(list(again), rel=1e-9, abs=1e-12, nan_ok=True), words
