"""The scenario vhfl: its waiting time, and what its report says of the updates that arrive."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pandas as pd
import pytest
from fixtures.fixes import has_fix
from rich.table import Table
from scipy import stats

from analysis.closed_forms.sojourn import Sojourn
from analysis.intervals.statistics import t_interval
from cosim import (
    AfterRounds,
    Deadline,
    DrawnDevices,
    HFedAvg,
    Never,
    PerGroup,
    QueuedLink,
    Radio,
    Result,
    System,
    WaitForAll,
    evolve,
    run,
)
from cosim.configuration import to_dict
from cosim.devices import CyclesPerStep
from cosim.queues import Deterministic, NoWork, OwnPaths, PoissonArrivals, SharedPath
from cosim.waiting import UploadDeadline
from scenarios import vhfl
from scenarios.command_line import main
from scenarios.papers.vhfl import Traffic, Vhfl

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

SLOW, FAST = 1e10, 1e5
"""Cycles of a step: two steps take 10 to 20 s, or nothing beside a T_p of 1.9 s."""
THEORY = Sojourn(arrival_rate_per_s=2.0, weights=(0.5, 0.5), rates_per_s=(8.0, 2.0))


def timing_only(num_global_rounds: int, step_cycles: float = FAST, seed: int = 1, **knobs: object) -> System:
    """The scenario with little traffic data, one local epoch and no learning."""
    base = vhfl.system()
    return evolve(
        base,
        seed=seed,
        data=evolve(base.data, traffic=Traffic(num_days=4)),
        cycles=CyclesPerStep(step_cycles=step_cycles),
        devices=DrawnDevices(
            min_frequency_hz=PerGroup(values=(1e9,)),
            max_frequency_hz=PerGroup(values=(2e9,)),
        ),
        protocol=evolve(base.protocol, **({"num_local_epochs": 1} | knobs)),
        end=AfterRounds(num_global_rounds=num_global_rounds),
        evaluation=Never(),
    )


def run_of(system: System) -> Result:
    return run(system)


def row(result: Result) -> dict[str, str]:
    """The report's only row, by heading."""
    table = vhfl.report(result)
    assert isinstance(table, Table)
    assert table.row_count == 1
    return {str(column.header): str(next(iter(column.cells))) for column in table.columns}


def arrived(shown: dict[str, str]) -> tuple[float, ...]:
    """Mean, low and high."""
    found = re.fullmatch(r"([\d.]+) \[([\d.]+), ([\d.]+)\] \(95 %, \d+ paths\)", shown["arrived"])
    assert found is not None
    return tuple(float(number) for number in found.groups())


# Its configuration.


def test_the_waiting_time_is_where_10_of_12_arrive() -> None:
    system = vhfl.system()
    protocol = system.protocol
    assert isinstance(protocol, Vhfl)
    assert (protocol.num_senders, protocol.num_needed) == (12, 10)
    assert protocol.waiting == UploadDeadline(upload_deadline_s=THEORY.waiting_time_s(10 / 12))
    assert float(
        vhfl.sojourn(system.uplink).success_rate(protocol.waiting.upload_deadline_s)
    ) == pytest.approx(10 / 12, rel=1e-9)
    assert (type(system.uplink), system.uplink.paths) == (QueuedLink, OwnPaths())


def test_the_closed_form_is_that_of_the_network() -> None:
    base = QueuedLink()
    service = evolve(base.service, weights=(0.9, 0.1), rates_per_s=(6.0, 3.0))
    found = vhfl.sojourn(QueuedLink(arrivals=PoissonArrivals(rate_per_s=1.5), service=service))
    assert found == Sojourn(arrival_rate_per_s=1.5, weights=(0.9, 0.1), rates_per_s=(6.0, 3.0))


# What it reports.


