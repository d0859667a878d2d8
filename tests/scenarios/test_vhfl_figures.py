"""The reproductions of VHFL's Figs. 4 to 7: what they compare, write and claim, and that claims can fail."""

import importlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

import cosim
from cosim.configuration import to_dict
from cosim.data.dataset import Dataset
from cosim.learning.learner import Learner
from cosim.learning.network.named import network_of
from cosim.names import CLOUD
from cosim.records import Evaluation
from cosim.row_groups import RowGroups
from cosim.simulation import Simulation
from cosim.trace import Trace
from scenarios import vhfl
from scenarios.command_line.console import console
from scenarios.reproduce import figures
from scenarios.reproduce.figures import Options
from scenarios.reproduce.vhfl import figures as vhfl_figures
from scenarios.validate.success_rate import Options as Points
from scenarios.validate.success_rate import compare, in_arrays, on_the_clock

FIGURES = {
    name: importlib.import_module(f"scenarios.reproduce.vhfl.{name}")
    for name in ("fig4", "fig5", "fig6", "fig7")
}
FIG7 = FIGURES["fig7"]
CURVES = {
    "fig4": ["with global features", "without global features"],
    "fig5": ["cloud training", "VHFL", "horizontal FL"],
    "fig6": ["K/N = 2/16", "K/N = 16/16", "E_l = 1", "E_l = 5"],
}
Patch = pytest.MonkeyPatch
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def wide(monkeypatch: Patch) -> None:
    monkeypatch.setattr(console, "width", 300)


