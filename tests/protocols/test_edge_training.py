"""An edge round on the clock against arithmetic, and the laws that every combination of parts keeps."""

import math
from functools import cache
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import pytest
import worlds
from equal import exactly
from scipy import stats
from worlds import BANDWIDTH_HZ, BITS, CAPACITANCE, STEP_CYCLES, STEPS, TX_W

from cosim import (
    AfterRounds,
    ConfigurationError,
    Deadline,
    DrawnDevices,
    FixedShares,
    GivenSnr,
    HFedAvg,
    Hist,
    Never,
    PerClient,
    PerGroup,
    Radio,
    Rayleigh,
    Sgd,
    System,
    WaitForAll,
    evolve,
)
from cosim.clock.simulation import Simulation
from cosim.data import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.engine.servers.cloud import Cloud
from cosim.radio import CoherenceTime, EveryEdgeRound, EveryGlobalRound, RedividedShares
from cosim.recording.recorder import Recorder
from cosim.selection.drawn import Uniform
from cosim.topology import Disc
from cosim.values.pending import PendingModel
from cosim.waiting import Waiting


class Run(NamedTuple):
    trace: Recorder
    learner: Learner
    cloud: Cloud
    model: PendingModel


def run_of(system: System) -> Run:
    sim, learner, cloud = worlds.built(system)
    model = sim.run(system.protocol.run(sim, cloud))
    return Run(sim.recorder, learner, cloud, model)


def one_cell(frequencies_hz: tuple[float, ...], snrs: tuple[float, ...], **radio: object) -> System:
    """HFedAvg in one cell of such processors and links: one edge round, nothing random."""
    return worlds.one_cell(*frequencies_hz, uplink=worlds.still(*snrs, **radio))


def changed(system: System, num_global_rounds: int | None = None, **training: object) -> System:
    protocol = system.protocol
    end = system.end if num_global_rounds is None else AfterRounds(num_global_rounds=num_global_rounds)
    return evolve(
        system,
        protocol=evolve(protocol, training=evolve(protocol.training, **training)),
        end=end,
    )


def train_w(frequency_hz: float) -> float:
    return 0.5 * CAPACITANCE * frequency_hz**3


def rows_of(run: Run, client: int) -> list[tuple[object, ...]]:
    """Activity, start, end, energy, outcome of one client's spans."""
    return [tuple(span)[1:6] for span in run.trace.spans if span.node == f"client-{client:04d}"]


def test_fixed_shares_of_two_rounds_cost_what_arithmetic_says() -> None:
    frequencies_hz, snrs = (1e9, 2e9, 3e9), (3.0, 1.0, 15.0)
    system = changed(one_cell(frequencies_hz, snrs), num_global_rounds=2, num_edge_rounds=2)
    run = run_of(system)
    train_s = [STEPS * STEP_CYCLES / f for f in frequencies_hz]
    send_s = [BITS / (BANDWIDTH_HZ / 3 * math.log2(1 + snr)) for snr in snrs]
    round_s = max(train + send for train, send in zip(train_s, send_s, strict=True))
    assert round_s == exactly(3e-3 / 2 + 3 * 4096 / 1e6)  # client 1: 2 GHz, 1 bit/s/Hz
    for client in range(3):
        expected = []
        for number in range(4):
            start_s = number * round_s
            sends_s = start_s + train_s[client]
            energy_j = train_w(frequencies_hz[client]) * train_s[client]
            expected.append(("train", start_s, sends_s, energy_j, "done"))
            expected.append(("send", sends_s, sends_s + send_s[client], TX_W * send_s[client], "done"))
        for row, wanted in zip(rows_of(run, client), expected, strict=True):
            assert row[0] == wanted[0]
            assert row[4] == wanted[4]
            assert row[1] == pytest.approx(wanted[1], rel=1e-12, abs=1e-18)
            assert row[2] == exactly(wanted[2])
            # an energy is a difference of times, whose rounding is relative to the time
            assert row[3] == pytest.approx(wanted[3], rel=1e-11, abs=0.0)
    edge_rounds = [row for row in run.trace.rounds if row.level == "edge"]
    assert [row.end_s for row in edge_rounds] == [exactly((number + 1) * round_s) for number in range(4)]
    assert [(row.global_round, row.edge_round) for row in edge_rounds] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    global_rounds = [row for row in run.trace.rounds if row.level == "global"]
    assert [row.end_s for row in global_rounds] == [exactly(2 * round_s), exactly(4 * round_s)]


