"""Run preparation: all that can be refused of a run, before its clock starts and before a folder is made."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.configuration.json_form import check_reloads
from cosim.configuration.port import pictures_of
from cosim.configuration.rules import shown
from cosim.data.dataset import Dataset
from cosim.data.loading import Loaded, load
from cosim.display.progress import progress_of, say
from cosim.engine.clients.described import described
from cosim.engine.clients.rest import rest_rows
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.run.options import RunOptions
from cosim.engine.run.writer import RunWriter
from cosim.engine.servers.cloud import Cloud, VersionReport
from cosim.engine.store.row_groups import RowGroups
from cosim.engine.store.run_folder import CONFIG, check_fits, check_samples, create, found_in
from cosim.files.on_disk import write_json
from cosim.names import CLOUD
from cosim.networks.of_run import configuration_of, first_values_of, network_of
from cosim.own_code.global_generators import seeded
from cosim.own_code.sources import sources_of
from cosim.recording.digest import Digest
from cosim.results.provenance import FILE as PROVENANCE
from cosim.results.provenance import provenance
from cosim.results.result import Result
from cosim.system.heavy_tails import remark_on_times
from cosim.system.needs import check_room, kept_values_of, needs_of
from cosim.system.remarks import remarks_on
from cosim.system.system import System
from cosim.tasks.metric import named_metrics

if TYPE_CHECKING:
    from cosim.engine.learning.learner import Learner
    from cosim.networks.first_values import FirstValues


@attrs.frozen(eq=False)
class PreparedRun:
    """A run that may begin."""

    sim: Simulation
    cloud: Cloud
    writer: RunWriter
    remarks: Sequence[str]


def prepare(
    system: System, network: Any, options: RunOptions, while_running: ExitStack
) -> PreparedRun | Result:
    """Check a run and make its nodes, and its folder; or the complete run that is in the folder.

    Args:
        network: As `cosim.run` takes it.
        while_running: Gets what ends with the run: locks, progress, temporary files.

    Raises:
        ConfigurationError: Anything that cannot be run.
    """
    _check_network(network)
    if options.out is not None:
        check_reloads(system)
    first = first_values_of(system, network)
    config, sources = configuration_of(system, first, options.scenario), sources_of(system)
    resumed, resumes = None, _resumes(options)
    if resumes:
        how = options.keep, while_running, options.as_found
        resumed = found_in(options.out, config, sources, *how)
    if isinstance(resumed, Result):
        return resumed
    loaded, learns = cache(partial(_loaded, system, options.data_dir)), system.evaluation.learns

    def data() -> Dataset:
        return loaded().dataset

    learner = _learner(system, network, first, data, options)
    samples = loaded().hash if learns else None
    if options.out is not None and resumed is not None:
        check_fits(resumed, learner, options.out)
        check_samples(samples, options.out)
    needs = partial(
        needs_of,
        system,
        num_kept_values=kept_values_of(system, learner.shape),
        evaluation_bytes=learner.evaluation_bytes,
        group_rows=None if options.out is None else options.group_rows,
    )
    # what no clock and no choice of records can hold, before the nodes are made
    check_room(needs("arrays", keeps_rows=False), options.out, keeps_rows=False)
    ground = ground_of(system, options.clock, options.records, options.shuffle_ties)
    sim = ground.sim
    digest = Digest(sim.recorder) if options.out is not None and learns else None
    cloud = nodes_of(system, ground, learner, data, resumed, digest)
    remarks, (clock, why) = remarks_on(system, ground.devices), cloud.clock
    keeps_rows = clock == "events" or sim.recorder.client_sums is None
    origin = provenance(system.seed, options.num_threads, options.device) | {
        "started_with": options.started_with,
        "sources": sources,
        "remarks": remarks,
        "pictures": [own for own in pictures_of(system) if isinstance(own, str)],
        "remark_on_times": remark_on_times(system),
        "clock": clock,
        "clock_why": why,
        "records": "all" if keeps_rows else "rounds",
    }
    needed = needs(clock, keeps_rows=keeps_rows, rest_rows=rest_rows(ground.devices))
    check_room(needed, options.out, keeps_rows=keeps_rows)
    if needed.takes_much:
        _say(options, f"takes {needed.words}")
    origin |= _how_learned(system, learner, first, samples, options)
    of_clients = described(cloud.edges, data if learns else None)
    how_kept = options.out, options.group_rows, digest, of_clients
    rows = RowGroups(sim.recorder, system.num_clients, *how_kept)
    while_running.callback(rows.discard)
    writer = RunWriter(rows, cloud, config, origin, options, _listener(system, options, while_running))
    cloud.listener = writer.heard
    if options.out is not None and not resumes:
        create(options.out, config, origin, while_running)
    elif options.out is not None and not writer.is_replaying:  # else the writer notes it at the checkpoint
        write_json(options.out / PROVENANCE, origin)  # nothing is left of earlier processes
    return PreparedRun(sim, cloud, writer, remarks)


def _check_network(network: Any) -> None:
    from cosim.networks.named import Named

    if isinstance(network, type):
        name = network.__name__
        raise ConfigurationError(
            f"run: network = {name}: a class: must be a torch.nn.Module, or a function that returns one. Use "
            f"{name}(...), or lambda: {name}(...) for first values that follow from the seed."
        )
    if not (network is None or callable(network) or isinstance(network, Named)):
        raise ConfigurationError(
            f"run: network = {shown(network)}: must be a torch.nn.Module, or a function that returns "
            "one. Use out= for a folder, and System.model for a network by its name."
        )


def _resumes(options: RunOptions) -> bool:
    """True if the folder must already hold a run."""
    if options.as_found:
        return options.out is not None and (options.out / CONFIG).exists()
    return bool(options.resume)


def _loaded(system: System, data_dir: Path | None) -> Loaded:
    """The data set of a run, with the clients' test shares where a task reads them."""
    found = load(system.data, system.seed, data_dir)
    metrics = () if system.task is None else named_metrics(system.task.metrics)
    if not any(metric.reads_owners for metric in metrics):
        return found
    own = Simulation(system.seed)  # so that no other draws move
    with seeded(own.key(CLOUD, "test owners")):
        owners = system.data.test_owners(own, found.dataset, system.sizes())
    return found._replace(dataset=attrs.evolve(found.dataset, test_owners=owners))


