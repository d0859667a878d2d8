"""VHFL against the arithmetic of its rounds, and against its updates combined by hand."""

import numpy as np
import pytest
import worlds
from torch import nn

import models
from cosim import (
    AfterRounds,
    ConfigurationError,
    Deadline,
    EdgeTraining,
    FixedShares,
    GivenSnr,
    Hist,
    Never,
    PerGroup,
    QueuedLink,
    Radio,
    Result,
    Sgd,
    System,
    evolve,
    run,
)
from cosim.clock.simulation import Simulation
from cosim.data import Iid, Synthetic
from cosim.data.dataset import Dataset
from cosim.devices import CyclesPerOperation
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.jobs.job import Job
from cosim.queues import Deterministic, NoWork, OwnPaths, Paths, PoissonArrivals, SharedPath
from cosim.radio import NoFading
from cosim.recording.recorder import Recorder
from cosim.training.local_steps import SameSteps
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from cosim.waiting import UploadDeadline
from scenarios.papers.vhfl import CellTraffic, Traffic, Vhfl
from scenarios.papers.vhfl.vertical import VerticalSgd

SIZES = (10, 25, 25)
SHARED = SharedPath()
STEPS = (2 * 1, 2 * 3, 2 * 3)
TRAIN_S = tuple(1e-3 * steps for steps in STEPS)  # 1e6 cycles per step at 1 GHz
SERVICE_S, POWER_W = 0.3, 0.2
NUM_LOCAL, NUM_OUTPUTS = (3 * 8 + 8) + (8 * 5 + 5) + (10 * 8 + 8) + (8 * 1 + 1), 5


def dataset() -> Dataset:
    rng = np.random.default_rng(7)
    owners = rng.permutation(np.repeat(np.arange(3), SIZES))
    x = rng.standard_normal((80, 7)).astype(np.float32)
    y = (x[:, 0] + x[:, 6]).astype(np.float32)
    return Dataset(
        name="toy",
        train_x=x[:60],
        train_y=y[:60],
        test_x=x[60:],
        test_y=y[60:],
        num_classes=None,
        num_global_features=4,
        train_owners=owners,
    )


def system(paths: Paths = SHARED, num_global_rounds: int = 2, **knobs: object) -> System:
    """Three clients, no background traffic, 0.3 s of service for every message."""
    defaults = {"num_local_epochs": 2, "local": VerticalSgd(batch_size=10)}
    return System(
        seed=3,
        num_cells=1,
        num_clients=3,
        model="vertical-4-3-8-5",
        data=CellTraffic(),
        devices=worlds.processors(1e9),
        uplink=QueuedLink(
            arrivals=PoissonArrivals(rate_per_s=0.0),
            service=Deterministic(duration_s=SERVICE_S),
            paths=paths,
            initial_work=NoWork(),
        ),
        protocol=Vhfl(**(defaults | knobs)),  # type: ignore[arg-type]
        end=AfterRounds(num_global_rounds=num_global_rounds),
    )


def run_of(
    system: System, shuffle_ties: int | None = None
) -> tuple[Recorder, Learner, dict[str, np.ndarray]]:
    sim, learner, cloud = worlds.built(system, dataset(), shuffle_ties=shuffle_ties)
    return sim.recorder, learner, learner.weights(sim.run(system.protocol.run(sim, cloud)))


def by_hand(learner: Learner, arrived: list[tuple[int, ...]], protocol: Vhfl) -> dict[str, np.ndarray]:
    """The model when in each global round the updates of these clients have arrived."""
    sim, data = Simulation(3), dataset()
    assert data.train_owners is not None
    model = learner.initial_model(sim.key("cloud", "initial weights"))
    for global_round, numbers in enumerate(arrived, 1):
        updates = [
            PendingUpdate(
                client=f"client-{number:04d}",
                model=model,
                samples=np.flatnonzero(data.train_owners == number),
                key=sim.key(f"client-{number:04d}", "mini-batches", Job.of_round(global_round, 0, 1).number),
                num_steps=protocol.num_local_epochs * -(-SIZES[number] // protocol.local.batch_size),
                training=protocol.local,
            )
            for number in numbers
        ]
        if updates:
            model = mean(updates, weights=[SIZES[number] for number in numbers])
    return learner.weights(model)


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, atol=1e-6, err_msg=name)


def test_on_paths_of_their_own_a_round_is_computing_and_one_service():
    trace, learner, weights = run_of(system(OwnPaths()))
    ends_s = [row.end_s for row in trace.rounds if row.level == "global"]
    assert ends_s == pytest.approx([TRAIN_S[1] + SERVICE_S, 2 * (TRAIN_S[1] + SERVICE_S)], rel=1e-12)
    assert_same(weights, by_hand(learner, [(0, 1, 2)] * 2, system().protocol))
    assert [row.scores["train_mse"] for row in trace.evaluations] == sorted(
        [row.scores["train_mse"] for row in trace.evaluations], reverse=True
    )


