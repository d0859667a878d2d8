"""Little systems of the tests, each with what is true of it by construction; test_worlds.py holds it.

A world takes the fields of a system that a test wants otherwise. Steps, bits and watts are those of `STEPS`,
`STEP_CYCLES`, `BITS` and `TX_W`, unless the world says something else.

Usage::

    system = worlds.somebody_late(protocol=Hist(training=worlds.training(waiting=worlds.DEADLINE)))
    sim, learner, cloud = worlds.built(system)
    model = sim.run(system.protocol.play(sim, cloud))
"""

import math

from data_sets import loaded

import models
from cosim import (
    AfterRounds,
    Deadline,
    Digits,
    DrawnDevices,
    EdgeTraining,
    FixedShares,
    GivenSnr,
    HFedAvg,
    Hist,
    PerClient,
    PerGroup,
    Radio,
    Rayleigh,
    Sgd,
    Simulation,
    System,
    evolve,
)
from cosim.codecs import Uncompressed
from cosim.data import Iid, Synthetic
from cosim.data.dataset import Dataset
from cosim.devices import CyclesPerStep, SamePower
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.radio import EveryEdgeRound, NoFading, OverTheAir
from cosim.selection.drawn import Uniform
from cosim.selection.port import Everyone, Selection
from cosim.testing import small_system
from cosim.training.local_steps import SameSteps
from scenarios import rawhfl as video_requests
from scenarios import vhfl as cell_traffic

STEPS, STEP_CYCLES = 3, 1e6
"""Of a client in an edge round: 3 ms at 1 GHz."""
CAPACITANCE, TX_W = 2e-28, 0.2
PARAMETERS = 12 * 8 + 8 * 4
BITS = 32 * PARAMETERS
BANDWIDTH_HZ = 1e6
DEADLINE = Deadline(after_s=10e-3)
LATE = ("client-0001", "client-0004")
"""Who is cut in every edge round of `somebody_late`: while it trains, while it sends."""


def selection(num_participants: int | None) -> Selection:
    """So many, drawn uniformly; None: everyone."""
    return Everyone() if num_participants is None else Uniform(num_participants=num_participants)


def training(**changes: object) -> EdgeTraining:
    """Two edge rounds of three steps on ten samples each."""
    usual = EdgeTraining(num_edge_rounds=2, steps=SameSteps(num_local_steps=STEPS), local=Sgd(batch_size=10))
    return evolve(usual, **changes)


def processors(*frequencies_hz: float, **changes: object) -> DrawnDevices:
    """Clients of such frequencies: one for all, or one each; nothing is drawn."""
    each = PerClient if len(frequencies_hz) > 1 else PerGroup
    return DrawnDevices(
        min_frequency_hz=each(values=frequencies_hz), max_frequency_hz=each(values=frequencies_hz), **changes
    )


def still(*snrs: float, **changes: object) -> Radio:
    """Shares of 1 MHz on links of such SNRs: one for all, or one each; nothing is drawn, nothing fades."""
    each = PerClient if len(snrs) > 1 else PerGroup
    link = GivenSnr(snr_db=each(values=tuple(10.0 * math.log10(snr) for snr in snrs)))
    usual = Radio(sharing=FixedShares(bandwidth_hz=BANDWIDTH_HZ), link=link, fading=NoFading())
    return evolve(usual, **changes)


def alike(*cell_sizes: int, **changes: object) -> System:
    """Cells of such sizes, in which all clients train for 3 ms and send at the same rate.

    Their links have 2 bit/s/Hz, and all hold equally many samples. In cells of one size everything happens
    at the same instants.
    """
    usual = evolve(
        small_system(),
        num_cells=len(cell_sizes),
        num_clients=sum(cell_sizes),
        cell_sizes=cell_sizes if len(set(cell_sizes)) > 1 else None,
        data=Synthetic(split=Iid()),
        devices=processors(1e9),
        uplink=still(3.0),
    )
    return evolve(usual, **changes)


