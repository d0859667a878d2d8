"""HIST with latency-optimal submodels: its rounds against closed forms, brute force and equal parts."""

import itertools

import numpy as np
import pytest
import worlds

import cosim
from analysis.closed_forms.round_latency import EdgeRoundLatency, global_round_s
from cosim import (
    AfterRounds,
    ConfigurationError,
    DrawnDevices,
    EdgeTraining,
    FixedShares,
    GivenSnr,
    Hist,
    Never,
    PerGroup,
    QueuedLink,
    Radio,
    Sgd,
    System,
    evolve,
)
from cosim.clock.simulation import Simulation
from cosim.data import Iid, Synthetic
from cosim.devices import CyclesPerStep
from cosim.engine.servers.cloud import Cloud
from cosim.jobs.job import Job
from cosim.protocols import EqualSizes, LatencyOptimal
from cosim.radio import NoFading, OverTheAir, ResourceBlocks
from cosim.recording.recorder import Recorder
from cosim.topology import Disc
from scenarios.papers.rawhfl import RawHfl
from scenarios.papers.vhfl import Vhfl

UNITS, CELLS, ROUNDS, H = 10, 3, 4, 3
PARAMETERS = UNITS * (12 + 4)
STEP_CYCLES = 1e6
FIXED, SUMS = FixedShares(bandwidth_hz=1e6), OverTheAir(bandwidth_hz=1e6)
Sharing = FixedShares | OverTheAir


def system(sharing: Sharing = FIXED, seed: int = 3, **protocol) -> System:
    """Three cells of unlike links and processors, two clients each."""
    return System(
        seed=seed,
        num_cells=CELLS,
        num_clients=2 * CELLS,
        model=f"relu-12-{UNITS}-4",
        data=Synthetic(split=Iid()),
        cycles=CyclesPerStep(step_cycles=STEP_CYCLES),
        devices=DrawnDevices(
            min_frequency_hz=PerGroup(values=(1e9, 2e9, 4e9)),
            max_frequency_hz=PerGroup(values=(1e9, 3e9, 4e9)),
        ),
        uplink=Radio(sharing=sharing, link=GivenSnr(snr_db=PerGroup(values=(0.0, 10.0, 20.0)))),
        protocol=Hist(
            **(
                {
                    "submodel_sizes": LatencyOptimal(),
                    "training": EdgeTraining(
                        num_edge_rounds=2, steps=cosim.SameSteps(num_local_steps=H), local=Sgd(batch_size=10)
                    ),
                }
                | protocol
            )
        ),
        end=AfterRounds(num_global_rounds=ROUNDS),
        evaluation=Never(),
    )


def run_of(system: System) -> tuple[Recorder, Cloud]:
    sim, _, cloud = worlds.built(system)
    sim.run(system.protocol.run(sim, cloud))
    return sim.recorder, cloud


def durations_s(trace: Recorder) -> np.ndarray:
    return np.array([row.end_s - row.start_s for row in trace.rounds if row.level == "global"])


def closed_form_s(system: System, cloud: Cloud, global_round: int, sizes: tuple[int, ...]) -> float:
    """Eq. 18, or 38, of such sizes, on the channels of a round."""
    cells = []
    for edge, size in zip(cloud.edges, sizes, strict=True):
        frequency_hz, snr, known = [], [], edge.route.uplink.link.known_to("a test")
        job = Job.of_round(global_round, 0, 2)
        for client, snr_per_w in zip(edge.clients, known.snr_per_w(slice(None), 1.0, job), strict=True):
            frequency_hz.append(client.device.frequency_hz)
            snr.append(client.tx_power_w * snr_per_w)
        cells.append(
            EdgeRoundLatency(
                num_steps=H,
                step_cycles=STEP_CYCLES,
                model_bits=32 * PARAMETERS,
                fraction=size / UNITS,
                bandwidth_hz=1e6,
                frequency_hz=np.array(frequency_hz),
                snr=np.array(snr),
            )
        )
    if system.uplink.sharing == FIXED:
        return global_round_s(2, cells)
    return 2 * max(
        H * cell.fraction * STEP_CYCLES / cell.frequency_hz.min()
        + cell.fraction * PARAMETERS / (1e6 / 15e3) * (1e-3 / 14.0)
        for cell in cells
    )


def counts(system: System, cloud: Cloud, global_round: int) -> tuple[int, ...]:
    parts = system.protocol.parts(Simulation(system.seed), cloud, global_round)
    return tuple(len(part.units["hidden1"]) for part in parts)