@pytest.mark.parametrize("cycles_per_flop", [0.125, 1000.0])
def test_by_operations_clients_pay_for_their_own_part_only(cycles_per_flop):
    """Three products per weight of the local part, whose inputs hold outputs that want gradients back.

    Its layers are 3-8-5, and from these 5 and the server's 5 on 10-8-1; the server's 4-8-5 costs no client
    anything.
    """
    own = 2 * 3 * (3 * 8 + 8 * 5 + 10 * 8 + 8 * 1)
    trace, _, _ = run_of(
        evolve(system(OwnPaths()), cycles=CyclesPerOperation(cycles_per_flop=cycles_per_flop))
    )
    trains = {s.node: s.end_s for s in trace.spans if s.activity == "train" and s.start_s == 0.0}
    assert [trains[f"client-{number:04d}"] for number in range(3)] == pytest.approx(
        [steps * cycles_per_flop * own * 10 / 1e9 for steps in STEPS], rel=1e-12
    )


def test_an_upload_holds_the_local_weights_and_a_gradient_per_sample():
    trace, _, _ = run_of(system(OwnPaths()))
    wanted = [32 * (NUM_LOCAL + size * NUM_OUTPUTS) for size in SIZES]
    first = [row for row in trace.transfers if row.global_round == 1]
    assert [row.payload_bits for row in sorted(first, key=lambda row: row.client)] == wanted


@pytest.mark.parametrize("shuffle_ties", [None, 1, 2])
def test_who_is_late_on_a_shared_path_is_lost_and_still_served(shuffle_ties):
    """Client 0 is served from 0.002, 1 from 0.302, 2 from 0.602 s; T_p = 0.7 s is too short for the last.

    The server hears of it at 0.006 + 0.7. The second round's uploads start 0.002 and 0.006 s later and wait
    until the lost one has left at 0.902, so that only the first of them is in time.
    """
    trace, learner, weights = run_of(system(waiting=UploadDeadline(upload_deadline_s=0.7)), shuffle_ties)
    starts_s = list(TRAIN_S)
    ends_s = [TRAIN_S[0] + SERVICE_S, TRAIN_S[0] + 2 * SERVICE_S, TRAIN_S[2] + 0.7]
    second_s = ends_s[2]
    left_s = TRAIN_S[0] + 3 * SERVICE_S
    starts_s += [second_s + train_s for train_s in TRAIN_S]
    ends_s += [left_s + SERVICE_S, second_s + TRAIN_S[1] + 0.7, second_s + TRAIN_S[2] + 0.7]
    rows = sorted(trace.transfers, key=lambda row: (row.global_round, row.client))
    assert [row.start_s for row in rows] == pytest.approx(starts_s, rel=1e-12)
    assert [row.end_s for row in rows] == pytest.approx(ends_s, rel=1e-12)
    in_time = [True, True, False, True, False, False]
    assert [row.arrived for row in rows] == in_time
    assert [row.sent_bits == row.payload_bits for row in rows] == in_time
    rounds = [row for row in trace.rounds if row.level == "edge"]
    assert [(row.num_participants, row.num_arrived) for row in rounds] == [(3, 2), (3, 1)]
    late = [span for span in trace.spans if span.outcome == "deadline"]
    assert [span.energy_j for span in late] == pytest.approx([0.7 * POWER_W] * 3, rel=1e-12)
    assert_same(weights, by_hand(learner, [(0, 1), (0,)], system().protocol))


def test_the_wait_may_count_from_the_broadcast():
    """Then computing counts as well: two services have ended 0.602 s after the broadcast, not 0.601 s."""
    trace, _, _ = run_of(system(waiting=Deadline(deadline_s=0.605), num_global_rounds=1))
    assert [row.end_s for row in trace.rounds] == pytest.approx([0.605, 0.605], rel=1e-12)
    assert trace.rounds[0].num_arrived == 2
    trace, _, _ = run_of(system(waiting=Deadline(deadline_s=0.601), num_global_rounds=1))
    assert trace.rounds[0].num_arrived == 1
    trace, _, _ = run_of(system(waiting=UploadDeadline(upload_deadline_s=0.601), num_global_rounds=1))
    assert trace.rounds[0].num_arrived == 2


def test_where_nothing_arrives_the_models_stay():
    trace, learner, weights = run_of(system(waiting=UploadDeadline(upload_deadline_s=0.2)))
    assert [row.num_arrived for row in trace.rounds if row.level == "edge"] == [0, 0]
    for name, values in by_hand(learner, [(), ()], system().protocol).items():
        np.testing.assert_array_equal(weights[name], values)


