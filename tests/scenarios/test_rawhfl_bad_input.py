"""RawHFL: what cannot be run is refused in one message, and what is short of able clients goes on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fixtures.fixes import has_fix
from matplotlib.figure import Figure

import cosim
from cosim import ConfigurationError, Result
from scenarios import rawhfl
from scenarios.command_line import main
from scenarios.papers.rawhfl import Unconstrained, VideoRequests

Call = Callable[..., tuple[int, str, str]]
POLICY = "--protocol.policy"
REQUESTS = "--data"
SMALL = ("--model", "mlp-43-8-256", "--workers", "1", f"{REQUESTS}.num-test-requests", "10")
RUN = ("run", "rawhfl", "--out", "X", "--quiet", *SMALL)
FEW_STEPS = ("--num-global-rounds", "1", "--protocol.max-local-rounds", "5")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command on a wide terminal in an empty folder: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "800")
    monkeypatch.setenv("COLUMNS", "800")
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **options: path.touch())

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        output = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, output.out, output.err

    return call


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "what", "rule", "fix"),
    [
        pytest.param(
            (*RUN, f"{POLICY}.num-selected", "13", "--uplink.sharing.num-blocks", "13"),
            "ResourceAware.num_selected = 13",
            "the smallest cell has 12 clients",
            "at most 12",
            id="Z above the cell",
        ),
        pytest.param(
            (*RUN, f"{POLICY}.num-selected", "5"),
            "ResourceAware.num_selected = 5",
            "a plan gives each client a resource block of its own, but there are only 4",
            "more resource blocks",
            id="Z above the blocks",
        ),
        pytest.param(
            (*RUN, "--protocol.deadline-s", "1e9"),
            "VideoRequests.slot_s = 150",
            "more than 100,000 slots",
            "a deadline of minutes",
            id="more requests than can be drawn",
        ),
        pytest.param(
            (*RUN, f"{POLICY}.theta", "1.5"),
            "ResourceAware.theta = 1.5",
            "must lie from 0 to 1",
            "Use the default, 0.4",
            id="theta above 1",
        ),
        pytest.param(
            (*RUN, f"{POLICY}.theta", "-0.1"),
            "ResourceAware.theta = -0.1",
            "must lie from 0 to 1",
            "Use the default, 0.4",
            id="theta below 0",
        ),
        pytest.param(
            (*RUN, f"{REQUESTS}.genre-preferences", "0.5", *["0.1"] * 7),
            "VideoRequests.genre_preferences = (0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)",
            "must sum to 1, not to 1.2",
            "Divide each of them by their sum",
            id="preferences",
        ),
        pytest.param(
            (*RUN, f"{REQUESTS}.contents-per-genre", "1"),
            "VideoRequests.contents_per_genre = 1",
            "must be at least 2, or a genre has no other content that is similar",
            "Use the default, 32",
            id="a genre of one content",
        ),
        pytest.param(
            (*RUN, f"{REQUESTS}.num-genres", "1"),
            "VideoRequests.num_genres = 1",
            "must be at least 2, or there is no other genre to explore",
            "Use the default, 8",
            id="one genre",
        ),
        pytest.param(
            (*RUN, "--protocol.deadline-s", "1e-4"),
            "RawHfl.deadline_s = 0.0001 and RawHfl.energy_budget_j = 1.5",
            "no client can do one local round and upload within them",
            "a longer deadline, a larger budget",
            id="a deadline that nobody can meet",
        ),
        pytest.param(
            (*RUN, "--protocol.energy-budget-j", "1e-14", "1e-13"),
            "RawHfl.deadline_s = 150 and RawHfl.energy_budget_j = 1e-13",
            "no client can do one local round and upload within them",
            "a longer deadline, a larger budget",
            id="budgets that nobody can meet",
        ),
        pytest.param(
            (*RUN, "--protocol.energy-budget-j", "1.5", "0.8"),
            "RawHfl.energy_budget_j = (1.5, 0.8)",
            "lowest and then the highest",
            "",
            id="budgets the wrong way round",
        ),
        pytest.param(
            (*RUN, "--data.num-users", "47"),
            "VideoRequests.num_users = 47",
            "is less than the number of clients (48)",
            "at least 48 users",
            id="is less than the number of clients",
        ),
        pytest.param(
            (*RUN, "--num-clients", "60"),
            "VideoRequests.num_users = 48",
            "is less than the number of clients (60)",
            "at least 60 users",
            id="more clients than users",
        ),
        pytest.param(
            (*RUN, "--data.split.kind", "Iid"),
            "VideoRequests has no part 'split'",
            "that has kinds. Known parts: none.",
            None,
            id="dealt requests",
        ),
        pytest.param(
            (*RUN, f"{POLICY}.kind", "Unconstrained", "--uplink.outage-probability", "0.1"),
            "System.uplink = Radio",
            "some uploads never end, and System.protocol = RawHfl waits for every one",
            "an uplink without outages and losses, or a deadline",
            id="outages for who waits",
        ),
        pytest.param(
            (*RUN, f"{POLICY}.lowest-power-dbm", "25"),
            "ResourceAware.lowest_power_dbm = 25",
            "above the highest power of some clients",
            "a lower power, or None",
            id="power floor",
        ),
        pytest.param(
            (*RUN, "--uplink.kind", "QueuedLink"),
            "a plan: asks for rates and gains beforehand",
            "not known for a QueueLink",
            "System.uplink = Radio",
            id="a plan for queues",
        ),
        pytest.param(
            (*RUN, f"{POLICY}.kind", "Greedy"),
            "RawHfl.policy = {'kind': 'Greedy'}",
            "one of CommonSteps, ResourceAware, Unconstrained",
            "Use the default, ResourceAware",
            id="policy",
        ),
        pytest.param(
            (*RUN, f"{POLICY}.kind", "CommonSteps", f"{POLICY}.theta", "0.3"),
            "ResourceAware has it",
            f"{POLICY}.kind ResourceAware",
            None,
            id="an option of another policy",
        ),
        pytest.param(
            ("run", "quickstart", "--paper-scale", "--out", "X"),
            "--paper-scale",
            "quickstart has one size only",
            "Leave it out",
            id="no other size",
        ),
        pytest.param(
            ("run", "--resume", "nowhere"),
            "--resume nowhere",
            "is not a run folder (no config.json)",
            "the folder of an interrupted run",
            id="nothing to resume",
        ),
        pytest.param(
            ("reproduce", "rawhfl-fig7", "--seeds", "0"),
            "--seeds 0",
            "must be at least 1",
            "Leave it out",
            id="no seed",
        ),
        pytest.param(
            ("reproduce", "rawhfl-table2", "--num-global-rounds", "-1"),
            "--num-global-rounds -1",
            "must be at least 1",
            "Leave it out",
            id="no round",
        ),
        pytest.param(
            ("reproduce", "rawhfl-table5"),
            "'rawhfl-table5'. Did you mean rawhfl-table",
            "Known: hist-conf-fig2",
            None,
            id="no such table",
        ),
    ],
)
def test_bad_input_is_one_message_and_leaves_no_folder(
    command: Call, tmp_path: Path, arguments: tuple[str, ...], what: str, rule: str, fix: str | None
) -> None:
    """Fault and place, by class and field; the rule; the fix, where not every option would be one."""
    code, output, errors = command(*arguments)
    assert code == 2
    assert output == ""
    assert "Traceback" not in errors
    if errors.startswith("Error: "):
        assert errors.count("\n") == 1
    else:
        assert errors.count("For full helptext") == 1
    message = " ".join(errors.replace("│", " ").split())
    assert what in message
    assert rule in message
    if fix is not None:
        assert has_fix(message)
        assert fix in message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_run_is_left_as_it_is(command: Call, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    code, output, errors = command("run", "--resume", "mine")
    assert (code, output) == (2, "")
    assert errors.count("\n") == 1
    assert errors.startswith("Error: --resume mine: is not a run folder")
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["mine", "mine/notes"]


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        (
            {"genre_preferences": (0.5, 0.49), "num_genres": 2},
            r"must sum to 1, not to 0\.99\. Divide",
        ),
        (
            {"genre_preferences": (0.5, 0.5)},
            r"must be one for each of the 8 genres\. Use another num_g",
        ),
        ({"genre_preferences": (1.5, -0.5), "num_genres": 2}, r"genre_preferences = .*must be 0 or above"),
        ({"similar_probability": (1.1,)}, r"similar_probability = .*from 0 to 1"),
        ({"similar_probability": (0.8, 0.1)}, r"similar_probability = .*lowest and then the highest"),
        ({"contents_per_genre": 1}, r"contents_per_genre = 1: must be at least 2"),
    ],
)
def test_bad_requests_in_python(requests: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^VideoRequests\..*{message}") as refused:
        VideoRequests(**requests)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


# What is run, and says that clients were short.


def short(command: Call, *arguments: str) -> tuple[Result, str]:
    """One global round of 4 edge rounds with 48 clients, 4 wanted in each cell."""
    code, output, errors = command(*RUN, *FEW_STEPS, *arguments)
    assert (code, errors) == (0, "")
    return Result.load("X"), output


def possible(plans: pd.DataFrame, num_wanted: int, num_repeated: int) -> dict[Any, int]:
    """How many clients of a cell can take part: able ones that are new, and some of the last round's."""
    numbers: dict[Any, int] = {}
    last: dict[Any, set[str]] = {}
    for (edge_round, edge), own in plans.groupby(["edge_round", "edge"]):
        able = set(own.loc[own["is_able"], "client"])
        before, last[edge] = last.get(edge, set()), set(own.loc[own["is_selected"], "client"])
        assert last[edge] <= able
        numbers[edge, edge_round] = min(
            num_wanted, len(able - before) + min(num_repeated, len(able & before))
        )
    return numbers


