"""Stragglers of the RawHFL paper: H-FedAvg-M1's rare trials, and three rules for the steps of H-FedAvg-M2.

H-FedAvg-M1 trains in edge rounds in which all 48 clients are able to. In the paper it spends 490.23 +-
1391.70 J over ten trials, so almost all in one of them. Many trials of the tables' reading say how rare such
a trial is. Clients of H-FedAvg-M2 may do the most steps that each can, or as many as all that are able of a
cell can, or of all cells. Nothing is learned here: plans follow from the runs of H-FedAvg-UB.

cosim reproduce rawhfl-stragglers --quick
"""

from typing import Any

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from typing_extensions import override

import cosim
from analysis.plots import COLOURS
from scenarios.papers.rawhfl.plans.common_steps import most_steps_of
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.rawhfl import figures
from scenarios.reproduce.rawhfl.energies import WITHIN, over
from scenarios.reproduce.rawhfl.figures import FOLDER, Lengths, Runs
from scenarios.reproduce.rawhfl.planned_problem import problem_of
from scenarios.reproduce.rawhfl.tables import PAPER_EDGE_ROUND_J
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE = "rawhfl-stragglers"
NUM_TRIALS = 10
"""Trials of the paper. [RawHFL, Section V-A]"""
NUM_GROUPS = 100_000
LEAST_SHARE = 0.025
"""Share of the groups from which on a group is nothing unusual. [no source]"""
ROUND = ["global_round", "edge_round"]
RULES: dict[str, list[str] | None] = {"own": None, "cell": [*ROUND, "edge"], "all": ROUND}
"""Rule for the steps of H-FedAvg-M2 -> columns of clients with common steps; None means steps of its own."""
WORDS = {
    "own": "the most that each can",
    "cell": "common to a cell",
    "all": "common to all cells",
}
ASKED_STEPS = (2.0, 3.0)
"""Local rounds of all clients that bring H-FedAvg-M2's accuracy: docs/rawhfl.md."""


@attrs.frozen(kw_only=True)
class Options(Lengths):
    """How much is run.

    Attributes:
        full_seeds: As many as a rare trial needs, in both forms.
        num_global_rounds: Global rounds K; none: 10, as all edge rounds are alike.
    """

    full_seeds = quick_seeds = 60

    @property
    @override
    def rounds(self) -> int:
        return self.num_global_rounds or 10


def main(options: Options) -> int:
    """Run, draw, compare."""
    fields = {field.name: getattr(options, field.name) for field in attrs.fields(Lengths)}
    lengths = attrs.evolve(
        figures.Options(**fields), seeds=len(options.every_seed), num_global_rounds=options.rounds
    )
    runs = Runs(lengths, ["H-FedAvg-UB"], learns=False)
    table = pd.DataFrame(map(trial, runs.of["H-FedAvg-UB"]))
    return tell(FIGURE, options, claims(table), table, drawn(table), runs.all, folder=FOLDER)


def trial(unconstrained: cosim.Result) -> dict[str, Any]:
    """Effects of stragglers in a trial, means over its edge rounds."""
    problem = problem_of(unconstrained)
    rows = unconstrained.plans[["edge", *ROUND]].assign(
        most_steps=most_steps_of(problem),
        step_j=problem.train_j(np.ones(problem.num_clients), problem.max_frequency_hz),
        send_j=problem.send_j(problem.max_power_w),
    )
    num_rounds = rows.groupby(ROUND).ngroups
    is_able = rows["most_steps"] > 0
    by_round = rows.groupby(ROUND)["most_steps"].transform("min")
    m1_j = ((rows["send_j"] + by_round * rows["step_j"]) * (by_round > 0)).sum()
    found: dict[str, Any] = {
        "reading": "tables",
        "seed": unconstrained.config["system"]["seed"],
        "all_able_share": float(is_able.groupby([rows[name] for name in ROUND]).all().mean()),
        "m1_j": m1_j / num_rounds,
    }
    able = rows[is_able]
    for rule, same in RULES.items():
        steps = able["most_steps"] if same is None else able.groupby(same)["most_steps"].transform("min")
        found[f"m2_{rule}_steps"] = float(steps.mean())
        found[f"m2_{rule}_j"] = float((able["send_j"] + steps * able["step_j"]).sum()) / num_rounds
    return found


def claims(table: pd.DataFrame) -> list[Claim]:
    """Claims on the energies of the two baselines.

    Args:
        table: A row for each trial.
    """
    paper_j = PAPER_EDGE_ROUND_J["H-FedAvg-M1"]
    return [
        Claim(
            paper=f"H-FedAvg-M1: {paper_j:.4g} J in an edge round, mean of ten trials (here: at least "
            f"{LEAST_SHARE:.1%} of groups of ten have as much)",
            quantities=[
                Quantity(
                    words="share of groups of ten trials",
                    values=[share_of_groups(table["m1_j"].to_numpy(), paper_j)],
                    least=LEAST_SHARE,
                    is_exact=True,
                )
            ],
        ),
        *(
            Claim(
                paper=f"H-FedAvg-M2, {WORDS[rule]}: {PAPER_EDGE_ROUND_J['H-FedAvg-M2']:.4g} J in an edge "
                f"round (here: within {WITHIN:.0%})",
                quantities=[
                    over(
                        "H-FedAvg-M2",
                        table[f"m2_{rule}_j"].to_numpy(),
                        1.0 - WITHIN,
                        1.0 + WITHIN,
                    )
                ],
                is_ours=rule != "all",
            )
            for rule in RULES
        ),
        *(
            Claim(
                paper=f"H-FedAvg-M2, {WORDS[rule]}: {ASKED_STEPS[0]:g} to {ASKED_STEPS[1]:g} steps, which "
                "bring the accuracy of Table IV",
                quantities=[
                    Quantity(
                        words="steps of a client that is able",
                        values=table[f"m2_{rule}_steps"].to_numpy(),
                        least=ASKED_STEPS[0],
                        most=ASKED_STEPS[1],
                    )
                ],
                is_ours=True,
            )
            for rule in RULES
        ),
    ]


def share_of_groups(values: Floats, least: float) -> float:
    """Share of groups of ten values, drawn with replacement, of which the mean is at least this."""
    groups = np.random.default_rng(1).choice(values, (NUM_GROUPS, NUM_TRIALS))
    return float((groups.mean(axis=1) >= least).mean())


def drawn(table: pd.DataFrame) -> Figure:
    """M1's energy of each trial, the largest first; M2's energies by the three rules."""
    picture = Figure(figsize=(8.4, 3.2), layout="constrained")
    left, right = picture.subplots(1, 2)
    ordered = np.sort(table["m1_j"].to_numpy())[::-1]
    left.bar(np.arange(1, len(ordered) + 1), ordered, color=COLOURS[0])
    left.axhline(PAPER_EDGE_ROUND_J["H-FedAvg-M1"], color="#7a7a7a", linestyle=":", label="mean in the paper")
    left.set_xlabel("trial, the largest first")
    left.set_ylabel("H-FedAvg-M1, edge round (J)")
    left.legend(fontsize=8)
    energies_j = [table[f"m2_{rule}_j"].to_numpy() for rule in RULES]
    right.boxplot(energies_j, vert=False)
    right.set_yticks(range(1, len(RULES) + 1), [WORDS[rule] for rule in RULES], fontsize=8)
    right.axvline(PAPER_EDGE_ROUND_J["H-FedAvg-M2"], color="#7a7a7a", linestyle=":", label="the paper's mean")
    right.set_xlabel("H-FedAvg-M2, edge round (J)")
    right.legend(fontsize=8)
    return picture
