"""Measured steps: times of jobs by hand from a table of seconds and rates, refusals, the contract."""

import re

import pandas as pd
import pytest
from fixtures.fixes import has_fix

import cosim
from cosim import ConfigurationError, Never
from cosim.devices import Column, DeviceTable, MeasuredSteps
from cosim.links import GivenRates
from cosim.testing import check_system, small_system

COLUMNS = {
    "device": [1, 0, 2, 3, 4],
    "frequency_hz": [2e9, 1e9, 1e9, 1e9, 3e9],
    "capacitance_j_per_hz2": 4e-27,
    "tx_power_w": 0.2,
    "uplink_bps": [2e4, 1e4, 4e4, 4e4, 4e4],
    "downlink_bps": [8e4, 4e4, 8e4, 8e4, 8e4],
}
TIMES = {"step_s": [0.25, 0.5, 0.1, 0.1, 0.1], "sample_s": [0.025, 0.05, 0.01, 0.01, 0.01]}


def table(folder, **columns) -> str:
    pd.DataFrame(COLUMNS | columns).to_csv(folder / "phones.csv", index=False)
    return str(folder / "phones.csv")


def system(file: str, **changes):
    """Five clients in a cell, all of its numbers from a table."""
    columns = {way: Column(file=file, column=f"{way}_bps") for way in ("uplink", "downlink")}
    ways = {way: GivenRates(rate_bps=column) for way, column in columns.items()}
    own = cosim.evolve(small_system(), devices=DeviceTable(file=file), cycles=MeasuredSteps(file=file))
    return cosim.evolve(own, **ways, evaluation=Never(), **changes)


def first(rows: pd.DataFrame, name: str) -> list[float]:
    """Durations of the first row of each client."""
    found = rows.sort_values("start_s").groupby(name).first()
    return (found["end_s"] - found["start_s"]).tolist()


@pytest.mark.parametrize("per", TIMES)
def test_jobs_last_what_the_table_says(tmp_path, per):
    """Three steps on ten samples, and 4,096 bits each way; 0.5 zeta f^2 joules for a cycle."""
    result = cosim.run(system(table(tmp_path, **{per: TIMES[per]})))
    trainings = result.spans[result.spans["activity"] == "train"]
    step_s = [0.5, 0.25, 0.1, 0.1, 0.1]
    assert first(trainings, "node") == pytest.approx([3 * own for own in step_s], rel=1e-12)
    trained_w = [2.0, 16.0, 2.0, 2.0, 54.0]
    energy_j = trainings.groupby("node")["energy_j"].first().tolist()
    assert energy_j == pytest.approx([3 * s * w for s, w in zip(step_s, trained_w, strict=True)], rel=1e-12)
    for direction, rates_bps in (("up", [1e4, 2e4, 4e4, 4e4, 4e4]), ("down", [4e4, 8e4, 8e4, 8e4, 8e4])):
        rows = result.transfers[result.transfers["direction"] == direction]
        assert first(rows, "client") == pytest.approx([4096 / own for own in rates_bps], rel=1e-12)


def test_a_device_at_half_the_frequency_takes_twice_as_long(tmp_path):
    file = table(tmp_path, step_s=TIMES["step_s"])
    slow = cosim.DrawnDevices(min_frequency_hz=5e8, max_frequency_hz=5e8)
    spans = cosim.run(cosim.evolve(system(file), devices=slow)).spans
    lasts_s = first(spans[spans["activity"] == "train"], "node")
    assert lasts_s == pytest.approx([3 * own for own in (1.0, 1.0, 0.2, 0.2, 0.6)], rel=1e-12)


def test_they_keep_the_laws(tmp_path):
    file = table(tmp_path, sample_s=TIMES["sample_s"])
    check_system(
        cosim.evolve(small_system(), cycles=MeasuredSteps(file=file), devices=DeviceTable(file=file))
    )
    assert "phones.csv, whatever the network" in MeasuredSteps(file=file).rule


REFUSED = {
    "both": (TIMES, "has both columns step_s and sample_s. Use one"),
    "neither": ({}, "has neither of the columns step_s and sample_s. Use one"),
    "none": ({"step_s": [0.25, 0.0, 0.1, 0.1, 0.1]}, "row 3, column 'step_s': 0.0 is not above 0. Use"),
    "empty": ({"step_s": [0.25, None, 0.1, 0.1, 0.1]}, "row 3, column 'step_s': is empty. Use"),
    "twice": (
        {"step_s": TIMES["step_s"], "device": [1, 0, 2, 3, 3]},
        "row 6, column 'device': 3 has a row already. Use",
    ),
    "another": (
        {"step_s": TIMES["step_s"], "device": [1, 0, 2, 3, 7]},
        "row 6, column 'device': 7 is none of the system's clients. Use",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_does_not_fit_is_refused(tmp_path, case):
    columns, said = REFUSED[case]
    file = table(tmp_path, **columns)
    with pytest.raises(ConfigurationError, match=re.escape(said)) as error:
        cosim.evolve(small_system(), cycles=MeasuredSteps(file=file))
    assert has_fix(str(error.value))