def _learner(
    system: System, network: Any, first: "FirstValues", data: Callable[[], Dataset], options: RunOptions
) -> "Learner":
    from cosim.engine.learning.learner import Learner
    from cosim.engine.learning.nothing_learned import NothingLearned

    if system.evaluation.learns:
        how = options.device, options.num_threads, True, system.task, system.personal
        return Learner(first.network, data(), *how)
    outline = system.data.outline or data()
    is_module = hasattr(network, "named_parameters")
    with_values = None if is_module else partial(network_of, system, network, values=True)
    return NothingLearned(first.network, outline, system.task, system.personal, with_values)


def _listener(
    system: System, options: RunOptions, while_running: ExitStack
) -> Callable[[VersionReport], None]:
    """The listener of a run, which shows how far it has come where this is asked for."""
    if not options.progress:
        return options.listener
    show = while_running.enter_context(progress_of(options.title))

    def heard(report: VersionReport) -> None:
        reached = report.evaluation.headline if report.evaluation else "no evaluation"
        show(system.end.counted(report.progress), f"simulated {report.progress.time_s:.4g} s, {reached}")
        options.listener(report)

    return heard


def _how_learned(
    system: System, learner: "Learner", first: "FirstValues", samples: str | None, options: RunOptions
) -> dict[str, Any]:
    """Entries of provenance.json about the learning; tells the user what is unusual."""
    told: dict[str, Any] = {}
    if learner.manner is not None:
        told["training"] = learner.manner.words
        if learner.manner.cannot_batch is not None:
            _say(options, learner.manner.words)
    if system.evaluation.learns:
        own_weights = first.identity.get("weights") if system.initial_weights == "network" else None
        told |= {"samples": samples, "initial_weights": own_weights or first.words}
        if first.given:
            _say(options, f"first values are {first.words}")
    return told


def _say(options: RunOptions, words: str) -> None:
    if options.progress:
        say(f"{options.title}: {words}")
