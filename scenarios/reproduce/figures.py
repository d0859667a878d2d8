"""Figures: what their reproductions share: options, runs, and how claims are told.

Every design runs with the same seeds, so differences are paired. Every run has a folder of its own below the
figure's; a reproduction that was stopped goes on with what is missing, and one that is asked for more seeds
runs these. Beside table and picture it leaves NAME.json: the command, the claims with their intervals, the
processor time that the runs took, and where.
"""

import shlex
import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import attrs

import cosim
from cosim.configuration import to_dict
from cosim.engine.learning.learner import Learner
from cosim.engine.store.run_folder import CONFIG
from cosim.files.folders import alone_in
from cosim.files.interrupts import interrupts_kept
from cosim.files.on_disk import place, read_json, shown, write_json
from cosim.networks.named import builder
from cosim.networks.of_run import network_of
from cosim.own_code.sources import sources_of
from cosim.results.summary import COMPLETE
from cosim.studies.asker import Asker
from cosim.studies.executors import outcomes, pool
from cosim.studies.order import Order, run_order
from cosim.studies.watch import watch
from scenarios.command_line import executor
from scenarios.command_line.console import made
from scenarios.reproduce.claims import HELD

Runs = dict[str, list[cosim.Result]]
"""Results by design, one for each seed."""

SEEDS = 5
_COSTS = "costs.json"
_OF_THE_MACHINE = ("out", "data_dir", "executor", "workers", "device")


@attrs.frozen(kw_only=True)
class Options:
    """Size of a reproduction.

    Attributes:
        full_seeds: Seeds of the full form, unless --seeds says otherwise; set by the class.
        quick_seeds: Seeds of the quick form, with which what it asks is not too noisy to tell.
        quick: Fewer curves, rounds and claims, at most 3 minutes on 2 cores.
        seed: Names the runs' randomness; the first of several.
        seeds: Seeds, one after another from --seed on. None means as many as the claims need.
        out: Folder of the figure. None means figures/NAME, with the form behind.
        data_dir: Folder with the data set's files. None means the usual places.
        executor: processes of this machine, or dask (a cluster of this machine), or dask=tcp://HOST:PORT.
        workers: Runs at a time. None means one per core.
        device: Where the learning is computed: cpu or cuda.
    """

    full_seeds: ClassVar[int] = SEEDS
    quick_seeds: ClassVar[int] = SEEDS

    quick: bool = False
    seed: int = 1
    seeds: int | None = None
    out: Path | None = None
    data_dir: Path | None = None
    executor: str = "processes"
    workers: int | None = None
    device: str = "cpu"

    def __attrs_post_init__(self) -> None:
        at_least({"seed": 0, "seeds": 1, "workers": 1}, self)

    @property
    def every_seed(self) -> range:
        """The seeds that are run."""
        return range(
            self.seed, self.seed + (self.seeds or (self.quick_seeds if self.quick else self.full_seeds))
        )

    def folder(self, figure: str) -> Path:
        """Folder of the figure."""
        return place(self.out or Path("figures") / (f"{figure}-quick" if self.quick else figure))

    def command(self, figure: str) -> str:
        """Command for the same numbers on another machine."""
        words = ["cosim", "reproduce", figure]
        for field in attrs.fields(type(self)):
            value, option = getattr(self, field.name), f"--{field.name.replace('_', '-')}"
            if field.name not in _OF_THE_MACHINE and value != field.default:
                values = value if isinstance(value, tuple) else () if value is True else (value,)
                words += [option, *map(str, values)]
        return shlex.join(words)


def at_least(limits: Mapping[str, int], options: Any) -> None:
    """Refuse options below their least values.

    Raises:
        ConfigurationError: One is.
    """
    for name, least in limits.items():
        value = getattr(options, name)
        if value is not None and value < least:
            raise cosim.ConfigurationError(
                f"--{name.replace('_', '-')} {value}: must be at least {least}. Leave it out."
            )