def test_energy_of_one_round_to_the_last_digit() -> None:
    run = run_of(one_cell((1e9,), (3.0,)))
    (train, send) = run.trace.spans
    assert train.energy_j == exactly(0.5 * 2e-28 * 1e9**2 * 3e6)  # eq. 11: half zeta times cycles times f^2
    assert send.energy_j == exactly(0.2 * 4096 / 2e6)


def test_redivided_shares_follow_who_still_sends() -> None:
    """Rate 2 bit/s/Hz each; client 0 sends from 1 ms, client 1 from 2 ms.

    Alone, client 0 sends 2000 bits until 2 ms; with 1 Mbit/s each its last 2096 bits take 2.096 ms, and
    client 1 has then sent as many; its last 2000 bits go at 2 Mbit/s.
    """
    run = run_of(one_cell((3e9, 1.5e9), (3.0, 3.0), sharing=RedividedShares(bandwidth_hz=BANDWIDTH_HZ)))
    ends_s = [rows_of(run, client)[1][2] for client in range(2)]
    assert ends_s == [exactly(4.096e-3), exactly(5.096e-3)]
    assert [row.sent_bits for row in run.trace.transfers] == [BITS, BITS]


def test_deadline_cuts_sending_and_training_and_writes_what_they_cost() -> None:
    """1 Mbit/s each: client 0 arrives at 5.096 ms, client 1 still sends at 6 ms, client 2 still trains."""
    frequencies_hz = (3e9, 1e9, 0.3e9)
    system = changed(
        one_cell(frequencies_hz, (7.0, 7.0, 7.0)), num_edge_rounds=2, waiting=Deadline(deadline_s=6e-3)
    )
    run = run_of(system)
    assert rows_of(run, 0)[:2] == [
        ("train", 0.0, exactly(1e-3), exactly(train_w(3e9) * 1e-3), "done"),
        ("send", exactly(1e-3), exactly(5.096e-3), exactly(TX_W * 4.096e-3), "done"),
    ]
    assert rows_of(run, 1)[:2] == [
        ("train", 0.0, exactly(3e-3), exactly(train_w(1e9) * 3e-3), "done"),
        ("send", exactly(3e-3), exactly(6e-3), exactly(TX_W * 3e-3), "deadline"),
    ]
    assert rows_of(run, 2)[:1] == [
        ("train", 0.0, exactly(6e-3), exactly(train_w(0.3e9) * 6e-3), "deadline"),
    ]
    assert [rows_of(run, client)[-1][2] for client in range(3)] == [
        exactly(6e-3 + 5.096e-3),
        exactly(12e-3),
        exactly(12e-3),
    ]
    edge_rounds = [row for row in run.trace.rounds if row.level == "edge"]
    assert [(row.num_participants, row.num_arrived) for row in edge_rounds] == [(3, 1), (3, 1)]
    assert [row.end_s for row in edge_rounds] == [exactly(6e-3), exactly(12e-3)]
    cut = [row for row in run.trace.transfers if row.client == "client-0001"]
    assert [row.arrived for row in cut] == [False, False]
    assert [row.sent_bits for row in cut] == [pytest.approx(3000.0, rel=1e-12)] * 2
    assert {row.payload_bits for row in run.trace.transfers} == {BITS}


def test_what_arrives_at_the_deadline_has_arrived_and_a_round_ends_early_when_all_have() -> None:
    """1 Mbit/s and 4096 bits; processors of exact binary times."""
    system = changed(one_cell((3e9,), (1.0,)), waiting=Deadline(deadline_s=3e6 / 3e9 + 4096e-6))
    assert [row.num_arrived for row in run_of(system).trace.rounds if row.level == "edge"] == [1]
    early = run_of(changed(system, waiting=Deadline(deadline_s=1.0)))
    assert early.trace.rounds[-1].end_s == exactly(5.096e-3)


