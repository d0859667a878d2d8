"""States of clients: shares by arithmetic, by their definition, and where no rows were kept."""

import math

import numpy as np
import pytest
import worlds
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import cosim
from analysis.plots.states import AWAY, EMPTY, THERE, empty_percent, shares_of, states_picture
from analysis.report.report import report
from cosim.devices import Battery, Mixture, SamePower

SMALL = Battery(capacity_j=0.5e-3, charge_w=0.02, returns_at_share=0.5)


class Leaves(cosim.devices.Presence):
    """Clients of even numbers leave after 25 ms, and come back after 60 ms."""

    def windows(self, sim, client):
        if int(client[-1]) % 2 == 0:
            yield 0.0, 25e-3
            yield 60e-3, math.inf
        else:
            yield 0.0, math.inf


@pytest.fixture(scope="module")
def by_hand():
    """Two clients, one of them on a battery; the other ends the rounds."""
    mains = worlds.one_cell(1e9).devices
    devices = Mixture(share=0.5, some=cosim.evolve(mains, battery=SMALL), others=mains)
    system = worlds.one_cell(1e9, 1e9, devices=devices, end=cosim.AfterRounds(num_global_rounds=3))
    return cosim.run(cosim.evolve(system, evaluation=cosim.Never()))


@pytest.fixture(scope="module")
def mixed():
    """Two cells, of three clients and of two, that leave and whose batteries run out."""
    system = worlds.alike(
        3,
        2,
        protocol=cosim.HFedAvg(
            training=worlds.training(selection=cosim.selection.Uniform(num_participants=2))
        ),
        end=cosim.AfterRounds(num_global_rounds=8),
        evaluation=cosim.Never(),
    )
    battery = Battery(capacity_j=2e-3, charge_w=0.05, returns_at_share=0.6)
    changes = {"presence": Leaves(), "battery": battery, "tx_power": SamePower(power_w=0.3)}
    return cosim.run(cosim.evolve(system, devices=cosim.evolve(system.devices, **changes)))


def test_shares_and_time_of_a_battery_by_hand(by_hand):
    """It trains 3 ms at 0.1 W, sends at 0.2 W, is charged at 0.02 W, and is back with 0.25 mJ."""
    sends_s = worlds.BITS / worlds.BANDWIDTH_HZ
    second_s = 3e-3 + 2 * sends_s
    third_s = second_s + 3e-3 + sends_s
    end_s = third_s + 3e-3 + 2 * sends_s
    empty_s = 3e-3 + (0.5e-3 - 3e-3 * 0.08) / 0.18
    back_s = empty_s + 0.25e-3 / 0.02
    level_j = 0.25e-3 + 0.02 * (third_s - back_s)
    again_s = third_s + 3e-3 + (level_j - 3e-3 * 0.08) / 0.18
    assert empty_s < second_s < back_s < third_s < again_s < end_s < again_s + 0.25e-3 / 0.02

    shares = shares_of(by_hand)
    assert shares["start_s"].tolist() == pytest.approx([0.0, second_s, third_s], rel=1e-12)
    assert shares[THERE].tolist() == [100.0, 50.0, 100.0]
    assert shares[EMPTY].tolist() == [0.0, 50.0, 0.0]
    assert shares[AWAY].tolist() == [0.0, 0.0, 0.0]
    empty_for_s = back_s - empty_s + end_s - again_s
    assert empty_percent(by_hand) == pytest.approx(100.0 * empty_for_s / (2 * end_s), rel=1e-12)


def test_each_cell_is_counted_at_its_own_beginning(mixed):
    cells = {"edge-00": [0, 1, 2], "edge-01": [3, 4]}
    counts = {}
    for row in mixed.rounds[mixed.rounds["level"] == "edge"].itertuples():
        empty = [
            span.node
            for span in mixed.spans.itertuples()
            if span.activity == "empty"
            and span.start_s <= row.start_s < span.end_s
            and int(span.node[-1]) in cells[row.node]
        ]
        found = counts.setdefault((row.global_round, row.edge_round), np.zeros(3))
        found += [row.num_present, len(empty), len(cells[row.node]) - row.num_present - len(empty)]
    shares = shares_of(mixed)
    assert len(shares) == len(counts)
    for number, row in shares.iterrows():
        assert row[[THERE, EMPTY, AWAY]].tolist() == pytest.approx((20.0 * counts[number]).tolist())
    assert all(shares[state].nunique() > 1 for state in (THERE, EMPTY, AWAY))


def test_the_picture_stacks_the_shares_to_all_clients(mixed):
    axes = Figure().subplots()
    states_picture(axes, mixed)
    shares, below = shares_of(mixed), 0.0
    drawn = {patch.get_label(): patch.get_data() for patch in axes.patches if isinstance(patch, StepPatch)}
    assert list(drawn) == [THERE, EMPTY, AWAY]
    for state, (values, edges, baseline) in drawn.items():
        assert values - baseline == pytest.approx(shares[state].to_numpy(), abs=1e-9)
        assert baseline == pytest.approx(below)
        assert edges[:-1].tolist() == shares["start_s"].tolist()
        below = values
    assert below == pytest.approx(np.full(len(shares), 100.0))


def test_without_rows_of_clients_nobody_knows_why(mixed):
    bare = mixed.with_tables(spans=mixed.spans.iloc[:0], fates=mixed.fates.iloc[:0])
    shares = shares_of(bare)
    assert list(shares) == [THERE, "not there", "start_s"]
    assert shares[THERE].tolist() == shares_of(mixed)[THERE].tolist()
    assert (shares[THERE] + shares["not there"]).to_numpy() == pytest.approx(100.0)
    assert empty_percent(bare) is None


def test_the_page_has_the_time_with_an_empty_battery(by_hand):
    told = report([by_hand])
    told = told[told.index('id="presence"') :]
    assert "time with an empty battery (%)" in told
    assert f"<td>{empty_percent(by_hand):.4g}</td>" in told
    assert "On average there 83.33 %, battery empty 16.67 %, away 0 %." in told
