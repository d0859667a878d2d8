"""The scenario rawhfl: the paper's numbers, and what its report says of plans and predictions."""

import math
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from rich.table import Table
from run_here import Captured

from cosim import AfterRounds, HFedAvg, Never, Result, Simulation, System, evolve, run
from cosim.configuration import to_dict
from cosim.data import Iid, Synthetic
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.networks.named import network_of
from cosim.radio import EveryEdgeRound, NoFading, ResourceBlocks
from cosim.topology.graph import graph_of
from cosim.training.local_steps import SameSteps
from scenarios import rawhfl
from scenarios.command_line import main, running
from scenarios.papers.rawhfl import (
    Algorithm2,
    CommonSteps,
    ExactSolver,
    RawHfl,
    ResourceAware,
    Unconstrained,
    VideoRequests,
)

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

PARAMETERS = (43 * 512 + 512) + (512 * 256 + 256) + (256 * 256 + 256)
"""Weights and biases of three layers."""
SAMPLE_BITS = 44 * 32
"""43 features and a label of 32 bits each."""
ROWS = (
    "energy per edge round, all cells",
    "energy per planned client",
    "local rounds per planned client",
    "edge rounds of a cell with fewer clients than wanted",
    "accuracy after the last round",
    "accuracy of always guessing the most similar video",
    "accuracy of the best possible guess",
)


def tiny(num_global_rounds: int = 2, policy: Any = None, **protocol: Any) -> System:
    """The scenario with 2 cells of 5 and 4 clients, 3 edge rounds and a small model."""
    base = rawhfl.system()
    changes = {"policy": policy or ResourceAware()} | protocol
    return evolve(
        base,
        num_cells=2,
        num_clients=9,
        model="mlp-43-8-256",
        data=evolve(base.data, num_users=9),
        uplink=evolve(base.uplink, sharing=ResourceBlocks(num_blocks=3)),
        protocol=evolve(base.protocol, num_edge_rounds=3, max_local_rounds=7, **changes),
        end=AfterRounds(num_global_rounds=num_global_rounds),
    )


def run_of(system: System, out: Path | None = None) -> Result:
    return run(system, out=out, num_workers=1)


def rows(result: Result) -> dict[str, str]:
    """The report's rows."""
    table = rawhfl.report(result)
    assert isinstance(table, Table)
    names, values = (list(column.cells) for column in table.columns)
    return dict(zip(map(str, names), map(str, values), strict=True))


def with_requests(result: Result, **requests: Any) -> Result:
    """The same tables, as if of other requests."""
    system = tiny()
    data = VideoRequests(**requests)
    return attrs.evolve(result, config=result.config | {"system": to_dict(evolve(system, data=data))})


@pytest.fixture(scope="module")
def timed() -> Result:
    """One global round without learning."""
    return run_of(evolve(tiny(1), evaluation=Never()))


# Its configuration.


def built(system: System) -> Cloud:
    ground = ground_of(system)
    dataset = system.data.load(ground.sim, None)
    learner = Learner(network_of(system.model), dataset, num_workers=1)
    return nodes_of(system, ground, learner, lambda: dataset)


def test_the_model_and_its_upload_are_the_papers() -> None:
    """Section V-A: d = 219,648 parameters, s = d (phi + 1) = 7,248,384 bits."""
    system = rawhfl.system()
    parameters = list(network_of(system.model).parameters())
    assert sum(values.numel() for values in parameters) == PARAMETERS == 219_648
    dataset = system.data.load(Simulation(1), None)
    assert dataset.num_features == 1 + 8 + 1 + 32 + 1
    assert dataset.num_classes == 8 * 32
    timing = evolve(
        system,
        protocol=evolve(system.protocol, num_edge_rounds=1),
        end=AfterRounds(num_global_rounds=1),
        evaluation=Never(),
    )
    uploads = run_of(timing).transfers
    assert set(uploads["payload_bits"]) == {PARAMETERS * (32 + 1)} == {7_248_384}
    assert len(uploads) == 4 * 4