def test_updates_that_arrive_are_those_of_the_table_of_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line, with learning. All 16 send, so every path has the same number of uploads."""
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as ended:
        main(
            [
                *("run", "vhfl", "--quiet", "--out", str(tmp_path / "X"), "--workers", "1"),
                *("--data.traffic.num-days", "4", "--evaluation.num-versions", "30"),
                *("--num-global-rounds", "30", "--protocol.num-local-epochs", "1"),
                *("--protocol.num-senders", "None", "--protocol.num-needed", "None"),
            ]
        )
    assert ended.value.code == 0
    output = capsys.readouterr().out
    result = Result.load(tmp_path / "X")
    rounds = result.rounds[result.rounds["level"] == "edge"]
    assert len(rounds) == 30
    assert set(rounds["num_participants"]) == {16}
    shown = row(result)
    assert arrived(shown)[0] == round(float(rounds["num_arrived"].mean()), 2)
    waiting_time_s = THEORY.waiting_time_s(10 / 12)
    assert shown["T_p"] == f"{waiting_time_s:.4g} s"
    assert (shown["gamma (Theorem 2)"], shown["needed K"]) == ("0.8333", "16")
    assert shown["gamma K_0"] == f"{16 * 10 / 12:.3f} of 16"
    for cell in shown.values():
        assert cell in output
    assert "Updates that arrive in a global round" in output
    assert f"{result.evaluations['test_mse'].iloc[-1]:.4g}" in output


def test_the_interval_is_over_paths() -> None:
    """16 shares of independent paths, Student's t with 15 degrees of freedom, times the 12 senders."""
    result = run_of(timing_only(40))
    uploads = result.transfers
    shares = np.array(
        [
            np.mean(uploads["arrived"][uploads["client"] == f"client-{number:04d}"].to_numpy())
            for number in range(16)
        ]
    )
    reach = stats.t.ppf(0.975, 15) * shares.std(ddof=1) / math.sqrt(16)
    ends = (shares.mean(), shares.mean() - reach, shares.mean() + reach)
    shown = row(result)
    assert arrived(shown) == pytest.approx([12 * share for share in ends], abs=0.0051)
    assert "16 paths" in shown["arrived"]
    assert shown["gamma K_0"] == "10.000 of 12"
    rounds = result.rounds[result.rounds["level"] == "edge"]
    in_rounds = float(rounds["num_arrived"].mean())
    assert arrived(shown)[0] == pytest.approx(in_rounds, rel=0.02)  # paths weigh the same, not uploads
    assert uploads["arrived"].sum() == rounds["num_arrived"].sum()


def test_long_rounds_agree_with_the_closed_form_and_not_with_that_of_another_network() -> None:
    system = timing_only(200, SLOW)
    result = run_of(system)
    assert float(np.diff(result.rounds["end_s"].unique()).min()) > 10.0
    shown = row(result)
    assert shown["verdict"] == "agrees"
    assert arrived(shown)[1] < 10.0 < arrived(shown)[2]
    busier = evolve(system, uplink=QueuedLink(arrivals=PoissonArrivals(rate_per_s=2.3)))
    other = attrs.evolve(result, config=result.config | {"system": to_dict(busier)})
    assert row(other)["verdict"] == "disagrees"


def test_messages_that_queue_behind_each_other_disagree() -> None:
    """A path's message has 12 / 16 of a chance to follow after a T_p: the load is not the public's alone."""
    shown = row(run_of(timing_only(400)))
    assert shown["verdict"] == "disagrees"
    assert arrived(shown)[2] < 9.8


@pytest.mark.parametrize("knobs", [{}, {"num_senders": 1, "num_needed": 1}])
def test_few_rounds_have_no_interval(knobs: dict[str, int]) -> None:
    shown = row(run_of(timing_only(5, **knobs)))
    wanted = f"no interval: {vhfl.MIN_PATHS} paths of {vhfl.MIN_UPLOADS} uploads needed"
    assert (shown["arrived"], shown["verdict"]) == (wanted, "too noisy")