def test_dropped_updates_are_never_computed() -> None:
    system = changed(
        one_cell((3e9, 1e9, 0.3e9), (7.0, 7.0, 7.0)), 2, num_edge_rounds=2, waiting=Deadline(deadline_s=6e-3)
    )
    run = run_of(system)
    assert run.learner.num_local_steps == 4 * 1 * STEPS
    everyone = run_of(changed(system, waiting=WaitForAll()))
    assert everyone.learner.num_local_steps == 4 * 3 * STEPS


def test_nothing_arrived_leaves_the_edge_model_and_says_so() -> None:
    run = run_of(
        changed(one_cell((3e9, 1e9), (7.0, 7.0)), 2, num_edge_rounds=2, waiting=Deadline(deadline_s=0.5e-3))
    )
    edge_rounds = [row for row in run.trace.rounds if row.level == "edge"]
    assert [(row.num_participants, row.num_arrived) for row in edge_rounds] == [(2, 0)] * 4
    assert run.trace.transfers == []
    assert run.learner.num_local_steps == 0
    initial = run.learner.initial_model(Simulation(1).key("cloud", "initial weights"))
    before, after = run.learner.weights(initial), run.learner.weights(run.model)
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values)
    first, *later = run.trace.evaluations
    assert [row.scores for row in later] == [first.scores] * len(later)


def test_participants_share_the_band_among_themselves_only() -> None:
    system = changed(
        one_cell((3e9,) * 5, (1.0,) * 5), num_edge_rounds=4, selection=Uniform(num_participants=2)
    )
    run = run_of(system)
    assert len(run.trace.transfers) == 8
    for row in run.trace.transfers:
        assert row.end_s - row.start_s == pytest.approx(4096 / 0.5e6, rel=1e-11)
    edge_rounds = [row for row in run.trace.rounds if row.level == "edge"]
    assert [(row.num_participants, row.num_arrived) for row in edge_rounds] == [(2, 2)] * 4


def test_participants_are_drawn_anew_and_uniformly() -> None:
    """Each of the ten pairs of five clients comes up equally often; a wrong theory must fail."""
    num_rounds = 1200
    system = changed(
        one_cell((3e9,) * 5, (1.0,) * 5), num_edge_rounds=num_rounds, selection=Uniform(num_participants=2)
    )
    trace = run_of(evolve(system, evaluation=Never())).trace
    pairs: dict[int, list[str]] = {}
    for row in trace.transfers:
        pairs.setdefault(row.edge_round, []).append(row.client)
    counts = np.unique([" ".join(sorted(pair)) for pair in pairs.values()], return_counts=True)[1]
    assert len(counts) == 10
    assert stats.chisquare(counts).pvalue > 0.001
    skewed = np.array([1.5, *[8.5 / 9] * 9]) / 10 * num_rounds
    assert stats.chisquare(np.sort(counts)[::-1], skewed[::-1]).pvalue < 0.05
    repeats = sum(first == second for first, second in pairwise(pairs.values()))
    assert repeats < num_rounds / 4


def test_backhaul_takes_its_delay_and_its_rate_on_both_ways() -> None:
    system = evolve(one_cell((3e9,), (1.0,)), topology=Disc(backhaul_delay_s=0.25, backhaul_rate_bps=8192.0))
    run = run_of(changed(system, num_edge_rounds=2))
    edge = [tuple(span)[1:6] for span in run.trace.spans if span.node == "edge-00"]
    backhaul_s, round_s = 0.25 + 0.5, 1e-3 + 4096e-6
    assert edge == [
        ("receive", 0.0, exactly(backhaul_s), 0.0, "done"),
        ("send", exactly(backhaul_s + 2 * round_s), exactly(2 * backhaul_s + 2 * round_s), 0.0, "done"),
    ]
    (whole,) = (row for row in run.trace.rounds if row.level == "global")
    assert (whole.start_s, whole.end_s) == (0.0, exactly(2 * backhaul_s + 2 * round_s))


