"""Remark 3 of the RawHFL paper: linear speed-up with the number of clients, where its assumptions hold.

One layer predicts D targets, each c plus or minus the same amount, which no two targets share: all pairs of
signs of a Hadamard matrix. So losses are quadratic, all clients have the same one, and the gradient of a
sample lies sigma from the whole one, always. The mean squared gradient of all global rounds is measured with
the learning rate of Remark 3, by Algorithm 1 with B = U cells and clients of a cell, E = 2, L = 2. Steps T =
K E L of a client. Test error less the noise is the squared gradient, but for a factor.

cosim reproduce rawhfl-speed-up --quick
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.linalg import hadamard
from typing_extensions import override

import cosim
from analysis.closed_forms.rawhfl_convergence import Convergence
from analysis.plots import style
from cosim.configuration import part
from cosim.data.port import Data
from cosim.tasks import Regression
from scenarios import rawhfl
from scenarios.papers.rawhfl import RawHfl, Unconstrained
from scenarios.reproduce import figures
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.figures import every_run, run_all
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "rawhfl-speed-up"
NUM_TARGETS, MEAN, NOISE = 64, 4.0, 48.0
NEAR = 1.25
"""Factor within which a mean squared gradient must be; ours, as the remark says the order alone."""
NUM_EDGE_ROUNDS = LOCAL_ROUNDS = 2
NUM_STEPS = 1536
"""Steps T of a client where there is one."""
SIDES = (1, 2, 4)
"""Cells, and clients of each."""


@part
class NoisyTargets(Data):
    """The mean of each target plus or minus the noise; all clients hold all samples."""

    @override
    def load(self, sim: cosim.Simulation, data_dir: Path | None) -> cosim.data.Dataset:
        signs = hadamard(NUM_TARGETS)
        y = (MEAN + NOISE * np.vstack([signs, -signs])).astype(np.float32)
        x = np.ones((len(y), 1), dtype=np.float32)
        return cosim.data.Dataset.of("noisy targets", (x, y), (x, y))

    @override
    def held(
        self, sim: cosim.Simulation, dataset: cosim.data.Dataset, cell_sizes: Sequence[int]
    ) -> Sequence[Callable[[], NDArray[np.int64]]]:
        samples = np.arange(2 * NUM_TARGETS)
        return [lambda: samples] * sum(cell_sizes)


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run."""

    full_seeds = 10
    quick_seeds = 8


@attrs.frozen
class Design:
    """A number of cells and of clients of each, and the steps of a client.

    Attributes:
        side: Cells B, and clients U of each.
        num_steps: Steps T.
    """

    side: int
    num_steps: int

    @property
    def num_rounds(self) -> int:
        """Global rounds K."""
        return self.num_steps // (NUM_EDGE_ROUNDS * LOCAL_ROUNDS)

    def bound(self, initial_gap: float) -> Convergence:
        """Theorem of the paper in this setting.

        Args:
            initial_gap: Loss at the start less the least one.
        """
        shape = (self.side, self.side)
        return Convergence(
            initial_gap=initial_gap,
            smoothness=4.0 / NUM_TARGETS,
            gradient_variance=8.0 * NOISE**2 / NUM_TARGETS,
            local_divergence=0.0,
            edge_divergence=0.0,
            client_divergence=0.0,
            square_gradient=0.0,
            learning_rate=1.0,
            num_global_rounds=self.num_rounds,
            num_edge_rounds=NUM_EDGE_ROUNDS,
            max_steps=LOCAL_ROUNDS,
            cell_weights=np.full(self.side, 1.0 / self.side),
            client_weights=np.full(shape, 1.0 / self.side),
            num_steps=np.full(shape, float(LOCAL_ROUNDS)),
            success_rates=np.ones(shape),
        )

    @property
    def learning_rate(self) -> float:
        """Learning rate of Remark 3 for the mean initial model, at which all predictions are about 0."""
        return self.bound(MEAN**2).best_learning_rate

    @property
    def words(self) -> str:
        """Name."""
        return f"B U = {self.side**2}, T = {self.num_steps}"

    @property
    def system(self) -> cosim.System:
        """Algorithm 1."""
        base = rawhfl.system()
        return cosim.evolve(
            base,
            num_cells=self.side,
            num_clients=self.side**2,
            model=f"mlp-1-{NUM_TARGETS}",
            data=NoisyTargets(),
            task=Regression(),
            protocol=RawHfl(
                num_edge_rounds=NUM_EDGE_ROUNDS,
                max_local_rounds=LOCAL_ROUNDS,
                num_mini_batches=1,
                local=cosim.Sgd(batch_size=1, learning_rate=self.learning_rate),
                policy=Unconstrained(),
            ),
            end=cosim.AfterRounds(num_global_rounds=self.num_rounds),
            evaluation=cosim.ends.EveryVersions(),
        )


