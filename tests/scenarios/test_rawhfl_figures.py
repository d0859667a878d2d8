"""The reproductions of RawHFL's Figs. 5 to 10 and Tables II to IV: what they compare, read off and write."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure
from run_here import claimed, exit_code_of, run_here, verdicts

import cosim
from cosim import Simulation
from cosim.configuration import to_dict
from cosim.engine.store.checkpoint import Checkpoint
from scenarios import rawhfl
from scenarios.command_line import main
from scenarios.papers.rawhfl import (
    Algorithm2,
    CommonSteps,
    EqualShares,
    RandomSelection,
    RawHfl,
    ResourceAware,
    Unconstrained,
)
from scenarios.reproduce import figures
from scenarios.reproduce.rawhfl import figures as rawhfl_figures
from scenarios.reproduce.rawhfl import readings
from scenarios.reproduce.rawhfl.figures import Options, Runs, system_of
from scenarios.reproduce.rawhfl.readings import PRINTED, READINGS, TABLES

Patch = pytest.MonkeyPatch
Capture = pytest.CaptureFixture[str]
V_RANGE = (0.1, 0.8)


NUM_USERS = 24
ORIGINAL = rawhfl.paper_scale


@pytest.fixture
def small(monkeypatch: Patch) -> None:
    """Half of the clients, a quarter of the test requests, a small model, a tenth of the steps."""

    def paper_scale() -> cosim.System:
        base = ORIGINAL()
        data = cosim.evolve(base.data, num_users=NUM_USERS, num_test_requests=50)
        return cosim.evolve(
            base,
            num_clients=NUM_USERS,
            model="mlp-43-8-256",
            data=data,
            protocol=cosim.evolve(base.protocol, max_local_rounds=5),
        )

    monkeypatch.setattr(rawhfl, "paper_scale", paper_scale)


# What is compared.


def flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def differences(one: cosim.System, other: cosim.System) -> dict[str, Any]:
    """Fields that the second has otherwise, with what it has; of another policy its kind only."""
    before, after = dict(flat(to_dict(one))), dict(flat(to_dict(other)))
    changed = {name: value for name, value in after.items() if before.get(name, "missing") != value}
    kind = "protocol.policy.kind"
    if kind in changed:
        changed = {n: v for n, v in changed.items() if not n.startswith("protocol.policy.") or n == kind}
    return changed


def test_changes_change_what_they_say() -> None:
    base = rawhfl.paper_scale()
    unbound, blocks = {"protocol.policy.kind": "Unconstrained"}, "uplink.sharing.num_blocks"
    assert differences(base, readings.planned_by(ResourceAware(theta=0.2), 6)(base)) == {
        "protocol.policy.theta": 0.2,
        blocks: 6,
    }
    assert differences(base, readings.single_server(base)) == unbound | {
        blocks: 12,
        "protocol.num_edge_rounds": 1,
        "protocol.relays": True,
    }
    assert differences(base, readings.central(base)) == unbound | {
        blocks: 1,
        "num_cells": 1,
        "num_clients": 1,
    }
    floors = {"devices.lowest_frequency_hz": 0.3e9, "devices.static_power_w": 0.1}
    same = readings.with_floors(lambda system: system)(base)
    assert differences(base, same) == floors
    assert differences(base, readings.with_floors(readings.single_server)(base)) == (
        floors | unbound | {blocks: 12, "protocol.num_edge_rounds": 1, "protocol.relays": True}
    )


@pytest.mark.parametrize("reading", [PRINTED, TABLES])
def test_every_algorithm_is_the_papers(reading: readings.Reading) -> None:
    """Section V-C; Z of H-FedAvg is all clients, so that none waits for a block."""
    found = {
        name: (system.protocol.policy, system.uplink.sharing.num_blocks, system.devices.static_power_w)
        for name, change in reading.algorithms.items()
        for system in [change(rawhfl.paper_scale())]
        if isinstance(system.protocol, RawHfl)
    }
    is_printed = reading is PRINTED
    start = EqualShares() if is_printed else RandomSelection()
    paper = ResourceAware(solver=Algorithm2(initial_selection=start), plans_power=is_printed)
    optimum = ResourceAware(plans_power=is_printed)
    assert found == {
        **{f"RawHFL, Z={z}": (paper, z, 0.0) for z in (2, 4, 6)},
        **{f"exact, Z={z}": (optimum, z, 0.0) for z in (2, 4, 6)},
        "exact, Z=4, floors": (
            cosim.evolve(optimum, lowest_power_dbm=0.0 if is_printed else None),
            4,
            0.1,
        ),
        "H-FedAvg-UB, floors": (Unconstrained(), 12, 0.1),
        "central SGD": (Unconstrained(), 1, 0.0),
        "H-FedAvg-M1": (CommonSteps(drop_stragglers=False), 12, 0.0),
        "H-FedAvg-M2": (CommonSteps(own_steps=not is_printed), 12, 0.0),
        "H-FedAvg-UB": (Unconstrained(), 12, 0.0),
        "FedAvg-UB": (Unconstrained(), 12, 0.0),
    }


@pytest.mark.parametrize("v", [V_RANGE, (0.3,)])
def test_systems_have_their_seed_rounds_and_v(v: tuple[float, ...]) -> None:
    options = Options(num_global_rounds=7)
    for name, change in READINGS[options.reading].algorithms.items():
        system = system_of(name, options, 5, v)
        expected: dict[str, Any] = {"seed": 5, "end.num_global_rounds": 7}
        if v == (0.3,):
            expected["data.similar_probability"] = [0.3]
        assert differences(change(rawhfl.paper_scale()), system) == expected
        timing = system_of(name, options, 5, v, learns=False)
        assert differences(system, timing) == {"evaluation.kind": "Never"}


def test_forms() -> None:
    quick, full = Options(quick=True, seed=4), Options(seed=4)
    assert (quick.every_seed, full.every_seed) == (range(4, 9), range(4, 14))
    assert (quick.rounds, full.rounds) == (8, 100)
    given = Options(quick=True, seeds=2, num_global_rounds=9)
    assert (given.every_seed, given.rounds) == (range(1, 3), 9)
    with pytest.raises(cosim.ConfigurationError, match="--num-global-rounds 0: must be at least 1"):
        Options(num_global_rounds=0)


def timing(name: str, seed: int = 1, **protocol: Any) -> cosim.Result:
    """One global round of an algorithm by the printed reading, without learning."""
    system = system_of(name, Options(num_global_rounds=1, reading="printed"), seed, learns=False)
    system = cosim.evolve(system, protocol=cosim.evolve(system.protocol, **protocol))
    return cosim.run(system)


@pytest.mark.usefixtures("small")
def test_algorithms_of_a_seed_meet_the_same_devices_and_gains() -> None:
    """Which clients are able depends on processors, powers, budgets, places, line of sight and shadowing."""

    def able(name: str, seed: int = 1) -> pd.DataFrame:
        plans = timing(name, seed, energy_budget_j=(1e-7, 5e-5)).plans
        return plans[["client", "global_round", "edge_round", "is_able"]]

    first = able("RawHFL, Z=4")
    assert 0.2 < first["is_able"].mean() < 0.8
    for name in ("RawHFL, Z=2", "exact, Z=4", "H-FedAvg-M1", "H-FedAvg-M2"):
        pd.testing.assert_frame_equal(able(name), first)
    assert not able("RawHFL, Z=4", seed=2).equals(first)


@pytest.mark.usefixtures("small")
def test_one_place_trains_on_the_requests_of_all() -> None:
    held: dict[str, Counter[int]] = {}
    for name in ("H-FedAvg-UB", "central SGD"):
        system = system_of(name, Options(num_global_rounds=1), 1)
        sim = Simulation(system.seed)
        dataset = system.data.load(sim, None)
        samples_now = system.data.held(sim, dataset, system.sizes())
        sim.run(sim.spend("users", "watch", 450.0))
        held[name] = Counter(int(sample) for samples in samples_now for sample in samples())
    assert held["central SGD"] == held["H-FedAvg-UB"]
    assert held["central SGD"].total() > NUM_USERS * 49
    of_all, of_one = timing("H-FedAvg-UB").plans, timing("central SGD").plans
    assert set(of_all["num_steps"]) == set(of_one["num_steps"]) == {5}
    assert (len(of_all), len(of_one)) == (NUM_USERS * 4, 4)


@pytest.mark.usefixtures("small")
def test_one_server_combines_after_every_edge_round() -> None:
    single, tree = timing("FedAvg-UB").rounds, timing("H-FedAvg-UB").rounds
    for rounds, num_edge_rounds in ((single, 1), (tree, 4)):
        assert (rounds["level"] == "edge").sum() == 4 * num_edge_rounds
        assert (rounds["level"] == "global").sum() == 1


# What is read off the runs.


def brute_force_ranks(system: cosim.System, num_slots: int) -> np.ndarray:
    """Top-Popular: user by user, slot by slot, all requests but each user's first are counted."""
    sim = Simulation(system.seed)
    num_users = system.data.num_users
    model = system.data.model(sim)
    counts: Counter[int] = Counter()
    for user in range(num_users):
        past = model.sequence(user, 50, sim.stream(f"user-{user:04d}", "past requests"))
        counts.update(past[1:].tolist())
        rng, last = sim.stream(f"user-{user:04d}", "requests"), int(past[-1])
        for _ in range(num_slots):
            u_active, u_similar, u_genre = rng.random(3)
            if u_active < model.users.active_probability[user]:
                last = int(model.next(user, last, u_similar, u_genre))
                counts[last] += 1
    by_popularity = sorted(range(256), key=lambda video: (-counts[video], video))
    wanted = system.data.load(sim, None).test_y.reshape(num_users, -1)
    return np.array([[by_popularity.index(video) for video in of_user] for of_user in wanted.tolist()])


