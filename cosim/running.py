"""Run: one system from its configuration to its tables.

Everything is checked before the clock starts and before a folder is made. The tables and a checkpoint of the
global model are saved when the run ends, when it is interrupted (Ctrl-C), and now and then between, so that a
stopped run goes on where it was.

Usage::

    result = run(System(), out="runs/a")
    print(result.summary)
    run(System(), out="runs/a", resume=True)  # had it been stopped
"""

import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import attrs

from cosim.beforehand.heavy_tails import remark_on_times
from cosim.beforehand.needs import ClockKind, RecordsKind, check_room, kept_values_of, needs_of
from cosim.checkpoint import other_rows
from cosim.collector import rare_collections
from cosim.configuration import (
    ConfigurationError,
    check_reloads,
    checked_call,
    from_dict,
    names_of_a_file,
)
from cosim.configuration.rules import shown
from cosim.data.dataset import Dataset
from cosim.data.loading import Loaded, load
from cosim.files import place
from cosim.folders import alone_in
from cosim.global_generators import seeded
from cosim.interrupts import interrupts_kept
from cosim.kept_model import LAST, kept_by
from cosim.learning.workers import num_cores
from cosim.named_files.sources import sources_of
from cosim.names import CLOUD
from cosim.network import nodes_of
from cosim.progress import progress_of, say, shown_and_heard
from cosim.provenance import add_note, provenance, started_with
from cosim.records import END_OF_RUN
from cosim.results import Result
from cosim.rows.digest import Digest
from cosim.rows.row_groups import GROUP_ROWS, RowGroups
from cosim.rows.summary import COMPLETE
from cosim.run_folder import CONFIG, check_fits, check_samples, create, found_in, stopped
from cosim.run_network import configuration_of, first_values_of, network_of
from cosim.run_writer import RunWriter
from cosim.servers.cloud import Cloud, VersionReport
from cosim.simulation import Process, Simulation, process_of
from cosim.system import System

if TYPE_CHECKING:
    pass

SCENARIO = r"[\w-]+|[\w.-]+:\w+"
"""A scenario's name, or module:function."""