def one_cell(*frequencies_hz: float, **changes: object) -> System:
    """One cell and one edge round of clients with such processors, on links of 1 bit/s/Hz.

    Client n arrives STEPS * STEP_CYCLES / frequencies_hz[n] + num_clients * BITS / BANDWIDTH_HZ after the
    start, whatever the seed.
    """
    usual = System(
        num_cells=1,
        num_clients=len(frequencies_hz),
        model="relu-12-8-4",
        data=Synthetic(split=Iid()),
        cycles=CyclesPerStep(step_cycles=STEP_CYCLES),
        devices=processors(
            *frequencies_hz, capacitance_j_per_hz2=CAPACITANCE, tx_power=SamePower(power_w=TX_W)
        ),
        uplink=still(1.0),
        protocol=HFedAvg(training=training(num_edge_rounds=1)),
        end=AfterRounds(num_global_rounds=1),
    )
    return evolve(usual, **changes)


def somebody_late(**changes: object) -> System:
    """Two cells, in each of which one client is late and the others are in time, in every edge round.

    The first cell has three clients, of which the second has a slow processor: the deadline cuts it while it
    trains. The second cell has two, of which the last has a weak link: the deadline cuts it while it sends.
    Frequencies and channels are drawn, and leave no doubt: whatever the seed, in HFedAvg and in HIST, with
    fixed and with redivided shares.
    """
    fast, slow = (1e9, 2e9), (1e7, 2e7)
    lowest, highest = zip(fast, slow, fast, fast, fast, strict=True)
    usual = evolve(
        small_system(DEADLINE),
        devices=DrawnDevices(
            min_frequency_hz=PerClient(values=lowest), max_frequency_hz=PerClient(values=highest)
        ),
        uplink=still(30.0, 30.0, 30.0, 30.0, 1e-4, fading=Rayleigh(redrawn=EveryEdgeRound())),
    )
    return evolve(usual, **changes)


def over_the_air(**changes: object) -> System:
    """HIST in two cells that send sums, of three clients and of two; all arrive."""
    usual = evolve(
        small_system(),
        uplink=Radio(sharing=OverTheAir(bandwidth_hz=BANDWIDTH_HZ)),
        protocol=Hist(training=training()),
    )
    return evolve(usual, **changes)


def digits(**changes: object) -> System:
    """Two cells of four clients that learn real pictures; two of a cell take part in each edge round."""
    usual = System(
        num_cells=2,
        num_clients=8,
        model="relu-64-8-10",
        data=Digits(),
        protocol=HFedAvg(
            training=training(
                steps=SameSteps(num_local_steps=2),
                selection=Uniform(num_participants=2),
                local=Sgd(batch_size=5),
            )
        ),
        end=AfterRounds(num_global_rounds=2),
    )
    return evolve(usual, **changes)


def vhfl(**changes: object) -> System:
    """Four cells of traffic, of which three send in each global round, through queues of a public network."""
    usual = cell_traffic.system()
    traffic = evolve(usual.data.traffic, num_days=9)
    usual = evolve(
        usual,
        num_clients=4,
        data=evolve(usual.data, num_cells=4, traffic=traffic),
        protocol=evolve(usual.protocol, num_local_epochs=2, num_senders=3, num_needed=2),
        end=AfterRounds(num_global_rounds=3),
    )
    return evolve(usual, **changes)


def rawhfl(**changes: object) -> System:
    """Two cells of four users, who are planned in every edge round; each lasts exactly 150 s.

    The network is small, and an upload of it as large as one of the scenario.
    """
    usual = video_requests.system()
    usual = evolve(
        usual,
        num_cells=2,
        num_clients=8,
        model="mlp-43-16-256",
        data=evolve(usual.data, num_users=8),
        codec=Uncompressed(bits_per_parameter=1_400),
        protocol=evolve(usual.protocol, num_edge_rounds=2, max_local_rounds=3),
        end=AfterRounds(num_global_rounds=2),
    )
    return evolve(usual, **changes)


def built(
    system: System,
    dataset: Dataset | None = None,
    *,
    num_workers: int = 1,
    shuffle_ties: int | None = None,
) -> tuple[Simulation, Learner, Cloud]:
    """The clock, what learns and the nodes of a system, before anything has happened."""
    ground = ground_of(system, shuffle_ties=shuffle_ties)
    found = loaded(system.data) if dataset is None else dataset
    network = models.build(system.model)
    learner = Learner(network, found, num_workers=num_workers, personal=system.personal)
    return ground.sim, learner, nodes_of(system, ground, learner, lambda: found, lambda report: None)
