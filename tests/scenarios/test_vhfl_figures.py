"""The reproductions of VHFL's Figs. 4 to 6: what they compare and write, and that claims can fail."""

import importlib
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

import attrs
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from run_here import (
    NO,
    NOISY,
    YES,
    Captured,
    claimed,
    each_seed,
    ends,
    exit_code_of,
    run_here,
    unseen,
    verdicts,
)
from scipy import stats

import cosim
from cosim.clock.simulation import Simulation
from cosim.configuration import to_dict
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.engine.store.row_groups import RowGroups
from cosim.names import CLOUD
from cosim.networks.named import network_of
from cosim.recording.kept_rows import KeptRows
from cosim.records.rows import Evaluation
from scenarios import vhfl
from scenarios.papers.vhfl import Traffic, Vfl, Vhfl
from scenarios.reproduce.figures import Runs
from scenarios.reproduce.vhfl import figures as vhfl_figures
from scenarios.reproduce.vhfl.figures import Options

FIGURES = {
    name: importlib.import_module(f"scenarios.reproduce.vhfl.{name}") for name in ("fig4", "fig5", "fig6")
}
CURVES = {
    "fig4": ["with global features", "without global features", "vertical FL"],
    "fig5": ["cloud training", "VHFL", "horizontal FL"],
    "fig6": ["K/N = 2/16", "K/N = 16/16", "E_l = 1", "E_l = 5"],
}
Patch = pytest.MonkeyPatch


# What is compared.


def systems_of(name: str, options: Options, monkeypatch: Patch) -> dict[str, cosim.System]:
    caught: dict[str, cosim.System] = {}

    def capture(figure: str, systems: dict[str, cosim.System], given: Options) -> None:
        assert (figure, given) == (f"vhfl-{name}", options)
        caught.update(systems)
        raise Captured

    monkeypatch.setattr(FIGURES[name], "run_all", capture)
    with pytest.raises(Captured):
        FIGURES[name].main(options)
    return caught


def data(system: cosim.System) -> Dataset:
    """Data set as a run loads it."""
    return system.data.load(Simulation(system.seed), None)


def dealt(system: cosim.System) -> list[np.ndarray]:
    """The samples of every client."""
    return [samples() for samples in system.data.held(Simulation(1), data(system), system.sizes())]


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", CURVES)
def test_every_curve_has_the_same_seeds_and_rounds(name: str, quick: bool, monkeypatch: Patch) -> None:
    options = Options(quick=quick, seed=7)
    systems = systems_of(name, options, monkeypatch)
    assert options.every_seed == (range(7, 22) if quick else range(7, 27))
    if quick or name != "fig6":
        assert list(systems) == CURVES[name]
    assert {system.seed for system in systems.values()} == {7}
    assert len({system.end for system in systems.values()}) == 1


def test_fig4_differs_in_what_the_server_observes(monkeypatch: Patch) -> None:
    seeing, blind, vertical = systems_of("fig4", Options(), monkeypatch).values()
    assert (seeing.model, blind.model) == ("vertical-9-12-32-8", "horizontal-12-32-8")
    assert seeing.data.global_features
    assert not blind.data.global_features
    features = attrs.evolve(blind.data, global_features=True)
    assert attrs.evolve(blind, model=seeing.model, data=features) == seeing
    training = seeing.protocol.training
    assert vertical.protocol == Vfl(num_exchanges=80, local=training.local)
    assert training.steps.num_local_steps == 80  # an exchange for each step
    assert vertical.uplink == vhfl.system().uplink
    assert attrs.evolve(vertical, uplink=seeing.uplink, protocol=seeing.protocol) == seeing


def test_fig5_differs_in_what_is_observed_and_in_who_trains(monkeypatch: Patch) -> None:
    cloud, vertical, horizontal = systems_of("fig5", Options(), monkeypatch).values()
    rounds = cosim.AfterRounds(num_global_rounds=150)
    assert vertical == cosim.evolve(vhfl.system(), seed=1, end=rounds)
    features = attrs.evolve(horizontal.data, global_features=True)
    assert not horizontal.data.global_features
    assert attrs.evolve(horizontal, model=vertical.model, data=features) == vertical
    assert (cloud.num_clients, cloud.data.split, cloud.end) == (1, cosim.data.Iid(), rounds)
    one_place = {"num_clients": 16, "uplink": vertical.uplink, "protocol": vertical.protocol}
    assert attrs.evolve(cloud, data=vertical.data, **one_place) == vertical
    assert attrs.evolve(cloud.data, split=cosim.data.Natural()) == vertical.data