@checked_call
def run(
    system: System,
    network: Any = None,
    *,
    out: str | Path | None = None,
    scenario: str | None = None,
    data_dir: str | Path | None = None,
    num_workers: int | None = None,
    device: str = "cpu",
    listener: Callable[[VersionReport], None] = lambda report: None,
    shuffle_ties: int | None = None,
    clock: ClockKind = "auto",
    records: RecordsKind = "auto",
    resume: bool | Literal["as found"] = False,
    checkpoint_every: int | None = None,
    keep: str = LAST,
    group_rows: int = GROUP_ROWS,
    progress: bool | str = False,
) -> Result:
    """Play a system to its end.

    Args:
        network: The torch.nn.Module that is trained, or a function without arguments that returns it. It
            begins as the function makes it under the run's seed; of a module itself, what its layers can
            reset is drawn from the seed, or all is its own (`System.initial_weights`). Where nothing is
            learned it needs no values, so it may lie on torch's device "meta". None: the one that
            `System.model` names.
        out: Run folder to make; None keeps the tables in memory only.
        scenario: Name of the scenario, or module:function, which config.json says.
        data_dir: Folder of the data set's files; None looks in the usual places.
        num_workers: Threads that learn; None: one per available core. The results do not depend on it.
        device: "cpu" or "cuda".
        listener: Hears of every version of the global model as it is made.
        clock: Whether edge rounds are played by events or on arrays, with the same results; auto: by events
            up to 100,000 client-rounds, which take about ten seconds, on arrays above where all parts can.
        records: Whether the tables have rows of every client (all), or a `Tally` of every edge round (rounds;
            on arrays only); auto: all, up to ten million rows.
        shuffle_ties: Puts simultaneous events into a random order; the results do not depend on it.
        resume: Go on with the run of this very configuration that was stopped in `out`. As found: also read a
            run that is complete, and begin one where there is none.
        checkpoint_every: Keep the model of an evaluation when it is so many versions (global rounds) after
            the last one that was kept, besides every 15 seconds, as the tables; None: only then.
        keep: Which model is the result (`Result.learned`, `Result.network`), and is in the folder: last, of
            the last evaluation; best, of the one with the best headline, such as accuracy; the name of a
            column: with the best value in that (`cosim.kept_model`).
        group_rows: Rows of all tables together that are gathered in memory, at least, before they are
            written; the results do not depend on it.
        progress: Whether to show how far the run has come, as a bar in a terminal or a notebook, and before
            it what memory is taken, where clients keep much; a text: so called.

    Raises:
        ConfigurationError: Anything that cannot be run, before the clock starts; a selection rule that
            chooses nobody and lets no time pass, when it does.
    """
    from cosim.learning.learner import Learner
    from cosim.learning.network.named import Named
    from cosim.learning.nothing_learned import NothingLearned

    for name, number in (("checkpoint_every", checkpoint_every), ("num_workers", num_workers)):
        if number is not None and number < 1:
            raise ConfigurationError(f"run: {name} = {number}: must be at least 1. Usual fix: None.")
    if not (network is None or callable(network) or isinstance(network, Named)):
        raise ConfigurationError(
            f"run: network = {shown(network)}: must be a torch.nn.Module, or a function that returns one. "
            "Usual fix: out= for a folder, System.model for a network by its name."
        )
    if scenario is not None and not re.fullmatch(SCENARIO, scenario):
        raise ConfigurationError(
            f"run: scenario = {shown(scenario)}: must be a scenario's name, or module:function. Usual fix: "
            "None, and progress= for a title."
        )
    folder = None if out is None else place(out)
    if folder is not None:
        check_reloads(system)
    is_module = hasattr(network, "named_parameters")
    with_values = None if is_module else partial(network_of, system, network, values=True)
    first = first_values_of(system, network)
    config, sources = configuration_of(system, first, scenario), sources_of(system)
    as_found = resume == "as found"
    if as_found:
        resume = folder is not None and (folder / CONFIG).exists()
    asked = started_with(data_dir, num_workers, device, checkpoint_every, clock, records, keep)
    num_workers = num_cores() if num_workers is None else num_workers
    with ExitStack() as alone:
        found = found_in(folder, config, sources, keep, alone, waits=as_found) if resume else None
        if isinstance(found, Result) and as_found:
            return found
        known, sim = stopped(found), Simulation(system.seed, shuffle_ties=shuffle_ties)
        samples = cache(partial(_loaded, system, sim, None if data_dir is None else place(data_dir)))

        def data() -> Dataset:
            return samples().dataset

        if not system.evaluation.learns:
            outline = system.data.outline or data()
            learner: Learner = NothingLearned(
                first.network, outline, system.task, system.personal, with_values
            )
        else:
            options = (device, num_workers, True, system.task, system.personal)
            learner = Learner(first.network, data(), *options)
        column = kept_by(keep, learner.measures if system.evaluation.learns else {})
        if folder is not None and known is not None:
            check_fits(known, learner, folder)
            check_samples(samples().hash if system.evaluation.learns else None, folder)
        title = progress if isinstance(progress, str) else scenario or "run"
        if progress:
            show = alone.enter_context(progress_of(title))
            listener = shown_and_heard(show, system.end, listener)
        digest = Digest(sim._trace) if folder is not None and system.evaluation.learns else None
        rows = RowGroups(sim._trace, system.num_clients, folder, group_rows)
        alone.callback(rows.discard)
        writer = RunWriter(
            rows, sim, learner, config, known, listener, checkpoint_every, keep, column, digest
        )
        num_kept_values = kept_values_of(system, learner.shape)
        written_rows = None if folder is None else group_rows
        kept = {"num_kept_values": num_kept_values, "evaluation_bytes": learner.evaluation_bytes}
        needs = partial(needs_of, system, **kept, group_rows=written_rows)
        check_room(needs("arrays", keeps_rows=False), folder, keeps_rows=False)
        cloud = nodes_of(system, sim, learner, data, writer.heard, known, clock, records)
        writer.journal = cloud.journal
        origin = provenance(system.seed, num_workers, device) | {"started_with": asked}
        origin["sources"], origin["remark_on_times"] = sources, remark_on_times(system)
        played = cloud.edges[0].rounds.played
        origin["clock"] = "events" if played is None else "arrays"
        origin["clock_why"] = cloud.edges[0].rounds.why
        origin["records"] = "rounds" if played is not None and not played.keeps_rows else "all"
        keeps_rows = origin["records"] == "all"
        needed = needs(origin["clock"], keeps_rows=keeps_rows, rests=sim.rests)
        check_room(needed, folder, keeps_rows=keeps_rows)
        if progress and needed.takes_much:
            say(f"{title}: takes {needed.words}")
        if learner.manner is not None:
            origin["training"] = learner.manner.words
            if progress and learner.manner.cannot_batch is not None:
                say(f"{title}: {learner.manner.words}")
        if system.evaluation.learns:
            origin["samples"] = samples().hash
            own_weights = first.known_by.get("weights") if system.initial_weights == "network" else None
            origin["initial_weights"] = own_weights or first.words
            if progress and first.given:
                say(f"{title}: first values are {first.words}")
        if folder is not None and not resume:
            create(folder, config, origin)
            alone.enter_context(alone_in(folder, "run"))
        elif folder is not None and known is None:
            add_note(folder, origin)
        elif folder is not None:
            writer.when_replayed = partial(add_note, folder, origin)
        status = "failed"
        try:
            with interrupts_kept(), rare_collections():
                sim.run(_played(sim, system, cloud))
            if known is not None and cloud.progress.version < known.version:
                raise other_rows(f"version {known.version}, and now ends with {cloud.progress.version}")
            writer.time_s = sim.now_s
            status = COMPLETE
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            saved = None if writer.is_replaying else writer.save(status)
    assert saved is not None
    return writer.with_what_was_learned(saved)


