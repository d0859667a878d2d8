"""Claims of RawHFL's reproductions on numbers made up for them: they come out, do not show, are too noisy."""

import importlib
import math
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from run_here import NO, NOISY, YES, claimed, each_seed, ends, run_here, unseen, verdicts, wrong

import cosim
from cosim.results.summary import Summary
from scenarios.papers.rawhfl import RawHfl
from scenarios.reproduce.rawhfl import backhaul, figures, tables
from scenarios.reproduce.rawhfl.figures import V_RANGE, Options

FIGURES = {
    name: importlib.import_module(f"scenarios.reproduce.rawhfl.{name}")
    for name in (*(f"fig{number}" for number in range(5, 11)), "table2", "table3", "table4")
}
Patch = pytest.MonkeyPatch
S = 33 * 219_648
"""Bits of an update."""
Measure = Callable[[str, tuple[float, ...], int], float]
"""Of an algorithm, a law of v and a seed."""
Row = tuple[str, bool, bool, float]
"""Client, whether it is able, whether it is selected, planned joules."""
AXES = {
    "fig5": {("", "edge rounds able"), ("client, seed 1", "edge rounds selected")},
    "fig6": {("global rounds", "test accuracy"), ("global rounds", "test loss (nats)")},
    "fig7": {("energy of an edge round, all cells (J)", "share of edge rounds")},
    "fig8": {("energy of a client in an edge round (J)", "share of clients and edge rounds")},
    "fig9": {("global rounds", "test accuracy"), ("global rounds", "energy of all clients (J)")},
    "fig10": {("number M of guesses", "share of requests among the guesses")},
    "table3": {("test accuracy", "")},
}
"""Labels along each axis; a table's rows name themselves."""
OTHERS = ("converges faster", "fluctuates")
"""Of Fig. 6, what is not about accuracies at the end."""
SIMILAR = {V_RANGE: 0.46, (0.3,): 0.3, (0.7,): 0.7}
BEST = {V_RANGE: 0.52, (0.3,): 0.32, (0.7,): 0.8}
"""Mean v, and what can be guessed at best; with drawn v each seed has 0.01 more."""


def more(v: tuple[float, ...], seed: int) -> float:
    return 0.01 * seed if v == V_RANGE else 0.0


@cache
def usual_system(
    algorithm: str, reading: Any, rounds: int, seed: int, v: tuple[float, ...], learns: bool
) -> cosim.System:
    """A system of `system_of`, made once."""
    return SYSTEM_OF(algorithm, Options(reading=reading, num_global_rounds=rounds), seed, v, learns=learns)


SYSTEM_OF = figures.system_of


@pytest.fixture(autouse=True)
def made_up(monkeypatch: Patch) -> None:
    """Users whose requests are made up too; systems that are made once; pictures that are not looked at."""

    def system_of(
        algorithm: str, options: Options, seed: int, v: tuple[float, ...] = V_RANGE, *, learns: bool = True
    ) -> cosim.System:
        return usual_system(algorithm, options.reading, options.rounds, seed, v, learns)

    def users(options: Options, seed: int, v: tuple[float, ...]) -> list[SimpleNamespace]:
        own = more(v, seed)
        return [SimpleNamespace(accuracy=BEST[v] + own, similar_accuracy=SIMILAR[v] + own)]

    monkeypatch.setattr(FIGURES["fig6"], "users", users)
    for module in (figures, backhaul, tables, FIGURES["fig10"]):
        monkeypatch.setattr(module, "system_of", system_of)
    unseen(monkeypatch, PICTURES)


PICTURES = (*FIGURES.values(), tables)
"""Modules that draw."""


@pytest.fixture
def drawn(made_up: None, monkeypatch: Patch) -> list[Figure]:
    """Pictures that would have been written."""
    kept: list[Figure] = []

    def keep(figure: Figure, path: Path, **options: object) -> None:
        kept.append(figure)
        path.touch()

    for module in PICTURES:
        monkeypatch.setattr(module, "Figure", Figure, raising=False)
    monkeypatch.setattr(Figure, "savefig", keep)
    return kept


def name_of(label: str) -> str:
    return label.partition(", v=")[0]


def makes_up(
    monkeypatch: Patch,
    accuracy: Measure = lambda name, v, seed: 0.5,
    edge_round_j: Measure = lambda name, v, seed: 1.0,
    plans: Callable[[str, int, int], list[Row]] = lambda name, seed, edge_round: [],
    reaches_at: float | Measure = 1.0,
    wobble: Measure = lambda name, v, seed: 0.0,
) -> None:
    """Lets figures take these for runs: accuracies that rise evenly to their last, energies that are even.

    Args:
        plans: Of an algorithm, a seed and one of 100 edge rounds.
        reaches_at: Share of the rounds after which an accuracy stays.
        wobble: Change from round to round, up and down.
    """

    def result(label: str, system: cosim.System) -> cosim.Result:
        protocol, seed = system.protocol, system.seed
        assert isinstance(protocol, RawHfl)
        name, v = name_of(label), system.data.similar_probability
        num_rounds = system.end.num_global_rounds
        shares = np.linspace(0.0, 1.0, num_rounds + 1)
        total_j = edge_round_j(name, v, seed) * num_rounds * protocol.num_edge_rounds
        there = reaches_at(name, v, seed) if callable(reaches_at) else reaches_at
        moved = 0.5 * wobble(name, v, seed) * (-1.0) ** np.arange(len(shares))
        accuracies = accuracy(name, v, seed) * np.minimum(1.0, shares / there) + moved
        numbers = {
            "version": range(len(shares)),
            "accuracy": accuracies,
            "loss_nats": 2.0 - accuracies,
            "energy_j": total_j * shares,
        }
        rows = [
            (client, *divmod(edge_round, protocol.num_edge_rounds), *values)
            for edge_round in range(100)
            for client, *values in plans(name, seed, edge_round)
        ]
        columns = ["client", "global_round", "edge_round", "is_able", "is_selected", "planned_j"]
        return cosim.Result(
            config={"label": label, "system": {"seed": seed}},
            summary=Summary("complete", num_rounds, 0.0, {}, {}, total_j, 0, 0, 0.0, 0.0),
            tables={"plans": pd.DataFrame(rows, columns=columns), "evaluations": pd.DataFrame(numbers)},
        )

    monkeypatch.setattr(figures, "run_all", each_seed(result))


