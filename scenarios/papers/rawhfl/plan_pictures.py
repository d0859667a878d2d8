"""Plan pictures: what the plans of a run decide, edge round by edge round, in its overview."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas.core.groupby import DataFrameGroupBy

    from cosim.results.result import Result

_LINES = {"able": ("is_able", "--"), "planned": ("is_selected", "-")}


def clients_planned(axes: "Axes", result: "Result") -> None:
    """Clients of all cells that are able to take part, planned, and in time, over the instant of the plan.

    Raises:
        ValueError: The run kept no plans.
    """
    plans = _by_round(result)
    for words, (column, dash) in _LINES.items():
        axes.step(plans["time_s"].first(), plans[column].sum(), where="post", label=words, linestyle=dash)
    rounds = result.rounds[result.rounds["level"] == "edge"].groupby(["global_round", "edge_round"])
    began_s, arrived = rounds["start_s"].min(), rounds["num_arrived"].sum()
    axes.step(began_s, arrived, where="post", label="arrived", linestyle=":")
    axes.set(xlabel="beginning of the edge round (s)", ylabel="clients of all cells")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)


def steps_planned(axes: "Axes", result: "Result") -> None:
    """Local rounds of planned clients: mean, and from the fewest to the most, over the instant of the plan.

    Raises:
        ValueError: The run kept no plans.
    """
    plans = _by_round(result, only_planned=True)
    at_s, steps = plans["time_s"].first(), plans["num_steps"]
    axes.step(at_s, steps.mean(), where="post", label="mean")
    axes.fill_between(at_s, steps.min(), steps.max(), step="post", alpha=0.25, label="fewest to most")
    axes.set(xlabel="beginning of the edge round (s)", ylabel="local rounds of a planned client")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def _by_round(result: "Result", *, only_planned: bool = False) -> "DataFrameGroupBy":
    plans = result.plans[result.plans["is_selected"]] if only_planned else result.plans
    if plans.empty:
        raise ValueError("no client was planned, or the run kept no plans.")
    return plans.groupby(["global_round", "edge_round"])
