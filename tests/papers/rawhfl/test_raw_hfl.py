"""RawHFL: edge rounds by hand, Algorithm 1 as a loop, budgets, losses, and what is refused."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
import torch
import worlds

import models
from cosim import (
    AfterRounds,
    ConfigurationError,
    DrawnDevices,
    EdgeTraining,
    HFedAvg,
    Never,
    PerGroup,
    QueuedLink,
    Radio,
    Sgd,
    Simulation,
    System,
    evolve,
    run,
)
from cosim.codecs import Uncompressed
from cosim.data import Iid, Synthetic
from cosim.devices import CyclesPerBit, LogNormalTime, PowerRange
from cosim.ends import EveryVersions
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.jobs.job import Job
from cosim.radio import EveryEdgeRound, LargeScale, LinkBudget, NoFading, ResourceBlocks
from cosim.recording.recorder import Recorder
from cosim.topology import Disc
from cosim.training.local_steps import SameSteps
from cosim.training.programs.sgd_steps import mini_batches
from scenarios.papers.rawhfl import (
    Algorithm2,
    CommonSteps,
    ExactSolver,
    RawHfl,
    ResourceAware,
    Unconstrained,
    VideoRequests,
)

EXACTLY = {"rel": 1e-12, "abs": 0.0}
BASE = System(
    num_cells=2,
    num_clients=7,
    model="relu-12-8-4",
    data=Synthetic(split=Iid()),
    topology=Disc(cell_radius_m=400.0),
    cycles=CyclesPerBit(cycles_per_bit=(25.0, 40.0)),
    devices=DrawnDevices(
        min_frequency_hz=PerGroup(values=(1.2e9,)),
        max_frequency_hz=PerGroup(values=(2e9,)),
        tx_power=PowerRange(lowest_dbm=20.0, highest_dbm=30.0),
    ),
    codec=Uncompressed(bits_per_parameter=50_000),
    uplink=Radio(
        sharing=ResourceBlocks(num_blocks=2),
        link=LinkBudget(
            noise_figure_db=0.0,
            large_scale=LargeScale(environment="uma"),
            large_scale_redrawn=EveryEdgeRound(),
        ),
        fading=NoFading(),
    ),
    protocol=RawHfl(
        num_edge_rounds=2,
        max_local_rounds=5,
        local=Sgd(batch_size=4, learning_rate=0.01),
    ),
    end=AfterRounds(num_global_rounds=3),
    evaluation=Never(),
)
"""A round has 10 mini-batches of 4; an upload of 128 x 50,000 bits."""


class Outcome(NamedTuple):
    trace: Recorder
    cloud: Cloud
    learner: Learner
    model: object


def run_of(system: System, shuffle_ties: int | None = None) -> Outcome:
    dataset = system.data.load(Simulation(system.seed), None)
    sim, learner, cloud = worlds.built(system, dataset, shuffle_ties=shuffle_ties)
    model = sim.run(system.protocol.run(sim, cloud))
    return Outcome(sim.recorder, cloud, learner, model)


def with_policy(policy: object, base: System = BASE, **radio: object) -> System:
    return evolve(base, uplink=evolve(base.uplink, **radio), protocol=evolve(base.protocol, policy=policy))


POLICIES = {
    "exact": ResourceAware(),
    "algorithm-2": ResourceAware(solver=Algorithm2()),
    "M1": CommonSteps(drop_stragglers=False),
    "M2": CommonSteps(),
    "UB": Unconstrained(),
}


# --- Timing and energy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_the_clock_does_what_is_planned(name):
    """Durations and energies of the spans equal the plan's, which are eqs. 10 to 14 by hand."""
    outcome = run_of(with_policy(POLICIES[name], sharing=ResourceBlocks(num_blocks=4)))
    clients = {client.name: client for edge in outcome.cloud.edges for client in edge.clients}
    load = outcome.cloud.workload.of()
    spans = {(s.node, s.activity, round(s.end_s, 6)): s for s in outcome.trace.spans}
    planned = [plan for plan in outcome.trace.plans if plan.is_selected]
    assert planned or name == "M1"
    for plan in planned:
        of_client = [
            span
            for span in outcome.trace.spans
            if span.node == plan.client and plan.time_s <= span.start_s < plan.time_s + 150.0
        ]
        train, send = sorted(of_client, key=lambda span: span.start_s)
        cycles = load.cycles(clients[plan.client], plan.num_steps, 40)
        train_s = cycles / plan.frequency_hz
        assert train.end_s - train.start_s == pytest.approx(train_s, rel=1e-9)
        assert train.energy_j == pytest.approx(0.5 * 2e-28 * cycles * plan.frequency_hz**2, rel=1e-9)
        assert send.energy_j == pytest.approx(plan.tx_power_w * (send.end_s - send.start_s), rel=1e-12)
        assert train.energy_j + send.energy_j == pytest.approx(plan.planned_j, rel=1e-8)
        assert send.end_s - train.start_s == pytest.approx(plan.planned_s, rel=1e-8)
    assert len(spans) == len(outcome.trace.spans)
    assert all(transfer.arrived for transfer in outcome.trace.transfers)