@pytest.mark.parametrize(("algorithm", "num_slots", "wrong"), [("RawHFL, Z=4", 8, 2), ("FedAvg-UB", 2, 8)])
def test_popularity_ranks_are_counted_requests(algorithm: str, num_slots: int, wrong: int) -> None:
    """Two global rounds of four, or of one, edge rounds of 150 s."""
    system = system_of(algorithm, Options(num_global_rounds=2), 3, (0.3,))
    ranks = rawhfl_figures.popularity_ranks(system)
    np.testing.assert_array_equal(ranks, brute_force_ranks(system, num_slots))
    assert not np.array_equal(ranks, brute_force_ranks(system, wrong))


@pytest.mark.usefixtures("small")
def test_label_ranks_are_those_of_a_forward_pass(tmp_path: Path) -> None:
    system = system_of("exact, Z=4", Options(num_global_rounds=2), 1)
    result = cosim.run(system, out=tmp_path / "a")
    checkpoint = Checkpoint.load(tmp_path / "a")
    assert checkpoint is not None
    assert checkpoint.version == 2
    layers = [torch.tensor(values) for values in checkpoint.weights.values()]
    assert [tuple(layer.shape) for layer in layers] == [(8, 43), (8,), (256, 8), (256,)]
    dataset = system.data.load(Simulation(1), None)
    hidden = torch.relu(torch.tensor(dataset.test_x) @ layers[0].T + layers[1])
    outputs = (hidden @ layers[2].T + layers[3]).numpy()
    of_truth = outputs[np.arange(len(outputs)), dataset.test_y]
    expected = (outputs > of_truth[:, None]).sum(axis=1).reshape(NUM_USERS, 50)
    ranks = rawhfl_figures.label_ranks(result)
    assert ranks.shape == (NUM_USERS, 50)
    assert (ranks != expected).mean() < 1e-3  # outputs that differ by rounding
    assert np.abs(ranks - expected).max() <= 1
    assert (ranks == 0).mean() == pytest.approx(result.evaluations["accuracy"].iloc[-1], abs=1e-3)