def run_all(figure: str, systems: Mapping[str, cosim.System], options: Options) -> Runs:
    """Run every design with every seed that is missing, as many at a time as the executor allows.

    Args:
        figure: Names the folder.
        systems: By design; their seeds are replaced.

    Raises:
        ConfigurationError: A run has failed, or a folder holds another one.
    """
    _check(systems.values(), options)
    folder = made(options.folder(figure))
    with alone_in(folder, "reproduction"), interrupts_kept(), watch(folder, figure) as watching:
        asker = Asker.of(folder, sources_of(*systems.values()))
        orders = {
            (design, seed): _order(figure, asker, label, cosim.evolve(system, seed=seed), options)
            for design, (label, system) in enumerate(systems.items())
            for seed in options.every_seed
        }
        for order in orders.values():
            _check_folder(order)
        notes = watching.folder
        wanted = {
            key: attrs.evolve(order, note=None if notes is None else notes / "-".join(map(str, key)))
            for key, order in orders.items()
            if not _is_complete(Path(order.folder))
        }
        num_ended = len(orders) - len(wanted)
        watching.tell(num_ended, len(orders), 0)
        if wanted:
            with (
                executor.pool(options.executor, options.workers) as (chosen, num_at_once),
                pool(chosen, num_at_once) as processes,
            ):
                for key, outcome in outcomes(processes, _timed, wanted):
                    _take_note(figure, folder, orders[key], outcome)
                    num_ended += 1
                    watching.tell(num_ended, len(orders), 0)
    results = {key: cosim.Result.load(order.folder) for key, order in orders.items()}
    return {
        label: [results[design, seed] for seed in options.every_seed] for design, label in enumerate(systems)
    }


def _check(systems: Iterable[cosim.System], options: Options) -> None:
    """Refuse networks and data that cannot be had, before anything is written."""
    seen: list[object] = []
    data_dir = None if options.data_dir is None else place(options.data_dir)
    for system in systems:
        learned = (system.model, system.data, system.task)
        if system.evaluation.learns and learned not in seen:
            network = network_of(system)
            data = system.data.load(cosim.Simulation(system.seed), data_dir)
            Learner(network, data, num_workers=1, task=system.task)
            seen.append(learned)


def _order(figure: str, asker: Asker, label: str, system: cosim.System, options: Options) -> Order:
    name = label.translate(str.maketrans(" /", "__", ",="))
    return Order(
        system=system,
        scenario=figure,
        folder=str(Path(asker.folder, "runs", name, f"seed-{system.seed}")),
        asker=asker,
        build=builder(system.model),
        data_dir=None if options.data_dir is None else place(options.data_dir),
        targets=(),
        held=1,
        note=None,
        device=options.device,
    )


def _take_note(figure: str, folder: Path, order: Order, outcome: dict[str, Any]) -> None:
    """Say what a worker has said of a run, and keep what it cost.

    Raises:
        ConfigurationError: It has failed.
    """
    for words in outcome.get("warnings", ()):  # a worker that died has said none
        warnings.warn(words, stacklevel=2)
    name = Path(order.folder).relative_to(folder).as_posix()
    if outcome["status"] != COMPLETE:
        error = outcome["error"].rstrip(".")
        raise cosim.ConfigurationError(f"{figure}: {name} failed with: {error}. Use the same command again.")
    costs = known_costs(folder)
    write_json(folder / _COSTS, costs | {name: costs.get(name, 0.0) + outcome["cpu_s"]})


def _timed(order: Order) -> dict[str, Any]:
    """Make a run in a worker, and say what processor time that took."""
    began_s = time.process_time()
    return run_order(order) | {"cpu_s": time.process_time() - began_s}


def _is_complete(folder: Path) -> bool:
    with suppress(cosim.ConfigurationError):
        return cosim.Result.load(folder).summary.status == COMPLETE
    return False


def _check_folder(order: Order) -> None:
    """Refuse to begin a run where another one is."""
    try:
        known = read_json(Path(order.folder) / CONFIG)
    except ValueError:
        return  # there is none, or it is damaged and begun again
    if known.get("system") != to_dict(order.system) or known.get("scenario") != order.scenario:
        raise cosim.ConfigurationError(
            f"{shown(Path(order.folder))}: holds a run of another configuration. Use another --out."
        )


def known_costs(folder: Path) -> dict[str, float]:
    """Processor time of each run below a figure's folder, in seconds."""
    with suppress(ValueError, OSError):
        return {name: float(cost_s) for name, cost_s in read_json(folder / _COSTS).items()}
    return {}


def every_run(runs: Runs) -> list[cosim.Result]:
    """Runs of all designs and seeds."""
    return [result for results in runs.values() for result in results]


def num_rounds(system: cosim.System) -> int:
    """Global rounds of a system, at most."""
    assert system.end.most_rounds is not None
    return system.end.most_rounds


def to_target(system: cosim.System, accuracy: float) -> cosim.System:
    """The same, over as soon as an accuracy has been held."""
    return cosim.evolve(system, end=cosim.AfterTarget(target=accuracy, held=HELD, at_the_latest=system.end))