@pytest.mark.parametrize("name", POLICIES)
def test_an_edge_round_lasts_until_its_deadline(name):
    outcome = run_of(with_policy(POLICIES[name], sharing=ResourceBlocks(num_blocks=4)))
    rows = [row for row in outcome.trace.rounds if row.level == "edge"]
    assert len(rows) == 2 * 3 * 2
    for row in rows:
        begin = 150.0 * (2 * (row.global_round - 1) + row.edge_round)
        assert (row.start_s, row.end_s) == (begin, begin + 150.0)
        assert row.num_arrived == row.num_participants


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("order", [1, 2])
def test_simultaneous_events_may_come_in_any_order(name, order):
    system = with_policy(POLICIES[name], csi_error_db=3.0, sharing=ResourceBlocks(num_blocks=4))
    one, other = run_of(system), run_of(system, order)
    for table in ("spans", "transfers", "fates", "plans", "rounds"):
        assert sorted(getattr(one.trace, table)) == sorted(getattr(other.trace, table))


def test_who_waits_for_a_block_pays_nothing_for_it():
    """HFedAvg with more clients than blocks: spans of waiting before sending, without energy."""
    training = EdgeTraining(num_edge_rounds=1, steps=SameSteps(num_local_steps=2), local=Sgd(batch_size=4))
    system = evolve(BASE, protocol=HFedAvg(training=training), end=AfterRounds(num_global_rounds=1))
    spans = run_of(
        evolve(system, uplink=evolve(BASE.uplink, sharing=ResourceBlocks(num_blocks=1)))
    ).trace.spans
    waits = [span for span in spans if span.activity == "wait"]
    assert len(waits) == 5  # all but the first of each cell
    assert all(span.energy_j == 0.0 for span in waits)
    sends = [span for span in spans if span.activity == "send" and span.node.startswith("client")]
    assert {(wait.node, wait.end_s) for wait in waits} <= {(send.node, send.start_s) for send in sends}


def test_a_margin_is_time_to_spare():
    """The SNR is the plan's times the margin where the gain is the known one."""
    outcome = run_of(with_policy(ResourceAware(margin_db=6.0), sharing=ResourceBlocks(num_blocks=3)))
    for plan in outcome.trace.plans:
        if not plan.is_selected:
            continue
        (send,) = (
            span
            for span in outcome.trace.spans
            if span.node == plan.client
            and span.activity == "send"
            and span.start_s // 150.0 == plan.time_s / 150.0
        )
        planned_s = plan.time_s + plan.planned_s - send.start_s
        planned_snr = 2.0 ** (128 * 50_000 / (540e3 * planned_s)) - 1.0
        seconds = 128 * 50_000 / (540e3 * math.log2(1.0 + 10.0**0.6 * planned_snr))
        assert send.end_s - send.start_s == pytest.approx(seconds, rel=1e-6)


def test_at_full_power_the_slowest_link_is_waited_for():
    """Without constraints an edge round lasts until the last has arrived."""
    weak = evolve(BASE, topology=Disc(cell_radius_m=4000.0, min_distance_m=3000.0))
    outcome = run_of(with_policy(Unconstrained(), weak, sharing=ResourceBlocks(num_blocks=4)))
    rows = [row for row in outcome.trace.rounds if row.level == "edge"]
    assert max(row.end_s - row.start_s for row in rows) > 150.0
    assert all(row.num_arrived == row.num_participants for row in rows)