@pytest.mark.parametrize(
    ("quick", "senders", "epochs"),
    [(True, (2, 16), (1, 5)), (False, (1, 2, 4, 8, 16), (1, 2, 5, 10, 20))],
)
def test_fig6_differs_in_one_knob(
    quick: bool, senders: tuple[int, ...], epochs: tuple[int, ...], monkeypatch: Patch
) -> None:
    curves, base = systems_of("fig6", Options(quick=quick), monkeypatch), vhfl.system()
    knobs = {f"K/N = {k}/16": {"num_senders": k, "waiting": cosim.WaitForAll()} for k in senders}
    knobs |= {f"E_l = {e}": {"num_local_epochs": e} for e in epochs}
    assert list(curves) == list(knobs)
    for curve, system in curves.items():
        protocol = attrs.evolve(
            base.protocol,
            num_needed=None,
            **knobs[curve],  # type: ignore[arg-type]
        )
        assert system == attrs.evolve(base, seed=1, protocol=protocol, end=system.end)


def test_systems_of_a_seed_share_their_data(monkeypatch: Patch) -> None:
    systems = systems_of("fig5", Options(), monkeypatch)
    cloud, vertical, horizontal = map(data, systems.values())
    assert vertical.num_global_features == 9
    for own in ("train_x", "train_y", "test_x", "test_y", "train_owners"):
        np.testing.assert_array_equal(getattr(cloud, own), getattr(vertical, own))
        seen = getattr(vertical, own)
        np.testing.assert_array_equal(getattr(horizontal, own), seen[:, 9:] if own.endswith("x") else seen)
    assert not np.array_equal(data(cosim.evolve(systems["VHFL"], seed=2)).train_y, vertical.train_y)
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
    assert isinstance(protocol, Vhfl)
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
    """Observations of the server move no upload; they only make it longer, by 8 gradients for each sample."""
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
    curves = systems_of("fig5", Options(), monkeypatch)
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
    if isinstance(protocol, Vhfl):
        protocol = cosim.evolve(protocol, num_local_epochs=min(2, protocol.num_local_epochs))
    elif isinstance(protocol, Vfl):
        protocol = cosim.evolve(protocol, num_exchanges=2)
    else:
        protocol = cosim.evolve(
            protocol, training=cosim.evolve(protocol.training, steps=cosim.SameSteps(num_local_steps=4))
        )
    traffic = Traffic(num_days=4)
    return cosim.evolve(
        system,
        protocol=protocol,
        data=cosim.evolve(system.data, traffic=traffic),
        end=cosim.AfterRounds(num_global_rounds=2),
    )