@pytest.mark.usefixtures("small")
def test_runs_are_those_of_every_seed_and_energies_those_of_their_spans(monkeypatch: Patch) -> None:
    asked: dict[str, cosim.System] = {}

    def run(folder: str, systems: dict[str, cosim.System], options: Options) -> dict[str, list[cosim.Result]]:
        assert folder == "rawhfl"
        asked.update(systems)
        return run_here()(folder, systems, options)

    monkeypatch.setattr(rawhfl_figures, "run_all", run)
    options = Options(quick=True, seed=2, seeds=2, num_global_rounds=2)
    names = ["exact, Z=2", "FedAvg-UB"]
    runs = Runs(options, names, (0.3,))
    assert list(asked.values()) == [system_of(name, options, 2, (0.3,)) for name in names]
    assert runs.all == [*runs.of["exact, Z=2"], *runs.of["FedAvg-UB"]]
    for name, num_edge_rounds in (("exact, Z=2", 8), ("FedAvg-UB", 2)):
        totals_j = [math.fsum(result.spans["energy_j"]) for result in runs.of[name]]
        assert [result.config["system"]["seed"] for result in runs.of[name]] == [2, 3]
        assert runs.edge_round_j(name) == pytest.approx([j / num_edge_rounds for j in totals_j], rel=1e-12)
        assert runs.energy_j(name) == pytest.approx(totals_j, rel=1e-9)
        of_first = [
            math.fsum(spans.loc[spans["end_s"] <= result.evaluations["time_s"][1], "energy_j"])
            for result in runs.of[name]
            for spans in [result.spans]
        ]
        assert runs.energy_j(name, 1) == pytest.approx(of_first, rel=1e-9)
        assert list(runs.accuracy(name)) == [result.summary.scores["accuracy"] for result in runs.of[name]]
        assert list(runs.accuracy(name, 0)) == [r.evaluations["accuracy"][0] for r in runs.of[name]]
    frame = runs.frame()
    assert len(frame) == 4 * 3
    assert set(frame["v"]) == {"0.3"}
    for name, results in runs.of.items():
        for seed, result in zip((2, 3), results, strict=True):
            own, expected = frame[(frame["algorithm"] == name) & (frame["seed"] == seed)], result.evaluations
            pd.testing.assert_frame_equal(own[expected.columns].reset_index(drop=True), expected)