def of(values: dict[str, Any], other: float = 0.5) -> Measure:
    """The value of an algorithm, or, where it has several, that of the seed."""

    def measure(name: str, v: tuple[float, ...], seed: int) -> float:
        own = values.get(name, other)
        return own[seed - 1] if isinstance(own, tuple) else own

    return measure


def reading_of(options: Options) -> str:
    """Ending of the names of its files."""
    return "" if options.reading == "tables" else f"-{options.reading}"


def judged(name: str, options: Options) -> tuple[int, list[str]]:
    """Exit code and verdicts."""
    return FIGURES[name].main(options), verdicts(options.folder(""), f"rawhfl-{name}{reading_of(options)}")


def missed(name: str, options: Options, *pieces: str) -> tuple[int, dict[str, str]]:
    """Exit code, and the verdicts of claims that do not come out, by these pieces of their sentences."""
    figure = f"rawhfl-{name}{reading_of(options)}"
    return FIGURES[name].main(options), wrong(options.folder(""), figure, pieces)


def labels(picture: Figure) -> set[tuple[str, str]]:
    return {(axes.get_xlabel(), axes.get_ylabel()) for axes in picture.axes}


@pytest.fixture
def two(tmp_path: Path) -> Options:
    """Two seeds: where they have the same, their interval has no width, else it is too wide."""
    return Options(quick=True, seeds=2, num_global_rounds=20, out=tmp_path)


# Figs. 5 and 6.


@pytest.mark.parametrize(
    ("able", "selected", "code", "expected"),
    [
        ([(7, 99), (7, 99)], [(10, 60), (10, 60)], 0, {}),
        ([(4, 99), (4, 99)], [(10, 60), (10, 60)], 0, {}),
        ([(3, 99), (3, 99)], [(10, 60), (10, 60)], 0, {"at full": NO}),
        ([(15, 99), (15, 99)], [(10, 60), (10, 60)], 0, {"at full": NO}),
        ([(3, 99), (7, 99)], [(10, 60), (10, 60)], 0, {"at full": NOISY}),
        ([(7, 99), (7, 99)], [(40, 60), (40, 60)], 1, {"selections": NO}),
        ([(7, 99), (7, 99)], [(0, 99), (50, 60)], 3, {"selections": NOISY}),
    ],
)
def test_fig5_claims(
    able: list[tuple[int, int]],
    selected: list[tuple[int, int]],
    code: int,
    expected: dict[str, str],
    tmp_path: Path,
    drawn: list[Figure],
    monkeypatch: Patch,
) -> None:
    """Two clients take part in some of 100 edge rounds with each seed, able at some speed in all."""
    printed = FIGURES["fig5"].Options(seeds=2, num_global_rounds=20, out=tmp_path, reading="printed")

    def plans(name: str, seed: int, edge_round: int) -> list[Row]:
        numbers = {"H-FedAvg-M2": able[seed - 1], "RawHFL, Z=4": selected[seed - 1]}.get(name, (0, 100))
        return [(f"client-{n}", True, edge_round < numbers[n], 1.0) for n in range(2)]

    makes_up(monkeypatch, plans=plans)
    found = missed("fig5", printed, "at full", "at any", "selections")
    assert found == (code, expected | {"at any": NO})
    table = pd.read_csv(printed.folder("") / "rawhfl-fig5-printed.csv").sort_values(["seed", "client"])
    share = "share of edge rounds {}".format
    for name, numbers in (
        ("able at full speed and power", np.concatenate(able)),
        ("selected, RawHFL, Z=4", np.concatenate(selected)),
        ("selected, RawHFL, Z=2", [0, 100] * 2),
        ("able at any", [100] * 4),
    ):
        assert table[share(name)].tolist() == pytest.approx([number / 100 for number in numbers])
    assert labels(drawn[-1]) == AXES["fig5"]
    heights = [bar.get_height() for bar in drawn[-1].axes[0].containers[1]]
    assert heights == pytest.approx([4 * printed.rounds * number / 100 for number in able[0]])


def test_fig6_claims(tmp_path: Path, monkeypatch: Patch) -> None:
    """Whole form, short: every range that an accuracy must lie in is met and missed at both ends."""
    options = Options(seeds=2, num_global_rounds=60, out=tmp_path)
    limits = {V_RANGE: (0.41, 0.5), (0.3,): (0.2698, 0.3298), (0.7,): (0.6713, 0.7313)}
    pieces = {V_RANGE: "v from 0.1 to 0.8: ", (0.3,): "v = 0.3: ", (0.7,): "v = 0.7: "}

    def said(values: dict[tuple[float, ...], float], apart: float = 0.0) -> tuple[int, dict[str, str]]:
        def accuracy(name: str, v: tuple[float, ...], seed: int) -> float:
            """More clients learn a little better, in the last digits."""
            return values[v] + apart * seed + 1e-6 * (int(name[-1]) - 4)

        makes_up(monkeypatch, accuracy, reaches_at=0.2)
        code, found = missed("fig6", options, *OTHERS, *pieces.values())
        return code, {piece: verdict for piece, verdict in found.items() if piece not in OTHERS}

    monkeypatch.setattr(sys.modules[__name__], "more", lambda v, seed: 0.0)
    assert said({v: low + 1e-4 for v, (low, _) in limits.items()}) == (0, {})
    assert said({v: high - 1e-4 for v, (_, high) in limits.items()}) == (0, {})
    assert said(SIMILAR, apart=0.02) == (3, dict.fromkeys(pieces.values(), NOISY))
    for v, (low, high) in limits.items():
        for outside in (low - 1e-4, high + 1e-4):
            assert said(SIMILAR | {v: outside}) == (int(v != V_RANGE), {pieces[v]: NO})


