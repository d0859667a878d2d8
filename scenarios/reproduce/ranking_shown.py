"""Ranking as it is shown (`scenarios.reproduce.ranking`): tables to look at and to paste, and its picture."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure
from rich.table import Table as Shown

from analysis.plots.ranks import rank_changes
from analysis.rankings import COSTS, Ranked, reversals
from analysis.tables.cells import Cell
from analysis.tables.contents import Table
from analysis.tables.latex import latex as written
from scenarios.command_line.console import console
from scenarios.reproduce.ranking_algorithms import REFERENCE, Rates

ByCost = Mapping[str, list[Ranked]]


def show(title: str, by_cost: ByCost, rates: Mapping[str, Rates], runs: pd.DataFrame, label: str) -> None:
    """Print the ranks of a setting, the algorithms that differ from the reference, and the pairs that swap.

    Args:
        rates: Algorithm -> its step sizes.
        runs: Of the setting.
        label: The target as columns call it.
    """
    shown = Shown(title=title, title_justify="left")
    for head in ("algorithm", "step sizes", *by_cost):
        shown.add_column(head, overflow="fold")
    for row in rows(by_cost):
        shown.add_row(row[0], str(rates[row[0]]), *row[1:])
    console.print(shown)
    for cost, entries in by_cost.items():
        console.print(f"Beside {REFERENCE}, by {cost}: {against(entries)}")
    first = "versions_to_{}"
    for second in ("time_to_{}_s", "energy_to_{}_j"):
        pairs = reversals(runs, label, first, second)
        words = "; ".join(f"{winner} beats {loser}" for winner, loser in pairs[:4]) or "no pair that is sure"
        more = f"; {len(pairs) - 4} more" if len(pairs) > 4 else ""
        console.print(f"By {COSTS[first][0]}, and the other way round by {COSTS[second][0]}: {words}{more}.")


def against(entries: Sequence[Ranked]) -> str:
    """Algorithms that surely take less or more than the reference, and the ones that cannot be told apart."""
    ranked_ones = [entry for entry in entries if entry.ratio is not None]
    less = [entry.name for entry in ranked_ones if entry.ratio and entry.ratio.high < 1.0]
    more = [entry.name for entry in ranked_ones if entry.ratio and entry.ratio.low > 1.0]
    parts = [f"{words} {', '.join(names)}" for words, names in (("less:", less), ("more:", more)) if names]
    rest = len(ranked_ones) - len(less) - len(more)
    if rest:
        parts.append(f"{rest} cannot be told apart from it" if parts else "none can be told apart from it")
    return f"{'; '.join(parts) or 'nothing to compare'}."


def rows(by_cost: ByCost) -> Iterable[list[str]]:
    """Of each algorithm, the best by seconds first: its name, and by each cost its ranks and what it took."""
    places = sorted(range(len(by_cost["seconds"])), key=lambda place: _behind(by_cost["seconds"][place]))
    for place in places:
        own = [entries[place] for entries in by_cost.values()]
        yield [
            own[0].name,
            *(f"{entry.ranks} ({entry.in_words})" if entry.ranks else entry.in_words for entry in own),
        ]


def _behind(entry: Ranked) -> tuple[int, float]:
    """Sort key of an algorithm: runs that missed, then its cost."""
    return entry.num_runs - entry.num_reached, entry.taken


def frame(by_setting: Mapping[str, ByCost], rates: Mapping[str, Mapping[str, Rates]]) -> pd.DataFrame:
    """All numbers, a row for each setting, algorithm and cost."""
    found = []
    for setting, by_cost in by_setting.items():
        for entry in (entry for entries in by_cost.values() for entry in entries):
            own = rates[setting][entry.name]
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
    lines: list[list[Cell]] = [
        [setting if number == 0 else "", name, *cells]
        for setting, by_cost in by_setting.items()
        for number, (name, *cells) in enumerate(rows(by_cost))
    ]
    return written(Table(["setting", "algorithm", *next(iter(by_setting.values()))], lines, 2))


def picture(by_setting: Mapping[str, ByCost]) -> Figure:
    """A panel of ranks for each setting."""
    figure = Figure(figsize=(7.2, 3.2 * len(by_setting)), layout="constrained")
    panels = figure.subplots(len(by_setting), squeeze=False)[:, 0]
    for axes, (setting, by_cost) in zip(panels, by_setting.items(), strict=True):
        rank_changes(axes, by_cost)
        axes.set_title(f"limited by {setting}", fontsize=9)
    return figure