def claims(output: str) -> list[list[str]]:
    """What the paper says, what came out here, and the verdict, of every claim that was printed."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines()]
    return [row for row in rows if len(row) == 3]


# What is compared.


class Captured(Exception):
    """The systems of a figure, in place of their runs."""


def systems_of(name: str, options: Options, monkeypatch: Patch) -> dict[str, cosim.System]:
    caught: dict[str, cosim.System] = {}

    def capture(figure: str, systems: dict[str, cosim.System], given: Options) -> None:
        assert (figure, given) == (f"vhfl-{name}", options)
        caught.update(systems)
        raise Captured

    monkeypatch.setattr(FIGURES[name], "play_all", capture)
    with pytest.raises(Captured):
        FIGURES[name].main(options)
    return caught


def by_seed(systems: dict[str, cosim.System]) -> Iterator[dict[str, cosim.System]]:
    """The systems of each seed by curve; a label names the seed of its system."""
    for seed in dict.fromkeys(system.seed for system in systems.values()):
        ending = f", seed {seed}"
        own = {label: system for label, system in systems.items() if system.seed == seed}
        assert all(label.endswith(ending) for label in own)
        yield {label.removesuffix(ending): system for label, system in own.items()}


def data(system: cosim.System) -> Dataset:
    """As a run loads it."""
    return system.data.load(Simulation(system.seed), None)


def dealt(system: cosim.System) -> list[np.ndarray]:
    """The samples of every client."""
    return [samples() for samples in system.data.held(Simulation(1), data(system), system.sizes())]


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", CURVES)
def test_every_curve_has_the_same_seeds_and_rounds(name: str, quick: bool, monkeypatch: Patch) -> None:
    systems = systems_of(name, Options(quick=quick, seed=7), monkeypatch)
    seeds = list(by_seed(systems))
    assert len(seeds) == vhfl_figures.NUM_SEEDS == 5
    assert {system.seed for system in systems.values()} == set(range(7, 12))
    for curves in seeds:
        if quick or name != "fig6":
            assert list(curves) == CURVES[name]
        assert list(curves) == list(seeds[0])
        assert len({system.end.num_global_rounds for system in curves.values()}) == 1
        for curve, system in curves.items():
            assert attrs.evolve(system, seed=7) == seeds[0][curve]


def test_fig4_differs_in_what_the_server_observes(monkeypatch: Patch) -> None:
    for curves in by_seed(systems_of("fig4", Options(), monkeypatch)):
        seeing, blind = curves["with global features"], curves["without global features"]
        assert (seeing.model, blind.model) == ("vertical-9-12-32-8", "horizontal-12-32-8")
        assert seeing.data.global_features
        assert not blind.data.global_features
        features = attrs.evolve(blind.data, global_features=True)
        assert attrs.evolve(blind, model=seeing.model, data=features) == seeing


def test_fig5_differs_in_what_is_observed_and_in_who_trains(monkeypatch: Patch) -> None:
    for curves in by_seed(systems_of("fig5", Options(), monkeypatch)):
        cloud, vertical, horizontal = curves["cloud training"], curves["VHFL"], curves["horizontal FL"]
        rounds = cosim.AfterRounds(num_global_rounds=150)
        assert vertical == cosim.evolve(vhfl.system(), seed=vertical.seed, end=rounds)
        features = attrs.evolve(horizontal.data, global_features=True)
        assert not horizontal.data.global_features
        assert attrs.evolve(horizontal, model=vertical.model, data=features) == vertical
        assert (cloud.num_clients, cloud.data.split, cloud.end.num_global_rounds) == (
            1,
            cosim.Iid(),
            150,
        )
        one_place = {"num_clients": 16, "uplink": vertical.uplink, "protocol": vertical.protocol}
        assert attrs.evolve(cloud, data=vertical.data, **one_place) == vertical
        assert attrs.evolve(cloud.data, split=cosim.Natural()) == vertical.data


@pytest.mark.parametrize(
    ("quick", "senders", "epochs"),
    [(True, (2, 16), (1, 5)), (False, (1, 2, 4, 8, 16), (1, 2, 5, 10, 20))],
)
def test_fig6_differs_in_one_knob(
    quick: bool, senders: tuple[int, ...], epochs: tuple[int, ...], monkeypatch: Patch
) -> None:
    for curves in by_seed(systems_of("fig6", Options(quick=quick), monkeypatch)):
        base = vhfl.system()
        knobs = {f"K/N = {k}/16": {"num_senders": k, "waiting": cosim.WaitForAll()} for k in senders}
        knobs |= {f"E_l = {e}": {"num_local_epochs": e} for e in epochs}
        assert list(curves) == list(knobs)
        for curve, system in curves.items():
            protocol = attrs.evolve(
                base.protocol,
                num_needed=None,
                **knobs[curve],  # type: ignore[arg-type]
            )
            assert system == attrs.evolve(base, seed=system.seed, protocol=protocol, end=system.end)


def test_systems_of_a_seed_share_their_data(monkeypatch: Patch) -> None:
    first, second, *_ = by_seed(systems_of("fig5", Options(), monkeypatch))
    cloud, vertical, horizontal = (data(system) for system in first.values())
    assert vertical.num_global_features == 9
    for own in ("train_x", "train_y", "test_x", "test_y", "train_owners"):
        np.testing.assert_array_equal(getattr(cloud, own), getattr(vertical, own))
        seen = getattr(vertical, own)
        np.testing.assert_array_equal(getattr(horizontal, own), seen[:, 9:] if own.endswith("x") else seen)
    assert not np.array_equal(data(second["VHFL"]).train_y, vertical.train_y)
    ways = (
        vhfl_figures.cloud_system(1, 1),
        vhfl_figures.without_global_features(vhfl_figures.cloud_system(1, 1)),
    )
    held = [dealt(way) for way in ways]
    for samples in held:
        assert sorted(samples[0]) == list(range(len(vertical.train_y)))  # one place has them all
    np.testing.assert_array_equal(held[0][0], held[1][0])


def test_one_place_takes_as_many_steps_as_a_client() -> None:
    vertical, cloud = (make(1, 1) for make in (vhfl_figures.vhfl_system, vhfl_figures.cloud_system))
    protocol = vertical.protocol
    assert isinstance(protocol, cosim.Vhfl)
    assert isinstance(cloud.protocol, cosim.HFedAvg)
    training = cloud.protocol.training
    clients = dealt(vertical)
    assert len(clients) == 16
    steps = {protocol.num_local_epochs * math.ceil(len(own) / protocol.local.batch_size) for own in clients}
    assert steps == {training.steps.num_local_steps}
    assert training.num_edge_rounds == 1
    assert (training.local.batch_size, training.local.learning_rate) == (
        protocol.local.batch_size,
        protocol.local.learning_rate,
    )
    timing = [
        cosim.run(cosim.evolve(system, evaluation=cosim.Never()))
        for system in (
            cosim.evolve(vertical, protocol=cosim.evolve(protocol, num_senders=None, num_needed=None)),
            cloud,
        )
    ]
    trained = [result.spans[result.spans["activity"] == "train"] for result in timing]
    of_one = [spans[spans["node"] == "client-0000"].iloc[0] for spans in trained]
    assert [len(spans) for spans in trained] == [16, 1]
    assert of_one[0]["end_s"] == pytest.approx(of_one[1]["end_s"], rel=1e-12)  # the same processor


def test_queues_and_senders_of_a_seed_are_the_same() -> None:
    """What the server observes moves no upload; it only makes it longer, by 8 gradients for each sample."""
    results = [
        cosim.run(cosim.evolve(make(3, 20), evaluation=cosim.Never()))
        for make in (vhfl_figures.vhfl_system, vhfl_figures.horizontal_system)
    ]
    bits = ["payload_bits", "sent_bits"]
    vertical, horizontal = (result.transfers for result in results)
    pd.testing.assert_frame_equal(vertical.drop(columns=bits), horizontal.drop(columns=bits))
    assert 0.5 < vertical["arrived"].mean() < 1.0
    more_bits = 32 * (752 * 8 + 8 * 32)
    assert set(vertical["payload_bits"] - horizontal["payload_bits"]) == {more_bits}


def test_systems_of_one_network_start_from_the_same_weights(monkeypatch: Patch) -> None:
    curves = next(by_seed(systems_of("fig5", Options(), monkeypatch)))
    weights = []
    for system in (curves["cloud training"], curves["VHFL"]):
        learner = Learner(network_of(system.model), data(system), num_workers=1)
        initial = learner.initial_model(Simulation(system.seed).key(CLOUD, "initial weights"))
        weights.append(learner.weights(initial))
    assert weights[0].keys() == weights[1].keys()
    for name, values in weights[0].items():
        np.testing.assert_array_equal(values, weights[1][name])


# What is written, small.


def tiny(system: cosim.System) -> cosim.System:
    """Four days of traffic, two rounds, at most two epochs."""
    protocol = system.protocol
    if isinstance(protocol, cosim.Vhfl):
        protocol = cosim.evolve(protocol, num_local_epochs=min(2, protocol.num_local_epochs))
    else:
        protocol = cosim.evolve(
            protocol, training=cosim.evolve(protocol.training, steps=cosim.SameSteps(num_local_steps=4))
        )
    traffic = cosim.Traffic(num_days=4)
    return cosim.evolve(
        system,
        protocol=protocol,
        data=cosim.evolve(system.data, traffic=traffic),
        end=cosim.AfterRounds(num_global_rounds=2),
    )


@pytest.mark.parametrize("name", CURVES)
def test_a_reproduction_writes_the_tables_of_its_runs(
    name: str, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    played: dict[str, cosim.Result] = {}

    def play_tiny(figure: str, systems: dict[str, cosim.System], options: Options) -> dict[str, cosim.Result]:
        small = {label: tiny(system) for label, system in systems.items()}
        played.update(figures.play_all(figure, small, options))
        return played

    monkeypatch.setattr(vhfl_figures, "NUM_SEEDS", 2)
    monkeypatch.setattr(FIGURES[name], "play_all", play_tiny)
    options = Options(quick=True, out=tmp_path, workers=1)
    code = FIGURES[name].main(options)
    table = pd.read_csv(tmp_path / f"vhfl-{name}.csv")
    assert list(played) == [f"{curve}, seed {seed}" for seed in (1, 2) for curve in CURVES[name]]
    assert len(table) == len(played) * 3
    for label, result in played.items():
        curve, _, seed = label.rpartition(", seed ")
        own = table[(table["curve"] == curve) & (table["seed"] == int(seed))].drop(columns=["curve", "seed"])
        pd.testing.assert_frame_equal(own.reset_index(drop=True), result.evaluations, rtol=1e-12)
        assert result.config["system"]["seed"] == int(seed)
        assert result.folder is not None
        assert result.folder.parent == tmp_path / "runs"
    assert len({result.folder for result in played.values()}) == len(played)
    assert (tmp_path / f"vhfl-{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    printed = capsys.readouterr().out
    verdicts = [row[2] for row in claims(printed)]
    assert set(verdicts) <= {"agrees", "DISAGREES", "does not show"}
    assert code == int("DISAGREES" in verdicts)
    assert f"vhfl-{name}.csv" in printed

    def never(*arguments: object, **options: object) -> None:
        raise AssertionError("what has been run is run again")

    monkeypatch.setattr(cosim, "run", never)
    assert FIGURES[name].main(options) == code
    assert claims(capsys.readouterr().out) == claims(printed)


# Claims, on numbers made up for them.

Course = Callable[[int, np.ndarray], np.ndarray]
"""A measure over the rounds, given a seed and the numbers of the rounds."""


def level(value: float, *, spread: float = 0.05, jump: float = 0.01) -> Course:
    """A fall to a value; seeds differ by a spread that all curves share and by a tenth that they do not."""

    def course(seed: int, rounds: np.ndarray) -> np.ndarray:
        own = 1.0 + spread * (seed - 3) + 0.1 * spread * math.sin(37.0 * seed + 1000.0 * value)
        return value * own * (1.0 + 4.0 * np.exp(-rounds)) * (1.0 + jump * (-1.0) ** rounds)

    return course


def made_up(courses: dict[str, Course], monkeypatch: Patch, name: str) -> dict[str, np.ndarray]:
    """Lets a figure take these courses for all measures; returns the courses by label."""
    taken: dict[str, np.ndarray] = {}

    def play(figure: str, systems: dict[str, cosim.System], options: Options) -> dict[str, cosim.Result]:
        results = {}
        for label, system in systems.items():
            rounds = np.arange(system.end.num_global_rounds + 1)
            taken[label] = courses[label.rpartition(", ")[0]](system.seed, rounds)
            trace = Trace()
            for number, value in enumerate(taken[label]):
                scores = {"test_mse": value, "train_mse": 0.9 * value, "error_ratio": 2.0 * value}
                trace.record(Evaluation(float(number), number, scores, cosim.Regression().measures()))
            config = {"scenario": figure, "system": to_dict(system)}
            results[label] = cosim.Result.of(RowGroups(trace, system.num_clients), config, "complete", 1.0)
        return results

    monkeypatch.setattr(FIGURES[name], "play_all", play)
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **options: path.touch())
    return taken


def judged(
    name: str, levels: list[Course], tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> tuple[int, list[list[str]], dict[str, np.ndarray]]:
    """Exit code, claims and courses (curves, seeds, rounds) of a figure on made-up numbers."""
    courses = dict(zip(CURVES[name], levels, strict=True))
    taken = made_up(courses, monkeypatch, name)
    code = FIGURES[name].main(Options(quick=True, out=tmp_path))
    values = {curve: np.array([taken[f"{curve}, seed {seed}"] for seed in range(1, 6)]) for curve in courses}
    return code, claims(capsys.readouterr().out), values


def shown(differences: np.ndarray, change: Callable[[float], float] = float) -> str:
    """Mean and 95 % t interval as text, by textbook."""
    mean, error = float(np.mean(differences)), float(stats.sem(differences))
    low, high = stats.t.interval(0.95, len(differences) - 1, loc=mean, scale=error)
    return f"{change(mean):.3g} [{change(low):.3g}, {change(high):.3g}]"


def test_fig4_claims(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    code, said, values = judged("fig4", [level(0.04), level(0.1)], tmp_path, monkeypatch, capsys)
    ends = {curve: courses[:, -1] for curve, courses in values.items()}
    ratio = np.log(ends["without global features"] / ends["with global features"])
    assert shown(ratio, math.exp) in said[0][1]
    assert shown(0.9 * ends["with global features"]) in said[1][1]
    assert (code, [claim[2] for claim in said]) == (0, ["agrees", "agrees"])
    code, said, _ = judged("fig4", [level(0.1), level(0.04)], tmp_path, monkeypatch, capsys)
    assert (code, [claim[2] for claim in said]) == (1, ["DISAGREES", "does not show"])
    code, said, _ = judged("fig4", [level(0.04), level(0.05)], tmp_path, monkeypatch, capsys)
    assert (code, [claim[2] for claim in said]) == (1, ["DISAGREES", "agrees"])  # better, not clearly


def test_fig5_claims(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    levels = [level(0.04), level(0.06), level(0.12)]
    code, said, values = judged("fig5", levels, tmp_path, monkeypatch, capsys)
    cloud, vertical, horizontal = (courses[:, -1] for courses in values.values())
    part = (horizontal.mean() - vertical.mean()) / (horizontal.mean() - cloud.mean())
    assert shown(horizontal - vertical) in said[0][1]
    assert said[1][1].startswith(f"{100 * part:.0f} % of it")
    assert shown((horizontal + cloud) / 2.0 - vertical) in said[1][1]
    assert (code, {claim[2] for claim in said}) == (0, {"agrees"})
    assert len(said) == 2 + 3

    exchanged = [levels[0], levels[2], levels[1]]
    code, said, _ = judged("fig5", exchanged, tmp_path, monkeypatch, capsys)
    assert (code, [claim[2] for claim in said]) == (1, ["DISAGREES"] * 2 + ["does not show"] * 3)
    little = [levels[0], level(0.1), levels[2]]
    code, said, _ = judged("fig5", little, tmp_path, monkeypatch, capsys)
    assert (code, [claim[2] for claim in said]) == (1, ["agrees", "DISAGREES"] + ["agrees"] * 3)
    scattered = [levels[0], level(0.06, spread=-0.4), level(0.07)]
    code, said, _ = judged("fig5", scattered, tmp_path, monkeypatch, capsys)
    assert (code, said[0][2]) == (1, "DISAGREES")  # better on average, not surely


def test_fig6_claims(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    levels = [level(0.1, jump=0.1), level(0.08), level(0.12), level(0.09)]
    code, said, values = judged("fig6", levels, tmp_path, monkeypatch, capsys)
    means = [0.9 * courses.mean(axis=1) for courses in values.values()]
    assert shown(means[0] - means[1]) in said[0][1]
    assert shown(means[2] - means[3]) in said[1][1]
    second_half = [courses[:, 8:] for courses in values.values()]  # of rounds 0 to 15
    moves = [np.mean(np.abs(np.log(part[:, 1:] / part[:, :-1]))) for part in second_half]
    assert f"K/N = 2/16 {100 * moves[0]:.1f} %, K/N = 16/16 {100 * moves[1]:.1f} %" in said[2][1]
    assert (code, [claim[2] for claim in said]) == (0, ["agrees"] * 3)
    code, said, _ = judged("fig6", [levels[1], levels[0], *levels[2:]], tmp_path, monkeypatch, capsys)
    assert (code, [claim[2] for claim in said]) == (1, ["DISAGREES", "agrees", "does not show"])
    code, said, _ = judged("fig6", [*levels[:2], levels[3], levels[2]], tmp_path, monkeypatch, capsys)
    assert (code, [claim[2] for claim in said]) == (1, ["agrees", "DISAGREES", "agrees"])


def test_a_curve_is_the_geometric_mean_with_its_band(tmp_path: Path, monkeypatch: Patch) -> None:
    courses = {"cloud training": level(0.04), "VHFL": level(0.06, spread=0.2), "horizontal FL": level(0.12)}
    taken = made_up(courses, monkeypatch, "fig5")
    drawn: list[Figure] = []

    def keep(figure: Figure, path: Path, **options: object) -> None:
        drawn.append(figure)
        path.touch()

    monkeypatch.setattr(Figure, "savefig", keep)
    FIGURES["fig5"].main(Options(quick=True, out=tmp_path))
    (picture,) = drawn
    assert [axes.get_ylabel() for axes in picture.axes] == list(vhfl_figures.MEASURES.values())
    for axes, factor in zip(picture.axes, (0.9, 1.0, 2.0), strict=True):
        assert [line.get_label() for line in axes.lines] == list(courses)
        for line, band, curve in zip(axes.lines, axes.collections, courses, strict=True):
            values = factor * np.array([taken[f"{curve}, seed {seed}"][1:] for seed in range(1, 6)])
            np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 41))
            np.testing.assert_allclose(np.asarray(line.get_ydata()), stats.gmean(values), rtol=1e-12)
            logs = np.log(values)
            ends = stats.t.interval(0.95, 4, loc=logs.mean(axis=0), scale=stats.sem(logs))
            x, y = np.asarray(band.get_paths()[0].vertices).T
            for number in range(1, 41):
                at = y[x == number]
                expected = [math.exp(end[number - 1]) for end in ends]
                assert [at.min(), at.max()] == pytest.approx(expected, rel=1e-9)


# Fig. 7.


@pytest.fixture
def small_points(monkeypatch: Patch) -> list[dict[str, int]]:
    """Lets Fig. 7 measure few points; what it asked for comes into the list."""
    asked: list[dict[str, int]] = []

    def small(**wanted: int) -> Points:
        asked.append(wanted)
        return Points(
            seed=wanted["seed"],
            fast_weights=(0.5, 0.8),
            success_rates=(0.5, 0.9),
            num_packets=60_000,
            num_array_packets=60_000,
        )

    monkeypatch.setattr(FIG7, "Points", small)
    return asked


def test_fig7_writes_points_that_agree(
    small_points: list[dict[str, int]], tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    frames: list[pd.DataFrame] = []

    def kept(*arguments) -> pd.DataFrame:
        frames.append(compare(*arguments))
        return frames[-1]

    monkeypatch.setattr(FIG7, "compare", kept)
    out = tmp_path / "new"
    assert FIG7.main(Options(quick=True, seed=2, out=out)) == 0
    assert small_points == [{"seed": 2, "num_packets": 1_000_000, "num_array_packets": 5_000_000}]
    table = pd.read_csv(out / "vhfl-fig7.csv")
    pd.testing.assert_frame_equal(table, pd.concat(frames, ignore_index=True), rtol=1e-12)
    measured = compare(FIG7.Points(seed=2), in_arrays, "arrays")
    pd.testing.assert_frame_equal(frames[1], measured)
    assert [set(frame["method"]) for frame in frames] == [{"clock"}, {"arrays"}]
    assert (out / "vhfl-fig7.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    said = claims(capsys.readouterr().out)
    assert [claim[2] for claim in said] == ["agrees", "agrees", "does not show"]
    worst = (table["estimate"] - table["success_rate"]).abs().max()
    assert said[0][1] == f"8 of 8 points agree; largest difference {worst:.4f}"
    for weight in (0.5, 0.8):
        own = table[(table["fast_weight"] == weight) & (table["success_rate"] == 0.9)]
        assert f"{own['waiting_time_s'].iloc[0]:.3g} s at {weight:g}" in said[1][1]


def test_fig7_refuses_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(FIG7, "compare", lambda *arguments: pytest.fail("it has started"))
    with pytest.raises(cosim.ConfigurationError, match="cannot be written"):
        FIG7.main(Options(quick=True, out=tmp_path / "file" / "x"))


def test_fig7_claims_can_fail(
    small_points: list[dict[str, int]], tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    points = FIG7.Points(seed=1)
    measured = compare(points, in_arrays, "arrays")
    assert FIG7.show_claims("f", tmp_path, FIG7.claims(points, measured)) == 0
    for verdict in ("disagrees", "too noisy"):
        verdicts = [verdict, *measured["verdict"][1:]]
        assert FIG7.show_claims("f", tmp_path, FIG7.claims(points, measured.assign(verdict=verdicts))) == 1
    falling = attrs.evolve(points, fast_weights=(0.8, 0.5))
    assert FIG7.show_claims("f", tmp_path, FIG7.claims(falling, measured)) == 1
    capsys.readouterr()
    swapped = lambda options, weight: on_the_clock(options, 1.0 - weight)  # noqa: E731
    monkeypatch.setattr(FIG7, "on_the_clock", swapped)
    assert FIG7.main(Options(quick=True, out=tmp_path)) == 1
    assert [claim[2] for claim in claims(capsys.readouterr().out)] == ["DISAGREES", "agrees", "does not show"]
