"""AirComp-HIST on Fashion-MNIST: what does it save when a cell's updates add up in the air?

60 clients in 4 cells train submodels that are as large as their cell is fast; all clients of a cell send at
once, and each edge server receives the mean of their updates, with noise. 25 global rounds; SNR 0 dB. The
other defaults come from the HIST journal paper, Section VI-D.

    cosim run aircomp
    cosim run aircomp --uplink.link.snr-db.values -20
    cosim run aircomp --uplink.sharing.kind FixedShares   # the same without AirComp
    cosim run aircomp --protocol.submodel-sizes.kind EqualSizes --waiting.kind Deadline --deadline-s 0.0075
"""

from rich.table import Table

from cosim import (
    AfterRounds,
    DrawnDevices,
    EdgeTraining,
    GivenSnr,
    Hist,
    PerGroup,
    Radio,
    Rayleigh,
    Result,
    Sgd,
    System,
)
from cosim.configuration import from_dict
from cosim.names import client_name, edge_name
from cosim.protocols import LatencyOptimal
from cosim.radio import EveryEdgeRound, OverTheAir
from cosim.training.local_steps import SameSteps


def system() -> System:
    """The configuration."""
    return System(
        devices=DrawnDevices(
            min_frequency_hz=PerGroup(values=(2e9,)), max_frequency_hz=PerGroup(values=(4e9,))
        ),
        uplink=Radio(
            sharing=OverTheAir(),
            link=GivenSnr(snr_db=PerGroup(values=(0.0,))),
            fading=Rayleigh(redrawn=EveryEdgeRound()),
        ),
        protocol=Hist(
            submodel_sizes=LatencyOptimal(),
            training=EdgeTraining(steps=SameSteps(num_local_steps=40), local=Sgd(learning_rate=0.01)),
        ),
        end=AfterRounds(num_global_rounds=25),
    )


def report(result: Result) -> Table:
    """Time of an edge round by activity, cell by cell: mean over clients and edge rounds."""
    own = result.spans[result.spans["node"].str.startswith("client")]
    sizes = from_dict(System, result.config["system"]).sizes()
    edges = (edge_name(cell) for cell, size in enumerate(sizes) for _ in range(size))
    cell_of = {client_name(number): edge for number, edge in enumerate(edges)}
    cells = own.assign(edge=own["node"].map(cell_of), duration_s=own["end_s"] - own["start_s"])
    rounds = result.rounds[result.rounds["level"] == "edge"].groupby("node")
    bits = result.uploads.groupby("edge")["payload_bits"].mean()
    values = bits / result.config["system"]["codec"]["bits_per_parameter"]
    table = Table(title="An edge round, mean over clients and rounds", title_justify="left")
    for heading in ("cell", "training", "waiting", "sending", "values", "arrived"):
        table.add_column(heading, justify="right" if heading != "cell" else "left")
    for edge, spans in cells.groupby("edge"):
        num_local_rounds = rounds["num_participants"].sum()[edge]
        mean_ms = 1e3 * spans.groupby("activity")["duration_s"].sum() / num_local_rounds
        arrived = rounds["num_arrived"].sum()[edge] / num_local_rounds
        table.add_row(
            str(edge),
            *(f"{mean_ms.get(activity, 0.0):.3g} ms" for activity in ("train", "wait", "send")),
            f"{values[edge]:,.0f}" if edge in values else "-",
            f"{100 * arrived:.1f} %",
        )
    return table