def test_runs_of_other_options_have_other_labels(monkeypatch: Patch) -> None:
    labels: list[str] = []

    def run(folder: str, systems: dict[str, cosim.System], options: Options) -> dict[str, list[cosim.Result]]:
        labels.extend(systems)
        return {label: [] for label in systems}

    monkeypatch.setattr(rawhfl_figures, "run_all", run)
    one, two = (Options(quick=True, num_global_rounds=number) for number in (1, 2))
    for v, learns, options in (
        (V_RANGE, True, one),
        ((0.3,), True, one),
        (V_RANGE, False, one),
        (V_RANGE, True, two),
    ):
        Runs(options, ["exact, Z=2"], v, learns=learns)
    assert len(set(labels)) == 4


# From the command line, small.


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One working folder, so that figures find each other's runs."""
    return tmp_path_factory.mktemp("rawhfl")


@pytest.fixture
def reproduced(
    small: None, shared: Path, monkeypatch: Patch, capsys: Capture
) -> Callable[[str], tuple[int, Any, str]]:
    """`cosim reproduce NAME --quick` of one round: exit code, picture, output."""
    monkeypatch.chdir(shared)
    drawn: list[Figure] = []
    write = Figure.savefig

    def keep(self: Figure, path: Any, **options: Any) -> None:
        drawn.append(self)
        write(self, path, **{**options, "dpi": 30})

    monkeypatch.setattr(Figure, "savefig", keep)

    def call(name: str) -> tuple[int, Figure, str]:
        with pytest.raises(SystemExit) as ended:
            main(
                [
                    "reproduce",
                    f"rawhfl-{name}",
                    "--quick",
                    "--seeds",
                    "1",
                    "--num-global-rounds",
                    "1",
                    "--workers",
                    "1",
                ]
            )
        assert isinstance(ended.value.code, int)
        return ended.value.code, drawn.pop(), capsys.readouterr().out

    return call


def found(shared: Path, algorithm: str, v: str = "0.1-0.8", ending: str = "") -> cosim.Result:
    """The run of an algorithm in the figures' folder."""
    name = f"{algorithm}, v={v}, K=1, tables{ending}"
    for sign, other in ((" ", "_"), (",", ""), ("=", "")):
        name = name.replace(sign, other)
    return cosim.Result.load(shared / "figures" / "rawhfl-quick" / "runs" / name / "seed-1")


