"""The RawHFL paper: what its reproductions share: algorithms, seeds, runs, and what is read off them.

Figures and tables look at the same runs from several sides, so they all work in one folder, figures/rawhfl,
and run only what is missing. Every comparison is paired: the algorithms of one seed have the same users,
requests, devices, places and gains.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from typing_extensions import override

import cosim
from analysis.intervals.curves import mean_curve
from analysis.plots import style
from cosim.configuration import from_dict
from cosim.engine.learning.learner import Learner
from cosim.engine.store.checkpoint import Checkpoint
from cosim.networks.named import network_of
from scenarios import rawhfl
from scenarios.papers.rawhfl import RawHfl, VideoRequests
from scenarios.reproduce import figures
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.figures import every_run, num_rounds, run_all
from scenarios.reproduce.rawhfl.readings import READINGS, Name
from scenarios.reproduce.shown import tell

Whole = NDArray[np.int64]
FOLDER = "rawhfl"
V_RANGE = (0.1, 0.8)
NEAR = 1.5
"""Factor up or down that is near. [no source]"""
PLATEAU = 0.02
"""Accuracy that is still gained on a plateau, at most. [no source]"""
STALLED = "H-FedAvg-M1"
"""It trains only in edge rounds in which every client is able to, which hardly ever come; in the paper, too,
whose energy of ten trials is 490.23 +- 1391.70 J."""
SAMPLED = 0.02
"""Accuracy by which samples of test requests may differ from their law. [no source]"""
WITHIN = {(0.3,): 0.03, (0.7,): 0.03, V_RANGE: 0.05}
"""Accuracy that is near the paper's: its users are others, and so are the means of their v. [no source]"""


@attrs.frozen(kw_only=True)
class Lengths(figures.Options):
    """How much is run.

    Attributes:
        full_seeds: As many as the paper averages over.
        num_global_rounds: Global rounds K; none: 8 in the quick form, else the paper's 100.
    """

    full_seeds: ClassVar[int] = 10

    num_global_rounds: int | None = None

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        figures.at_least({"num_global_rounds": 1}, self)

    @property
    def rounds(self) -> int:
        """Global rounds of a run."""
        return self.num_global_rounds or (8 if self.quick else 100)


@attrs.frozen(kw_only=True)
class Options(Lengths):
    """How much is run.

    Attributes:
        reading: Reading of what the paper leaves open: tables, by which its energies come out, or printed,
            which keeps to its text; the others leave one part out (`cosim reproduce rawhfl-energies`).
    """

    reading: Name = "tables"


def system_of(
    algorithm: str, options: Options, seed: int, v: tuple[float, ...] = V_RANGE, *, learns: bool = True
) -> cosim.System:
    """An algorithm on the users of a seed, whose v is one value, or uniform in a range."""
    base = rawhfl.paper_scale()
    return READINGS[options.reading].algorithms[algorithm](
        cosim.evolve(
            base,
            seed=seed,
            data=cosim.evolve(base.data, similar_probability=v),
            end=cosim.AfterRounds(num_global_rounds=options.rounds),
            evaluation=cosim.ends.EveryVersions() if learns else cosim.Never(),
        )
    )