@pytest.mark.parametrize("name", CURVES)
def test_a_reproduction_writes_the_tables_of_its_runs(name: str, tmp_path: Path, monkeypatch: Patch) -> None:
    runs: Runs = {}

    def run_tiny(figure: str, systems: dict[str, cosim.System], options: Options) -> Runs:
        runs.update(run_here(tiny)(figure, systems, options))
        return runs

    monkeypatch.setattr(FIGURES[name], "run_all", run_tiny)
    code = FIGURES[name].main(Options(quick=True, seeds=2, out=tmp_path))
    table = pd.read_csv(tmp_path / f"vhfl-{name}.csv")
    assert list(runs) == CURVES[name]
    assert len(table) == len(runs) * 2 * 3
    for curve, results in runs.items():
        for seed, result in zip((1, 2), results, strict=True):
            own = table[(table["curve"] == curve) & (table["seed"] == seed)].drop(columns=["curve", "seed"])
            wanted = result.evaluations[["version", *vhfl_figures.MEASURES]]
            pd.testing.assert_frame_equal(own.reset_index(drop=True), wanted, rtol=1e-12)
    assert (tmp_path / f"vhfl-{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert code == exit_code_of(claimed(tmp_path, f"vhfl-{name}"))


# Claims, on numbers made up for them.

Course = Callable[[int, np.ndarray], np.ndarray]
"""A measure over the rounds, given a seed and the numbers of the rounds."""


def level(value: float, *, apart: float = 0.005, jump: float = 0.01) -> Course:
    """A fall to a value; seeds differ by a spread that all curves share, and by a part that they do not."""

    def course(seed: int, rounds: np.ndarray) -> np.ndarray:
        own = (1.0 + 0.05 * (seed - 3)) * (1.0 + apart * math.sin(37.0 * seed + 1000.0 * value))
        return value * own * (1.0 + 4.0 * np.exp(-rounds)) * (1.0 + jump * (-1.0) ** rounds)

    return course


def scattered(value: float) -> Course:
    """A level that lies far above or below with every other seed."""
    return lambda seed, rounds: (1.0 + 0.9 * (-1.0) ** seed) * level(value, jump=0.0)(seed, rounds)


OF_REGRESSION = cosim.tasks.Regression().measures()


@cache
def of_values(name: str, system: cosim.System, values: tuple[float, ...]) -> cosim.Result:
    """A run whose measures are these, or go with them; most curves of a figure come from another case."""
    trace = KeptRows()
    for number, value in enumerate(values):
        scores = {"test_mse": value, "train_mse": 0.9 * value, "error_ratio": 2.0 * value}
        trace.record(Evaluation(float(number), number, scores, OF_REGRESSION))
    config = {"scenario": name, "system": to_dict(system)}
    return RowGroups(trace, system.num_clients).result(config, "complete", 1.0)


def made_up(courses: dict[str, Course], monkeypatch: Patch, name: str) -> dict[str, list[np.ndarray]]:
    """Lets a figure take these courses for all measures; returns every seed's by label."""
    taken: dict[str, list[np.ndarray]] = {curve: [] for curve in courses}

    def result(label: str, system: cosim.System) -> cosim.Result:
        values = courses[label](system.seed, np.arange(system.end.num_global_rounds + 1))
        taken[label].append(values)
        return of_values(name, system, tuple(values))

    monkeypatch.setattr(FIGURES[name], "run_all", each_seed(result))
    return taken


@pytest.fixture
def drawn(monkeypatch: Patch) -> list[Figure]:
    """Pictures that would have been written."""
    kept: list[Figure] = []

    def keep(figure: Figure, path: Path, **options: object) -> None:
        kept.append(figure)
        path.touch()

    monkeypatch.setattr(Figure, "savefig", keep)
    return kept


class Judge(Protocol):
    """Judges a figure on made-up numbers."""

    def __call__(
        self, name: str, levels: list[Course], *, quick: bool = True
    ) -> tuple[int, list[str], dict[str, np.ndarray]]: ...


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: Patch) -> Judge:
    """Exit code, verdicts and courses (curve -> seeds, rounds) of a figure on made-up numbers."""
    unseen(monkeypatch, [vhfl_figures])

    def judge(
        name: str, levels: list[Course], *, quick: bool = True
    ) -> tuple[int, list[str], dict[str, np.ndarray]]:
        taken = made_up(dict(zip(CURVES[name], levels, strict=True)), monkeypatch, name)
        code = FIGURES[name].main(Options(quick=quick, seeds=5, out=tmp_path))
        return (
            code,
            verdicts(tmp_path, f"vhfl-{name}"),
            {label: np.array(own) for label, own in taken.items()},
        )

    return judge


def textbook(values: np.ndarray, level: float = 0.95) -> list[float]:
    """Mean over five seeds and its t interval."""
    low, high = stats.t.interval(level, 4, loc=values.mean(), scale=stats.sem(values))
    return [values.mean(), low, high]


def test_fig4_claims(judged: Judge, tmp_path: Path) -> None:
    code, said, values = judged("fig4", [level(0.04), level(0.1), level(0.042)])
    ratio = np.log(values["without global features"][:, -1] / values["with global features"][:, -1])
    *better, vertical = claimed(tmp_path, "vhfl-fig4")
    for claim in better:
        assert ends(claim)[0] == pytest.approx(textbook(ratio), rel=1e-9)
    like = np.log(values["vertical FL"][:, -1] / values["with global features"][:, -1])
    for found in ends(vertical):
        assert np.log(found) == pytest.approx(textbook(like, 0.975), rel=1e-9)
    assert (code, said) == (0, [YES, YES, YES])
    for levels, expected in (
        ([level(0.1), level(0.04), level(0.1)], (1, [NO, NO, YES])),
        ([level(0.04), level(0.05), level(0.04)], (1, [NO, YES, YES])),  # better, not clearly
        ([level(0.04), scattered(0.1), level(0.04)], (3, [NOISY, NOISY, YES])),
        ([level(0.04), level(0.1), level(0.048)], (0, [YES, YES, NO])),
        ([level(0.04), level(0.1), level(0.033)], (0, [YES, YES, NO])),
    ):
        assert judged("fig4", levels)[:2] == expected