def spent_by_edge_round(result: cosim.Result) -> pd.DataFrame:
    """Energy of the spans that start in each 150 s, by client."""
    spans = result.spans[result.spans["energy_j"] > 0.0]
    return spans.assign(edge_round=(spans["start_s"] // 150.0).astype(int))


PLANNED = [f"{solver}, Z={z}" for z in (2, 4, 6) for solver in ("RawHFL", "exact")]


def check_fig7(shared: Path, table: pd.DataFrame) -> None:
    check_distributions(shared, table, ["edge_round"], [*PLANNED, "H-FedAvg-UB"])


def check_fig8(shared: Path, table: pd.DataFrame) -> None:
    check_distributions(shared, table, ["edge_round", "node"], PLANNED)


def check_distributions(shared: Path, table: pd.DataFrame, by: list[str], averaged: list[str]) -> None:
    """Fiftieths of planning algorithms, and the means of all."""
    is_mean = table["share"].isna()
    assert set(table[~is_mean]["algorithm"]) == set(PLANNED)
    assert set(table[is_mean]["algorithm"]) == set(averaged)
    assert set(table["seed"]) == {1}
    for name, own in table.groupby("algorithm"):
        spent = spent_by_edge_round(found(shared, str(name), ending=", timing only"))
        each_j, (mean_j,) = spent.groupby(by)["energy_j"].sum(), own[own["share"].isna()]["energy_j"]
        assert mean_j == pytest.approx(each_j.mean(), rel=1e-9)
        fiftieths = own[own["share"].notna()]
        expected_j = each_j.quantile(fiftieths["share"])
        assert list(fiftieths["energy_j"]) == pytest.approx(list(expected_j), rel=1e-9)


def check_table3(shared: Path, table: pd.DataFrame) -> None:
    table = table.set_index("algorithm")
    for name in ("RawHFL, Z=4", "central SGD", "H-FedAvg-M1", "H-FedAvg-UB", "FedAvg-UB", "exact, Z=4"):
        result = found(shared, name, "0.7")
        assert table.loc[name, "accuracy"] == pytest.approx(result.summary.scores["accuracy"])
        num_edge_rounds = 1 if name == "FedAvg-UB" else 4
        expected_j = math.fsum(result.spans["energy_j"]) / num_edge_rounds
        assert table.loc[name, "edge_round_j"] == pytest.approx(
            math.nan if name == "central SGD" else expected_j, nan_ok=True
        )
    ranks = brute_force_ranks(system_of("RawHFL, Z=4", Options(num_global_rounds=1), 1, (0.7,)), 4)
    assert table.loc["Top-Popular", "accuracy"] == pytest.approx((ranks == 0).mean())


CHECKS = {"fig7": check_fig7, "table3": check_table3}


@pytest.mark.parametrize("name", CHECKS)
def test_a_reproduction_writes_what_its_runs_say(
    name: str, shared: Path, reproduced: Callable[[str], tuple[int, Figure, str]]
) -> None:
    code, picture, output = reproduced(name)
    folder = shared / "figures" / "rawhfl-quick"
    CHECKS[name](shared, pd.read_csv(folder / f"rawhfl-{name}.csv"))
    assert (folder / f"rawhfl-{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert any(axes.get_legend() is not None for axes in picture.axes)
    told = claimed(folder, f"rawhfl-{name}")
    assert told
    assert code == exit_code_of(told)
    assert f"figures/rawhfl-quick/rawhfl-{name}.csv" in output
    assert {path.name for path in shared.iterdir()} == {"figures"}


def test_figures_run_only_what_is_missing(
    shared: Path, reproduced: Callable[[str], tuple[int, Figure, str]], monkeypatch: Patch
) -> None:
    """Fig. 8 looks at the runs of Fig. 7."""
    reproduced("fig7")

    def none_wanted(processes: object, job: object, wanted: dict[tuple[int, int], object]) -> list[object]:
        assert not wanted
        return []

    monkeypatch.setattr(figures, "outcomes", none_wanted)
    reproduced("fig8")
    folder = shared / "figures" / "rawhfl-quick"
    check_fig8(shared, pd.read_csv(folder / "rawhfl-fig8.csv"))
    assert len(verdicts(folder, "rawhfl-fig8")) == 2
