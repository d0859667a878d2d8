"""Charge: exact times of a hand-computed example, and in = out + left for every client of every world."""

import attrs
import pandas as pd
import pytest
import worlds
from device_worlds import WORLDS, asynchronous, timed
from typing_extensions import override

import cosim
from cosim.configuration import ConfigurationError, part
from cosim.devices.battery import Battery
from cosim.engine.clients.charge import Charge
from cosim.engine.clients.rest import Rest
from cosim.records.rows import EMPTY
from cosim.testing import check_system, small_system
from cosim.testing.laws.tables import LAWS

EXACTLY = {"rel": 1e-12, "abs": 1e-15}
SMALL = Battery(capacity_j=0.5e-3, charge_w=0.05, returns_at_share=0.5)


def with_battery(system: cosim.System, battery: Battery = SMALL, **changes) -> cosim.System:
    return attrs.evolve(system, devices=attrs.evolve(system.devices, battery=battery, **changes))


@pytest.fixture
def charges(monkeypatch) -> list[dict[str, Charge]]:
    """Charges of each run, by client."""
    found: list[dict[str, Charge]] = []
    init = Rest.__init__

    def noted(self, *devices, **options):
        init(self, *devices, **options)
        found.append(self.charges)

    monkeypatch.setattr(Rest, "__init__", noted)
    return found


def replayed(spans: pd.DataFrame, battery: Battery) -> tuple[list[float], float, float]:
    """Levels of a client's battery at the ends of its activities, what it got and what was taken of it."""
    level_j = battery.initial_share * battery.capacity_j
    levels_j, charged_j = [level_j], 0.0
    for row in spans.sort_values("start_s").itertuples():
        lasts_s = row.end_s - row.start_s
        room_j = battery.capacity_j - level_j
        got_j = min(battery.charge_w * lasts_s, room_j + row.energy_j)
        charged_j += got_j
        level_j += got_j - row.energy_j
        levels_j.append(level_j)
    return levels_j, charged_j, float(spans["energy_j"].sum())


def test_an_upload_is_cut_when_the_battery_is_empty_by_hand():
    """It trains 3 ms at 0.1 W, sends at 0.2 W, is charged at 0.05 W; empty at 3 ms + 0.35 mJ / 0.15 W.

    It is back with half of 0.5 mJ, 5 ms later, and begins the next round, which has waited for it.
    """
    system = timed(with_battery(worlds.one_cell(1e9, end=cosim.AfterSeconds(duration_s=12e-3))))
    result = cosim.run(system)
    own = result.spans[result.spans["node"] == "client-0000"]
    empty_s = 3e-3 + (0.5e-3 - 3e-3 * 0.05) / 0.15
    back_s = empty_s + 0.25e-3 / 0.05
    assert own["activity"].tolist() == ["train", "send", "empty", "train"]
    assert own["end_s"].tolist() == pytest.approx([3e-3, empty_s, back_s, 12e-3], **EXACTLY)
    sent_j = 0.2 * (empty_s - 3e-3)
    assert own["energy_j"].tolist() == pytest.approx([3e-4, sent_j, 0.0, 0.1 * (12e-3 - back_s)], **EXACTLY)
    assert own["outcome"].tolist()[1] == EMPTY
    assert result.fates["outcome"].tolist() == [EMPTY, "end of the run"]
    (transfer,) = result.transfers.itertuples()
    assert transfer.sent_bits == pytest.approx((empty_s - 3e-3) * worlds.BANDWIDTH_HZ, rel=1e-12)
    (gather,) = result.spans[result.spans["activity"] == "gather"].itertuples()
    assert [gather.start_s, gather.end_s] == pytest.approx([empty_s, back_s], **EXACTLY)


def test_a_device_at_rest_empties_its_battery_too_by_hand():
    """The second has ended after 1.5 + 8.192 ms with nothing to do for 1.5 ms at 0.5 W, and 0.3 mJ."""
    sends_s = 2 * worlds.BITS / worlds.BANDWIDTH_HZ
    train_w = 0.5 * worlds.CAPACITANCE * 2e9**3
    busy_j = train_w * 1.5e-3 + worlds.TX_W * sends_s
    battery = Battery(capacity_j=busy_j + 0.3e-3)
    result = cosim.run(timed(with_battery(worlds.one_cell(1e9, 2e9), battery, idle_w=0.5)))
    own = result.spans[result.spans["node"] == "client-0001"]
    ended_s = 1.5e-3 + sends_s
    assert own["activity"].tolist() == ["train", "send", "idle", "empty"]
    assert own["end_s"].tolist() == pytest.approx(
        [1.5e-3, ended_s, ended_s + 0.6e-3, 3e-3 + sends_s], rel=1e-10
    )