@pytest.mark.parametrize("solver", ["ExactSolver", "Algorithm2"])
def test_cells_short_of_able_clients_take_those_they_have(command: Call, solver: str) -> None:
    """Like `RawHfl` says, num_participants is below num_wanted, an edge round lasts, the run goes on."""
    result, output = short(
        command, "--protocol.energy-budget-j", "1e-7", "4e-6", f"{POLICY}.solver.kind", solver
    )
    rounds = result.rounds[result.rounds["level"] == "edge"]
    taking_part = dict(rounds.set_index(["node", "edge_round"])["num_participants"])
    assert taking_part == possible(result.plans, 4, 2)
    assert len(set(taking_part.values())) > 2
    assert set(rounds["num_wanted"]) == {4}
    assert result.summary.num_dropped == 0
    assert list(rounds["end_s"] - rounds["start_s"]) == pytest.approx([150.0] * 16)
    num_short = sum(number < 4 for number in taking_part.values())
    assert num_short > 0
    assert f"│ {num_short} of 16" in output


def test_a_deadline_that_some_can_meet_is_run(command: Call) -> None:
    """A local round takes from 320 x 1408 x 25 / 2e9 = 5.6 ms to 15 ms; refused if none can."""
    tight = ("--protocol.deadline-s", "0.009", "--codec.bits-per-parameter", "1")
    result, _ = short(command, *tight, "--evaluation.kind", "Never")
    assert 0 < result.plans["is_able"].sum() < len(result.plans) / 2
    rounds = result.rounds[result.rounds["level"] == "edge"]
    assert dict(rounds.set_index(["node", "edge_round"])["num_participants"]) == possible(result.plans, 4, 2)
    assert result.summary.time_s == pytest.approx(4 * 0.009)