class Runs:
    """The runs of several algorithms, every seed of each.

    Attributes:
        of: Results by algorithm, one for each seed.
    """

    def __init__(
        self,
        options: Options,
        algorithms: Sequence[str],
        v: tuple[float, ...] = V_RANGE,
        *,
        learns: bool = True,
    ) -> None:
        self.options, self.v = options, v
        kind = f", {options.reading}" + ("" if learns else ", timing only")
        labels = {name: f"{name}, v={'-'.join(map(str, v))}, K={options.rounds}{kind}" for name in algorithms}
        systems = {
            label: system_of(name, options, options.seed, v, learns=learns) for name, label in labels.items()
        }
        of_label = run_all(FOLDER, systems, options)
        self.of = {name: of_label[label] for name, label in labels.items()}

    @property
    def all(self) -> list[cosim.Result]:
        """Every run."""
        return every_run(self.of)

    def accuracy(self, algorithm: str, global_round: int = -1) -> Floats:
        """Test accuracy after a round (-1: the last), shape (seeds,)."""
        return self.measured(algorithm, "accuracy", global_round)

    def measured(self, algorithm: str, measure: str, global_round: int = -1) -> Floats:
        """A column of the evaluations after a round (-1: the last), shape (seeds,)."""
        return np.array([result.evaluations[measure].iloc[global_round] for result in self.of[algorithm]])

    def ahead(self, algorithm: str, other: str, least: float = 0.0) -> Quantity:
        """That an algorithm ends more accurate than another, by so much at least, seed by seed."""
        gained = self.accuracy(algorithm) - self.accuracy(other)
        return Quantity(words=f"{algorithm} less {other}", values=gained, least=least)

    def energy_j(self, algorithm: str, global_round: int = -1) -> Floats:
        """Energy of all clients until a round has ended (-1: the last), shape (seeds,)."""
        return self.measured(algorithm, "energy_j", global_round)

    def edge_round_j(self, algorithm: str) -> Floats:
        """Energy of an edge round, all cells together, mean over the rounds; shape (seeds,)."""
        system = system_of(algorithm, self.options, self.options.seed)
        protocol = system.protocol
        assert isinstance(protocol, RawHfl)
        total_j = np.array([result.summary.energy_j for result in self.of[algorithm]])
        return total_j / (num_rounds(system) * protocol.num_edge_rounds)

    def frame(self) -> pd.DataFrame:
        """All evaluations."""
        return pd.concat(
            [
                result.evaluations.assign(
                    algorithm=name, v="-".join(map(str, self.v)), seed=result.config["system"]["seed"]
                )
                for name, results in self.of.items()
                for result in results
            ]
        )


def label_ranks(result: cosim.Result) -> Whole:
    """Rank of the true video among the trained model's guesses, 0 the first; shape (users, test samples)."""
    system = from_dict(cosim.System, result.config["system"])
    learner = Learner(network_of(system.model), system.data.load(cosim.Simulation(system.seed), None))
    checkpoint = None if result.folder is None else Checkpoint.load(result.folder)
    assert checkpoint is not None, "a run that learns keeps its model"
    ranks = learner.answers(learner.stored_model(checkpoint.weights)).label_ranks
    return ranks.reshape(requests_of(system).num_users, -1)


def requests_of(system: cosim.System) -> VideoRequests:
    """Data of a system."""
    assert isinstance(system.data, VideoRequests)
    return system.data


def popularity_ranks(system: cosim.System) -> Whole:
    """The same for guessing what all users have asked for most until the run's end (Top-Popular)."""
    sim, protocol = cosim.Simulation(system.seed), system.protocol
    assert isinstance(protocol, RawHfl)
    requests = requests_of(system)
    dataset, log = requests.load(sim, None), requests.log(sim)
    sim.run(sim.spend("users", "watch", num_rounds(system) * protocol.num_edge_rounds * protocol.deadline_s))
    num_videos = dataset.num_classes or 0
    counts = np.bincount(log.samples(range(requests.num_users)) % num_videos, minlength=num_videos)
    rank = np.empty(num_videos, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(num_videos)
    return rank[dataset.test_y].reshape(requests.num_users, -1)


def write(
    figure: str,
    options: Options,
    table: pd.DataFrame,
    picture: Figure,
    claims: Sequence[Claim],
    runs: Iterable[cosim.Result] = (),
) -> int:
    """CSV, PNG, and the claims beside the paper's; the exit code. Other readings have files of their own."""
    name = figure if options.reading == "tables" else f"{figure}-{options.reading}"
    return tell(name, options, claims, table, picture, runs, folder=FOLDER)


def about(words: str, values: Floats, paper: float, within: float, unit: str = "") -> Quantity:
    """That a number lies so near to the paper's."""
    return Quantity(words=words, values=values, least=paper - within, most=paper + within, unit=unit)


def near(
    words: str, values: Floats, paper: float, unit: str, *, is_ratio: bool = False, is_rare: bool = False
) -> Quantity:
    """That a number is within a factor of the paper's."""
    return Quantity(
        words=words,
        values=values,
        least=paper / NEAR,
        most=paper * NEAR,
        unit=unit,
        is_ratio=is_ratio,
        is_rare=is_rare,
    )


def draw_means(axes: Axes, results: Sequence[cosim.Result], measure: str, label: str, index: int) -> None:
    """A measure over global rounds, the mean over seeds with its interval as a band."""
    tables = [result.evaluations for result in results]
    points = mean_curve([(table["version"], table[measure]) for table in tables])
    look = style(index, len(points))
    axes.plot(points["at"], points["mean"], label=label, **look)
    if len(tables) > 1:
        axes.fill_between(
            points["at"], points["low"], points["high"], color=look["color"], alpha=0.13, linewidth=0
        )
