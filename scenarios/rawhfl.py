"""RawHFL on video requests: which clients should train when energy and radio are scarce?

48 users in 4 cells ask for videos; each cell selects as many clients as it has resource blocks, and how many
local rounds they take, how fast they clock and how loudly they send, so that many steps cost few joules. An
edge round lasts 150 s. 25 global rounds, a quarter of the paper's; --paper-scale runs its 100.

    cosim run rawhfl
    cosim run rawhfl --uplink.sharing.num-blocks 2 --data.similar-probability 0.7
    cosim run rawhfl --uplink.csi-error-db 4 --protocol.policy.margin-db 5
    cosim run rawhfl --paper-scale --device cuda
"""

from collections.abc import Iterable

import numpy as np
from rich.table import Table

from analysis.closed_forms.request_model import RequestPrediction
from cosim import AfterRounds, DrawnDevices, PerGroup, Radio, Result, Simulation, System, evolve
from cosim.codecs import Uncompressed
from cosim.configuration import from_dict
from cosim.devices import CyclesPerBit, PowerRange
from cosim.radio import EveryEdgeRound, LargeScale, LinkBudget, NoFading, ResourceBlocks
from cosim.topology import Disc
from scenarios.papers.rawhfl import RawHfl, VideoRequests

MODEL = "mlp-43-512-256-256"
"""219,648 parameters, so an upload of 7,248,384 bits. [RawHFL, Section V-A]"""


def system() -> System:
    """The configuration."""
    paper = paper_scale()
    return evolve(paper, end=AfterRounds(num_global_rounds=25))


def paper_scale() -> System:
    """The same, with the paper's number of global rounds."""
    return System(
        num_cells=4,
        num_clients=48,
        model=MODEL,
        data=VideoRequests(),
        topology=Disc(cell_radius_m=400.0),
        cycles=CyclesPerBit(cycles_per_bit=(25.0, 40.0)),
        devices=DrawnDevices(
            min_frequency_hz=PerGroup(values=(1.2e9,)),
            max_frequency_hz=PerGroup(values=(2.0e9,)),
            tx_power=PowerRange(lowest_dbm=20.0, highest_dbm=30.0),
        ),
        codec=Uncompressed(bits_per_parameter=33),
        uplink=Radio(
            sharing=ResourceBlocks(),
            link=LinkBudget(
                noise_figure_db=0.0,
                large_scale=LargeScale(environment="uma", carrier_hz=2.4e9),
                large_scale_redrawn=EveryEdgeRound(),
            ),
            fading=NoFading(),
        ),
        protocol=RawHfl(),
        end=AfterRounds(num_global_rounds=100),  # RawHFL paper, Section V-A
    )


def predictions(system: System) -> list[RequestPrediction]:
    """Predictions of each user's next request, by the closed form."""
    assert isinstance(system.data, VideoRequests)
    users = system.data.model(Simulation(system.seed)).users
    return [
        RequestPrediction(similar_probability=float(v), genre_preferences=preferences)
        for v, preferences in zip(users.similar_probability, users.genre_preferences, strict=True)
    ]


def report(result: Result) -> Table | str:
    """Cost of the plans, and the accuracy beside the nearest and the best possible guess."""
    system = from_dict(System, result.config["system"])
    if not isinstance(system.data, VideoRequests) or result.plans.empty:
        return "No plans, or no video requests: nothing to compare."
    users = predictions(system)
    plans = result.plans[result.plans["is_selected"]]
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    short = edge_rounds["num_participants"] < edge_rounds["num_wanted"]
    num_rounds = len(edge_rounds) / system.num_cells
    energy_j, none = result.summary.energy_j, "no client was planned"
    table = Table(title="Plans and predictions", title_justify="left", show_header=False)
    for name, value in (
        ("energy per edge round, all cells", f"{energy_j / num_rounds:.4g} J"),
        ("energy per planned client", f"{energy_j / len(plans):.4g} J" if len(plans) else none),
        (
            "local rounds per planned client",
            f"{plans['num_steps'].mean():.1f}" if len(plans) else none,
        ),
        ("edge rounds of a cell with fewer clients than wanted", f"{short.sum()} of {len(edge_rounds)}"),
        ("accuracy after the last round", _percent([result.summary.scores.get("accuracy")])),
        ("accuracy of always guessing the most similar video", _percent(u.similar_accuracy for u in users)),
        ("accuracy of the best possible guess", _percent(u.accuracy for u in users)),
    ):
        table.add_row(name, value)
    return table


def _percent(accuracies: Iterable[float | None]) -> str:
    known = [accuracy for accuracy in accuracies if accuracy is not None]
    return f"{100.0 * np.mean(known):.1f} %" if known else "not evaluated"