def test_fig5_claims(judged: Judge, tmp_path: Path) -> None:
    levels = [level(0.04), level(0.06), level(0.12)]
    code, said, values = judged("fig5", levels)
    cloud, vertical, horizontal = (courses[:, -1] for courses in values.values())
    better, most, *measures = (ends(claim)[0] for claim in claimed(tmp_path, "vhfl-fig5")[:4])
    assert better == pytest.approx(textbook(horizontal - vertical), rel=1e-9)
    assert most == pytest.approx(textbook((horizontal + cloud) / 2.0 - vertical), rel=1e-9)
    for factor, found in zip((0.9, 2.0), measures, strict=True):
        assert found == pytest.approx(textbook(factor * (horizontal - vertical)), rel=1e-9)
    assert (code, said[:4]) == (0, [YES] * 4)
    for other, expected in (
        ([levels[0], levels[2], levels[1]], (1, [NO] * 4)),
        ([levels[0], level(0.1), levels[2]], (1, [YES, NO, YES, YES])),
        ([levels[0], scattered(0.06), level(0.075)], (3, [NOISY] * 4)),  # better on average, not surely
    ):
        code, said, _ = judged("fig5", other)
        assert (code, said[:4]) == expected


def falling(*after: int | tuple[int, ...], start: float = 10.0, end: float = 1.0) -> Course:
    """From start to end: 90, 95 and 98 % of the way from 10 to 1 after some rounds, of each seed or all."""
    shares = (0.0, 0.9, 0.95, 0.98)

    def course(seed: int, rounds: np.ndarray) -> np.ndarray:
        own = [0, *(at if isinstance(at, int) else at[seed - 1] for at in after)]
        reached = np.array([shares[np.searchsorted(own, number, side="right") - 1] for number in rounds])
        losses = 10.0 - 9.0 * reached - 1e-3
        return np.where(rounds == 0, start, np.where(rounds < 25, losses, end))

    return course


@pytest.mark.parametrize(
    ("vertical", "horizontal", "verdicts"),
    [
        (falling(4, 8, 20), falling(4, 8, 20), [YES, YES, YES]),
        (falling(4, 8, 20), falling(3, 5, 11), [YES, YES, YES]),
        (falling(3, 5, 11), falling(4, 8, 20), [YES, YES, YES]),
        (falling(9, 12, 20), falling(4, 11, 12), [NO, YES, YES]),
        (falling(4, 8, 20), falling(4, 8, 9), [YES, YES, NO]),
        (falling(4, 5, 20), falling(4, 11, 15), [YES, NO, YES]),
        (falling(4, 8, 20, end=0.1), falling(4, 8, 20), [YES, YES, YES]),  # it goes on learning afterwards
        (falling(4, 8, 20, start=20.0), falling(4, 8, 20), [YES, YES, YES]),  # and begins elsewhere
        (falling((3, 10, 8, 8, 8), 11, 20), falling((8, 4, 8, 8, 8), 11, 20), [NOISY, YES, YES]),
    ],
)
def test_fig5_wants_a_similar_speed_to_the_same_loss(
    vertical: Course, horizontal: Course, verdicts: list[str], judged: Judge
) -> None:
    """To losses on horizontal FL's way, however far VHFL goes on; its own end would be another target."""
    assert judged("fig5", [level(0.04), vertical, horizontal], quick=False)[1][4:] == verdicts
    assert judged("fig5", [level(0.04), vertical, horizontal])[1][4:] == verdicts[:-1]


def test_fig6_claims(judged: Judge, tmp_path: Path) -> None:
    few, many, short, long = level(0.1, jump=0.1), level(0.08), level(0.12), level(0.09)
    code, said, values = judged("fig6", [few, many, short, long])
    logs = [np.log(courses.mean(axis=1)) for courses in values.values()]
    second_half = [courses[:, 8:] for courses in values.values()]  # of rounds 0 to 15
    moves = [np.abs(np.log(part[:, 1:] / part[:, :-1])).mean(axis=1) for part in second_half]
    uploads, steady, epochs, *ours = (ends(claim)[0] for claim in claimed(tmp_path, "vhfl-fig6"))
    assert np.log(uploads) == pytest.approx(textbook(logs[0] - logs[1]), rel=1e-9)
    assert np.log(epochs) == pytest.approx(textbook(logs[2] - logs[3]), rel=1e-9)
    assert steady[0] == pytest.approx(100.0 * (moves[0] - moves[1]).mean(), rel=1e-9)
    assert ours == [uploads, epochs]  # of two curves their ends are their neighbours
    assert (code, said) == (0, [YES] * 5)
    noisy = scattered(0.1)
    for levels, expected in (
        ([many, few, short, long], (1, [NO, NO, YES, NO, YES])),
        ([few, many, long, short], (1, [YES, YES, NO, YES, NO])),
        ([noisy, many, short, noisy], (3, [NOISY, NO, NOISY, NOISY, NOISY])),
        ([jumping(0.1), many, short, long], (0, [YES, NOISY, YES, YES, YES])),
    ):
        assert judged("fig6", levels)[:2] == expected


