"""Overview: what parts bring to it, at every size, and panels of one height."""

import attrs
import numpy as np
import pytest

import cosim
from analysis.plots import overview
from cosim.configuration import part
from cosim.configuration.port import pictures_of
from cosim.devices import Battery, OnOff
from cosim.testing import small_system
from scenarios import fedbuff, fleet, phones, rawhfl, trace


def labels(result):
    figure = overview(result)
    figure.draw_without_rendering()
    return [axes.get_ylabel() for axes in figure.axes]


def timed(system, **changes):
    return cosim.run(attrs.evolve(system, evaluation=cosim.Never(), **changes))


def test_parts_say_which_pictures_they_bring():
    assert pictures_of(phones.system()) == ("presence",)
    assert pictures_of(trace.system()) == ("rates",)
    assert pictures_of(fedbuff.system()) == ("staleness", "contributions")
    assert [draw.__name__ for draw in pictures_of(rawhfl.system())] == ["clients_planned", "steps_planned"]
    assert pictures_of(cosim.DrawnDevices(battery=Battery(capacity_j=1.0))) == ()  # parts of it bring none
    system = small_system(cosim.Deadline(deadline_s=0.1))
    mains, battery = cosim.DrawnDevices(), cosim.DrawnDevices(battery=Battery(capacity_j=1.0))
    assert pictures_of(attrs.evolve(system, devices=mains)) == ()
    assert pictures_of(attrs.evolve(system, devices=battery)) == ("presence",)
    assert pictures_of(attrs.evolve(system, devices=cosim.DrawnDevices(presence=OnOff()))) == ("presence",)


def test_the_overview_shows_what_parts_bring():
    result = timed(phones.system(), end=cosim.AfterRounds(num_global_rounds=2))
    assert "clients of all cells (%)" in labels(result)
    result = timed(trace.system(), end=cosim.AfterRounds(num_global_rounds=3))
    (axes,) = (own for own in overview(result).axes if own.get_xlabel() == "start of the upload (s)")
    uploads = result.uploads
    drawn = sorted(y for line in axes.lines for y in line.get_ydata())
    rates_bps = (uploads["sent_bits"] / (uploads["end_s"] - uploads["start_s"]))[uploads["sent_bits"] > 0]
    assert drawn == pytest.approx(sorted(rates_bps / 1e3))
    assert axes.get_ylabel() == "mean rate of the upload (kbit/s)"


def test_plans_of_a_paper_are_drawn_by_its_own_functions():
    result = timed(rawhfl.system(), end=cosim.AfterRounds(num_global_rounds=1))
    (axes,) = (own for own in overview(result).axes if own.get_ylabel() == "clients of all cells")
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    plans = result.plans.groupby(["global_round", "edge_round"])
    assert lines["able"] == plans["is_able"].sum().tolist()
    assert lines["planned"] == plans["is_selected"].sum().tolist()
    assert lines["arrived"] == [16, 16, 16, 16]


@pytest.mark.parametrize(("num_clients", "records"), [(6, "all"), (400, "all"), (400, "rounds")])
def test_a_fleet_has_its_panels_at_every_size(num_clients, records):
    system = fleet.system().but(num_cells=2, num_clients=num_clients)
    result = cosim.run(attrs.evolve(system, end=cosim.AfterRounds(num_global_rounds=2)), records=records)
    found = labels(result)
    assert found[-3:] == ["share of edge rounds (%)", "", "updates that do not count (%)"]
    energy = overview(result).axes[-2]
    drawn = sum(bar.get_width() for bar in energy.patches)
    scale = 1e3 if energy.get_xlabel().endswith("(kJ)") else 1.0
    assert scale * drawn == pytest.approx(result.summary.energy_j, rel=1e-9)


def test_panels_have_one_height():
    result = timed(phones.system(), end=cosim.AfterRounds(num_global_rounds=2))
    figure = overview(result)
    figure.draw_without_rendering()
    tops = {}
    for axes in figure.axes:
        box = axes.get_position()
        tops.setdefault(round(box.y1, 2), set()).add(round(box.height, 2))
    assert len(tops) == 2
    assert all(len(heights) == 1 for heights in tops.values())


def naps(axes, result):
    """How many activities there were."""
    axes.set_xlabel(f"{len(result.spans)} activities")


def broken(axes, result):
    axes.plot([1, 2])
    raise KeyError("no such column")


@part
class Napping(OnOff):
    def pictures(self):
        return "presence", naps, "raets", broken


def test_a_users_part_brings_its_own_picture_and_a_broken_one_says_why(tmp_path):
    system = small_system(cosim.Deadline(deadline_s=0.1))
    system = attrs.evolve(system, devices=attrs.evolve(system.devices, presence=Napping()))
    result = cosim.run(attrs.evolve(system, evaluation=cosim.Never()), out=tmp_path / "r")
    *_, own, unknown, wrong = overview(result).axes
    assert own.get_xlabel() == f"{len(result.spans)} activities"
    (words,) = unknown.texts
    assert words.get_text().startswith("no picture is called raets. Use one of presence, rates,")
    (words,) = wrong.texts
    assert words.get_text() == "KeyError: 'no such column'"
    assert not wrong.lines
    assert cosim.Result.load(tmp_path / "r").pictures == ("presence", "raets")


def test_no_activity_is_shorter_than_a_pixel_and_idle_clients_have_no_bar():
    result = timed(small_system(cosim.Deadline(deadline_s=0.1)))
    spans = result.spans.assign(
        end_s=np.where(result.spans["activity"] == "send", result.spans["start_s"], result.spans["end_s"])
    )
    figure = overview(result.with_tables(spans=spans))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    widths = [bar.get_window_extent().width * 200.0 / figure.dpi for bar in axes.patches]
    assert min(widths) >= 1.0
    assert {round(bar.get_height(), 9) for bar in axes.patches} == {0.8}
