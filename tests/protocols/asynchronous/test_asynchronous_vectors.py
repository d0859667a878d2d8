"""FedBuff and FedAsync against vectors by hand: three clients, whole numbers, every version and every weight.

A job of client 0, 1, 2 lasts 2, 3, 7 units of time and adds 12, 24, 36 to every parameter; all start from 0.
At time 6 two updates arrive at once.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import worlds
from worlds import BITS, STEP_CYCLES, STEPS

import models
from cosim import AfterVersions, ClientTraining, FedAsync, FedBuff, FixedShares, evolve, run
from cosim.configuration import part
from cosim.ends import EveryVersions
from cosim.protocols import Constant, Hinge, Polynomial
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.results.result import Result
from cosim.training import LocalTraining

pytestmark = pytest.mark.quick

UNIT_S = 2.0**-5
LASTS = (2, 3, 7)
UPLOAD_S = 2.0**-8
"""Such that sums of them are exact, and two clients meet."""


@part
class Adds(LocalTraining):
    """Adds twelve times the number of the client, counted from 1, to every parameter."""

    def train(self, client):
        with torch.no_grad():
            for values in client.network.parameters():
                values += 12.0 * (int(client.name[-4:]) + 1)


def run_of(protocol: Asynchronous, num_versions: int) -> tuple[Result, list[float]]:
    """The tables, and the value of every parameter after each version."""
    frequencies_hz = [STEPS * STEP_CYCLES / (lasts * UNIT_S - UPLOAD_S) for lasts in LASTS]
    system = worlds.one_cell(
        *frequencies_hz,
        uplink=worlds.still(1.0, sharing=FixedShares(bandwidth_hz=3 * BITS / UPLOAD_S)),
        protocol=evolve(protocol, training=ClientTraining(num_local_steps=STEPS, local=Adds())),
        end=AfterVersions(num_versions=num_versions),
        evaluation=EveryVersions(),
        initial_weights="network",
    )
    network, found = models.build(system.model), []
    with torch.no_grad():
        for values in network.parameters():
            values.zero_()

    def hear(report: Any) -> None:
        values = torch.cat([tensor.ravel() for tensor in report.model.settled.values()])
        assert (values == values[0]).all()
        found.append(float(values[0]))

    return run(system, network, listener=hear), found


def check(result: Result, column: str, expected: list[Any]) -> None:
    found = result.updates[column]
    if column.endswith("_s"):
        found = found / UNIT_S
    np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=column)


def test_fedbuff() -> None:
    result, models_by_hand = run_of(FedBuff(num_updates=2, staleness=Polynomial(exponent=1.0)), 4)
    assert [int(name[-4:]) for name in result.updates["client"]] == [0, 1, 0, 0, 1, 2, 0, 1]
    check(result, "job", [0, 0, 1, 2, 1, 0, 3, 2])
    check(result, "start_s", [0, 0, 2, 4, 3, 0, 6, 6])
    check(result, "arrival_s", [2, 3, 4, 6, 6, 7, 8, 9])
    assert result.updates["arrival_s"][3] == result.updates["arrival_s"][4]
    check(result, "applied_s", [3, 3, 6, 6, 7, 7, 9, 9])
    check(result, "started_version", [0, 0, 0, 1, 1, 0, 2, 2])
    check(result, "made_version", [1, 1, 2, 2, 3, 3, 4, 4])
    check(result, "staleness", [0, 0, 1, 0, 1, 2, 1, 1])
    check(result, "weight", [1 / 2, 1 / 2, 1 / 4, 1 / 2, 1 / 4, 1 / 6, 1 / 4, 1 / 4])
    np.testing.assert_allclose(models_by_hand, [0, 18, 27, 39, 48], rtol=1e-6)


def test_fedbuff_weighs_by_the_root_and_moves_by_its_own_rate() -> None:
    result, models_by_hand = run_of(FedBuff(num_updates=2, server_rate=0.5), 3)
    late, later = 0.25 / np.sqrt(2.0), 0.25 / np.sqrt(3.0)
    check(result, "weight", [0.25, 0.25, late, 0.25, late, later])
    second = 9.0 + 12.0 * (late + 0.25)
    np.testing.assert_allclose(
        models_by_hand, [0.0, 9.0, second, second + 24.0 * late + 36.0 * later], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("staleness", "weights", "versions"),
    [
        (Constant(), [1 / 2] * 6, [6, 15, 33 / 2, 45 / 2, 123 / 4, 267 / 8]),
        (
            Polynomial(exponent=1.0),
            [1 / 4, 1 / 6, 1 / 6, 1 / 4, 1 / 8, 1 / 14],
            [3, 13 / 2, 95 / 12, 131 / 12, 1283 / 96, 20135 / 1344],
        ),
        (
            Hinge(free=1.0, slope=1.0),
            [1 / 2, 1 / 4, 1 / 4, 1 / 2, 1 / 6, 1 / 12],
            [6, 21 / 2, 99 / 8, 147 / 8, 337 / 16, 4283 / 192],
        ),
    ],
    ids=["constant", "polynomial", "hinge"],
)
def test_fedasync(staleness, weights, versions) -> None:
    result, models_by_hand = run_of(FedAsync(share=0.5, staleness=staleness), 6)
    assert [int(name[-4:]) for name in result.updates["client"]] == [0, 1, 0, 0, 1, 2]
    check(result, "started_version", [0, 0, 1, 3, 2, 0])
    check(result, "made_version", [1, 2, 3, 4, 5, 6])
    check(result, "staleness", [0, 1, 1, 0, 2, 5])
    check(result, "applied_s", [2, 3, 4, 6, 6, 7])
    check(result, "weight", weights)
    np.testing.assert_allclose(models_by_hand, [0, *versions], rtol=1e-6)


# --- The page -----------------------------------------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[3] / "docs" / "asynchronous.md"


def printed(protocol: str) -> list[list[Fraction]]:
    """Columns of the table below a protocol's name on the page."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n**{protocol}**")[2]
    lines = [line.strip("| ").split(" | ") for line in text.split("\n\n")[1].splitlines()]
    assert len(lines) > 2
    return [[Fraction(cell) for cell in column] for column in zip(*lines[2:], strict=True)]


