"""Clients by kind: by hand, and as a report says it."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

import analysis.kinds
import cosim
from analysis.designs import designs_of
from analysis.kinds import ALL, by_kind, groups_of
from analysis.plots import amounts_of, named, outcomes, outcomes_in_words
from analysis.report.clients import clients
from cosim import Never, evolve
from cosim.testing import small_system
from scenarios.command_line.plot import main as plot_command


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("kinds") / "run"


@pytest.fixture(scope="module")
def result(folder) -> cosim.Result:
    """Sensors a hundred times slower, all late for a deadline that suits phones."""
    phones, sensors = (
        cosim.DrawnDevices(min_frequency_hz=only, max_frequency_hz=only)
        for only in (cosim.PerGroup(values=(2e9,)), cosim.PerGroup(values=(2e7,)))
    )
    devices = cosim.devices.Mixture(
        share=0.5, some=phones, some_name="phone", others=sensors, others_name="sensor"
    )
    waiting = cosim.Deadline(deadline_s=0.02)
    return cosim.run(
        evolve(small_system(waiting), devices=devices, evaluation=Never()), out=folder, num_workers=1
    )


def test_sensors_are_late(result):
    kinds = by_kind(result)
    assert list(kinds) == ["phone", "sensor"]
    num_jobs = int(kinds["sensor"]["num_jobs"].sum())
    assert analysis.kinds.late_in_words(kinds["sensor"]) == f"{num_jobs} of {num_jobs} late"
    assert analysis.kinds.late_in_words(kinds["phone"]).startswith("0 of ")


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


def test_a_picture_shows_what_became_of_their_jobs(result):
    groups = named(groups_of(designs_of([result])))
    axes = Figure().subplots()
    assert outcomes(axes, groups) == 2
    assert [label.get_text() for label in axes.get_yticklabels()] == ["phone", "sensor"]
    bars = {patch.get_y() + 0.36: patch.get_width() for patch in axes.patches}
    assert bars == pytest.approx({0.0: 100.0, 1.0: 100.0})  # one whole bar each
    assert axes.get_legend_handles_labels()[1] == ["arrived", "late"]
    num_jobs = int(by_kind(result)["sensor"]["num_jobs"].sum())
    assert outcomes_in_words(groups) == f"sensor: {num_jobs} of {num_jobs} late."


def test_a_number_of_each_kind_is_its_mean_over_clients(result):
    groups = named(groups_of(designs_of([result])))
    amounts = amounts_of(groups, "energy_j")
    for kind, own in by_kind(result).items():
        assert amounts.values[kind].estimate == pytest.approx(own["energy_j"].mean())
    with pytest.raises(ValueError, match="no client has accuracy"):
        amounts_of(groups, "accuracy")


def test_the_command_draws_both(result, folder, tmp_path, capsys):
    for more in ([], ["--metric", "energy_j"]):
        out = tmp_path / f"fig{len(more)}.svg"
        assert plot_command([str(folder), "--kind", "kinds", "--out", str(out), *more]) == 0
        assert "sensor" in out.read_text()
    assert "sensor: " in capsys.readouterr().out
