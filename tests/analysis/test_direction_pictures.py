"""Both directions: bits of the picture against rows of transfers, and nothing where no client received."""

import pytest
import worlds
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

import cosim
from analysis.designs import designs_of
from analysis.fates import Fates
from analysis.plots.directions import direction_parts, directions
from analysis.report.report import report

DOWN = cosim.radio.Broadcast(bandwidth_hz=1e6)


def result_of(downlink: cosim.Link = DOWN, seed: int = 1, records: str = "all") -> cosim.Result:
    system = worlds.some_late(downlink=downlink, seed=seed, evaluation=cosim.Never())
    devices = cosim.evolve(system.devices, receive_w=0.3)
    return cosim.run(cosim.evolve(system, devices=devices), records=records)


def test_bits_by_direction_are_means_over_clients_and_runs():
    runs = [result_of(seed=seed) for seed in (1, 2)]
    (parts,) = direction_parts(designs_of(runs)).values()
    for part, direction in (("sent up", "up"), ("received", "down")):
        rows = [run.transfers[run.transfers["direction"] == direction] for run in runs]
        bits = sum(own["sent_bits"].sum() for own in rows) / (2 * 5)
        assert parts[part] == pytest.approx(bits, rel=1e-12)
    assert parts["sent up"] < parts["received"], "some are cut before they have sent all"
    axes = Figure().subplots()
    assert directions(axes, designs_of(runs)) == 1
    bars = [each for each in axes.containers if isinstance(each, BarContainer)]
    widths = {each.get_label(): each.patches[0].get_width() for each in bars}
    assert axes.get_xlabel() == "per client (kbit)"
    assert widths == pytest.approx({part: bits / 1e3 for part, bits in parts.items()})


def test_the_page_shows_both_where_somebody_received_only():
    title = "What was sent and received"
    assert title in report([result_of()])
    assert title not in report([result_of(downlink=cosim.links.Instantaneous())])


def test_energy_by_activity_knows_receiving_without_rows_of_clients_too():
    whole, tallied = result_of(), result_of(records="rounds")
    received_j = Fates.of(whole).energy_j(activity="receive")
    assert received_j
    assert Fates.of(tallied).energy_j(activity="receive") == pytest.approx(received_j)
    assert Fates.of(tallied).energy_j() == pytest.approx(tallied.summary.energy_j, rel=1e-12)