def test_more_participants_than_the_smallest_cell_has_are_refused() -> None:
    system = evolve(one_cell((3e9,), (1.0,)), num_cells=2, num_clients=5)
    with pytest.raises(ConfigurationError, match="num_participants = 3: the smallest cell has 2 clients"):
        run_of(changed(system, selection=Uniform(num_participants=3)))


# Laws of every combination of parts.

COMBINATIONS = list(
    product(
        ("hist", "hfedavg"),
        (FixedShares, RedividedShares),
        ("patient", "deadline"),
        (None, 2),
        (EveryGlobalRound(), EveryEdgeRound(), CoherenceTime(coherence_time_s=2e-3)),
    )
)


def name_of(part: object) -> str:
    """A part in the name of a test."""
    return part if isinstance(part, str) else getattr(part, "__name__", type(part).__name__)


contract = pytest.mark.parametrize("parts", COMBINATIONS, ids=lambda parts: "-".join(map(name_of, parts)))


def waiting_of(parts: tuple[object, ...]) -> Waiting:
    """One that some meet and others miss, for uploads of either size."""
    return (
        WaitForAll()
        if parts[2] == "patient"
        else Deadline(deadline_s={"hist": 0.006, "hfedavg": 0.012}[parts[0]])
    )


def composed(parts: tuple[object, ...], bandwidth_hz: float = 0.4e6) -> System:
    """Four clients near their server; three far away, any two of whom have a slow processor among them."""
    protocol, sharing, _, num_participants, redrawn = parts
    training = worlds.training(
        local=Sgd(batch_size=10, learning_rate=0.1),
        waiting=waiting_of(parts),
        selection=worlds.selection(num_participants),
    )
    kind = Hist if protocol == "hist" else HFedAvg
    return System(
        seed=3,
        num_cells=2,
        num_clients=7,
        model="relu-12-8-4",
        data=Synthetic(),
        topology=Disc(backhaul_delay_s=1e-3, backhaul_rate_bps=1e7),
        devices=DrawnDevices(
            min_frequency_hz=PerClient(values=(*[1e9] * 5, 1e7, 1e7)),
            max_frequency_hz=PerClient(values=(*[4e9] * 5, 2e7, 2e7)),
        ),
        uplink=Radio(
            sharing=sharing(bandwidth_hz=bandwidth_hz),
            link=GivenSnr(snr_db=PerGroup(values=(35.0, 5.0))),
            fading=Rayleigh(num_antennas=1, redrawn=redrawn),
        ),
        protocol=kind(training=training),
        end=AfterRounds(num_global_rounds=3),
    )


@cache
def run_of_parts(parts: tuple[object, ...], bandwidth_hz: float = 0.4e6) -> Run:
    return run_of(composed(parts, bandwidth_hz))


@contract
def test_energy_is_power_times_time_of_the_spans(parts: tuple[object, ...]) -> None:
    run = run_of_parts(parts)
    power_w = {"edge-00": {"receive": 0.0, "send": 0.0}, "edge-01": {"receive": 0.0, "send": 0.0}}
    for edge in run.cloud.edges:
        for client in edge.clients:
            power_w[client.name] = {"train": train_w(client.device.frequency_hz), "send": client.tx_power_w}
    assert len(run.trace.spans) > 12
    for span in run.trace.spans:
        assert span.end_s > span.start_s
        assert span.energy_j == exactly(power_w[span.node][span.activity] * (span.end_s - span.start_s))


@contract
def test_a_node_does_one_thing_at_a_time(parts: tuple[object, ...]) -> None:
    spans_of: dict[str, list[tuple[float, float]]] = {}
    for span in run_of_parts(parts).trace.spans:
        spans_of.setdefault(span.node, []).append((span.start_s, span.end_s))
    for spans in spans_of.values():
        for (_, end_s), (start_s, _) in pairwise(sorted(spans)):
            assert start_s >= end_s


