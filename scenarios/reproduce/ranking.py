"""A ranking of twelve algorithms: who wins when a round costs what its bits, cycles and stragglers cost?

Three radio settings, in which the band, the processors, or single slow jobs limit a round. The step sizes of
each algorithm are those of a grid that do best in each setting on other seeds; then all play on the same
seeds, and are ranked by the rounds, bits, seconds and joules that the target accuracy takes. Ranks have
intervals that hold for all pairs of algorithms at once.

    cosim reproduce ranking --quick
    cosim reproduce ranking --seeds 10 --target 0.85
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs
import pandas as pd
from matplotlib.figure import Figure
from rich.table import Table as Shown

import cosim
from analysis import tables
from analysis.plots.ranks import rank_changes
from analysis.rankings import COSTS, Ranked, ranked, reversals
from analysis.studies import to_targets
from cosim.files import replace
from cosim.studies.study import Study
from scenarios.command_line.console import console, save_picture, save_table
from scenarios.reproduce import figures
from scenarios.reproduce.ranking_algorithms import ALGORITHMS, REFERENCE, SETTINGS, Rates

NAME = "ranking"
TUNING_SEEDS_FROM = 1_000_000
"""Tuning seeds begin so far above --seed, so that nothing is judged on the seeds that it was tuned on."""


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run.

    Attributes:
        seeds: Seeds, one after another from --seed on; none: 10, or 2 in the quick form.
        num_rounds: Rounds of 8 updates at most; none: 120, or 60 in the quick form.
        target: Accuracy that is to be reached, and held for two evaluations; none: 0.85, or 0.8 in the quick
            form.
    """

    seeds: int | None = None
    num_rounds: int | None = None
    target: float | None = None

    def __attrs_post_init__(self) -> None:
        for name, value, least in (("seeds", self.seeds, 2), ("num-rounds", self.num_rounds, 2)):
            if value is not None and value < least:
                raise cosim.ConfigurationError(
                    f"--{name} {value}: must be at least {least}. Usual fix: leave it out."
                )
        if self.target is not None and not 0.0 < self.target < 1.0:
            raise cosim.ConfigurationError(
                f"--target {self.target:g}: must lie between 0 and 1. Usual fix: 0.85."
            )

    @property
    def form(self) -> tuple[int, int, float]:
        """Seeds, rounds and target."""
        seeds, num_rounds, target = (2, 60, 0.8) if self.quick else (10, 120, 0.85)
        return self.seeds or seeds, self.num_rounds or num_rounds, self.target or target

    @property
    def label(self) -> str:
        """The target as columns call it."""
        return f"{self.form[2]:g}_held_2"


Designs = Mapping[str, tuple[str, str, Rates]]
"""Name of a design -> its setting, algorithm and step sizes."""


def played(designs: Designs, seeds: int, first_seed: int, folder: Path, options: Options) -> pd.DataFrame:
    """The table of runs of some designs."""
    _, num_rounds, target = options.form
    systems = {
        name: ALGORITHMS[algorithm].system(rates, SETTINGS[setting], num_rounds, first_seed)
        for name, (setting, algorithm, rates) in designs.items()
    }
    study = Study(systems, seeds=seeds, targets=(target,), held=2)
    title = f"{NAME}, {folder.name}"
    runs = study.run(folder, scenario=NAME, num_workers=options.workers, progress=title)
    if len(failed := runs[runs["status"] != "complete"]):
        name, why = failed[["name", "error"]].iloc[0]
        raise cosim.ConfigurationError(
            f"{title}: {len(failed)} of {len(runs)} runs failed, {name} with: {why} Usual fix: run it again."
        )
    return runs


def tuned(options: Options, folder: Path) -> Designs:
    """Each algorithm in each setting, at the step sizes of its grid that reach the target soonest.

    In simulated seconds, and where these cannot tell by the accuracy at the end. In the quick form on one
    seed of the first setting, which serves for all; else on three seeds of each.
    """
    settings = list(SETTINGS)[: 1 if options.quick else None]
    tried = {
        f"{setting}: {name}, {rates}": (setting, name, rates)
        for setting in settings
        for name, algorithm in ALGORITHMS.items()
        for rates in algorithm.grid
    }
    seed = options.seed + TUNING_SEEDS_FROM
    runs = played(tried, 1 if options.quick else 3, seed, folder / "tuning", options)
    numbers = runs.drop_duplicates("name").set_index("name")["design"]
    accuracy = runs.groupby("name")["accuracy"].mean()
    best: dict[tuple[str, str], tuple[tuple[float, float], Rates]] = {}
    for setting in settings:
        own = runs[runs["name"].str.startswith(f"{setting}: ")]
        taken = to_targets(own, f"time_to_{options.label}_s")
        for design, (of, name, rates) in tried.items():
            if of == setting:
                seconds = taken[int(numbers[design])].restricted_mean.estimate
                score = (seconds, -float(accuracy[design]))
                known = best.get((setting, name))
                best[setting, name] = min(known, (score, rates)) if known else (score, rates)
    return {
        f"{setting}: {name}": (setting, name, best[setting if setting in settings else settings[0], name][1])
        for setting in SETTINGS
        for name in ALGORITHMS
    }