@pytest.mark.parametrize(
    "arguments",
    [
        (f"{POLICY}.margin-db", "100"),
        (
            f"{POLICY}.kind",
            "CommonSteps",
            f"{POLICY}.no-drop-stragglers",
            "--protocol.energy-budget-j",
            "1e-6",
        ),
    ],
    ids=["a margin above any link", "H-FedAvg-M1 with one that cannot"],
)
def test_where_nobody_trains_the_model_stays(command: Call, arguments: tuple[str, ...]) -> None:
    """Like `RawHfl` says, num_arrived is 0, and the edge models stay."""
    result, output = short(command, *arguments)
    rounds = result.rounds[result.rounds["level"] == "edge"]
    assert set(rounds["num_participants"]) == set(rounds["num_arrived"]) == {0}
    assert set(rounds["num_wanted"]) == {12 if "CommonSteps" in arguments else 4}
    assert (result.summary.time_s, result.summary.energy_j, result.summary.bits_per_client) == (
        600.0,
        0.0,
        0.0,
    )
    first, last = result.evaluations["loss_nats"]
    assert first == last
    assert "16 of 16" in output
    assert "0 of 0" in output  # dropped updates


def test_as_many_blocks_as_clients_are_used_and_no_more(command: Call) -> None:
    """By default, as `ResourceAware.num_selected` says, the smallest cell is the limit too."""
    result, _ = short(command, "--uplink.sharing.num-blocks", "13", "--evaluation.kind", "Never")
    rounds = result.rounds[result.rounds["level"] == "edge"]
    assert set(rounds["num_wanted"]) == set(rounds["num_participants"]) == {12}


def test_outages_are_for_those_who_give_up(command: Call) -> None:
    """All that is lost is counted, and the model stays."""
    result, output = short(command, "--uplink.outage-probability", "1")
    assert (result.summary.num_updates, result.summary.num_dropped) == (64, 64)
    assert "64 of 64 (100.0 %)" in output
    assert result.summary.energy_j > 0.0
    assert len(set(result.evaluations["loss_nats"])) == 1
    waiting = cosim.evolve(rawhfl.system().protocol, policy=Unconstrained())
    with pytest.raises(ConfigurationError, match="waits for every one"):
        cosim.evolve(
            rawhfl.system(),
            protocol=waiting,
            uplink=cosim.Radio(link=cosim.radio.LinkBudget(), outage_probability=1.0),
        )