@contract
def test_bits_are_conserved(parts: tuple[object, ...]) -> None:
    run = run_of_parts(parts)
    share = 2 if parts[0] == "hist" else 1
    arrived: dict[tuple[str, int, int], int] = {}
    for row in run.trace.transfers:
        assert row.payload_bits == BITS // share
        assert 0.0 <= row.sent_bits <= row.payload_bits
        assert row.arrived == (row.sent_bits == row.payload_bits)
        place = (row.edge, row.global_round, row.edge_round)
        arrived[place] = arrived.get(place, 0) + row.arrived
    edge_rounds = [row for row in run.trace.rounds if row.level == "edge"]
    for row in edge_rounds:
        assert arrived.get((row.node, row.global_round, row.edge_round), 0) == row.num_arrived
    num_dropped = sum(row.num_participants - row.num_arrived for row in edge_rounds)
    cut = [span for span in run.trace.spans if span.outcome == "deadline"]
    assert len(cut) == num_dropped
    assert (num_dropped > 0) == (parts[2] == "deadline")
    assert sum(row.num_arrived for row in edge_rounds) > 0
    sends = [span for span in run.trace.spans if span.node.startswith("client") and span.activity == "send"]
    assert sorted((s.node, s.start_s, s.end_s) for s in sends) == sorted(
        (t.client, t.start_s, t.end_s) for t in run.trace.transfers
    )


@contract
def test_rounds_nest(parts: tuple[object, ...]) -> None:
    trace = run_of_parts(parts).trace
    whole = {row.global_round: row for row in trace.rounds if row.level == "global"}
    assert sorted(whole) == [1, 2, 3]
    assert [whole[number].start_s for number in (1, 2, 3)] == [0.0, whole[1].end_s, whole[2].end_s]
    for edge in ("edge-00", "edge-01"):
        own = [row for row in trace.rounds if row.node == edge]
        assert [(row.global_round, row.edge_round) for row in own] == list(product((1, 2, 3), (0, 1)))
        for first, second in zip(own[::2], own[1::2], strict=True):
            assert whole[first.global_round].start_s <= first.start_s < first.end_s == second.start_s
            assert second.start_s < second.end_s <= whole[first.global_round].end_s
        for row in own:
            inside = [
                t for t in trace.transfers if (t.edge, t.global_round, t.edge_round) == (edge, *row[2:4])
            ]
            assert all(row.start_s <= t.start_s <= t.end_s <= row.end_s for t in inside)
            if parts[2] == "deadline":
                assert row.end_s - row.start_s <= waiting_of(parts).deadline_s * (1 + 1e-12)


@contract
def test_learning_counts_only_what_arrived(parts: tuple[object, ...]) -> None:
    run = run_of_parts(parts)
    arrived = sum(row.num_arrived for row in run.trace.rounds if row.level == "edge")
    assert run.learner.num_local_steps == STEPS * arrived
    scores = [(row.version, *row.scores.values()) for row in run.trace.evaluations]
    assert [number for number, _, _ in scores] == [0, 1, 2, 3]
    assert all(0.0 <= accuracy <= 1.0 and 0.0 < loss < 3.0 for _, accuracy, loss in scores)
    for number, ((_, _, before), (_, _, after)) in enumerate(pairwise(scores), start=1):
        num_arrived = sum(
            row.num_arrived for row in run.trace.rounds if row.level == "edge" and row.global_round == number
        )
        assert (after != before) == (num_arrived > 0)


@pytest.mark.parametrize(
    "parts", [p for p in COMBINATIONS if p[2] == "patient"], ids=lambda parts: "-".join(map(str, parts))
)
def test_more_bandwidth_is_never_slower(parts: tuple[object, ...]) -> None:
    ends_s = []
    for bandwidth_hz in (0.4e6, 0.5e6):
        rounds = run_of_parts(parts, bandwidth_hz).trace.rounds
        ends_s.append(np.array([row.end_s for row in sorted(rounds, key=lambda row: row[:4])]))
    narrow, wide = ends_s
    assert (wide < narrow).all()