@pytest.mark.parametrize("sharing", [FIXED, SUMS])
@pytest.mark.parametrize("largest", [1.5, 3.0])
def test_no_sizes_give_a_shorter_round(sharing: Sharing, largest: float) -> None:
    """Every way to deal the units, by the closed form, round by round; the clock takes the shortest."""
    case = system(sharing, submodel_sizes=LatencyOptimal(largest=largest))
    trace, cloud = run_of(case)
    ways = [
        way
        for way in itertools.product(range(1, UNITS + 1), repeat=CELLS)
        if sum(way) == UNITS and max(way) <= largest * UNITS / CELLS
    ]
    for global_round, found_s in enumerate(durations_s(trace), start=1):
        shortest_s = min(closed_form_s(case, cloud, global_round, way) for way in ways)
        assert found_s == pytest.approx(shortest_s, rel=1e-12)
        assert counts(case, cloud, global_round) in ways


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sharing", [FIXED, SUMS])
def test_never_longer_than_equal_parts_and_shorter_where_cells_differ(sharing: Sharing, seed: int) -> None:
    case = system(sharing, seed)
    optimal = durations_s(run_of(case)[0])
    equal = durations_s(run_of(evolve(case, protocol=evolve(case.protocol, submodel_sizes=EqualSizes())))[0])
    assert (optimal <= equal * (1.0 + 1e-12)).all()
    assert optimal.sum() < 0.9 * equal.sum()


def test_sizes_follow_the_channels_of_each_round_and_of_no_other() -> None:
    case = system()
    cloud = run_of(case)[1]
    sizes = [counts(case, cloud, global_round) for global_round in range(1, 30)]
    assert len(set(sizes)) > 1
    still = evolve(case, uplink=evolve(case.uplink, fading=NoFading()))
    cloud = run_of(still)[1]
    assert len({counts(still, cloud, global_round) for global_round in range(1, 30)}) == 1


def test_over_the_air_the_links_do_not_matter_but_the_airtime_does() -> None:
    """Processors of 1, 2 and 4 GHz: 1, 3, 6 of 10 units without airtime; a long one makes cells alike."""
    devices = worlds.processors(1e9, 1e9, 2e9, 2e9, 4e9, 4e9)
    case = evolve(system(SUMS, submodel_sizes=LatencyOptimal(largest=3.0)), devices=devices)
    for symbol_s, wanted in ((1e-12, (1, 3, 6)), (1.0, (3, 3, 4))):
        slow = evolve(case, uplink=evolve(case.uplink, sharing=evolve(SUMS, symbol_s=symbol_s)))
        assert counts(slow, run_of(slow)[1], 1) == wanted


def test_a_slow_backhaul_counts() -> None:
    """If it takes all the time, no cell may hold more than another."""
    case = system(submodel_sizes=LatencyOptimal(largest=3.0))
    slow = evolve(case, topology=Disc(backhaul_rate_bps=1e2))
    assert sorted(counts(slow, run_of(slow)[1], 1)) == [3, 3, 4]
    assert sorted(counts(case, run_of(case)[1], 1)) != [3, 3, 4]


def test_what_no_group_cuts_is_a_cells_whatever_its_size() -> None:
    """Biases of the output: the closed form of an affine time, by brute force."""
    case = evolve(system(submodel_sizes=LatencyOptimal(largest=3.0)), model=f"mlp-12-{UNITS}-4")
    trace, cloud = run_of(case)
    whole = UNITS * (12 + 1 + 4) + 4

    def round_s(sizes: tuple[int, ...]) -> float:
        parameters = [size * (12 + 1 + 4) + 4 for size in sizes]
        times_s = []
        for edge, number in zip(cloud.edges, parameters, strict=True):
            for client in edge.clients:
                channel = edge.route.uplink.link.known_channel(client.name, client.tx_power_w, Job(1, 0, 0))
                rate_bps = channel.rate_bps(0.5e6, (1,))
                cycles = H * STEP_CYCLES * number / whole
                times_s.append(2.0 * (cycles / client.device.frequency_hz + 32 * number / rate_bps))
        return max(times_s)

    ways = [way for way in itertools.product(range(1, UNITS), repeat=CELLS) if sum(way) == UNITS]
    assert durations_s(trace)[0] == pytest.approx(min(map(round_s, ways)), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: evolve(s, uplink=QueuedLink()),
            "LatencyOptimal: asks for rates and gains .* for a QueueLink",
        ),
        (lambda s: evolve(s, model="relu-12-2-4"), "3 cells for 2 units"),
        (lambda s: evolve(s, model="relu-12-4"), "System.model declares no groups of units"),
        (
            lambda s: evolve(s, uplink=evolve(s.uplink, sharing=ResourceBlocks())),
            "clients wait for each other",
        ),
        (
            lambda s: evolve(s, protocol=evolve(s.protocol, submodel_sizes=LatencyOptimal(largest=0.9))),
            "cannot add up",
        ),
        (
            lambda s: evolve(s, protocol=evolve(s.protocol, submodel_sizes=LatencyOptimal(largest=1.1))),
            "do not add up",
        ),
    ],
)
def test_refused(change, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run_of(change(system()))


@pytest.mark.parametrize("protocol", [Vhfl, RawHfl])
def test_protocols_that_need_updates_one_by_one_are_refused_over_the_air(protocol: type) -> None:
    with pytest.raises(ConfigurationError, match=f"{protocol.__name__} needs them one by one"):
        evolve(system(SUMS), protocol=protocol())
