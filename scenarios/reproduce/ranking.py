"""A ranking of twelve algorithms: which wins when a round costs what its bits, cycles and stragglers cost?

Three radio settings, in which the band, the processors, or single slow jobs limit a round. The step sizes of
each algorithm are the best of a grid in each setting on other seeds; then all run on the same seeds, and are
ranked by the rounds, bits, seconds and joules that the target accuracy takes. Ranks have intervals that hold
for all pairs of algorithms at once.

    cosim reproduce ranking --quick
    cosim reproduce ranking --seeds 10 --target 0.85
"""

from collections.abc import Mapping
from pathlib import Path

import attrs
import pandas as pd

import cosim
from analysis.intervals.ranks import ENOUGH_SEEDS
from analysis.metrics import metrics
from analysis.rankings import COSTS, ranked
from analysis.samples import samples
from cosim.files.on_disk import place, replace
from cosim.studies.study import Study
from scenarios.command_line.console import console, save_picture, save_table
from scenarios.command_line.executor import pool
from scenarios.reproduce.ranking_algorithms import ALGORITHMS, REFERENCE, SETTINGS, Rates
from scenarios.reproduce.ranking_shown import frame, latex, picture, show

NAME = "ranking"
TUNING_SEEDS_FROM = 1_000_000
"""Tuning seeds begin so far above --seed, so that nothing is judged on the seeds that it was tuned on."""


@attrs.frozen(kw_only=True)
class Options:
    """Size of the ranking.

    Attributes:
        quick: Fewer seeds, rounds and step sizes tuned, at most 3 minutes on 2 cores.
        seed: The first seed with which algorithms are ranked.
        seeds: Seeds, one after another from --seed on; none: 10, or 2 in the quick form.
        num_rounds: Rounds of 8 updates at most; none: 120, or 60 in the quick form.
        target: Accuracy to be reached and held for two evaluations; none: 0.85, or 0.8 in the quick
            form.
        out: Folder of table, picture and runs; none: figures/ranking, with the form behind.
        executor: processes of this machine, or dask (a cluster of this machine), or dask=tcp://HOST:PORT.
        workers: Runs at a time; none: one per core.
    """

    quick: bool = False
    seed: int = 1
    seeds: int | None = None
    num_rounds: int | None = None
    target: float | None = None
    out: Path | None = None
    executor: str = "processes"
    workers: int | None = None

    def __attrs_post_init__(self) -> None:
        limits = {"seed": 0, "seeds": 2, "num_rounds": 2, "workers": 1}
        for name, least in limits.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise cosim.ConfigurationError(
                    f"--{name.replace('_', '-')} {value}: must be at least {least}. Leave it out."
                )
        if self.target is not None and not 0.0 < self.target < 1.0:
            raise cosim.ConfigurationError(f"--target {self.target:g}: must lie between 0 and 1. Use 0.85.")

    @property
    def form(self) -> tuple[int, int, float]:
        """Seeds, rounds and target."""
        seeds, num_rounds, target = (2, 60, 0.8) if self.quick else (10, 120, 0.85)
        return self.seeds or seeds, self.num_rounds or num_rounds, self.target or target

    @property
    def folder(self) -> Path:
        """Folder of all runs."""
        return place(self.out or Path("figures") / (f"{NAME}-quick" if self.quick else NAME))

    @property
    def label(self) -> str:
        """The target as columns call it."""
        return f"{self.form[2]:g}_held_2"


Designs = Mapping[str, tuple[str, str, Rates]]
"""Name of a design -> its setting, algorithm and step sizes."""


def run_designs(
    designs: Designs, seeds: int, first_seed: int, folder: Path, options: Options
) -> pd.DataFrame:
    """The table of runs of some designs."""
    _, num_rounds, target = options.form
    systems = {
        name: ALGORITHMS[algorithm].system(rates, SETTINGS[setting], num_rounds, first_seed)
        for name, (setting, algorithm, rates) in designs.items()
    }
    study = Study(systems, seeds=seeds, targets=(target,), held=2)
    title = f"{NAME}, {folder.name}"
    with pool(options.executor, options.workers) as (executor, num_at_once):
        runs = study.run(folder, scenario=NAME, executor=executor, num_workers=num_at_once, progress=title)
    if len(failed := runs[runs["status"] != "complete"]):
        name, why = failed[["name", "error"]].iloc[0]
        raise cosim.ConfigurationError(
            f"{title}: {len(failed)} of {len(runs)} runs failed, {name} with: {why} Run it again."
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
    runs = run_designs(tried, 1 if options.quick else 3, seed, folder / "tuning", options)
    numbers = runs.drop_duplicates("name").set_index("name")["design"]
    accuracy = runs.groupby("name")["accuracy"].mean()
    best: dict[tuple[str, str], tuple[tuple[float, float], Rates]] = {}
    for setting in settings:
        own = runs[runs["name"].str.startswith(f"{setting}: ")]
        own.attrs = runs.attrs
        taken = samples(own, metrics(own)[f"time_to_{options.label}_s"])
        horizon_s = min(sample.horizon for sample in taken.values())
        for design, (of, name, rates) in tried.items():
            if of == setting:
                seconds = float(taken[int(numbers[design])].up_to(horizon_s).mean())
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
    """Tune, run, rank."""
    folder = options.folder
    designs = tuned(options, folder)
    runs = run_designs(designs, options.form[0], options.seed, folder / "ranked", options)
    by_setting = {
        setting: {
            cost: ranked(in_setting(runs, setting), options.label, pattern, REFERENCE)
            for pattern, (cost, _) in COSTS.items()
        }
        for setting in SETTINGS
    }
    rates = {
        setting: {name: own for of, name, own in designs.values() if of == setting} for setting in SETTINGS
    }
    seeds, _, target = options.form
    if seeds < ENOUGH_SEEDS:
        console.print(f"With fewer than {ENOUGH_SEEDS} seeds all algorithms are taken to spread alike.")
    for setting, by_cost in by_setting.items():
        title = f"{setting}: ranks by what accuracy {target:g} takes; {seeds} seeds, 95 % for all at once"
        show(title, by_cost, rates[setting], in_setting(runs, setting), options.label)
    save_table(frame(by_setting, rates), folder / f"{NAME}.csv")
    replace(folder / f"{NAME}.tex", lambda path: path.write_text(latex(by_setting), encoding="utf-8"))
    save_picture(picture(by_setting), folder / f"{NAME}.png")
    for words, ending in (("Table", "csv"), ("LaTeX", "tex"), ("Picture", "png")):
        console.print(f"{words + ':':8} {folder / f'{NAME}.{ending}'}")
    return 0
