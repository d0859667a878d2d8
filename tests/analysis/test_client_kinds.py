"""Clients by kind: by hand, and as a report says it."""

import pytest

import cosim
from analysis.designs import designs_of
from analysis.kinds import ALL, by_kind, late_in_words
from analysis.report.clients import clients
from cosim import Never, evolve
from cosim.testing import small_system


@pytest.fixture(scope="module")
def result() -> cosim.Result:
    """Sensors a hundred times slower, all late for a deadline that suits phones."""
    phones, sensors = (
        cosim.DrawnDevices(min_frequency_hz=only, max_frequency_hz=only)
        for only in (cosim.PerGroup(values=(2e9,)), cosim.PerGroup(values=(2e7,)))
    )
    devices = cosim.devices.Mixture(
        share=0.5, some=phones, some_name="phone", others=sensors, others_name="sensor"
    )
    waiting = cosim.Deadline(deadline_s=0.02)
    return cosim.run(evolve(small_system(waiting), devices=devices, evaluation=Never()), num_workers=1)


def test_sensors_are_late(result):
    kinds = by_kind(result)
    assert list(kinds) == ["phone", "sensor"]
    num_jobs = int(kinds["sensor"]["num_jobs"].sum())
    assert late_in_words(kinds["sensor"]) == f"{num_jobs} of {num_jobs} late"
    assert late_in_words(kinds["phone"]).startswith("0 of ")


def test_a_report_says_so(result):
    found = clients(designs_of([result]))
    assert found is not None
    num_jobs = int(by_kind(result)["sensor"]["num_jobs"].sum())
    assert found["late"] == f"sensor: {num_jobs} of {num_jobs} late"
    phone, sensor = found["table"].rows
    late, arrived = (found["table"].header.index(name) for name in ("late (%)", "arrived (%)"))
    assert [phone[late], sensor[late], phone[arrived]] == ["0", "100", "100"]


def test_clients_without_kinds_are_one_group():
    result = cosim.run(evolve(small_system(), evaluation=Never()), num_workers=1)
    assert list(by_kind(result)) == [ALL]