def test_senders_are_drawn_uniformly_and_only_they_train():
    trace, learner, _ = run_of(system(OwnPaths(), num_senders=2, num_needed=1, num_global_rounds=60))
    senders = [{row.client for row in trace.transfers if row.global_round == n} for n in range(1, 61)]
    assert {len(names) for names in senders} == {2}
    counts = [sum(f"client-{k:04d}" in names for names in senders) for k in range(3)]
    assert min(counts) > 25  # 40 expected of 60, standard deviation 3.7
    assert learner.num_local_steps == sum(n * steps for n, steps in zip(counts, STEPS, strict=True))


def test_any_protocol_may_go_through_the_queues():
    """HIST, two edge rounds: the queue takes the place of band and channel."""
    base = system(OwnPaths())
    training = EdgeTraining(num_edge_rounds=2, steps=SameSteps(num_local_steps=4), local=Sgd(batch_size=5))
    hist = evolve(
        base, model="relu-12-8-4", protocol=Hist(training=training), end=AfterRounds(num_global_rounds=1)
    )
    data = Synthetic(split=Iid())
    loaded = data.load(Simulation(3), None)
    learner = Learner(models.build(hist.model), loaded, num_workers=1)
    hist = evolve(hist, data=data, evaluation=Never())
    ground = ground_of(hist)
    sim, cloud = ground.sim, nodes_of(hist, ground, learner, lambda: loaded)
    sim.run(hist.protocol.run(sim, cloud))
    assert sim.now_s == pytest.approx(2 * (4e-3 + SERVICE_S), rel=1e-12)


def test_vhfl_may_go_over_the_air():
    """The same updates over a band of 2 bit/s/Hz, a third of it each."""
    radio = Radio(
        sharing=FixedShares(bandwidth_hz=3e5),
        link=GivenSnr(snr_db=PerGroup(values=(10 * np.log10(3.0),))),
        fading=NoFading(),
    )
    trace, learner, weights = run_of(evolve(system(), uplink=radio))
    bits = 32 * (NUM_LOCAL + 25 * NUM_OUTPUTS)
    assert trace.rounds[1].end_s == pytest.approx(TRAIN_S[1] + bits / 2e5, rel=1e-12)
    assert_same(weights, by_hand(learner, [(0, 1, 2)] * 2, system().protocol))


def test_a_run_of_a_predictor_reports_its_errors_and_keeps_them(tmp_path):
    data = CellTraffic(num_cells=4, traffic=Traffic(num_days=3))
    small = evolve(system(OwnPaths()), num_clients=4, model="vertical-9-12-8-5", data=data)
    result = run(small, models.build(small.model), out=tmp_path / "a")
    errors = result.evaluations
    assert list(errors.columns[2:5]) == ["test_mse", "train_mse", "error_ratio"]
    assert list(errors["version"]) == [0, 1, 2]
    assert result.summary.scores["test_mse"] == errors["test_mse"].iloc[-1] != errors["train_mse"].iloc[-1]
    assert "accuracy" not in result.summary.scores
    loaded = Result.load(tmp_path / "a")
    assert loaded.summary == result.summary
    assert loaded.evaluations.equals(errors)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"num_senders": 4}, r"num_senders = 4, System.num_clients = 3: must be K <= K_0 <= N"),
        ({"num_senders": 2, "num_needed": 3}, r"num_needed = 3, Vhfl.num_senders = 2"),
        ({"num_needed": 4}, r"num_needed = 4, Vhfl.num_senders = 3"),
    ],
)
def test_k_k0_and_n_must_be_in_order(knobs, message):
    with pytest.raises(ConfigurationError, match=message):
        run_of(system(**knobs))


def test_one_server_and_no_look_at_its_features():
    with pytest.raises(ConfigurationError, match=r"num_cells = 2: VHFL has one server"):
        run_of(evolve(system(), num_cells=2))
    with pytest.raises(ConfigurationError, match=r"would see the server's features"):
        run_of(evolve(system(), model="horizontal-7-8-5"))


def test_dropout_is_refused_where_clients_share_a_program():
    network, data = nn.Sequential(nn.Linear(7, 1), nn.Dropout(0.2)), dataset()
    learner = Learner(network, data, num_workers=1)
    with pytest.raises(ConfigurationError, match=r"dropout in 1, but VHFL .* Use Hist or HFedAvg"):
        nodes_of(system(), ground_of(system()), learner, lambda: data)


def test_natural_split_needs_as_many_clients_as_cells():
    with pytest.raises(ConfigurationError, match=r"num_clients = 2: the samples of 'toy' arise at 3 places"):
        run_of(evolve(system(), num_clients=2))
