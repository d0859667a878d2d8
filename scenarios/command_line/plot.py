"""`cosim plot`: one picture of runs or of a study, to paste.

cosim plot studies/bandwidth --kind accuracy-time --out fig.pdf
cosim plot studies/bandwidth --kind factor --metric energy --width 7in
cosim plot studies/bandwidth --kind pareto --target 0.8
cosim plot runs/a runs/b --kind cdf --out arrivals.svg

| kind | what it shows |
|---|---|
| accuracy-time | the headline, such as accuracy, over simulated time: means over runs |
| energy | what the clients' energy was spent on, design by design |
| bits | what a client has sent up and received, design by design |
| presence | who was there when edge rounds began, whose battery was empty, who was away |
| pareto | time and energy to a target |
| factor | a number over a field that differs, a line for what else does |
| timeline | who did what in a global round, or in a stretch of a run without rounds |
| cdf | how many updates have arrived after how long |

Of runs that keep rows of edge rounds alone (--records rounds), energy is drawn by activity, wasted or not;
cdf, of one run, shows how long edge rounds and their uploads last; presence does not tell an empty battery.
A timeline takes rows of clients.

Bands and bars are 95 % intervals of means; of fewer than three runs each one is drawn instead. Above three
lines, intervals stand at the ends only.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import tyro

from analysis import plots
from analysis.designs import Design, designs_of, headlines
from analysis.fates import check_clients
from analysis.report.numbers import measures_of
from cosim import ConfigurationError, Result
from cosim.configuration import did_you_mean
from cosim.files import replace
from scenarios.command_line.arguments import parse, usage
from scenarios.command_line.console import console, made
from scenarios.command_line.looking import folders, runs_of
from scenarios.command_line.targets import targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES = {"in": 1.0, "cm": 1.0 / 2.54, "mm": 1.0 / 25.4, "pt": 1.0 / 72.0}
_WITH_TARGETS = ("pareto", "accuracy-time")
_MOST_NAMED = 8
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


@attrs.frozen(kw_only=True)
class PlotOptions:
    """What is drawn, and how large.

    Attributes:
        kind: What is drawn, of those above.
        out: PDF, SVG or PNG file to write; none: the kind's name as PDF in the first folder.
        width: Of the picture, in in, cm, mm or pt; a column of two is about 3.5in.
        height: Of the picture; none: what the kind needs.
        target: Of the headline, such as an accuracy of 0.8 (pareto), or several by commas (accuracy-time).
        held: Evaluations in a row at which the target must be reached to count (pareto).
        field: Field along the axis (factor); none: that with most values.
        metric: What is drawn over the field, as much of its words as tells it (factor); none: the headline.
        global_round: Which one (timeline); none: the first in which an update was dropped, or else the first.
    """

    kind: str = "accuracy-time"
    out: Path | None = None
    width: str = "3.5in"
    height: str | None = None
    target: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    held: int = 1
    field: str | None = None
    metric: str | None = None
    global_round: int | None = None


def main(arguments: list[str]) -> int:
    """`cosim plot`."""
    paths, rest = folders(arguments)
    if not paths:
        return usage("plot", "FOLDER...", PlotOptions(), arguments, __doc__ or "", [], {})
    return plot(paths, parse(PlotOptions, "cosim plot FOLDER...", rest, PlotOptions(), __doc__))


def plot(paths: list[Path], options: PlotOptions) -> int:
    """Draw the picture and write it."""
    if options.kind not in KINDS:
        hint = did_you_mean(options.kind, KINDS)
        raise ConfigurationError(f"--kind {options.kind}: no such picture.{hint} Known: {', '.join(KINDS)}.")
    out = options.out or paths[0] / f"{options.kind}.pdf"
    kind = out.suffix.removeprefix(".").lower()
    if kind not in _FORMATS:
        raise ConfigurationError(
            f"--out {out}: no known format. Usual fix: a name that ends in .pdf, .svg or .png."
        )
    _check_targets(options)
    found = [run for path in paths for run in runs_of(path)[0]]
    if not found:
        raise ConfigurationError("plot: no run in it has ended. Usual fix: another folder, or wait.")
    designs = designs_of(
        [result for _, result in found], {id(result): name for name, result in found if name is not None}
    )
    import matplotlib  # not before there is something to draw

    with matplotlib.rc_context(_SETTINGS):
        drawn = drawn_as(designs, options)
        made(out.parent)
        replace(out, lambda partial: drawn.savefig(partial, format=kind, dpi=300, metadata=_metadata(kind)))
    console.print(f"Picture: {out}", markup=False, soft_wrap=True)
    return 0


def drawn_as(designs: Sequence[Design], options: PlotOptions) -> Any:
    """The figure.

    Raises:
        ConfigurationError: The runs have not what the kind shows.
    """
    import matplotlib
    from matplotlib.figure import Figure

    draw, needed_in = KINDS[options.kind]
    width_in = inches("--width", options.width)
    height_in = needed_in(designs, width_in) if options.height is None else inches("--height", options.height)
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(width_in, height_in), layout="constrained")
        try:
            draw(figure.subplots(), designs, options)
        except ValueError as error:
            raise ConfigurationError(f"plot: {error}") from None
        figure.draw_without_rendering()
    return figure


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
        raise ConfigurationError(f"{option} {length}: must be from 1in to 40in. Usual fix: 3.5in, or 88mm.")
    return found


def _check_targets(options: PlotOptions) -> None:
    """Refuse what would have no effect."""
    if options.target and options.kind not in _WITH_TARGETS:
        raise ConfigurationError(
            f"--target: a picture of --kind {options.kind} has none. Usual fix: --kind {_WITH_TARGETS[0]}."
        )
    if options.held > 1 and options.kind != "pareto":
        raise ConfigurationError(
            f"--held: a picture of --kind {options.kind} has no time to a target. Usual fix: --kind pareto."
        )


def _metadata(kind: str) -> dict[str, None]:
    """Dates left out, so that the same rows give the same bytes."""
    return {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})


def _model(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    plots.model_over(axes, designs, targets=targets(options.target, options.held))


def _energy(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    _bars(axes, designs, plots.energy(axes, designs))


def _bits(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    _bars(axes, designs, plots.directions(axes, designs))


def _bars(axes: "Axes", designs: Sequence[Design], num_drawn: int) -> None:
    if num_drawn < len(designs):
        axes.set_ylabel(f"first {num_drawn} of {len(designs)} designs")


def _pareto(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    wanted = targets(options.target, options.held)
    if len(wanted) != 1:
        given = f"needs one target, and {len(wanted)} are given" if wanted else "needs a target"
        raise ConfigurationError(f"--kind pareto: {given}. Usual fix: --target 0.8.")
    plots.pareto(axes, designs, wanted[0], options.held)


def _factor(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    fields = plots.numeric_fields(designs)
    if not fields:
        raise ConfigurationError(
            "--kind factor: no field is a number that differs. Usual fix: --kind energy."
        )
    field = fields[0] if options.field is None else _one_of("--field", options.field, fields)
    measures = measures_of(designs)
    shares = {f"final {measure.label}" for measure in headlines(designs).values() if measure.is_share}
    first = next((words for words in measures if words.startswith("final ")), next(iter(measures)))
    words = first if options.metric is None else _one_of("--metric", options.metric, list(measures))
    is_share = words in shares or words == "dropped updates (%)"
    plots.factor(axes, designs, field, measures[words], words, is_share=is_share)


def _timeline(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    run = _run_of_one_design(designs, options)
    check_clients([run])
    if options.global_round is not None and not run.has_rounds:
        raise ConfigurationError("--global-round: the run has versions, no rounds. Usual fix: leave it out.")
    played = plots.telling_round(run) if options.global_round is None else options.global_round
    plots.round_picture(axes, run, played)


def _presence(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    run = _run_of_one_design(designs, options)
    if not (run.rounds["level"] == "edge").any():
        raise ConfigurationError("--kind presence: the run has no edge rounds. Usual fix: --kind timeline.")
    plots.states_picture(axes, run)


def _run_of_one_design(designs: Sequence[Design], options: PlotOptions) -> Result:
    if len(designs) > 1:
        these = f"of one design, and these are {len(designs)}"
        raise ConfigurationError(f"--kind {options.kind}: {these}. Usual fix: the folder of one run.")
    return _any_run(designs)


def _arrivals(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    if len(designs) == 1 and len(_any_run(designs).tallies):
        plots.times_picture(axes, _any_run(designs))
        return
    num_drawn = plots.arrivals(axes, designs)
    if num_drawn < len(designs):
        axes.set_xlabel(f"{axes.get_xlabel()}\nfirst {num_drawn} of {len(designs)} designs")


def _one_of(option: str, given: str, known: Sequence[str]) -> str:
    """The one that a part of its words names."""
    found = [name for name in known if given == name] or [name for name in known if given in name]
    if len(found) != 1:
        raise ConfigurationError(f"{option} {given}: must name one of {', '.join(known)}.")
    return found[0]


def _golden(designs: Sequence[Design], width_in: float) -> float:
    """Height of a picture with a legend of designs; those with the longest names are reckoned with."""
    names = sorted((design.name for design in designs), key=len, reverse=True)[:_MOST_NAMED]
    return 0.74 * width_in + (plots.legend_height_in(names, 0.8 * width_in) if len(names) > 1 else 0.0)


def _of_bars(designs: Sequence[Design], width_in: float) -> float:
    return 1.4 + 0.32 * min(len(designs), plots.MOST_BARS)


def _of_energy(designs: Sequence[Design], width_in: float) -> float:
    parts = plots.energy_parts(designs[: plots.MOST_BARS])[0].values()
    shown = {part for own in parts for part, joules in own.items() if joules}
    return _of_bars(designs, width_in) - 0.3 + plots.legend_height_in(shown, 0.8 * width_in)


def _of_rows(designs: Sequence[Design], width_in: float) -> float:
    clients = plots.num_clients(_any_run(designs))
    return 0.74 * width_in if clients > plots.MOST_IN_ROWS else 1.2 + 0.14 * min(clients, plots.MOST_ROWS)


def _any_run(designs: Sequence[Design]) -> Result:
    return designs[0].counted[0]


Drawing = Callable[["Axes", Sequence[Design], PlotOptions], None]
Height = Callable[[Sequence[Design], float], float]
KINDS: dict[str, tuple[Drawing, Height]] = {
    "accuracy-time": (_model, _golden),
    "energy": (_energy, _of_energy),
    "bits": (_bits, _of_bars),
    "presence": (_presence, _golden),
    "pareto": (_pareto, _golden),
    "factor": (_factor, _golden),
    "timeline": (_timeline, _of_rows),
    "cdf": (_arrivals, _golden),
}
"""Kind -> how it is drawn, and how high it is for designs and a width."""
