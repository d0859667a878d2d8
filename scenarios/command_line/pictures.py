"""The kinds of pictures that `cosim plot` draws of a study, each with the height that it needs."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import attrs
import pandas as pd
import tyro

from analysis import plots
from analysis.designs import Design, headlines
from analysis.fates import check_clients
from analysis.kinds import COLUMNS, Group, groups_of
from analysis.plots.amounts import Amounts
from analysis.plots.drawn_study import DrawnStudy
from cosim import ConfigurationError, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_BESIDE_MEANS = ("low", "high", "num_running", "num_runs")
"""Columns of points of curves besides the mean."""


@attrs.frozen(kw_only=True)
class PlotOptions:
    """Kind and size of a picture.

    Attributes:
        kind: One of the kinds above.
        out: PDF, SVG or PNG file to write, or CSV, of the points of curves (accuracy-time). None means the
            kind's name as PDF in the first folder.
        width: Width of the picture, in in, cm, mm or pt; a column of two is about 3.5in.
        height: Height of the picture. None means what the kind needs.
        target: Targets of the headline, such as an accuracy of 0.8, by commas. None means the ones that the
            metric names, or else the studies' own.
        held: Evaluations in a row at which the target must be reached to count.
        field: Field along the axis (factor). None means the number with most values.
        metric: Column as in tables, such as energy_j or time_to_0.7_s, or enough of its words (factor, bars,
            cdf, accuracy-time); two by a comma (pareto); of clients, such as energy_j, wait_s or worst_tenth
            (kinds). None means the headline, of cdf the arrivals of updates, of pareto time and energy to
            the target, of kinds what became of jobs.
        over: Axis of the curves (accuracy-time).
        global_round: Number of the global round (timeline). None means the first in which an update was
            dropped, or else the first.
    """

    kind: str = "accuracy-time"
    out: Path | None = None
    width: str = "3.5in"
    height: str | None = None
    target: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    held: int = 1
    field: str | None = None
    metric: str | None = None
    over: Literal["time_s", "energy_j", "bits_per_client"] = "time_s"
    global_round: int | None = None


def curves_in_numbers(study: DrawnStudy, options: PlotOptions) -> pd.DataFrame:
    """The points of the curves, a row each: mean, ends of its interval, and how many runs were still running.

    Raises:
        ConfigurationError: Nothing was evaluated.
    """
    score = _score(study, options)
    if score is None:
        raise ConfigurationError("plot: nothing was evaluated: timing only. Use runs that learn.")
    lines = plots.curves_of(study.designs, score, headlines(study.designs)[score], options.over)
    columns = {"at": options.over, "mean": score}
    found = [line.points.assign(design=line.name, num_runs=len(line.runs)) for line in lines]
    return pd.concat(found).rename(columns=columns)[["design", *columns.values(), *_BESIDE_MEANS]]


def _score(study: DrawnStudy, options: PlotOptions) -> str | None:
    """Column of the score over time; None where there is none."""
    scores = headlines(study.designs)
    if options.metric is None:
        return next(iter(scores), None)
    return _one_of("--metric", options.metric, {column: measure.label for column, measure in scores.items()})


def _curves(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    score, lines = _score(study, options), list[plots.Curve]()

    def draw(axes: "Axes", designs: Sequence[Design]) -> None:
        lines.extend(plots.model_over(axes, designs, study.encoding, options.over, score, study.targets))

    plots.in_facets(figure, study.encoding, draw)
    most = study.encoding.most_in_a_panel
    told = (plots.spread_in_words(lines, most), plots.ended_in_words(lines, most))
    return " ".join(["Means over runs.", *filter(None, told)])


def _energy(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    axes = figure.subplots()
    _of_all(axes, study, plots.energy(axes, study.designs))
    return "Means over runs; bars: 95 % intervals of the sums."


def _bits(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    axes = figure.subplots()
    _of_all(axes, study, plots.directions(axes, study.designs))
    return "Means over clients and runs; bars: 95 % intervals of the sums."


def _bars(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    axes, amounts = figure.subplots(), _amounts(study, options)
    _of_all(axes, study, plots.metric_bars(axes, study.encoding.looks, amounts))
    return amounts.in_words()


def _of_all(axes: "Axes", study: DrawnStudy, num_drawn: int) -> None:
    if num_drawn < len(study.designs):
        axes.set_ylabel(f"first {num_drawn} of {len(study.designs)} designs")


def _pareto(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    columns = options.metric.split(",") if options.metric else _to_one_target(study)
    if len(columns) != 2:
        raise ConfigurationError(
            f"--metric {options.metric}: --kind pareto takes two. Use time_to_0.8_s,energy_to_0.8_j."
        )
    across, up = (study.amounts[_metric(study, column)] for column in columns)

    def draw(axes: "Axes", designs: Sequence[Design]) -> None:
        plots.pareto(axes, designs, across, up, study.encoding)

    plots.in_facets(figure, study.encoding, draw)
    dotted = "Dotted: designs that no other beats in both."
    return f"{across.in_words()} {dotted}"


def _to_one_target(study: DrawnStudy) -> list[str]:
    if len(study.targets) != 1:
        number = len(study.targets)
        given = f"needs one target, and {number} are given" if number else "needs a target"
        raise ConfigurationError(f"--kind pareto: {given}. Use --target 0.8.")
    return [column for column in study.amounts if column.startswith(("time_to_", "energy_to_"))] or [
        "time_to",
        "",
    ]


def _factor(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    fields = plots.numeric_fields(study.designs)
    if not fields:
        raise ConfigurationError("--kind factor: no field is a number that differs. Use --kind bars.")
    words = {field: field for field in fields}
    field = fields[0] if options.field is None else _one_of("--field", options.field, words)
    amounts = _amounts(study, options)
    plots.factor(figure.subplots(), study.designs, amounts, field, study.encoding)
    return amounts.in_words()


def _amounts(study: DrawnStudy, options: PlotOptions) -> Amounts:
    return study.amounts[study.main if options.metric is None else _metric(study, options.metric)]


def _metric(study: DrawnStudy, given: str) -> str:
    """The column of a metric."""
    return _one_of(
        "--metric", given, {column: own.metric.measure.label for column, own in study.amounts.items()}
    )


def _timeline(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    run = _run_of_one_design(study, options)
    check_clients([run])
    if options.global_round is not None and not run.has_rounds:
        raise ConfigurationError("--global-round: the run has versions, no rounds. Leave it out.")
    shown_round = plots.telling_round(run) if options.global_round is None else options.global_round
    plots.round_picture(figure.subplots(), run, shown_round)
    return ""


def _presence(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    run = _run_of_one_design(study, options)
    if not (run.rounds["level"] == "edge").any():
        raise ConfigurationError("--kind presence: the run has no edge rounds. Use --kind timeline.")
    plots.states_picture(figure.subplots(), run)
    return ""


def _run_of_one_design(study: DrawnStudy, options: PlotOptions) -> Result:
    if (number := len(study.designs)) > 1:
        these = f"of one design, and these are {number}"
        raise ConfigurationError(f"--kind {options.kind}: {these}. Use the folder of one run.")
    return _any_run(study)


def _kinds(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    axes, groups = figure.subplots(), _groups(study)
    if options.metric is None:
        num_drawn, said = plots.outcomes(axes, groups), f"Means over runs. {plots.outcomes_in_words(groups)}"
    else:
        words = {column: measure.label for column, (_, measure) in COLUMNS.items()}
        amounts = plots.amounts_of(groups, _one_of("--metric", options.metric, words))
        looks = {name: study.encoding[group.design.name] for name, group in groups.items()}
        num_drawn, said = plots.metric_bars(axes, looks, amounts), amounts.in_words()
    if num_drawn < len(groups):
        axes.set_ylabel(f"first {num_drawn} of {len(groups)} kinds and designs")
    return said


def _groups(study: DrawnStudy) -> dict[str, Group]:
    groups = groups_of(study.designs)
    if not groups:
        raise ConfigurationError("--kind kinds: no client was asked for a job. Use --kind energy.")
    return plots.named(groups)


def _distribution(figure: "Figure", study: DrawnStudy, options: PlotOptions) -> str:
    if options.metric is not None:
        amounts = _amounts(study, options)
        draw, said = (
            partial(plots.distribution, amounts=amounts, encoding=study.encoding),
            "Of each design's runs.",
        )
    elif len(study.designs) == 1 and len(_any_run(study).tallies):
        plots.times_picture(figure.subplots(), _any_run(study))
        return ""
    else:
        draw = partial(plots.arrivals, encoding=study.encoding)
        said = "All runs of a design together."
    plots.in_facets(figure, study.encoding, draw)
    return said


def _one_of(option: str, given: str, known: dict[str, str]) -> str:
    """The one that is meant by its name, by its words, or by enough of either.

    Args:
        known: Name -> words.
    """
    if given in known:
        return given
    for is_meant in (lambda words: words.partition(" (")[0] == given, lambda words: given in words):
        found = [name for name, words in known.items() if is_meant(words)]
        if len(found) == 1:
            return found[0]
    raise ConfigurationError(f"{option} {given}: must name exactly one. Use one of {', '.join(known)}.")


def _panels(study: DrawnStudy, width_in: float) -> float:
    return plots.height_in(study.encoding, width_in)


def _lines(study: DrawnStudy, width_in: float) -> float:
    fields = plots.numeric_fields(study.designs)
    names = [name for name in plots.lines_of(study.designs, fields[0]) if name][:12] if fields else []
    return 0.74 * width_in + (plots.legend_height_in(names, 0.8 * width_in) if len(names) > 1 else 0.0)


def _of_rows(study: DrawnStudy, width_in: float) -> float:
    return 0.9 + plots.ROW_IN * min(len(study.designs), plots.MOST_BARS)


def _of_groups(study: DrawnStudy, width_in: float) -> float:
    return 1.1 + plots.ROW_IN * min(len(groups_of(study.designs)), plots.MOST_BARS)


def _of_energy(study: DrawnStudy, width_in: float) -> float:
    parts = plots.energy_parts(study.designs[: plots.MOST_BARS])[0].values()
    shown = {part for own in parts for part, joules in own.items() if joules}
    return _of_rows(study, width_in) + plots.legend_height_in(shown, 0.8 * width_in)


def _of_clients(study: DrawnStudy, width_in: float) -> float:
    clients = plots.num_clients(_any_run(study))
    return 0.74 * width_in if clients > plots.MOST_IN_ROWS else 1.2 + 0.14 * min(clients, plots.MOST_ROWS)


def _any_run(study: DrawnStudy) -> Result:
    return study.designs[0].counted[0]


Drawing = Callable[["Figure", DrawnStudy, PlotOptions], str]
Height = Callable[[DrawnStudy, float], float]
KINDS: dict[str, tuple[Drawing, Height]] = {
    "accuracy-time": (_curves, _panels),
    "factor": (_factor, _lines),
    "bars": (_bars, _of_rows),
    "pareto": (_pareto, _panels),
    "cdf": (_distribution, _panels),
    "energy": (_energy, _of_energy),
    "bits": (_bits, _of_rows),
    "presence": (_presence, _panels),
    "kinds": (_kinds, _of_groups),
    "timeline": (_timeline, _of_clients),
}
"""Kind -> how it is drawn, with what its caption says of it, and how high it is for a study and a width."""
