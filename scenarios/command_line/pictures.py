"""The kinds of pictures that `cosim plot` draws of designs, each with the height that it needs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import attrs
import tyro

from analysis import plots
from analysis.designs import Design, headlines
from analysis.fates import check_clients
from analysis.report.numbers import measures_of
from cosim import ConfigurationError, Result
from scenarios.command_line.targets import targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 8
_COLUMNS = {
    "time_s": "simulated time (s)",
    "energy_j": "energy (J)",
    "dropped_share": "dropped updates (%)",
    "bits_per_client": "sent per client (Mbit)",
}
"""Metric as tables call it -> its words in pictures."""


@attrs.frozen(kw_only=True)
class PlotOptions:
    """Kind and size of a picture.

    Attributes:
        kind: One of the kinds above.
        out: PDF, SVG or PNG file to write. None means the kind's name as PDF in the first folder.
        width: Width of the picture, in in, cm, mm or pt; a column of two is about 3.5in.
        height: Height of the picture. None means what the kind needs.
        target: Target of the headline, such as an accuracy of 0.8 (pareto), or several by commas
            (accuracy-time).
        held: Evaluations in a row at which the target must be reached to count (pareto).
        field: Field along the axis (factor). None means the field with most values.
        metric: Metric that is drawn over the field, by its column as in tables, or by enough of its words
            (factor). None means the headline.
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
    global_round: int | None = None


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
        raise ConfigurationError(f"--kind pareto: {given}. Use --target 0.8.")
    plots.pareto(axes, designs, wanted[0], options.held)


def _factor(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    fields = plots.numeric_fields(designs)
    if not fields:
        raise ConfigurationError("--kind factor: no field is a number that differs. Use --kind energy.")
    field = fields[0] if options.field is None else _one_of("--field", options.field, fields)
    measures = measures_of(designs)
    shares = {f"final {measure.label}" for measure in headlines(designs).values() if measure.is_share}
    first = next((words for words in measures if words.startswith("final ")), next(iter(measures)))
    columns = _COLUMNS | {name: f"final {of.label}" for name, of in headlines(designs).items()}
    asked = options.metric and columns.get(options.metric, options.metric)
    words = _one_of("--metric", asked, list(measures)) if asked else first
    is_share = words in shares or words == "dropped updates (%)"
    plots.factor(axes, designs, field, measures[words], words, is_share=is_share)


def _timeline(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    run = _run_of_one_design(designs, options)
    check_clients([run])
    if options.global_round is not None and not run.has_rounds:
        raise ConfigurationError("--global-round: the run has versions, no rounds. Leave it out.")
    played = plots.telling_round(run) if options.global_round is None else options.global_round
    plots.round_picture(axes, run, played)


def _presence(axes: "Axes", designs: Sequence[Design], options: PlotOptions) -> None:
    run = _run_of_one_design(designs, options)
    if not (run.rounds["level"] == "edge").any():
        raise ConfigurationError("--kind presence: the run has no edge rounds. Use --kind timeline.")
    plots.states_picture(axes, run)


def _run_of_one_design(designs: Sequence[Design], options: PlotOptions) -> Result:
    if len(designs) > 1:
        these = f"of one design, and these are {len(designs)}"
        raise ConfigurationError(f"--kind {options.kind}: {these}. Use the folder of one run.")
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
        raise ConfigurationError(f"{option} {given}: must name exactly one. Use one of {', '.join(known)}.")
    return found[0]


def _golden(designs: Sequence[Design], width_in: float) -> float:
    """Height of a picture with a legend of designs, by their longest names."""
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