USUAL = (0.1, 0.08, 0.07, 0.065, 0.063)
JUMPS = (0.2, 0.1, 0.05, 0.04, 0.035)


@pytest.mark.parametrize(
    ("place", "value", "wrong"),
    [
        (0, (0.1, 0.2), {}),
        (1, (0.12, 0.1), {0: NO, 2: NO}),  # K = 1 is faster than 2
        (1, (0.08, 0.25), {1: NO, 2: NO}),  # and steadier
        (2, (0.085, 0.05), {0: NO}),
        (3, (0.075, 0.1), {}),  # K is not small any more
        (4, (0.04, 0.035), {2: NO}),  # the last doubling gains more than the first
        (3, (0.065, 0.3), {2: NO}),  # or steadies more
        (6, (0.12, 0.0), {3: NO, 4: NO, 5: NO}),
        (7, (0.085, 0.0), {3: NO}),
        (9, (0.04, 0.0), {4: NO}),
        (9, (0.066, 0.0), {3: NO}),
        (9, (0.005, 0.0), {4: NO, 5: NO}),
    ],
)
def test_fig6_in_full_asks_every_step(
    place: int,
    value: tuple[float, float],
    wrong: dict[int, str],
    tmp_path: Path,
    monkeypatch: Patch,
) -> None:
    """Of uploads while they are few, and of epochs; then the first doubling against the last."""
    levels = list(zip(USUAL, JUMPS, strict=True)) * 2
    levels[place] = value
    names = [f"K/N = {k}/16" for k in (1, 2, 4, 8, 16)] + [f"E_l = {e}" for e in (1, 2, 5, 10, 20)]
    courses = {name: level(at, jump=jump) for name, (at, jump) in zip(names, levels, strict=True)}
    made_up(courses, monkeypatch, "fig6")
    unseen(monkeypatch, [vhfl_figures])
    assert FIGURES["fig6"].main(Options(seeds=5, out=tmp_path)) == 0
    assert verdicts(tmp_path, "vhfl-fig6") == [wrong.get(claim, YES) for claim in range(8)]


def jumping(value: float) -> Course:
    """A level that moves from round to round with some seeds, and stands still with the others."""
    return lambda seed, rounds: level(value, jump=0.1 * (seed % 2))(seed, rounds)


def test_a_curve_is_the_geometric_mean_with_its_band(
    drawn: list[Figure], tmp_path: Path, monkeypatch: Patch
) -> None:
    courses = {"cloud training": level(0.04), "VHFL": level(0.06, apart=0.1), "horizontal FL": level(0.12)}
    taken = made_up(courses, monkeypatch, "fig5")
    FIGURES["fig5"].main(Options(quick=True, seeds=5, out=tmp_path))
    (picture,) = drawn
    assert [axes.get_ylabel() for axes in picture.axes] == list(vhfl_figures.MEASURES.values())
    for axes, factor in zip(picture.axes, (0.9, 1.0, 2.0), strict=True):
        assert [line.get_label() for line in axes.lines] == list(courses)
        for line, band, curve in zip(axes.lines, axes.collections, courses, strict=True):
            values = factor * np.array(taken[curve])[:, 1:]
            np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 41))
            np.testing.assert_allclose(np.asarray(line.get_ydata()), stats.gmean(values), rtol=1e-12)
            logs = np.log(values)
            low, high = stats.t.interval(0.95, 4, loc=logs.mean(axis=0), scale=stats.sem(logs))
            x, y = np.asarray(band.get_paths()[0].vertices).T
            for number in range(1, 41):
                at = y[x == number]
                expected = [math.exp(end[number - 1]) for end in (low, high)]
                assert [at.min(), at.max()] == pytest.approx(expected, rel=1e-9)