AS_MANY_STEPS = [Design(side, NUM_STEPS) for side in SIDES]
FEWER_STEPS = [Design(side, NUM_STEPS // side**2) for side in SIDES]


def main(options: Options) -> int:
    """Run, draw, compare."""
    designs = {design.words: design for design in (*AS_MANY_STEPS, *FEWER_STEPS[1:])}
    of = run_all(FIGURE, {words: design.system for words, design in designs.items()}, options)
    table = pd.DataFrame(
        {
            "num_clients": designs[words].side ** 2,
            "num_steps": designs[words].num_steps,
            "seed": seed,
            "square_gradient": squares(result)[:-1].mean(),
            "initial_gap": NUM_TARGETS / 8.0 * squares(result)[0],
        }
        for words, results in of.items()
        for seed, result in zip(options.every_seed, results, strict=True)
    )
    return tell(FIGURE, options, claims_in(table, options), table, drawn(of), every_run(of))


def squares(result: cosim.Result) -> Floats:
    """Squared gradient of the loss at every version of the global model.

    A weight and a bias give each prediction z from the input 1, so the gradient has two components 2 (z - c)
    / D for each of D targets.
    """
    return 8.0 / NUM_TARGETS * (result.evaluations["test_mse"].to_numpy() - NOISE**2)


def claims_in(table: pd.DataFrame, options: Options) -> list[Claim]:
    """Claims of Remark 3, by a row for each design and seed."""
    found = {
        design.words: table[
            (table["num_clients"] == design.side**2) & (table["num_steps"] == design.num_steps)
        ].sort_values("seed")
        for design in (*AS_MANY_STEPS, *FEWER_STEPS)
    }
    square = {words: own["square_gradient"].to_numpy() for words, own in found.items()}
    one = square[AS_MANY_STEPS[0].words]
    return [
        Claim(
            paper="linear speed-up: B U times as many clients need 1 / (B U) of the steps for the same mean "
            f"squared gradient (here: within a factor of {NEAR:g})",
            quantities=[near(design, square[design.words] / one, 1.0) for design in FEWER_STEPS[1:]],
            is_required=True,
        ),
        Claim(
            paper="the mean squared gradient is of the order 1 / sqrt(T B U): after as many steps "
            f"1 / sqrt(B U) of one client's (here: within a factor of {NEAR:g})",
            quantities=[
                near(design, square[design.words] / one, 1.0 / design.side) for design in AS_MANY_STEPS[1:]
            ],
            is_required=True,
        ),
        Claim(
            paper="no larger than the dominating terms (eq. 27) at the learning rate of Remark 3",
            quantities=[
                Quantity(
                    words=f"{design.words}, mean squared gradient over (27)",
                    values=square[design.words]
                    / [dominating(design, gap) for gap in found[design.words]["initial_gap"]],
                    most=1.0,
                    is_ratio=True,
                )
                for design in (*AS_MANY_STEPS, *FEWER_STEPS[1:])
            ],
            is_ours=True,
        ),
    ]


def near(design: Design, ratio: Floats, asked: float) -> Quantity:
    """That a mean squared gradient over one client's is near a number."""
    return Quantity(
        words=f"{design.words}, over one client's",
        values=ratio,
        least=asked / NEAR,
        most=asked * NEAR,
        unit="times",
        is_ratio=True,
    )


def dominating(design: Design, gap: float) -> float:
    """Eq. 27 for an initial model, at the learning rate that was used."""
    return attrs.evolve(design.bound(gap), learning_rate=design.learning_rate).dominating


def drawn(of: Mapping[str, Sequence[cosim.Result]]) -> Figure:
    """Squared gradient over the steps of a client, mean over the seeds."""
    picture = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = picture.subplots()
    for index, (words, results) in enumerate(of.items()):
        mean = np.mean([squares(result) for result in results], axis=0)
        steps = np.arange(len(mean)) * NUM_EDGE_ROUNDS * LOCAL_ROUNDS
        axes.semilogy(steps, mean, label=words, **style(index, len(mean)))
    axes.set_xlabel("steps of a client")
    axes.set_ylabel("squared gradient, mean over the seeds")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    return picture
