"""RawHFL on video requests: who should train what will be watched next, when energy and radio are scarce?

48 users in 4 cells ask for videos; each cell selects as many clients as it has resource blocks, and how many
local rounds they take, how fast they clock and how loudly they send, so that steps cost few joules. An edge
round lasts 150 s. 25 global rounds, a quarter of the paper's; --paper-scale plays its 100.

    cosim run rawhfl
    cosim run rawhfl --radio.num-resource-blocks 2 --data.video-requests.similar-probability 0.7
    cosim run rawhfl --paper-scale --device cuda
    cosim run rawhfl --radio.csi-error-db 4 --protocol.policy.margin-db 5
"""

from rich.table import Table

from cosim import Compute, Data, LargeScale, Radio, RawHfl, Result, System, Topology, evolve
from cosim.protocols.raw_hfl import RawHfl as Protocol  # noqa: F401

MODEL = "mlp-43-512-256-256"
"""219,648 parameters. [RawHFL, Section V-A]"""


def system() -> System:
    """The configuration."""
    paper = paper_scale()
    return evolve(paper, protocol=evolve(paper.protocol, num_global_rounds=25))


def paper_scale() -> System:
    """The same, with the paper's number of global rounds."""
    return System(
        num_cells=4,
        num_clients=48,
        model=MODEL,
        data=Data(name="video-requests", split="natural"),
        topology=Topology(cell_radius_m=400.0),
        compute=Compute(
            cycles_per_bit=(25.0, 40.0),
            min_frequency_hz=(1.2e9,),
            max_frequency_hz=(2.0e9,),
        ),
        radio=Radio(
            sharing="resource-blocks",
            tx_power_dbm=(20.0, 30.0),
            bits_per_parameter=33,
            link="budget",
            noise_figure_db=0.0,
            fading="none",
            large_scale=LargeScale(environment="uma", carrier_hz=2.4e9),
            large_scale_redrawn="edge-round",
        ),
        protocol=RawHfl(),
    )