def test_the_world_is_the_papers() -> None:
    """Section V-A."""
    system = rawhfl.system()
    protocol, requests = system.protocol, system.data
    assert isinstance(protocol, RawHfl)
    assert isinstance(protocol.policy, ResourceAware)
    assert (system.num_cells, system.sizes(), system.data.num_users) == (4, (12,) * 4, 48)
    assert (protocol.num_edge_rounds, protocol.max_local_rounds, protocol.local.learning_rate) == (
        4,
        50,
        0.01,
    )
    assert (protocol.num_mini_batches, protocol.local.batch_size) == (10, 32)
    assert (protocol.deadline_s, requests.slot_s, protocol.energy_budget_j) == (150.0, 150.0, (0.8, 1.5))
    policy = protocol.policy
    assert (policy.theta, policy.solver) == (0.4, ExactSolver())
    assert (Algorithm2().penalty, Algorithm2().num_iterations) == (1.0, 50)
    assert (policy.num_selected, policy.margin_db, system.uplink.sharing.num_blocks) == (None, 0.0, 4)
    assert (requests.num_genres, requests.contents_per_genre, requests.genre_concentration) == (8, 32, 0.3)
    assert (requests.similar_probability, requests.active_probability) == ((0.1, 0.8), (0.2, 0.8))
    assert requests.num_past_requests == 50
    assert (system.cycles.sample_bits, system.devices.capacitance_j_per_hz2) == (SAMPLE_BITS, 2e-28)
    assert SAMPLE_BITS == 1408
    radio, link = system.uplink, system.uplink.link
    assert (radio.sharing, radio.fading) == (ResourceBlocks(block_hz=3 * 180e3), NoFading())
    assert (link.large_scale.environment, link.large_scale.carrier_hz) == ("uma", 2.4e9)
    assert link.large_scale_redrawn == EveryEdgeRound()
    assert link.noise_dbm_per_hz + link.noise_figure_db == pytest.approx(-174.0, abs=0.03)
    assert (radio.csi_error_db, radio.outage_probability) == (0.0, 0.0)
    assert system.devices.training_time is None


def test_devices_and_places_are_drawn_from_the_papers_ranges() -> None:
    """48 draws fill more than half of each range; the middle is the mean within 4 standard errors."""
    system = rawhfl.system()
    cloud = built(system)
    clients, load = [client for edge in cloud.edges for client in edge.clients], cloud.workload.of()
    cycles = np.concatenate([load.step_cycles(edge.clients.names, 320) for edge in cloud.edges])
    graph = graph_of(system.topology, system.sizes(), Simulation(system.seed))
    drawn = {
        "cycles per bit": (cycles / (320 * 1408), 25.0, 40.0),
        "GHz": ([client.device.frequency_hz / 1e9 for client in clients], 1.2, 2.0),
        "dBm": ([10.0 * math.log10(client.tx_power_w) + 30.0 for client in clients], 20.0, 30.0),
        "v": ([user.similar_probability for user in rawhfl.predictions(system)], 0.1, 0.8),
    }
    assert len(clients) == 48
    for name, (values, low, high) in drawn.items():
        assert low <= min(values) < low + 0.25 * (high - low), name
        assert high - 0.25 * (high - low) < max(values) <= high, name
        error = (high - low) / math.sqrt(12 * 48)
        assert np.mean(values) == pytest.approx((low + high) / 2.0, abs=4.0 * error), name
    distances_m = [
        graph.edges[edge.name, client.name]["distance_m"] for edge in cloud.edges for client in edge.clients
    ]
    assert 300.0 < max(distances_m) <= 400.0


def test_the_papers_size_differs_in_the_global_rounds_only() -> None:
    usual, paper = rawhfl.system(), rawhfl.paper_scale()
    assert (usual.end.num_global_rounds, paper.end.num_global_rounds) == (25, 100)
    assert evolve(paper, end=AfterRounds(num_global_rounds=25)) == usual