BATTERIES = {
    "small": SMALL,
    "begins empty": attrs.evolve(SMALL, initial_share=0.0),
    "fills up": Battery(capacity_j=1.0, initial_share=0.9999, charge_w=0.4),
    "never back": Battery(capacity_j=1e-2),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in WORLDS
        for kind in BATTERIES
        if kind == "small" or name in ("one late", "planned", "asynchronous, few at once")
    ],
)
def test_in_is_out_and_left(name, kind, charges):
    """Of each client, with what its activities take; and never below empty nor above full."""
    scale = {"planned": 1e3, "traffic": 1e3}.get(name, 1.0)
    battery = attrs.evolve(BATTERIES[kind], capacity_j=scale * BATTERIES[kind].capacity_j)
    system = WORLDS[name]
    end = cosim.AfterSeconds(duration_s=600.0 if scale > 1.0 else 0.05)
    at_rest = {"idle_w": 0.02, "sleep_w": 0.01, "sleeps_after_s": 1e-3}
    system = with_battery(attrs.evolve(timed(system), end=end), battery, **at_rest)
    result = cosim.run(system)
    for law in LAWS:
        law(result)
    (found,) = charges
    assert len(found) == system.num_clients
    for client, charge in found.items():
        levels_j, charged_j, taken_j = replayed(result.spans[result.spans["node"] == client], battery)
        whole_j = battery.capacity_j + charged_j
        assert min(levels_j) >= -1e-12 * whole_j
        assert max(levels_j) <= battery.capacity_j + 1e-12 * whole_j
        assert 0.0 <= charge.left_j <= battery.capacity_j
        in_j = battery.initial_share * battery.capacity_j + charged_j
        assert in_j == pytest.approx(taken_j + charge.left_j, rel=1e-12, abs=1e-12 * whole_j)
        assert charge.left_j == pytest.approx(levels_j[-1], rel=1e-12, abs=1e-12 * whole_j)


def test_a_theory_that_charges_a_full_battery_does_not_add_up(charges):
    """Charging power times time is more than has come in: a full battery gets what is taken."""
    battery = Battery(capacity_j=1.0, charge_w=0.4)
    result = cosim.run(timed(with_battery(WORLDS["one of a cell"], battery)))
    (found,) = charges
    for client, charge in found.items():
        _, charged_j, taken_j = replayed(result.spans[result.spans["node"] == client], battery)
        assert charged_j < 0.9 * battery.charge_w * result.summary.time_s
        assert battery.capacity_j + charged_j == pytest.approx(taken_j + charge.left_j, rel=1e-12)


@pytest.mark.parametrize("system", [small_system(), asynchronous(cosim.FedAsync())])
def test_runs_with_batteries_keep_all_laws_and_go_on_where_they_were_stopped(system):
    """Whatever the order of what happens at one instant."""
    check_system(with_battery(system, attrs.evolve(SMALL, capacity_j=2e-3), idle_w=0.02))


def test_batteries_are_run_by_events():
    system = timed(with_battery(small_system()))
    with pytest.raises(ConfigurationError, match=r"DrawnDevices\.battery .*by events only"):
        cosim.run(system, clock="arrays")


HOURLY = cosim.devices.OnOff(
    on=cosim.queues.Exponential(rate_per_s=1.0), off=cosim.queues.Exponential(rate_per_s=1.0)
)


@part
class FirstSecond(cosim.devices.Presence):
    """There for the first second."""

    @override
    def windows(self, sim, client):
        yield 0.0, 1e-3


STUCK = {
    "empty for ever, and coming and going": (HOURLY, {"charge_w": 0.0}, "battery empty", {}),
    "away for ever, and charging": (FirstSecond(), {"capacity_j": 1e-3}, "left", {"idle_w": 0.1}),
    "away for ever, and falling asleep": (
        FirstSecond(),
        {"capacity_j": 1e-3},
        "left",
        {"idle_w": 0.01, "sleep_w": 0.1, "sleeps_after_s": 1.0},
    ),
}


@pytest.mark.parametrize(
    "protocol", [cosim.HFedAvg(), cosim.FedAsync(), cosim.protocols.TimeTriggered(period_s=0.5)]
)
@pytest.mark.parametrize("case", STUCK)
def test_a_run_in_which_only_batteries_and_windows_change_is_stuck(case, protocol):
    presence, changes, reason, rest = STUCK[case]
    system = worlds.one_cell(1e9, 1e9, end=cosim.AfterRounds(num_global_rounds=200))
    if protocol != cosim.HFedAvg():
        system = asynchronous(protocol, end=cosim.AfterVersions(num_versions=2000))
    battery = attrs.evolve(SMALL, **changes)
    with pytest.raises(ConfigurationError, match=rf"^deadlock: .*Absent are .*\({reason}\)"):
        cosim.run(timed(with_battery(system, battery, presence=presence, **rest)))


def test_who_is_never_back_is_said():
    """Without charging the run cannot go on once everybody's battery is empty."""
    two_rounds = worlds.one_cell(1e9, end=cosim.AfterRounds(num_global_rounds=2))
    said = (
        r"^deadlock: .* is not over\. Absent are 1 of 1 clients \(battery empty\), such as client-0000\. Use "
        r"end = AfterSeconds, or a charge_w above 0\.$"
    )
    with pytest.raises(ConfigurationError, match=said):
        cosim.run(timed(with_battery(two_rounds, attrs.evolve(SMALL, charge_w=0.0))))