def check_page(result: Result, columns: dict[str, list[Fraction]]) -> None:
    numbers = [int(name[-4:]) for name in result.updates["client"]]
    assert numbers == columns.pop("client")
    for name, expected in columns.items():
        check(result, name, [float(value) for value in expected])


def test_the_page_has_fedbuff_as_it_runs() -> None:
    *columns, models_then = printed("FedBuff")
    names = ["client", "job", "start_s", "arrival_s", "applied_s", "started_version", "made_version"]
    result, found = run_of(FedBuff(num_updates=2, staleness=Polynomial(exponent=1.0)), 4)
    check_page(result, dict(zip([*names, "staleness", "weight"], columns, strict=True)))
    after = [found[version] for version in result.updates["made_version"]]
    np.testing.assert_allclose(after, [float(value) for value in models_then], rtol=1e-6)


@pytest.mark.parametrize(
    ("place", "staleness"),
    [(7, Constant()), (9, Polynomial(exponent=1.0)), (11, Hinge(free=1.0, slope=1.0))],
    ids=["constant", "polynomial", "hinge"],
)
def test_the_page_has_fedasync_as_it_runs(place: int, staleness) -> None:
    columns = printed("FedAsync")
    names = ["client", "job", "start_s", "applied_s", "started_version", "made_version", "staleness"]
    result, found = run_of(FedAsync(share=0.5, staleness=staleness), 6)
    of_all = dict(zip(names, columns[:7], strict=True))
    check_page(result, {**of_all, "weight": columns[place]})
    np.testing.assert_allclose(found[1:], [float(value) for value in columns[place + 1]], rtol=1e-6)