def test_edge_servers_that_relay_send_every_update_that_arrived():
    """Otherwise they send one model; the models are the same."""
    system = with_policy(Unconstrained(), sharing=ResourceBlocks(num_blocks=4))
    one = evolve(system.protocol, num_edge_rounds=1)
    topology = Disc(cell_radius_m=400.0, backhaul_rate_bps=1e9)
    for protocol, expected in (
        (evolve(one, relays=True), [4 * 6_400_000, 3 * 6_400_000] * 3),
        (one, [6_400_000] * 6),
    ):
        spans = run_of(evolve(system, topology=topology, protocol=protocol)).trace.spans
        sends = [span for span in spans if span.activity == "send" and span.node.startswith("edge")]
        sends.sort(key=lambda span: (span.start_s // 150.0, span.node))
        bits = [1e9 * (span.end_s - span.start_s) for span in sends]
        assert bits == pytest.approx(expected, rel=1e-6)


def test_edge_servers_that_relay_have_one_edge_round():
    with pytest.raises(ConfigurationError, match="Use num_edge_rounds = 1"):
        RawHfl(relays=True, num_edge_rounds=2)


def test_a_local_round_of_several_steps_costs_as_much_and_learns_as_they_do():
    """Ten steps on 4 samples each, beside one on 40."""
    system = with_policy(Unconstrained(), sharing=ResourceBlocks(num_blocks=4))
    system = evolve(system, end=AfterRounds(num_global_rounds=1), evaluation=EveryVersions())
    stepping = evolve(system, protocol=evolve(system.protocol, averages_mini_batches=False))
    ten = evolve(system.protocol, num_mini_batches=1, max_local_rounds=50)
    one, several, by_hand = (run(own) for own in (system, stepping, evolve(system, protocol=ten)))
    assert one.spans.equals(several.spans)
    loss = several.evaluations["loss_nats"].iloc[-1]
    assert loss == pytest.approx(by_hand.evaluations["loss_nats"].iloc[-1], rel=1e-6)
    assert loss < one.evaluations["loss_nats"].iloc[-1] - 1e-3


# --- Budgets, errors, jitter --------------------------------------------------------------------------------


def test_a_client_stops_where_its_budget_is_spent():
    """A client with a worse gain than planned sends until its energy is spent or the deadline comes."""
    system = with_policy(ResourceAware(), csi_error_db=8.0, sharing=ResourceBlocks(num_blocks=4))
    devices = evolve(system.devices, static_power_w=0.05)
    system = evolve(system, devices=devices, protocol=evolve(system.protocol, energy_budget_j=(0.6,)))
    outcome = run_of(system)
    reasons = {}
    for plan in outcome.trace.plans:
        if plan.is_selected:
            energy_j = sum(
                span.energy_j
                for span in outcome.trace.spans
                if span.node == plan.client and plan.time_s <= span.start_s < plan.time_s + 150.0
            )
            assert energy_j <= 0.6 * (1.0 + 1e-12)
    for span in outcome.trace.spans:
        reasons.setdefault(span.outcome, []).append(span)
    assert set(reasons) == {"done", "energy budget"}
    for cut in reasons["energy budget"]:
        spent = sum(
            span.energy_j
            for span in outcome.trace.spans
            if span.node == cut.node
            and cut.end_s - 150.0 <= span.start_s <= cut.start_s
            and int(span.start_s // 150.0) == int(cut.start_s // 150.0)
        )
        assert spent == pytest.approx(0.6, rel=1e-9)
    assert not all(transfer.arrived for transfer in outcome.trace.transfers)


def test_late_updates_are_cut_at_the_deadline_and_cost_what_was_sent():
    outcome = run_of(with_policy(ResourceAware(), csi_error_db=4.0, sharing=ResourceBlocks(num_blocks=4)))
    late = [span for span in outcome.trace.spans if span.outcome == "deadline"]
    assert late
    for span in late:
        assert span.end_s % 150.0 == 0.0
        plan = next(
            p for p in outcome.trace.plans if p.client == span.node and p.time_s == span.end_s - 150.0
        )
        assert span.energy_j == pytest.approx(plan.tx_power_w * (span.end_s - span.start_s), **EXACTLY)
    lost = [transfer for transfer in outcome.trace.transfers if not transfer.arrived]
    assert len(lost) == len(late)
    assert all(0.0 < transfer.sent_bits < transfer.payload_bits for transfer in lost)


def test_jitter_multiplies_training_times():
    calm = with_policy(Unconstrained(), sharing=ResourceBlocks(num_blocks=4))
    calm = evolve(
        calm, protocol=evolve(calm.protocol, num_edge_rounds=1), end=AfterRounds(num_global_rounds=150)
    )
    shaken = evolve(calm, devices=evolve(calm.devices, training_time=LogNormalTime(spread=0.2)))
    ratios = []
    of = {}
    for system in (calm, shaken):
        for span in run_of(system).trace.spans:
            if span.activity == "train":
                of.setdefault((span.node, span.start_s), []).append(span)
    for pair in of.values():
        if len(pair) == 2:
            ratios.append(math.log((pair[1].end_s - pair[1].start_s) / (pair[0].end_s - pair[0].start_s)))
            assert pair[1].energy_j / pair[0].energy_j == pytest.approx(math.exp(ratios[-1]), rel=1e-9)
    assert len(ratios) > 900
    assert np.mean(ratios) == pytest.approx(0.0, abs=3.3 * 0.2 / math.sqrt(len(ratios)))
    assert np.std(ratios) == pytest.approx(0.2, rel=0.08)


# --- Plans ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [ExactSolver(), Algorithm2()])
def test_few_are_selected_twice_in_a_row(solver):
    base = evolve(BASE, num_cells=1, num_clients=8)
    outcome = run_of(
        with_policy(ResourceAware(solver=solver, num_repeated=1), base, sharing=ResourceBlocks(num_blocks=3))
    )
    chosen: dict[tuple[int, int], set[str]] = {}
    for plan in outcome.trace.plans:
        chosen.setdefault((plan.global_round, plan.edge_round), set())
        if plan.is_selected:
            chosen[plan.global_round, plan.edge_round].add(plan.client)
    sets = [chosen[at] for at in sorted(chosen)]
    assert [len(s) for s in sets] == [3] * 6
    assert max(len(a & b) for a, b in pairwise(sets)) == 1


@pytest.mark.parametrize("solver", [ExactSolver(), Algorithm2()])
def test_cells_with_too_few_able_clients_take_those_they_have(solver):
    """Far clients of low power: some rounds are short, some empty, and the clock goes on."""
    far = evolve(BASE, topology=Disc(cell_radius_m=1500.0, min_distance_m=500.0))
    quiet = evolve(BASE.devices, tx_power=PowerRange(lowest_dbm=0.0, highest_dbm=10.0))
    system = with_policy(ResourceAware(solver=solver), evolve(far, devices=quiet))
    system = evolve(
        system, protocol=evolve(system.protocol, deadline_s=60.0), end=AfterRounds(num_global_rounds=6)
    )
    rows = [row for row in run_of(system).trace.rounds if row.level == "edge"]
    able: dict[tuple[str, int, int], int] = {}
    for plan in run_of(system).trace.plans:
        at = (plan.edge, plan.global_round, plan.edge_round)
        able[at] = able.get(at, 0) + plan.is_able
    assert all(row.num_wanted == 2 for row in rows)
    assert all(
        row.num_participants <= min(2, able[row.node, row.global_round, row.edge_round]) for row in rows
    )
    assert {row.num_participants for row in rows} == {0, 1, 2}  # some rounds are empty
    assert all(row.end_s - row.start_s == pytest.approx(60.0) for row in rows)


def test_every_client_has_a_row_in_every_edge_round():
    result = run(BASE, models.build(BASE.model))
    assert len(result.plans) == 3 * 2 * 7
    assert result.plans["is_selected"].sum() == 3 * 2 * 2 * 2
    idle = result.plans[~result.plans["is_selected"]]
    columns = ["num_steps", "frequency_hz", "tx_power_w", "planned_s", "planned_j"]
    assert (idle[columns] == 0).all().all()


# --- Learning ---------------------------------------------------------------------------------------------


def loop(system: System, outcome: Outcome) -> dict[str, torch.Tensor]:
    """Algorithm 1 with the plans and arrivals of a run: eqs. 9, 15 and 17."""
    sim, protocol = Simulation(system.seed), system.protocol
    dataset = system.data.load(sim, None)
    x, y = torch.tensor(dataset.train_x), torch.tensor(dataset.train_y)
    start = outcome.learner.weights(outcome.learner.initial_model(sim.key("cloud", "initial weights")))
    whole = {name: torch.tensor(values, dtype=torch.float64) for name, values in start.items()}
    plans = {(p.client, p.global_round, p.edge_round): p for p in outcome.trace.plans if p.is_selected}
    arrived = {(t.client, t.global_round, t.edge_round): t.arrived for t in outcome.trace.transfers}
    counts = {client.name: [0, 0] for edge in outcome.cloud.edges for client in edge.clients}
    for k in range(1, system.end.num_global_rounds + 1):
        edges = []
        for edge in outcome.cloud.edges:
            model = dict(whole)
            for e in range(protocol.num_edge_rounds):
                chosen = [client for client in edge.clients if (client.name, k, e) in plans]
                job = Job.of_round(k, e, protocol.num_edge_rounds)
                total = {name: torch.zeros_like(values) for name, values in model.items()}
                for client in chosen:
                    planned, came = counts[client.name]
                    p = protocol.success_probability or (came + 1) / (planned + 1)
                    counts[client.name][0] += 1
                    if not arrived[client.name, k, e]:
                        continue
                    counts[client.name][1] += 1
                    network = models.build(system.model).double()
                    network.load_state_dict(model)
                    key = sim.key(client.name, "mini-batches", job.number)
                    batch_size = protocol.num_mini_batches * protocol.local.batch_size
                    steps = plans[client.name, k, e].num_steps
                    for batch in mini_batches(client.samples, steps, batch_size, key):
                        network.zero_grad()
                        torch.nn.functional.cross_entropy(network(x[batch].double()), y[batch]).backward()
                        for name, parameter in network.named_parameters():
                            gradient = parameter.grad
                            total[name] += gradient / (len(chosen) * p)
                            parameter.data -= protocol.local.learning_rate * gradient
                model = {name: model[name] - protocol.local.learning_rate * total[name] for name in model}
            edges.append(model)
        whole = {name: sum(model[name] for model in edges) / len(edges) for name in whole}
    return whole


@pytest.mark.parametrize(
    ("policy", "radio", "success"),
    [
        (ResourceAware(), {}, None),
        (CommonSteps(), {"sharing": ResourceBlocks(num_blocks=4)}, None),
        (ResourceAware(), {"csi_error_db": 4.0}, None),
        (ResourceAware(margin_db=2.0), {"csi_error_db": 4.0, "outage_probability": 0.2}, 0.55),
    ],
)
def test_the_model_is_that_of_algorithm_1(policy, radio, success):
    system = with_policy(policy, **radio)
    system = evolve(
        system,
        protocol=evolve(
            system.protocol, local=Sgd(batch_size=4, learning_rate=0.1), success_probability=success
        ),
    )
    outcome = run_of(evolve(system, evaluation=EveryVersions(num_versions=3)))
    found = outcome.learner.weights(outcome.model)
    lost = sum(not transfer.arrived for transfer in outcome.trace.transfers)
    assert (lost > 3) == bool(radio.get("csi_error_db"))
    for name, values in loop(system, outcome).items():
        np.testing.assert_allclose(found[name], values.numpy(), rtol=0, atol=2e-5)


def test_clients_train_on_what_was_asked_by_then():
    """Samples of an update come from the slots that ended before its edge round began."""
    requests = VideoRequests(
        num_users=7, num_genres=2, contents_per_genre=3, active_probability=(1.0,), num_past_requests=5
    )
    system = evolve(
        BASE,
        model="mlp-8-6-6",
        data=requests,
    )
    ground = ground_of(system)
    sim, dataset = ground.sim, system.data.load(ground.sim, None)
    learner = Learner(models.build(system.model), dataset, num_workers=1)
    cloud = nodes_of(system, ground, learner, lambda: dataset)
    seen = []
    original = type(cloud.edges[0].clients[0]).train

    def watched(self, sim, *given):
        seen.append((sim.now_s, len(self.samples)))
        return (yield from original(self, sim, *given))

    type(cloud.edges[0].clients[0]).train = watched
    try:
        sim.run(system.protocol.run(sim, cloud))
    finally:
        type(cloud.edges[0].clients[0]).train = original
    assert len(seen) == 24
    assert all(num == 4 + now_s // 150.0 for now_s, num in seen)


# --- Refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (with_policy(ResourceAware(num_selected=4)), r"num_selected = 4: the smallest cell has 3 clients"),
        (
            evolve(BASE, protocol=evolve(BASE.protocol, deadline_s=1e-4)),
            r"RawHfl\.deadline_s = 0\.0001 and RawHfl\.energy_budget_j = 1\.5: no client",
        ),
        (
            evolve(BASE, protocol=evolve(BASE.protocol, energy_budget_j=(1e-25,))),
            r"energy_budget_j = 1e-25: no client can do one local round",
        ),
        (
            with_policy(ResourceAware(lowest_power_dbm=25.0)),
            r"lowest_power_dbm = 25: is above the highest power",
        ),
        (
            evolve(BASE, uplink=QueuedLink()),
            "a plan: asks for rates and gains beforehand, which are not known for a QueueLink",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_clock_starts(system, message, tmp_path):
    with pytest.raises(ConfigurationError, match=message):
        run(system, models.build(system.model), out=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_who_waits_for_all_may_not_meet_outages():
    with pytest.raises(ConfigurationError, match=r"Radio: some uploads never end, and .* = RawHfl waits for"):
        with_policy(Unconstrained(), outage_probability=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ResourceAware(theta=1.1), r"ResourceAware\.theta = 1\.1: must lie from 0 to 1"),
        (lambda: ResourceAware(num_selected=0), "num_selected = 0: must be at least 1"),
        (lambda: RawHfl(energy_budget_j=(1.5, 0.8)), "lowest and then the highest"),
        (lambda: RawHfl(success_probability=0.0), "success_probability = 0: must be above 0"),
        (
            lambda: PowerRange(lowest_dbm=30.0, highest_dbm=20.0),
            "lowest_dbm = 30: is above highest",
        ),
        (
            lambda: DrawnDevices(lowest_frequency_hz=1.5e9),
            r"lowest_frequency_hz = 1\.5e\+09: is above min_frequency",
        ),
        (lambda: CyclesPerBit(cycles_per_bit=(40.0, 25.0)), "cycles_per_bit"),
    ],
)
def test_bad_values(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


# --- Waiting, places, estimates -----------------------------------------------------------------------------


def test_waiting_for_a_block_does_not_spend_the_budget():
    """More senders than blocks, within a budget: a client that stops has spent all of it."""
    system = with_policy(CommonSteps(), sharing=ResourceBlocks(num_blocks=1))
    system = evolve(system, protocol=evolve(system.protocol, energy_budget_j=(5.0,)))
    outcome = run_of(system)
    waits = [span for span in outcome.trace.spans if span.activity == "wait"]
    assert waits
    assert {span.outcome for span in waits} == {"done"}
    assert all(transfer.arrived for transfer in outcome.trace.transfers)
    # A worse link than planned: the budget ends in the sending, wherever the waiting ended.
    tight = evolve(
        system,
        uplink=evolve(system.uplink, csi_error_db=15.0),
        protocol=evolve(system.protocol, energy_budget_j=(0.6,)),
    )
    spans = run_of(tight).trace.spans
    cuts = [span for span in spans if span.outcome == "energy budget"]
    assert cuts
    for cut in cuts:
        own = [s for s in spans if s.node == cut.node and s.start_s // 150.0 == cut.start_s // 150.0]
        assert cut.activity == "send"
        assert sum(span.energy_j for span in own) == pytest.approx(0.6, rel=1e-9)
    waited = {(span.node, span.end_s) for span in spans if span.activity == "wait"}
    assert any((cut.node, cut.start_s) in waited for cut in cuts)


def test_more_selected_than_blocks_is_refused():
    with pytest.raises(ConfigurationError, match="num_selected = 3: a plan gives each client a"):
        run_of(with_policy(ResourceAware(num_selected=3), sharing=ResourceBlocks(num_blocks=2)))


def test_by_default_a_cell_can_fill_every_edge_round():
    """All of a cell selected each time is possible only where all may be repeated."""
    outcome = run_of(with_policy(ResourceAware(), sharing=ResourceBlocks(num_blocks=4)))
    rows = [row for row in outcome.trace.rounds if row.level == "edge"]
    assert all(row.num_participants == row.num_wanted for row in rows)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("num_planned", [0, 1, 4])
def test_the_estimated_probability_is_short_at_first_by_the_documented_amount(p, num_planned):
    """Mean of 1 / estimate where an update arrives, over the binomial law of the past."""
    mean = sum(
        math.comb(num_planned, k) * p**k * (1 - p) ** (num_planned - k) * p * (num_planned + 1) / (k + 1)
        for k in range(num_planned + 1)
    )
    assert mean == pytest.approx(1.0 - (1.0 - p) ** (num_planned + 1), rel=1e-12)