@pytest.mark.parametrize(
    ("few", "many", "verdict"), [(0.2, 0.1, YES), (0.1, 0.2, NO), ((0.1, 0.5), 0.2, NOISY), (0.2, 0.2, NO)]
)
def test_fig6_wants_a_large_v_to_converge_faster(
    few: Any, many: float, verdict: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    def reaches_at(name: str, v: tuple[float, ...], seed: int) -> float:
        return (
            many
            if v == (0.7,)
            else of({}, 0.0)(name, v, seed) + (few[seed - 1] if isinstance(few, tuple) else few)
        )

    makes_up(monkeypatch, lambda *run: SIMILAR[run[1]], reaches_at=reaches_at)
    found = missed("fig6", Options(seeds=2, num_global_rounds=60, out=tmp_path), "converges faster")[1]
    assert found.get("converges faster", YES) == verdict


@pytest.mark.parametrize(("low", "verdict"), [(0.69, YES), (0.71, NO), ((0.5, 0.8), NOISY)])
def test_fig6_wants_a_high_v_to_be_predicted_better(
    low: Any, verdict: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    def accuracy(name: str, v: tuple[float, ...], seed: int) -> float:
        return of({"RawHFL, Z=6": low}, 0.4)(name, v, seed) if v == (0.3,) else 0.7

    makes_up(monkeypatch, accuracy, reaches_at=0.2)
    found = missed("fig6", Options(seeds=2, num_global_rounds=60, out=tmp_path), "better predictions")[1]
    assert found.get("better predictions", YES) == verdict


@pytest.mark.parametrize(("of_2", "verdict"), [(0.02, YES), (0.005, NO), ((0.0, 0.05), NOISY)])
def test_fig6_wants_few_clients_to_fluctuate(
    of_2: Any, verdict: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    wobble = of({"RawHFL, Z=2": of_2, "RawHFL, Z=4": 0.01}, 0.03)
    makes_up(monkeypatch, lambda *run: SIMILAR[run[1]], reaches_at=0.2, wobble=wobble)
    found = missed("fig6", Options(seeds=2, num_global_rounds=60, out=tmp_path), "fluctuates")[1]
    assert found.get("fluctuates", YES) == verdict


def test_fig5_reads_eligible_in_two_ways(tmp_path: Path, monkeypatch: Patch) -> None:
    """At any speed and power the second client is able in 7 of 100 edge rounds, at full ones in 50.

    The quick form asks of the selections of Z = 4 only, in as many rounds.
    """

    def plans(name: str, seed: int, edge_round: int) -> list[Row]:
        selected = edge_round < (50 if name == "H-FedAvg-M2" else 10)
        return [("client-0", True, not selected, 1.0), ("client-1", edge_round < 7, selected, 1.0)]

    makes_up(monkeypatch, plans=plans)
    whole = FIGURES["fig5"].Options(seeds=2, out=tmp_path)
    quick = attrs.evolve(whole, quick=True)
    assert missed("fig5", whole, "at full", "at any")[1] == {"at full": NO}
    assert missed("fig5", quick) == (0, {})
    (claim,) = claimed(tmp_path, "rawhfl-fig5")
    assert ["Z=4" in found["words"] for found in claim["quantities"]] == [True]
    assert quick.rounds == whole.rounds == 100


def test_fig6_accuracies_are_held_against_their_users(tmp_path: Path, monkeypatch: Patch) -> None:
    """Seeds whose users differ by as much as their accuracies do are no noise."""
    options = Options(seeds=2, num_global_rounds=60, out=tmp_path)
    for above, expected in ((0.049, {}), (0.051, {"its users": NO})):

        def accuracy(name: str, v: tuple[float, ...], seed: int, above: float = above) -> float:
            return SIMILAR[v] + more(v, seed) + 1e-6 * int(name[-1]) + (above - 1e-5) * (v == V_RANGE)

        makes_up(monkeypatch, accuracy, reaches_at=0.2)
        others = ("about 0.45", *OTHERS)
        found = missed("fig6", options, "its users", *others)[1]
        assert {piece: verdict for piece, verdict in found.items() if piece not in others} == expected


@pytest.mark.parametrize(("above", "verdict"), [(0.019, None), (0.021, NO)])
def test_fig6_accuracies_are_held_against_what_is_possible(
    above: float, verdict: str | None, tmp_path: Path, monkeypatch: Patch
) -> None:
    options = Options(seeds=2, num_global_rounds=60, out=tmp_path)
    makes_up(monkeypatch, lambda name, v, seed: BEST[v] + more(v, seed) + above)
    pieces = [f"{words}: no more accurate" for words in ("v from 0.1 to 0.8", "v = 0.3", "v = 0.7")]
    found = missed("fig6", options, *pieces)[1]
    assert [found.get(piece) for piece in pieces] == [verdict] * 3


@pytest.mark.parametrize(
    ("few_more", "verdict"), [(-0.001, None), (0.02, NO), ((-0.02, 0.02), NOISY), (0.0, NO)]
)
def test_fig6_wants_more_clients_to_learn_better(
    few_more: Any, verdict: str | None, two: Options, drawn: list[Figure], monkeypatch: Patch
) -> None:
    extra = of({"RawHFL, Z=2": few_more}, 0.0)
    makes_up(monkeypatch, lambda *run: SIMILAR[run[1]] + extra(*run), reaches_at=0.5)
    assert missed("fig6", two, "more clients")[1].get("more clients") == verdict
    assert labels(drawn[-1]) == AXES["fig6"]
    table = pd.read_csv(two.folder("") / "rawhfl-fig6.csv")
    assert len(table) == 2 * 2 * 2 * 21
    last = table[table["version"] == 20].set_index(["algorithm", "v", "seed"])["accuracy"]
    for v, label in ((V_RANGE, "0.1-0.8"), ((0.7,), "0.7")):
        for seed in (1, 2):
            expected = SIMILAR[v] + extra("RawHFL, Z=2", v, seed)
            assert last[("RawHFL, Z=2", label, seed)] == pytest.approx(expected)
            assert last[("RawHFL, Z=4", label, seed)] == pytest.approx(SIMILAR[v])


@pytest.mark.parametrize(
    ("accuracy", "reaches_at", "verdict"),
    [(0.7, 0.7, None), (0.05, 1.0, None), (0.7, 0.8, NO), ((0.04, 0.1), 1.0, NOISY)],
)
def test_fig6_wants_a_plateau(
    accuracy: Any, reaches_at: float, verdict: str | None, two: Options, monkeypatch: Patch
) -> None:
    """No more than 0.02 gained from round 14 to round 20."""
    makes_up(monkeypatch, of({"RawHFL, Z=4": accuracy}), reaches_at=reaches_at)
    assert missed("fig6", two, "plateau")[1].get("plateau") == verdict


def test_fig6_is_required_from_20_rounds_on(tmp_path: Path, monkeypatch: Patch) -> None:
    makes_up(monkeypatch, lambda name, v, seed: 0.6)
    for rounds, code, num_claims in ((20, 1, 7), (19, 0, 2)):
        options = Options(quick=True, seeds=2, num_global_rounds=rounds, out=tmp_path)
        found, said = judged("fig6", options)
        assert (found, len(said), said[0]) == (code, num_claims, NO)


@pytest.fixture
def printed(two: Options) -> Options:
    """The same by the reading that has devices with floors."""
    return cosim.evolve(two, reading="printed")


# Figs. 7 and 8.

SPENT = {
    **{f"RawHFL, Z={z}": energy_j for z, energy_j in ((2, 3.77), (4, 7.12), (6, 10.34))},
    **{f"exact, Z={z}": 0.05 for z in (2, 4, 6)},
    "exact, Z=4, floors": 0.5,
    "H-FedAvg-UB": 34.59,
    "H-FedAvg-UB, floors": 40.0,
}
"""The paper's joules for an edge round, and some for what it has not."""


@pytest.mark.parametrize(
    ("changes", "code", "wrong"),
    [
        ({}, 0, {}),
        ({"RawHFL, Z=2": 3.77 * 1.49}, 0, {}),
        ({"RawHFL, Z=2": 3.77 * 1.51}, 0, {"Z=2": NO}),
        ({"RawHFL, Z=2": (2.77, 4.77)}, 0, {"Z=2": NOISY, "increases": NOISY}),
        ({"RawHFL, Z=6": 10.34 / 1.51}, 0, {"Z=6": NO, "increases": NO}),
        ({"H-FedAvg-UB": 7.12 * 4.85 / 1.49}, 0, {}),
        ({"H-FedAvg-UB": 7.12 * 4.85 / 1.51}, 0, {"4.85": NO}),
        ({"H-FedAvg-UB": 7.12 * 4.85 * 1.51}, 0, {"4.85": NO}),
        ({"H-FedAvg-UB": 7.12 * 0.99}, 1, {"4.85": NO, "significantly": NO}),
        ({"exact, Z=4": 7.2}, 1, {"optimum": NO}),
        ({"H-FedAvg-UB": (7.12 * 3.0, 7.12 * 9.0)}, 3, {"4.85": NOISY, "significantly": NOISY}),
        ({"H-FedAvg-UB, floors": 1.99}, 0, {"300 MHz": NO}),
        ({"H-FedAvg-UB, floors": (1.0, 8.0)}, 0, {"300 MHz": NOISY}),
    ],
)
def test_fig7_claims(
    changes: dict[str, Any], code: int, wrong: dict[str, str], printed: Options, monkeypatch: Patch
) -> None:
    plans = lambda *where: [("client-0000", True, True, 1.0), ("client-0001", True, False, 0.0)]  # noqa: E731
    makes_up(monkeypatch, edge_round_j=of(SPENT | changes), plans=plans)
    assert missed(
        "fig7", printed, "Z=2", "Z=6", "4.85", "significantly", "optimum", "300 MHz", "increases"
    ) == (
        code,
        wrong,
    )


def test_fig7_says_what_came_out(printed: Options, drawn: list[Figure], monkeypatch: Patch) -> None:
    """Ratios are means of logarithms, energies means over seeds."""
    spent = of(SPENT | {"RawHFL, Z=4": (7.12, 14.24)})
    plans = lambda name, seed, edge_round: [("c", True, True, 0.25 * seed)]  # noqa: E731
    makes_up(monkeypatch, edge_round_j=spent, plans=plans)
    FIGURES["fig7"].main(printed)
    _, of_4, _, _, saving, times, optimum, floors = map(
        ends, claimed(printed.folder(""), "rawhfl-fig7-printed")
    )
    assert of_4[0][0] == pytest.approx(1.5 * 7.12)
    assert saving[0][0] == pytest.approx(34.59 / 7.12 / math.sqrt(2.0))
    assert times == saving
    assert optimum[0][0] == pytest.approx(math.sqrt(2.0) * 7.12 / 0.05)
    assert floors == [[pytest.approx(80.0)] * 3]
    table = pd.read_csv(printed.folder("") / "rawhfl-fig7-printed.csv")
    of_rounds, means = table[table["share"].notna()], table[table["share"].isna()]
    assert len(of_rounds) == 7 * 51 * 2
    assert (of_rounds["energy_j"] == 0.25 * of_rounds["seed"]).all()
    assert len(means) == 9 * 2
    assert list(means[means["algorithm"] == "RawHFL, Z=4"]["energy_j"]) == pytest.approx([7.12, 14.24])
    assert labels(drawn[-1]) == AXES["fig7"]


def test_fig7_by_the_tables_reading_asks_no_floors(two: Options, monkeypatch: Patch) -> None:
    spent = {name: value for name, value in SPENT.items() if "floors" not in name}
    plans = lambda *where: [("client-0000", True, True, 1.0)]  # noqa: E731
    makes_up(monkeypatch, edge_round_j=of(spent), plans=plans)
    assert judged("fig7", two) == (0, [YES] * 7)


@pytest.mark.parametrize("solver", ["RawHFL", "exact"])
@pytest.mark.parametrize(
    ("factors", "verdict"),
    [((1.49, 1.49), YES), ((0.68, 0.68), YES), ((1.51, 1.51), NO), ((0.66, 0.66), NO), ((0.8, 1.2), NOISY)],
)
def test_fig8_claims(
    solver: str,
    factors: tuple[float, float],
    verdict: str,
    two: Options,
    monkeypatch: Patch,
) -> None:
    """A client's energy depends on Z by less than a factor of 1.5; a client that is not selected has none."""

    def plans(name: str, seed: int, edge_round: int) -> list[Row]:
        energy_j = 0.4 * factors[seed - 1] if name == f"{solver}, Z=6" else 0.4
        return [("client-0000", True, True, energy_j), ("client-0001", True, False, 0.0)]

    makes_up(monkeypatch, plans=plans)
    assert judged("fig8", two) == (0, [verdict, YES] if solver == "RawHFL" else [YES, verdict])
    table = pd.read_csv(two.folder("") / "rawhfl-fig8.csv")
    own = table[table["algorithm"] == f"{solver}, Z=6"]
    for _, of_both in own.groupby("share", dropna=False):
        assert list(of_both["energy_j"]) == pytest.approx([0.4 * factors[0], 0.4 * factors[1]])


# Figs. 9 and 10.

AT_50 = {
    "RawHFL, Z=4": (0.443, 1741),
    "H-FedAvg-UB": (0.4455, 8439),
    "FedAvg-UB": (0.4455, 2109),
    "H-FedAvg-M2": (0.173, 6845),
    "H-FedAvg-M1": (0.073, 283),
}


FIG_9 = (
    *("nearly as accurate", *(f"{name}: " for name in AT_50)),
    *("M1 lags", "M2 lags", "M1 performs", "some 60", "M1 reaches", "M2 reaches", "lowest"),
    *("significantly less energy", "steeply", "linearly"),
)


@pytest.mark.parametrize(
    ("accuracy", "energy", "code", "wrong"),
    [
        ({}, {}, 0, {}),
        ({"H-FedAvg-UB": 0.886 - 0.0202}, {}, 1, {"nearly as accurate": NO}),
        ({"H-FedAvg-UB": 0.886 + 0.0202}, {}, 1, {"nearly as accurate": NO}),
        ({"H-FedAvg-UB": 0.886 + 0.0198}, {}, 0, {}),
        ({"H-FedAvg-UB": 0.886 + 0.0198, "FedAvg-UB": 0.886 - 0.02}, {}, 0, {"some 60": NO}),
        ({"FedAvg-UB": 2 * (0.4455 + 0.0501)}, {}, 0, {"FedAvg-UB: ": NO}),
        ({}, {"FedAvg-UB": 1.51}, 0, {"FedAvg-UB: ": NO}),
        ({}, {"FedAvg-UB": 1.49}, 0, {}),
        ({}, {"RawHFL, Z=4": (0.6, 1.7)}, 0, {"RawHFL, Z=4: ": NOISY, "lowest": NOISY, "steeply": NOISY}),
        ({"H-FedAvg-M1": 0.8}, {}, 0, {"H-FedAvg-M1: ": NO, "M1 lags": NO, "M1 performs": NO}),
        ({"H-FedAvg-M2": 0.8}, {}, 0, {"H-FedAvg-M2: ": NO, "M2 lags": NO}),
        ({"H-FedAvg-M1": 0.2, "H-FedAvg-M2": 0.28}, {}, 0, {"M1 performs": NO}),
        (
            {"H-FedAvg-M2": (0.1, 0.6)},
            {},
            0,
            {"H-FedAvg-M2: ": NOISY, "M2 lags": NOISY, "M2 reaches": NOISY, "M1 performs": NOISY},
        ),
        ({"H-FedAvg-M1": 0.0}, {}, 0, {"H-FedAvg-M1: ": NO, "M1 reaches": NOISY}),
        ({"H-FedAvg-M1": 0.099}, {}, 0, {"M1 reaches": NO}),
        ({}, {"H-FedAvg-M1": 0.0}, 0, {"H-FedAvg-M1: ": NOISY}),
        ({}, {"H-FedAvg-M1": 7.0}, 0, {"H-FedAvg-M1: ": NO, "lowest": NO}),
        ({}, {"FedAvg-UB": 4.1}, 0, {"FedAvg-UB: ": NO, "significantly less energy": NO, "steeply": NO}),
    ],
)
def test_fig9_claims(
    accuracy: dict[str, Any],
    energy: dict[str, Any],
    code: int,
    wrong: dict[str, str],
    tmp_path: Path,
    monkeypatch: Patch,
) -> None:
    """After 100 rounds accuracies are here twice the ones after 50, which are compared with the paper's."""
    options = Options(seeds=2, out=tmp_path)
    assert options.rounds == 100
    last = {name: 2.0 * value for name, (value, _) in AT_50.items()}
    factor = of(energy, 1.0)

    def edge_round_j(name: str, v: tuple[float, ...], seed: int) -> float:
        num_edge_rounds = 50 * (1 if name == "FedAvg-UB" else 4)
        return factor(name, v, seed) * AT_50[name][1] / num_edge_rounds

    makes_up(monkeypatch, of(last | accuracy), edge_round_j)
    assert missed("fig9", options, *FIG_9) == (code, wrong)


def test_short_runs_are_not_held_against_what_the_paper_has_after_50_rounds(
    two: Options, monkeypatch: Patch
) -> None:
    makes_up(
        monkeypatch,
        of({"H-FedAvg-M1": 0.1, "H-FedAvg-M2": 0.25}, 0.4),
        of({"H-FedAvg-M1": 0.5, "FedAvg-UB": 3.0, "RawHFL, Z=4": 2.0}, 4.0),
    )
    assert judged("fig9", two) == (0, [YES] * 6)


def test_fig9_is_required_in_the_papers_length_only(tmp_path: Path, monkeypatch: Patch) -> None:
    makes_up(monkeypatch, of({"RawHFL, Z=4": 0.45, "H-FedAvg-UB": 0.4}, 0.1))
    for rounds, code, verdict in ((99, 0, None), (100, 1, NO)):
        options = Options(quick=True, seeds=2, num_global_rounds=rounds, out=tmp_path)
        found, said = missed("fig9", options, "nearly as accurate")
        assert (found, said.get("nearly as accurate")) == (code, verdict)


Guessed = tuple[float, float]
"""Share of requests that are guessed first, and among 8."""
TOP: dict[str, Guessed] = {
    "RawHFL, Z=4": (0.45, 0.99),
    "central SGD": (0.52, 0.99),
    "H-FedAvg-UB": (0.45, 0.99),
    "FedAvg-UB": (0.45, 0.99),
    "H-FedAvg-M1": (0.08, 0.2),
    "H-FedAvg-M2": (0.2, 0.5),
    "Top-Popular": (0.1, 0.3),
}
FIG_10 = (
    *("above H-FedAvg-M1", "above H-FedAvg-M2", "above Top-Popular", "6.95", "identical", "M up to 7"),
    *("from M = 8", "perform poorly", "almost surely", "best possible"),
)


def best_of(num_guesses: int) -> float:
    return min(1.0, 0.53 + 0.47 * (num_guesses - 1) / 7)


def with_ranks(module: Any, shares: dict[str, Any], monkeypatch: Patch) -> None:
    """Lets a figure take these for what its runs and Top-Popular guess; of each seed, where there are two."""

    def ranks(name: str, seed: int) -> np.ndarray:
        """48 users of 1000 samples, the true video first in one share, among 8 in another."""
        own = shares.get(name, (0.4, 0.9))
        first, among_8 = (round(1000 * share) for share in (own[seed - 1] if np.ndim(own) == 2 else own))
        found = np.full(1000, 20)
        found[:among_8] = 7
        found[:first] = 0
        return np.tile(found, (48, 1))

    def of_run(result: cosim.Result) -> np.ndarray:
        return ranks(name_of(result.config["label"]), result.config["system"]["seed"])

    monkeypatch.setattr(module, "label_ranks", of_run)
    monkeypatch.setattr(module, "popularity_ranks", lambda system: ranks("Top-Popular", system.seed))


def made_up_guesses(monkeypatch: Patch, shares: dict[str, Any]) -> None:
    makes_up(monkeypatch)
    with_ranks(FIGURES["fig10"], shares, monkeypatch)
    users = [SimpleNamespace(top_accuracy=best_of)] * 48
    monkeypatch.setattr(FIGURES["fig10"], "predictions", lambda system: users)


@pytest.mark.parametrize(
    ("changes", "code", "wrong"),
    [
        ({}, 0, {}),
        ({"H-FedAvg-M1": (0.12, 0.3)}, 0, {"above H-FedAvg-M1": NO}),
        ({"H-FedAvg-M1": (0.04, 0.3)}, 0, {"above H-FedAvg-M1": NO}),
        (
            {"H-FedAvg-M1": ((0.05, 0.1), (0.11, 0.6))},
            0,
            {"above H-FedAvg-M1": NOISY, "perform poorly": NOISY},
        ),
        ({"H-FedAvg-M2": (0.2, 0.995)}, 0, {"perform poorly": NO}),
        ({"H-FedAvg-M2": (0.23, 0.5)}, 0, {"above H-FedAvg-M2": NO}),
        ({"H-FedAvg-M2": (0.16, 0.5)}, 0, {"above H-FedAvg-M2": NO}),
        ({"Top-Popular": (0.13, 0.3)}, 0, {"above Top-Popular": NO}),
        ({"Top-Popular": (0.06, 0.3)}, 0, {"above Top-Popular": NO}),
        ({"central SGD": (0.48, 0.99)}, 0, {"6.95": NO}),
        ({"central SGD": ((0.51, 0.99), (0.53, 0.99))}, 0, {"6.95": NOISY, "M up to 7": NOISY}),
        ({"central SGD": (0.45, 0.99)}, 0, {"6.95": NO, "M up to 7": NO}),
        ({"central SGD": (0.52, 1.0), "RawHFL, Z=4": (0.45, 0.98)}, 0, {"from M = 8": NO}),
        (
            {"RawHFL, Z=4": (0.45, 0.94), "central SGD": (0.52, 0.94)},
            0,
            {"identical": NO, "almost surely": NO},
        ),
        ({"H-FedAvg-UB": (0.45, 0.95)}, 0, {"identical": NO, "from M = 8": NO}),
        ({"FedAvg-UB": (0.41, 0.99)}, 0, {"identical": NO}),
        ({"FedAvg-UB": ((0.41, 0.99), (0.45, 0.99))}, 0, {"identical": NOISY}),
        (
            {"H-FedAvg-M2": (0.56, 0.9)},
            1,
            {"above H-FedAvg-M2": NO, "perform poorly": NO, "best possible": NO},
        ),
    ],
)
def test_fig10_claims(
    changes: dict[str, Any],
    code: int,
    wrong: dict[str, str],
    tmp_path: Path,
    monkeypatch: Patch,
) -> None:
    """In the full form; the quick form asks nothing of the end."""
    whole = Options(seeds=2, out=tmp_path)
    made_up_guesses(monkeypatch, TOP | changes)
    assert missed("fig10", whole, *FIG_10) == (code, wrong)
    table = pd.read_csv(tmp_path / "rawhfl-fig10.csv").set_index(["algorithm", "num_guesses"])
    first, among_8 = TOP["H-FedAvg-M2"]
    if "H-FedAvg-M2" not in changes:
        expected = [first] * 7 + [among_8] * 3
        for seed in (1, 2):
            own = table[table["seed"] == seed].loc["H-FedAvg-M2"]
            assert own["accuracy"].to_numpy() == pytest.approx(np.array(expected))
            assert own["over_users"].to_numpy() == pytest.approx(np.zeros(10), abs=1e-12)
    assert list(table.loc[("best possible", 1), "accuracy"]) == pytest.approx([0.53, 0.53])
    quick = {
        words: verdict for words, verdict in wrong.items() if words in ("perform poorly", "best possible")
    }
    assert missed("fig10", attrs.evolve(whole, quick=True), *FIG_10) == (code, quick)


def test_top_accuracies_are_counted_per_user() -> None:
    ranks = np.array([[0, 1, 2, 9], [0, 0, 10, 3]])
    found = FIGURES["fig10"].top(ranks)
    for user in range(2):
        for m in range(1, 11):
            assert found[user, m - 1] == sum(rank < m for rank in ranks[user]) / 4


# Tables.


def made_up_table(monkeypatch: Patch, ends: dict[str, Any], spent: dict[str, Any]) -> None:
    accuracy = of({"RawHFL, Z=4": 0.7, "H-FedAvg-UB": 0.7, "central SGD": 0.75} | ends, 0.2)
    makes_up(monkeypatch, accuracy, of(SPENT | spent, 3.0), reaches_at=0.5)
    shares = {"Top-Popular": (0.06, 0.3), "central SGD": (0.7, 1.0), "H-FedAvg-M1": (0.13, 0.2)}
    with_ranks(tables, shares, monkeypatch)
    with_backhaul(monkeypatch)


def with_backhaul(monkeypatch: Patch) -> None:
    """Lets tables take bits over the backhaul for measured: s, and of FedAvg-UB 12 s."""
    monkeypatch.setattr(backhaul, "run_all", each_seed(lambda label, system: label))
    monkeypatch.setattr(
        backhaul, "backhaul_bits", lambda label: S * (12 if label.startswith("FedAvg") else 1)
    )


@pytest.mark.parametrize(
    ("ends", "spent", "code", "wrong"),
    [
        ({}, {}, 0, {}),
        ({"H-FedAvg-UB": 0.721}, {}, 1, {"nearly as accurate": NO}),
        ({"H-FedAvg-UB": 0.719}, {}, 0, {}),
        ({"H-FedAvg-UB": (0.69, 0.71)}, {}, 3, {"nearly as accurate": NOISY, "outperforms": NOISY}),
        ({}, {"H-FedAvg-UB": 7.0}, 1, {"significantly less": NO, "4.85": NO}),
        ({}, {"H-FedAvg-UB": 7.12 * 4.85 * 1.51}, 0, {"4.85": NO}),
        ({"central SGD": 0.69}, {}, 0, {"outperforms": NO}),
        ({"central SGD": (0.69, 0.8)}, {}, 0, {"outperforms": NOISY}),
        ({"H-FedAvg-M2": 0.76}, {}, 0, {"outperforms": NO}),
    ],
)
def test_table_claims(
    ends: dict[str, Any],
    spent: dict[str, Any],
    code: int,
    wrong: dict[str, str],
    two: Options,
    monkeypatch: Patch,
) -> None:
    made_up_table(monkeypatch, ends, spent)
    pieces = ("4.85", "significantly less", "outperforms", "nearly as accurate")
    assert missed("table3", two, *pieces) == (code, wrong)


@pytest.mark.parametrize("name", ["fig8", "fig9", "fig10", "table3"])
def test_axes_are_labelled(name: str, two: Options, drawn: list[Figure], monkeypatch: Patch) -> None:
    made_up_table(monkeypatch, {}, {})
    if name == "fig8":
        makes_up(monkeypatch, plans=lambda *where: [("client-0000", True, True, 0.4)])
    if name == "fig10":
        made_up_guesses(monkeypatch, TOP)
    FIGURES[name].main(two)
    assert labels(drawn[-1]) == AXES[name]


@pytest.mark.parametrize(("energy_j", "verdict"), [(8.65, YES), (8.63, NO), ((7.0, 12.0), NOISY)])
def test_tables_in_full_ask_whether_many_clients_take_more_than_fedavg(
    energy_j: Any, verdict: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    """In all rounds: FedAvg-UB has a quarter of the edge rounds, of 34.56 J each."""
    made_up_table(monkeypatch, {}, {"FedAvg-UB": 34.56, "RawHFL, Z=6": energy_j})
    FIGURES["table3"].main(Options(seeds=2, out=tmp_path))
    found = wrong(tmp_path, "rawhfl-table3", ["with many clients"])
    assert found.get("with many clients", YES) == verdict


OF_PAPER = {
    "RawHFL, Z=2": (0.7013, 3.77),
    "RawHFL, Z=4": (0.7013, 7.12),
    "RawHFL, Z=6": (0.7013, 10.34),
    "central SGD": (0.7013, None),
    "H-FedAvg-M1": (0.1289, 1.226),
    "H-FedAvg-M2": (0.3483, 28.07),
    "H-FedAvg-UB": (0.7013, 34.59),
    "FedAvg-UB": (0.7013, 34.56),
    "Top-Popular": (0.0591, None),
}


@pytest.mark.parametrize("name", ["RawHFL, Z=4", "FedAvg-UB", "Top-Popular"])
def test_every_row_of_a_table_is_held_against_the_papers(
    name: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    """Accuracies to 0.03 (users of one v), energies to a factor of 1.5; in the full form only."""
    options, (accuracy, energy_j) = Options(seeds=2, out=tmp_path), OF_PAPER[name]
    spent = {other: value for other, (_, value) in OF_PAPER.items() if value}

    def said(accuracy: float, energy_j: float | None) -> tuple[str | None, str | None]:
        """Claims on its accuracy and its energy that do not come out."""
        # Ranks among 1000 samples.
        shares = {other: (value, 0.99) for other, (value, _) in OF_PAPER.items()} | {name: (accuracy, 0.99)}
        own = spent if energy_j is None else spent | {name: energy_j}
        makes_up(monkeypatch, of({}, 0.7), of(own | {"exact, Z=4": 0.05}))
        with_ranks(tables, shares, monkeypatch)
        with_backhaul(monkeypatch)
        found = missed("table3", options)[1]
        own_words = {words: verdict for words, verdict in found.items() if words.startswith(f"{name}: ")}
        by_kind = {"accuracy" in words: verdict for words, verdict in own_words.items()}
        return by_kind.get(True), by_kind.get(False)

    assert [said(accuracy + more, energy_j) for more in (-0.028, 0.028)] == [(None, None)] * 2
    assert [said(accuracy + more, energy_j) for more in (-0.032, 0.032)] == [(NO, None)] * 2
    if energy_j is not None:
        assert [said(accuracy, energy_j * factor) for factor in (1 / 1.49, 1.49)] == [(None, None)] * 2
        assert [said(accuracy, energy_j * factor) for factor in (1 / 1.51, 1.51)] == [(None, NO)] * 2


def test_accuracies_of_tables_have_intervals_over_the_seeds(
    two: Options, drawn: list[Figure], monkeypatch: Patch
) -> None:
    """Of two seeds, 0.3 and 0.5: Student's t with one degree of freedom."""
    made_up_table(monkeypatch, {}, {})
    with_ranks(tables, {"H-FedAvg-M2": ((0.3, 0.4), (0.5, 0.6))}, monkeypatch)
    FIGURES["table3"].main(two)
    half_width = 12.7062 * 0.1
    table = pd.read_csv(two.folder("") / "rawhfl-table3.csv").set_index(["algorithm", "seed"])
    assert list(table.loc["H-FedAvg-M2", "accuracy"]) == pytest.approx([0.3, 0.5])
    assert list(table.loc["RawHFL, Z=4", "accuracy"]) == pytest.approx([0.4, 0.4])
    names = list(table.index.unique("algorithm"))
    (bars,) = (found for found in drawn[-1].axes[0].containers if isinstance(found, ErrorbarContainer))
    ends = bars[2][0].get_segments()[names.index("H-FedAvg-M2")]
    assert ends[:, 0] == pytest.approx([0.4 - half_width, 0.4 + half_width], rel=1e-5)


@pytest.mark.parametrize(("name", "v"), [("table2", (0.3,)), ("table3", (0.7,)), ("table4", V_RANGE)])
def test_tables_have_the_papers_numbers_beside(
    name: str, v: tuple[float, ...], tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All algorithms in the full form. Energies: Section V-C, divided by 400 or, for FedAvg-UB, by 100."""
    monkeypatch.setenv("COLUMNS", "200")
    made_up_table(monkeypatch, {}, {})
    asked, made_up = set(), figures.run_all

    def run(folder: str, systems: dict[str, cosim.System], options: Options) -> dict[str, list[cosim.Result]]:
        asked.update(system.data.similar_probability for system in systems.values())
        return made_up(folder, systems, options)

    monkeypatch.setattr(figures, "run_all", run)
    FIGURES[name].main(Options(seeds=2, out=tmp_path))
    assert asked == {v}
    by_seed = pd.read_csv(tmp_path / f"rawhfl-{name}.csv")
    assert list(by_seed["seed"]) == [1, 2] * 10
    table = by_seed.groupby("algorithm", sort=False).mean()
    of_paper = {
        "table2": (0.2994, 0.2998, 0.2991, 0.3947, 0.0663, 0.1591, 0.2977, 0.2964, 0.0978),
        "table3": (0.7013, 0.7013, 0.7013, 0.7013, 0.1289, 0.3483, 0.7013, 0.7013, 0.0591),
        "table4": (0.4485, 0.4485, 0.4484, 0.5180, 0.0791, 0.1918, 0.4468, 0.4457, 0.0916),
    }
    baselines = ("H-FedAvg-M1", "H-FedAvg-M2", "H-FedAvg-UB", "FedAvg-UB")
    names = ["RawHFL, Z=2", "RawHFL, Z=4", "RawHFL, Z=6", "central SGD", *baselines]
    assert list(table.index) == [*names, "exact, Z=4", "Top-Popular"]
    assert tuple(table.loc[[*names, "Top-Popular"], "paper_accuracy"]) == of_paper[name]
    assert math.isnan(table["paper_accuracy"]["exact, Z=4"])
    joules = {"RawHFL, Z=2": 1508.33, "RawHFL, Z=4": 2848.16, "RawHFL, Z=6": 4137.94}
    joules |= dict(zip(baselines, (490.23, 11226.51, 13836.46, 4 * 3455.56), strict=True))
    for algorithm, row in table.iterrows():
        expected = joules.get(str(algorithm), math.nan) / 400
        assert row["paper_edge_round_j"] == pytest.approx(expected, nan_ok=True)
        unmeasured = algorithm in ("central SGD", "Top-Popular")
        spent = math.nan if unmeasured else SPENT.get(str(algorithm), 3.0)
        assert row["edge_round_j"] == pytest.approx(spent, nan_ok=True)
        sent = math.nan if unmeasured else 12 * S if algorithm == "FedAvg-UB" else S
        assert row["backhaul_bits"] == pytest.approx(sent, nan_ok=True)
    accuracies = {"Top-Popular": 0.06, "central SGD": 0.7, "H-FedAvg-M1": 0.13}
    for algorithm, accuracy in table["accuracy"].items():
        assert accuracy == pytest.approx(accuracies.get(str(algorithm), 0.4))
    printed = capsys.readouterr().out
    assert f"rawhfl-{name}: K = 100, 2 seeds" in printed
    line = next(line for line in printed.splitlines() if line.startswith("│ H-FedAvg-M1"))
    cells = [cell.strip() for cell in line.split("│")[1:-1]]
    assert cells == ["H-FedAvg-M1", "0.1300 ± 0.0000", f"{of_paper[name][4]:.4g}", "3", "1.226", "7.248"]


def test_bits_over_the_backhaul_of_a_table_are_counted_on_the_clock(monkeypatch: Patch) -> None:
    """In every row of its algorithm and seed; what is in one place sends none."""
    monkeypatch.setattr(backhaul, "run_all", run_here())
    algorithms = ["H-FedAvg-UB", "FedAvg-UB", "Top-Popular"]
    table = pd.DataFrame({"algorithm": algorithms, "seed": 1, "accuracy": [0.3, 0.2, 0.1]})
    completed = tables.completed(table, Options(seeds=1))
    assert list(completed["accuracy"]) == [0.3, 0.2, 0.1]
    assert list(completed["backhaul_bits"]) == pytest.approx([S, 12 * S, math.nan], rel=1e-9, nan_ok=True)
