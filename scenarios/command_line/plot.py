"""`cosim plot`: one figure of runs or of a study, for a paper.

cosim plot studies/bandwidth --kind factor --metric time_to_0.7_s     # time to a target over the bandwidth
cosim plot studies/bandwidth --kind accuracy-time --over energy_j --out fig.pdf
cosim plot studies/bandwidth --kind bars --metric dropped_share --width 7in
cosim plot studies/bandwidth --kind pareto --target 0.8
cosim plot runs/a runs/b --kind cdf --out arrivals.svg
cosim plot runs/mixture --kind kinds --metric energy_j                 # sensors beside phones

| kind | what it shows | metric |
|---|---|---|
| accuracy-time | a score, such as accuracy, over simulated time, energy or bits | any score |
| factor | a metric over a numerical field, with a line for each value of the other fields | any |
| bars | a metric, design by design | any |
| pareto | two metrics and their Pareto front; without --metric, time and energy to a target | any two |
| cdf | distribution of a metric over runs; without --metric, of the times until updates arrive | any |
| energy | clients' energy by activity, design by design | |
| bits | bits that a client has uploaded and downloaded, design by design | |
| kinds | jobs by outcome (arrived, late, left) and kind of client; with --metric, that metric | of clients |
| presence | clients that were present, absent or out of battery when edge rounds began | |
| timeline | what each client did in a global round, or in an interval of a run without rounds | |

A metric is a column of `cosim table`. A metric that names a target, such as time_to_0.7_s, needs no --target.
A point is labelled "4 of 5" if one of five seeds missed the target.

A design has the same colour, marker and dash in all figures of its study and in its report. If several fields
differ, the marker shows the value of one, and colour and dash show the others. More than twelve designs are
drawn in several panels, one for each value of a field.

Bands and error bars are 95 % intervals of means; fewer than three runs are drawn one by one instead. With
more than three curves in a panel, intervals are drawn at the ends only. The printed caption says what was
drawn.

For runs that keep only rows of edge rounds (--records rounds), energy is drawn by activity, wasted or not;
cdf, of one run, shows the durations of edge rounds and uploads; presence does not show empty batteries. A
timeline needs rows of clients.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.designs import Design, designs_of
from analysis.plots import DrawnStudy, drawing
from analysis.remarks import remarks_on
from cosim import ConfigurationError
from cosim.configuration.rules import did_you_mean
from cosim.files.on_disk import replace, shown
from scenarios.command_line.arguments import parse, usage
from scenarios.command_line.console import console, made, remark, save_table
from scenarios.command_line.looking import Found, as_read, folders, nothing_in, runs_of, targets_of_studies
from scenarios.command_line.pictures import KINDS, PlotOptions, curves_in_numbers
from scenarios.command_line.targets import named_in, targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INCHES = {"in": 1.0, "cm": 1.0 / 2.54, "mm": 1.0 / 25.4, "pt": 1.0 / 72.0}
_ONLY_OF = {
    "target": ("pareto", "accuracy-time", "factor", "bars", "cdf"),
    "field": ("factor",),
    "metric": ("factor", "bars", "pareto", "cdf", "accuracy-time", "kinds"),
    "over": ("accuracy-time",),
    "global_round": ("timeline",),
}
"""Option -> the kinds of pictures that have it."""
_FORMATS = ("pdf", "svg", "png")
_SETTINGS: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "axes.linewidth": 0.6,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "cosim",
}


def main(arguments: list[str]) -> int:
    """`cosim plot`."""
    paths, rest = folders(arguments)
    if not paths:
        return usage("plot", "FOLDER...", PlotOptions(), arguments, __doc__ or "", [], {})
    options = parse(PlotOptions, "cosim plot FOLDER...", rest, PlotOptions(), __doc__)
    with as_read(paths):
        return plot(paths, options)


def plot(paths: list[Path], options: PlotOptions) -> int:
    """Draw the picture and write it."""
    if options.kind not in KINDS:
        hint = did_you_mean(options.kind, KINDS)
        raise ConfigurationError(f"--kind {options.kind}: no such picture.{hint} Known: {', '.join(KINDS)}.")
    out = options.out or paths[0] / f"{options.kind}.pdf"
    kind = out.suffix.removeprefix(".").lower()
    if kind == "csv" and options.kind != "accuracy-time":
        use = "Use cosim table --format csv."
        raise ConfigurationError(f"--out {out}: the numbers of --kind {options.kind} are in tables. {use}")
    if kind not in (*_FORMATS, "csv"):
        raise ConfigurationError(f"--out {out}: no known format. Use a name that ends in .pdf, .svg or .png.")
    _check(options)
    of_paths = [runs_of(path) for path in paths]
    found = [run for one in of_paths for run in one.runs]
    if not found:
        raise nothing_in("plot", of_paths)
    designs = designs_of(
        [result for _, result in found], {id(result): name for name, result in found if name is not None}
    )
    study = study_of(designs, paths, of_paths, options)
    if kind == "csv":
        made(out.parent)
        save_table(curves_in_numbers(study, options), out)
        console.print(f"Points: {shown(out)}", soft_wrap=True)
        return 0
    with drawing(_SETTINGS):
        drawn, caption = drawn_as(study, options)
        made(out.parent)
        replace(out, lambda partial: drawn.savefig(partial, format=kind, dpi=300, metadata=_metadata(kind)))
    remark([*(words for one in of_paths for words in one.remarks), *remarks_on(designs)])
    console.print(f"Picture: {shown(out)}", soft_wrap=True)
    if caption:
        console.print(f"Caption: {caption}", soft_wrap=True)
    return 0


def study_of(
    designs: Sequence[Design], paths: Sequence[Path], found: Sequence[Found], options: PlotOptions
) -> DrawnStudy:
    """The designs with the targets that are asked for, that the metric names, or that studies have."""
    wanted, held = targets(options.target, options.held), options.held
    if not wanted:
        wanted, held = named_in(options.metric.split(",") if options.metric else [])
    if not wanted:
        wanted, held, _ = targets_of_studies(paths, found)
    return DrawnStudy(designs, wanted, held)


def drawn_as(study: DrawnStudy, options: PlotOptions) -> "tuple[Figure, str]":
    """The figure, and its caption.

    Raises:
        ConfigurationError: The runs have not what the kind shows.
    """
    from matplotlib.figure import Figure

    draw, needed_in = KINDS[options.kind]
    width_in = inches("--width", options.width)
    height_in = needed_in(study, width_in) if options.height is None else inches("--height", options.height)
    with drawing(_SETTINGS):
        figure = Figure(figsize=(width_in, height_in), layout="constrained")
        try:
            caption = draw(figure, study, options)
        except ValueError as error:
            raise ConfigurationError(f"plot: {error}") from None
        figure.draw_without_rendering()
    return figure, caption


def inches(option: str, length: str) -> float:
    """A length such as 3.5in or 88mm, in inch.

    Raises:
        ConfigurationError: None, or one that no page has.
    """
    unit = next((unit for unit in _INCHES if length.endswith(unit)), "in")
    try:
        found = float(length.removesuffix(unit)) * _INCHES[unit]
    except ValueError:
        found = 0.0
    if not 1.0 <= found <= 40.0:
        raise ConfigurationError(f"{option} {length}: must be from 1in to 40in. Use 3.5in, or 88mm.")
    return found


def _check(options: PlotOptions) -> None:
    """Refuse what would have no effect."""
    usual = PlotOptions()
    for name, kinds in _ONLY_OF.items():
        if getattr(options, name) != getattr(usual, name) and options.kind not in kinds:
            option = name.replace("_", "-")
            raise ConfigurationError(
                f"--{option}: a picture of --kind {options.kind} has none. Use --kind {kinds[0]}."
            )
    if options.held > 1 and options.kind not in (has_costs := ("pareto", "factor", "bars", "cdf")):
        raise ConfigurationError(
            f"--held: a picture of --kind {options.kind} has no time to a target. Use --kind {has_costs[0]}."
        )


def _metadata(kind: str) -> dict[str, None]:
    """Dates left out, so that the same rows give the same bytes."""
    return {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})
