"""The validation of staleness: it agrees, and a wrong clock, server or theory turns it red."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.closed_forms.poisson_starts import JobsInFlight
from cosim.engine.clients import client
from cosim.engine.servers.asynchronous import AsynchronousServer
from cosim.engine.servers.flights import Flight
from cosim.protocols.asynchronous.starts import Dispatched, PoissonStarts
from cosim.results.result import Result
from scenarios.validate import staleness as validation
from scenarios.validate import staleness_laws as laws
from scenarios.validate.checks import Check
from scenarios.validate.fleets import DETERMINISTIC, EXPONENTIAL, LAWS, Fleet, shares_of_time

Part = Callable[[laws.Amount], Iterator[Check]]
SMALL = laws.Amount(laws=[DETERMINISTIC, EXPONENTIAL], num_updates=4000, seed=1)
LEVEL = 0.999
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "asynchronous.md").read_text(encoding="utf-8")


def red(part: Part) -> set[str]:
    """Laws with which the clock disagrees."""
    return {check.law for check in part(SMALL) if check.interval(LEVEL).verdict(check.theory) == "disagrees"}


once = cache(Fleet.run)
"""A fleet that one test has run is not run again; a clock that a test makes wrong has its own."""


def test_clock_and_closed_forms_agree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fleet, "run", once)
    monkeypatch.setenv("COLUMNS", "200")  # else rows wrap
    small = validation.Options(laws=("deterministic", "exponential"), num_updates=6000)
    assert validation.main(small) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    verdicts = [cells[6].strip() for cells in rows if len(cells) == 8]
    assert set(verdicts) == {"agrees"}
    assert len(verdicts) == 38
    printed = [[cell.strip() for cell in cells[1:6]] for cells in rows if len(cells) == 8]
    laws_on_page = re.findall(
        r"^\| .* \| (\d \w[\w ]*); ([^|]*) \| (.*?) \| (.*?) \| .* \|$", PAGE, re.MULTILINE
    )
    assert len(laws_on_page) == 9
    for law, times, theory, clock in laws_on_page:
        own = [row for row in printed if row[:2] == [law, times]]
        whole = ", ".join(row[4] for row in own)
        assert theory == ", ".join(row[3] for row in own)
        assert clock == (whole if len(own) == 1 else re.sub(r" \[.*?\]", "", whole))


def test_identities_hold_under_every_law() -> None:
    """The limits of a few updates are far from exact; the identities are exact all the same."""
    every = laws.Amount(laws=list(LAWS.values()), num_updates=800, seed=2)
    checks = list(laws.buffers(every))
    assert len(checks) == 9
    for check in checks:
        assert check.found.tolist() == [check.theory]
        assert check.theory not in check.wrong.values()


# What is wrong turns it red.


def slower_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = client.effort_of_one

    def slower(*asked: Any) -> tuple[float, float]:
        lasts_s, power_w = usual(*asked)
        return 1.15 * lasts_s, power_w

    monkeypatch.setattr(client, "effort_of_one", slower)


def eager_replacements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that has reported is replaced before the version that it may complete."""
    take_in = AsynchronousServer._take_in

    def eager(self: AsynchronousServer, flight: Flight) -> None:
        take_in(self, flight)
        self._reported.clear()
        self.idle.add(flight.client)
        self._rule.starts.replace(self._sim, self, [flight.client])

    monkeypatch.setattr(AsynchronousServer, "_take_in", eager)


def everybody_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dispatched, "probabilities", lambda self, num: np.full(num, 1.0 / num))


def more_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    points = PoissonStarts._points

    def twice(self: PoissonStarts, sim, server):
        sim.start(points(self, sim, server))
        yield from points(self, sim, server)

    monkeypatch.setattr(PoissonStarts, "_points", twice)


@pytest.mark.parametrize(
    ("wrong", "part", "expected"),
    [
        (eager_replacements, laws.buffers, {"1 lockstep", "1 buffer"}),
        (slower_processors, laws.restarts, {"2 reports", "2 rate"}),
        (everybody_alike, laws.closed_network, {"3 delay", "3 throughput"}),
        (more_starts, laws.poisson_starts, {"4 in flight"}),
    ],
)
def test_what_is_wrong_turns_it_red(
    wrong: Callable[[pytest.MonkeyPatch], None],
    part: Part,
    expected: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong(monkeypatch)
    assert red(part) == expected


def test_a_wrong_theory_that_nothing_catches_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Theory whose wrong one is the right one."""
    monkeypatch.setattr(Fleet, "run", once)
    monkeypatch.setattr(JobsInFlight, "untruncated", property(lambda self: self.probabilities))
    monkeypatch.setattr(validation, "PARTS", (laws.poisson_starts,))
    assert validation.main(validation.Options(laws=("exponential",), num_updates=6000)) == 1
    printed = capsys.readouterr().out
    assert printed.count(" agrees ") == 6
    assert printed.count("0 of 3") == 2


def test_too_few_updates_are_too_noisy_and_fail(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "PARTS", (laws.poisson_starts,))
    assert validation.main(validation.Options(laws=("exponential",), num_updates=1500)) == 1
    printed = capsys.readouterr().out
    assert "too noisy" in printed


def test_shares_of_time_by_hand() -> None:
    """Jobs from 0 to 3 and from 1 to 2, and one of its own from 3 to 4, in two slices."""

    class Outcome:
        fates = pd.DataFrame({"start_s": [0.0, 1.0, 3.0], "end_s": [3.0, 2.0, 4.0]})

    result: Result = Outcome()  # type: ignore[assignment]
    np.testing.assert_allclose(shares_of_time(result, 2, 2), [[0, 0.5, 0.5], [0, 1, 0]], atol=1e-12)