@pytest.mark.parametrize(("arguments", "rounds"), [((), 25), (("--paper-scale",), 100)])
def test_the_command_line_has_both_sizes(
    arguments: tuple[str, ...], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def capture(name: str, system: System, options: object, **others: object) -> Result:
        raise Captured(name, system)

    monkeypatch.setattr(running, "run_and_show", capture)
    with pytest.raises(Captured) as caught:
        main(["run", "rawhfl", *arguments, "--seed", "3"])
    name, system = caught.value.args
    assert name == "rawhfl"
    base = rawhfl.paper_scale()
    assert system == evolve(base, seed=3, end=AfterRounds(num_global_rounds=rounds))


# What it reports.


def test_report_is_that_of_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line, with learning, budgets that leave some cells short and steps that differ."""
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as ended:
        main(
            [
                *("run", "rawhfl", "--seed", "4", "--quiet", "--out", str(tmp_path / "X"), "--workers", "1"),
                *("--model", "mlp-43-8-256", "--num-clients", "16", "--data.num-users", "16"),
                *("--uplink.sharing.num-blocks", "2"),
                *("--num-global-rounds", "2", "--protocol.energy-budget-j", "1e-7", "2e-5"),
            ]
        )
    assert ended.value.code == 0
    output = capsys.readouterr().out
    result = Result.load(tmp_path / "X")
    shown = rows(result)
    assert tuple(shown) == ROWS
    planned = [row for row in result.plans.itertuples() if row.is_selected]
    steps = [int(row.num_steps) for row in planned]  # type: ignore[arg-type]
    assert len(set(steps)) > 3
    total_j = math.fsum(result.spans["energy_j"])
    assert total_j == pytest.approx(math.fsum(row.planned_j for row in planned), rel=1e-9)  # type: ignore
    assert shown[ROWS[0]] == f"{total_j / (2 * 4):.4g} J"
    assert shown[ROWS[1]] == f"{total_j / len(planned):.4g} J"
    assert shown[ROWS[2]] == f"{sum(steps) / len(steps):.1f}"
    taking_part = {
        (edge, global_round, edge_round): 0
        for edge in {str(row.edge) for row in planned}
        for global_round in (1, 2)
        for edge_round in range(4)
    }
    assert len(taking_part) == 4 * 2 * 4
    for row in planned:
        taking_part[row.edge, row.global_round, row.edge_round] += 1  # type: ignore[index]
    num_short = sum(number < 2 for number in taking_part.values())
    assert 0 < num_short < 32
    assert shown[ROWS[3]] == f"{num_short} of 32"
    accuracy = list(result.evaluations["accuracy"])[-1]
    assert accuracy != result.evaluations["accuracy"][0]
    assert shown[ROWS[4]] == f"{100.0 * accuracy:.1f} %"
    for name, value in shown.items():
        assert f"│ {name}" in output
        assert value in output


def test_who_takes_the_most_steps_is_said_so() -> None:
    """H-FedAvg-UB: 9 clients, 3 edge rounds, 7 steps each, at full speed and power."""
    system = evolve(tiny(1, Unconstrained()), evaluation=Never())
    system = evolve(
        system, uplink=evolve(system.uplink, sharing=ResourceBlocks(num_blocks=5))
    )  # none waits for one
    cloud = built(system)
    clients, load = [client for edge in cloud.edges for client in edge.clients], cloud.workload.of()
    bits = (43 * 8 + 8 + 8 * 256 + 256) * 33
    result = run_of(system)
    train_j = 3 * math.fsum(
        load.cycles(c, 7, 320) * 0.5 * 2e-28 * c.device.frequency_hz**2  # eq. 11
        for c in clients
    )
    of_sending = result.transfers.assign(seconds=result.transfers["end_s"] - result.transfers["start_s"])
    power_w = {client.name: client.tx_power_w for client in clients}
    send_j = math.fsum(power_w[row.client] * row.seconds for row in of_sending.itertuples())  # type: ignore
    assert set(of_sending["sent_bits"]) == {float(bits)}
    shown = rows(result)
    assert shown[ROWS[0]] == f"{(train_j + send_j) / 3:.4g} J"
    assert shown[ROWS[1]] == f"{(train_j + send_j) / 27:.4g} J"
    assert (shown[ROWS[2]], shown[ROWS[3]], shown[ROWS[4]]) == ("7.0", "0 of 6", "not evaluated")


def monte_carlo(system: System, rng: np.random.Generator) -> tuple[float, float]:
    """Shares of requests right by the most similar video and by the likeliest, mean over users.

    v and preferences are read off the users' features; genres are drawn step by step.
    """
    dataset = system.data.load(Simulation(system.seed), None)
    features = dataset.train_x[:: dataset.num_classes].astype(float)
    similar, best = [], []
    for v, preferences in zip(features[:, 0], features[:, 1:9], strict=True):
        genre = rng.integers(8, size=4000)
        right_similar = right_best = 0
        for step in range(140):
            weights = np.tile(preferences, (len(genre), 1))
            weights[np.arange(len(genre)), genre] = 0.0
            weights /= weights.sum(axis=1, keepdims=True)
            law = (1.0 - v) * weights
            law[np.arange(len(genre)), genre] = v
            drawn = (rng.random((len(genre), 1)) > np.cumsum(law, axis=1)).sum(axis=1).clip(max=7)
            if step >= 40:
                right_similar += int((drawn == genre).sum())
                right_best += int((drawn == law.argmax(axis=1)).sum())
            genre = drawn
        similar.append(right_similar / 400_000)
        best.append(right_best / 400_000)
    return float(np.mean(similar)), float(np.mean(best))


def test_both_accuracies_are_those_of_drawn_requests(timed: Result) -> None:
    """9 users of 400,000 requests each: standard errors of about 0.03 points; 0.05 are lost by rounding."""
    shown = rows(timed)
    similar, best = monte_carlo(tiny(), np.random.default_rng(1))
    assert best > similar + 0.02
    assert float(shown[ROWS[5]].removesuffix(" %")) == pytest.approx(100.0 * similar, abs=0.2)
    assert float(shown[ROWS[6]].removesuffix(" %")) == pytest.approx(100.0 * best, abs=0.2)


@pytest.mark.parametrize(
    ("requests", "similar", "best"),
    [
        ({"similar_probability": (1.0,)}, "100.0 %", "100.0 %"),
        (
            {"similar_probability": (0.0,), "num_genres": 3, "genre_preferences": (0.5, 0.3, 0.2)},
            "0.0 %",
            f"{100 * (0.25 * 0.3 / 0.5 + 0.21 * 0.5 / 0.7 + 0.16 * 0.5 / 0.8) / 0.62:.1f} %",
        ),
        (
            {"similar_probability": (0.0,), "num_genres": 2, "genre_preferences": (0.9, 0.1)},
            "0.0 %",
            "100.0 %",
        ),
        (
            {"similar_probability": (0.4,), "num_genres": 4, "genre_preferences": (0.25,) * 4},
            "40.0 %",
            "40.0 %",
        ),
    ],
    ids=["always the same genre", "never, three genres", "never, two genres", "even genres"],
)
def test_accuracies_that_are_known_by_hand(
    requests: dict[str, Any], similar: str, best: str, timed: Result
) -> None:
    """Genres are p_g (1 - p_g) / 0.62 of the requests: 0.25, 0.21 and 0.16 of 0.62."""
    shown = rows(with_requests(timed, **requests))
    assert (shown[ROWS[5]], shown[ROWS[6]]) == (similar, best)


def test_predictions_are_of_the_users_of_the_seed() -> None:
    other = evolve(tiny(), seed=2)
    for system in (tiny(), other):
        dataset = system.data.load(Simulation(system.seed), None)
        features = dataset.train_x[:: dataset.num_classes]
        users = rawhfl.predictions(system)
        np.testing.assert_allclose([u.similar_probability for u in users], features[:, 0], rtol=1e-6)
        np.testing.assert_allclose(
            [u.genre_preferences for u in users], features[:, 1:9], rtol=1e-6, atol=1e-9
        )
    assert rawhfl.predictions(tiny())[0].similar_probability != users[0].similar_probability


# What has nothing to report.


def without_plans() -> System:
    system = tiny()
    training = evolve(HFedAvg().training, num_edge_rounds=1, steps=SameSteps(num_local_steps=2))
    return evolve(system, protocol=HFedAvg(training=training), end=AfterRounds(num_global_rounds=1))


def without_requests() -> System:
    return evolve(tiny(1), data=Synthetic(split=Iid()), model="mlp-12-8-4")


@pytest.mark.parametrize("make", [without_plans, without_requests])
def test_one_line_where_there_is_nothing_to_report(make: Any) -> None:
    assert isinstance(rawhfl.report(run_of(evolve(tiny(1, CommonSteps()), evaluation=Never()))), Table)
    said = rawhfl.report(run_of(evolve(make(), evaluation=Never())))
    assert said == "No plans, or no video requests: nothing to compare."