def in_setting(runs: pd.DataFrame, setting: str) -> pd.DataFrame:
    """The runs of a setting, by the names of the algorithms."""
    own = runs[runs["name"].str.startswith(f"{setting}: ")]
    return own.assign(name=own["name"].str.removeprefix(f"{setting}: "))


def main(options: Options) -> int:
    """Tune, play, rank."""
    folder = options.folder(NAME)
    designs = tuned(options, folder)
    runs = played(designs, options.form[0], options.seed, folder / "ranked", options)
    by_setting = {
        setting: {
            cost: ranked(in_setting(runs, setting), options.label, pattern, REFERENCE)
            for pattern, (cost, _) in COSTS.items()
        }
        for setting in SETTINGS
    }
    rates = {(setting, name): own for setting, name, own in designs.values()}
    for setting, by_cost in by_setting.items():
        show(setting, by_cost, in_setting(runs, setting), rates, options)
    save_table(frame(by_setting, rates), folder / f"{NAME}.csv")
    replace(folder / f"{NAME}.tex", lambda path: path.write_text(latex(by_setting), encoding="utf-8"))
    save_picture(picture(by_setting), folder / f"{NAME}.png")
    for words, ending in (("Table", "csv"), ("LaTeX", "tex"), ("Picture", "png")):
        console.print(f"{words + ':':8} {folder / f'{NAME}.{ending}'}")
    return 0


ByCost = Mapping[str, list[Ranked]]


def show(
    setting: str,
    by_cost: ByCost,
    runs: pd.DataFrame,
    rates: Mapping[tuple[str, str], Rates],
    options: Options,
) -> None:
    """Print the ranks of a setting, and which pairs change places."""
    seeds, _, target = options.form
    shown = Shown(
        title=f"{setting}: ranks by what accuracy {target:g} takes; {seeds} seeds, 95 % for all at once",
        title_justify="left",
    )
    for head in ("algorithm", "step sizes", *by_cost):
        shown.add_column(head, overflow="fold")
    for row in rows(by_cost):
        shown.add_row(row[0], str(rates[setting, row[0]]), *row[1:])
    console.print(shown)
    for first, second in (("versions_to_{}", "time_to_{}_s"), ("versions_to_{}", "energy_to_{}_j")):
        pairs = reversals(runs, options.label, first, second)
        words = "; ".join(f"{winner} beats {loser}" for winner, loser in pairs[:4]) or "none that is sure"
        more = f"; {len(pairs) - 4} more" if len(pairs) > 4 else ""
        console.print(f"By {COSTS[first][0]}, but not by {COSTS[second][0]}: {words}{more}.")


def rows(by_cost: ByCost) -> Iterable[list[str]]:
    """Of each algorithm, the best by seconds first: its name, and by each cost its ranks and what it took."""
    order = sorted(range(len(ALGORITHMS)), key=lambda place: _behind(by_cost["seconds"][place]))
    for place in order:
        own = [entries[place] for entries in by_cost.values()]
        yield [
            own[0].name,
            *(f"{entry.ranks} ({entry.in_words})" if entry.ranks else entry.in_words for entry in own),
        ]


def _behind(entry: Ranked) -> tuple[int, float]:
    """What an algorithm is sorted by: runs that missed, then what it took."""
    return entry.num_runs - entry.num_reached, entry.taken


def frame(by_setting: Mapping[str, ByCost], rates: Mapping[tuple[str, str], Rates]) -> pd.DataFrame:
    """All numbers, a row for each setting, algorithm and cost."""
    found = []
    for setting, by_cost in by_setting.items():
        for entry in (entry for entries in by_cost.values() for entry in entries):
            own = rates[setting, entry.name]
            row = {"setting": setting, "algorithm": entry.name, "cost": entry.cost}
            row |= {"local_rate": own.local, "server_rate": own.server, "num_runs": entry.num_runs}
            row |= {"num_reached": entry.num_reached, "geometric_mean": entry.taken}
            if entry.ratio is not None:
                ratio = entry.ratio
                row |= {"ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high}
            if entry.ranks is not None:
                row |= {"best_rank": entry.ranks.best, "worst_rank": entry.ranks.worst}
            found.append(row)
    return pd.DataFrame(found)


def latex(by_setting: Mapping[str, ByCost]) -> str:
    """The ranks of all settings."""
    lines = [
        [setting if number == 0 else "", name, *(cell for cell in cells)]
        for setting, by_cost in by_setting.items()
        for number, (name, *cells) in enumerate(rows(by_cost))
    ]
    return tables.latex(tables.Table(["setting", "algorithm", *next(iter(by_setting.values()))], lines, 2))


def picture(by_setting: Mapping[str, ByCost]) -> Figure:
    """A panel of ranks for each setting."""
    figure = Figure(figsize=(7.2, 3.2 * len(by_setting)), layout="constrained")
    for axes, (setting, by_cost) in zip(figure.subplots(len(by_setting)), by_setting.items(), strict=True):
        rank_changes(axes, by_cost)
        axes.set_title(f"limited by {setting}", fontsize=9)
    return figure
