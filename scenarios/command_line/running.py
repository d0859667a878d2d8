"""Running: a run in a terminal, with its progress, table and picture, for every command that runs one."""

import warnings
from pathlib import Path
from typing import Literal

import attrs
from rich.table import Table

from analysis.metrics import target_in_words
from analysis.plots import drawing, overview
from cosim.display.progress import say
from cosim.engine.run.run import run
from cosim.engine.store.run_folder import check_network, complete_in
from cosim.files.on_disk import place, shown, typed
from cosim.networks.of_run import configuration_of, first_values_of
from cosim.results.result import Result
from cosim.studies.table import target_label
from cosim.studies.targets import check_targets
from cosim.system import System
from cosim.units import quantity
from scenarios.command_line.console import console, next_free_folder, save_picture
from scenarios.command_line.run import Options
from scenarios.command_line.targets import targets

GROWN = 10.0
"""Times the first loss, by which the last one says that training has diverged. [no source]"""


def run_and_show(
    scenario: str | None,
    system: System,
    options: Options | None = None,
    *,
    title: str | None = None,
    network_of_run: dict[str, str] | None = None,
    resume: bool = False,
    to_go_on: str = "cosim run",
) -> Result:
    """Run a system with progress, print its table, draw its picture.

    Args:
        scenario: Name of the scenario for its config.json. None means no scenario.
        title: Name of it in folder, progress and table. None means the scenario's name.
        network_of_run: Entry on the network in the config.json of the run that is repeated. None means no
            entry.
        resume: Resume the interrupted run in `options.out`.
        to_go_on: Command that resumes the run when it is interrupted, without --resume.
    """
    options, title = options or Options(), title or scenario or "run"
    wanted = targets(options.target, options.held)
    check_targets(system, wanted, options.held, None if options.data_dir is None else place(options.data_dir))
    out = place(options.out) if options.out else next_free_folder("runs", title)
    if network_of_run is not None:
        found = configuration_of(system, first_values_of(system), scenario)
        check_network(network_of_run, found["network"], "--config")
    result = complete_before(out) if resume else None
    try:
        result = result or result_of(title, scenario, system, attrs.evolve(options, out=out), resume=resume)
    except KeyboardInterrupt:
        if (out / "config.json").is_file():
            say(f"To resume: {to_go_on} --resume {typed(out)}")
        raise
    picture = out / "overview.png"
    with drawing():
        save_picture(overview(result), picture)
    console.print(summary_table(title, result))
    if words := kept_in_words(result, options.keep):
        console.print(words)
    for target in wanted:
        console.print(reached_in_words(result, target, options.held))
    if words := diverged(result):
        console.print(words)
    if 0 < result.summary.num_updates == result.summary.num_dropped:
        console.print("Every update was dropped. Use a longer wait.")
    console.print(f"Run folder: {shown(out)}\nPicture:    {shown(picture)}", soft_wrap=True)
    return result


def diverged(result: Result) -> str | None:
    """Sentence that training has diverged, and the remedy; None if it has not."""
    fix, told = "training has diverged. Use a smaller learning rate.", result.summary
    lost = [of.words for column, of in told.measures.items() if not of.is_sound(told.scores[column])]
    if lost:
        return f"Not finite: {', '.join(lost)}; {fix}"
    for losses in result.evaluations.filter(regex="^loss").to_numpy(dtype=float).T:
        if len(losses) and losses[-1] > GROWN * losses[0] > 0.0:
            return f"The loss has grown from {losses[0]:.3g} to {losses[-1]:.3g}: {fix}"
    return None


def complete_before(folder: Path) -> Result | None:
    """The run of a folder that needs no more than its picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged tables, which is said when they are made again
        return complete_in(folder)


def result_of(
    title: str,
    scenario: str | None,
    system: System,
    options: Options,
    *,
    resume: bool | Literal["as found"] = False,
) -> Result:
    """The result of a system, with progress on the way."""
    return run(
        system,
        out=options.out,
        scenario=scenario,
        data_dir=options.data_dir,
        num_workers=options.workers,
        device=options.device,
        resume=resume,
        checkpoint_every=options.checkpoint_every,
        keep=options.keep,
        clock=options.clock,
        records=options.records,
        progress=False if options.quiet else title,
    )


def kept_in_words(result: Result, keep: str) -> str | None:
    """Line about the model that is kept; None if it is the last."""
    if not result.keeps_another:
        return None
    rows, version = result.evaluations, result.summary.kept_version
    found = rows[rows["version"] == version].iloc[0]
    measures = result.summary.measures
    told = [name for at, name in enumerate(measures) if at == 0 or name == keep]
    scores = [f"{measures[name].words} {measures[name].shown(found[name])}" for name in told]
    return f"Kept: the model of version {version} ({', '.join(scores)})"


def reached_in_words(result: Result, target: float, held: int) -> str:
    """Line about the cost of a run up to a target."""
    label = target_label(target, held)
    reached, words = result.at_target(target, held), target_in_words(label)
    if reached is None:
        return f"{words}: not reached"
    time, energy, bits = (
        quantity(float(f"{value:.4g}"), unit)
        for value, unit in ((reached.time_s, "s"), (reached.energy_j, "J"), (reached.bits_per_client, "bit"))
    )
    return f"{words}: reached after {time}, {energy}, {bits} per client, with version {reached.version}"


def summary_table(name: str, result: Result) -> Table:
    """A run in one line."""
    summary = result.summary
    share = summary.num_dropped / summary.num_updates if summary.num_updates else 0.0
    told = {"simulated": f"{summary.time_s:.4g} s"}
    if summary.headline is not None:
        column, measure = summary.headline
        told[measure.words] = measure.shown(summary.scores[column])
    told |= {
        "energy": f"{summary.energy_j:.4g} J",
        "dropped updates": f"{summary.num_dropped} of {summary.num_updates} ({100 * share:.1f} %)",
        "bits per client": f"{summary.bits_per_client / 1e6:.4g} Mbit",
    }
    if summary.received_bits_per_client:
        told["received per client"] = f"{summary.received_bits_per_client / 1e6:.4g} Mbit"
    if num_lost := int(result.stations["num_lost"].sum()):
        num_packets, own = (
            result.stations["num_packets"].sum(),
            result.stations["num_lost_client_packets"].sum(),
        )
        lost = f"{num_lost} of {num_packets} ({100 * num_lost / num_packets:.1f} %)"
        told["packets lost in queues"] = f"{lost}, {own} of clients"
    progress = " ".join(map(str, result.progress))
    table = Table(title=f"{name}: {progress}, {summary.status_in_words}", title_justify="left")
    for heading in told:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(*told.values())
    return table