@pytest.mark.parametrize(
    ("num_arrived", "verdict"),
    [
        ((50, 50, 50, 51), "agrees"),
        ((50, 50, 51), "no interval"),
        ((60, 40, 55, 45), "too noisy"),
        ((40, 41, 40, 41), "disagrees"),
    ],
)
def test_verdicts_on_paths_of_60_uploads(num_arrived: tuple[int, ...], verdict: str) -> None:
    """10 / 12 are 50 of 60; 0.05 is the half width at which an interval decides."""
    clients = np.repeat([f"client-{number:04d}" for number in range(len(num_arrived))], 60)
    arrivals = np.concatenate([np.arange(60) < number for number in num_arrived])
    uploads = pd.DataFrame({"client": clients, "arrived": arrivals, "direction": "up"})
    shown = row(run_of(timing_only(1)).with_tables(transfers=uploads))
    if verdict == "no interval":
        assert shown["arrived"].startswith(verdict)
        verdict = "too noisy"
    else:
        assert arrived(shown)[0] == round(12 * sum(num_arrived) / (60 * len(num_arrived)), 2)
    assert shown["verdict"] == verdict


@pytest.mark.parametrize("success_rate", [0.8, 0.9])
def test_the_least_number_of_paths_and_uploads_covers(success_rate: float) -> None:
    """In 10,000 repetitions a coverage of 93 % has a standard error of 0.26 points."""
    rng = np.random.default_rng(1)
    num_arrived = rng.binomial(vhfl.MIN_UPLOADS, success_rate, (10_000, vhfl.MIN_PATHS))
    covered = [t_interval(shares).contains(success_rate) for shares in num_arrived / vhfl.MIN_UPLOADS]
    assert 0.93 <= np.mean(covered) <= 0.985


def shared(system: System) -> System:
    return evolve(system, uplink=QueuedLink(paths=SharedPath()))


def by_radio(system: System) -> System:
    return evolve(system, uplink=Radio())


def from_the_broadcast(system: System) -> System:
    return evolve(system, protocol=evolve(system.protocol, waiting=Deadline()))


def for_all(system: System) -> System:
    return evolve(system, protocol=evolve(system.protocol, waiting=WaitForAll()))


def with_another_service(system: System) -> System:
    return evolve(system, uplink=QueuedLink(service=Deterministic()))


def overloaded(system: System) -> System:
    return evolve(system, uplink=QueuedLink(arrivals=PoissonArrivals(rate_per_s=3.2), initial_work=NoWork()))


def in_packets(system: System) -> System:
    return evolve(system, uplink=QueuedLink(packet_bits=1000))


def without_the_public(system: System) -> System:
    return evolve(system, uplink=QueuedLink(arrivals=PoissonArrivals(rate_per_s=0.0)))


def another_protocol(system: System) -> System:
    return evolve(system, protocol=HFedAvg(), end=AfterRounds(num_global_rounds=1))


@pytest.mark.filterwarnings("ignore:QueuedLink. a load of rho = 1")
@pytest.mark.parametrize(
    "change",
    [
        *(shared, by_radio, from_the_broadcast, for_all, with_another_service, overloaded),
        *(another_protocol, in_packets, without_the_public),
    ],
)
def test_no_closed_form(change: Callable[[System], System]) -> None:
    system = timing_only(2)
    assert isinstance(vhfl.report(run_of(system)), Table)
    said = vhfl.report(run_of(change(system)))
    assert isinstance(said, str)
    assert said.startswith("No closed form says how many updates arrive")


# What it refuses.


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        (
            ("--protocol.num-needed", "13"),
            "Vhfl.num_needed = 13, Vhfl.num_senders = 12, System.num_clients = 16: must be K <= K_0 <= N",
        ),
        (("--protocol.num-senders", "17"), "Vhfl.num_senders = 17, System.num_clients = 16"),
        (("--protocol.num-senders", "9"), "Vhfl.num_needed = 10, Vhfl.num_senders = 9"),
        (
            ("--protocol.num-senders", "None", "--protocol.num-needed", "17"),
            "Vhfl.num_needed = 17, Vhfl.num_senders = 16",
        ),
        (("--num-clients", "15"), "System.num_clients = 15: the samples of 'traffic' arise at 16 places"),
        (("--uplink.arrivals.rate-per-s", "3.2"), "rho = 1"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(
    knobs: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "600")
    with pytest.raises(SystemExit) as ended:
        main(["run", "vhfl", "--data.traffic.num-days", "4", "--out", "X", *knobs])
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert words in " ".join(output.err.replace("│", " ").split())
    assert has_fix(output.err)
    assert "Traceback" not in output.err
    assert list(tmp_path.iterdir()) == []