def _loaded(system: System, sim: Simulation, data_dir: Path | None) -> Loaded:
    """The data set, with the clients' test shares where something asks for them."""
    found = load(system.data, system.seed, data_dir, sim)
    if system.task is None or not system.task.reads_owners:
        return found
    own = Simulation(system.seed)  # so that nobody's draws move
    with seeded(own.key(CLOUD, "test owners")):
        owners = system.data.test_owners(own, found.dataset, system.sizes())
    return found._replace(dataset=attrs.evolve(found.dataset, test_owners=owners))


def _played(sim: Simulation, system: System, cloud: Cloud) -> Process:
    """The protocol, until the run is over."""
    protocol, latest_s = system.protocol, system.end.latest_s
    process = process_of(protocol.play(sim, cloud), f"{type(protocol).__name__}.play")
    if latest_s is None:
        yield from process
    else:
        yield from sim.with_deadline([process], latest_s, END_OF_RUN)
    cloud.finish(sim)


def load_system(config: dict[str, Any], modules: Iterable[str | ModuleType] = ()) -> System:
    """The system of a config.json, which may be a stranger's.

    Args:
        modules: Whose functions it may name, besides those of `__main__`; a package with its submodules.

    Raises:
        ConfigurationError: It is none, or names a function that is not defined in one of these modules.
    """
    fix = "Usual fix: give the config.json of a run folder."
    if not isinstance(config, dict) or "system" not in config:
        raise ConfigurationError(f"no 'system' in it. {fix}")
    if unknown := sorted(config.keys() - {"scenario", "system", "network"}):
        raise ConfigurationError(
            f"unknown {', '.join(map(repr, unknown))} beside 'scenario', 'system' and 'network'. {fix}"
        )
    scenario = config.get("scenario")
    if scenario is not None and not (isinstance(scenario, str) and re.fullmatch(SCENARIO, scenario)):
        raise ConfigurationError(
            f"scenario = {scenario!r:.80}: must be a scenario's name, module:function, or null. {fix}"
        )
    with names_of_a_file(modules):
        return from_dict(System, config["system"])
