"""Rest: exact times and energies, spans that tile the run in every world, what a theory without it misses."""

import attrs
import numpy as np
import pandas as pd
import pytest
import worlds
from device_worlds import ALWAYS_AT_WORK, WORLDS, asynchronous, timed
from fixtures.refusals import refused

import cosim
from cosim.records.rows import REST
from cosim.results.result import Result
from cosim.testing import check_system, small_system
from cosim.testing.laws.broken import BrokenLaw
from cosim.testing.laws.tables import rest_fills_the_gaps

pytestmark = pytest.mark.quick

IDLE_W, SLEEP_W, SLEEPS_AFTER_S = 0.5, 0.03, 2e-3
EXACTLY = {"rel": 1e-12, "abs": 1e-15}


def dozing(system: cosim.System, **changes) -> cosim.System:
    """With devices that idle, and sleep after 2 ms."""
    usual = {"idle_w": IDLE_W, "sleep_w": SLEEP_W, "sleeps_after_s": SLEEPS_AFTER_S}
    return attrs.evolve(system, devices=attrs.evolve(system.devices, **(usual | changes)))


def lasts_s(spans: pd.DataFrame) -> pd.Series:
    return spans["end_s"] - spans["start_s"]


def of_clients(result: Result) -> pd.DataFrame:
    return result.spans[result.spans["node"].str.startswith("client")]


@pytest.mark.parametrize("name", WORLDS)
def test_activities_tile_the_run_and_energy_is_power_times_time(name, all_are_large):
    """Of each client, by both clocks where there are two."""
    system = timed(dozing(WORLDS[name]))
    usual = cosim.run(system)
    by_events = cosim.run(system, clock="events")
    pd.testing.assert_frame_equal(usual.spans, by_events.spans, check_exact=True)
    rest_fills_the_gaps(usual)
    spans = of_clients(usual)
    assert ("idle" in set(spans["activity"])) == (name != ALWAYS_AT_WORK)
    lasted_s = lasts_s(spans).groupby(spans["node"]).sum()
    assert lasted_s.to_numpy() == pytest.approx(usual.summary.time_s, **EXACTLY)
    for activity, power_w in (("idle", IDLE_W), ("sleep", SLEEP_W), ("wait", IDLE_W)):
        own = spans[spans["activity"] == activity]
        assert (own["energy_j"] == power_w * lasts_s(own)).all()
    idles = spans[spans["activity"] == "idle"]
    assert (lasts_s(idles) <= SLEEPS_AFTER_S * (1 + 1e-12)).all()
    busy = spans[~spans["activity"].isin([*REST, "wait"])]
    asleep_s, idle_s = (
        lasts_s(spans[spans["activity"].isin(which)]).sum() for which in (["sleep"], ["idle", "wait"])
    )
    expected_j = busy["energy_j"].sum() + IDLE_W * idle_s + SLEEP_W * asleep_s
    assert usual.summary.energy_j == pytest.approx(expected_j, **EXACTLY)


@pytest.mark.parametrize("name", WORLDS)
def test_devices_that_rest_do_the_same_as_others(name, all_are_large):
    """All but rest is what it is without it, and nothing is written for a client that takes no power."""
    with_rest, without = (cosim.run(timed(system)) for system in (dozing(WORLDS[name]), WORLDS[name]))
    assert not without.spans["activity"].isin(REST).any()
    busy = with_rest.spans[~with_rest.spans["activity"].isin(REST)].reset_index(drop=True)
    columns = [column for column in busy if column != "energy_j"]
    assert busy[columns].equals(without.spans[columns])
    taken = busy["activity"] != "wait"
    assert busy["energy_j"][taken].equals(without.spans["energy_j"][taken])
    for table in ("transfers", "fates", "rounds", "versions"):
        assert getattr(with_rest, table).equals(getattr(without, table))


def test_two_clients_by_hand():
    """Training takes 3 ms and 1.5 ms, sending as long for both; the second rests at the end for 1.5 ms."""
    system = timed(dozing(worlds.one_cell(1e9, 2e9)))
    for clock in ("events", "arrays"):
        result = cosim.run(system, clock=clock)
        sends_s = 2 * worlds.BITS / worlds.BANDWIDTH_HZ
        end_s, ended_s = 3e-3 + sends_s, 1.5e-3 + sends_s
        at_rest = result.spans[result.spans["activity"].isin(REST)]
        (only,) = at_rest.itertuples(index=False)
        assert (only.node, only.activity, only.job) == ("client-0001", "idle", -1)
        assert [only.start_s, only.end_s] == pytest.approx([ended_s, end_s], **EXACTLY)
        assert only.energy_j == pytest.approx(IDLE_W * 1.5e-3, **EXACTLY)
    sleeps = cosim.run(timed(dozing(worlds.one_cell(1e9, 2e9), sleeps_after_s=0.5e-3)))
    own = sleeps.spans[sleeps.spans["activity"].isin(REST)].set_index("activity")
    assert own["start_s"].tolist() == pytest.approx([ended_s, ended_s + 0.5e-3], **EXACTLY)
    assert own["energy_j"].tolist() == pytest.approx([IDLE_W * 0.5e-3, SLEEP_W * 1e-3], **EXACTLY)


def test_a_theory_without_rest_misses_most_of_the_energy():
    """One of five takes part at a time: power times time of what it does, and of what the others do not."""
    training = worlds.training(selection=worlds.selection(1))
    system = timed(
        dozing(worlds.alike(5, protocol=cosim.HFedAvg(training=training)), sleeps_after_s=None, sleep_w=0.0)
    )
    result = cosim.run(system)
    num_jobs, frequency_hz = len(result.fates), 1e9
    train_s, send_s = (
        worlds.STEPS * worlds.STEP_CYCLES / frequency_hz,
        worlds.BITS / (2.0 * worlds.BANDWIDTH_HZ),
    )
    train_w, send_w = 0.5 * 2e-28 * frequency_hz**3, worlds.TX_W
    busy_j = num_jobs * (train_w * train_s + send_w * send_s)
    idle_s = 5 * result.summary.time_s - num_jobs * (train_s + send_s)
    assert result.summary.energy_j == pytest.approx(busy_j + IDLE_W * idle_s, rel=1e-12)
    assert busy_j < 0.5 * result.summary.energy_j


def test_evaluations_count_rest_as_it_passes():
    """And so the same whether rows of clients are kept; the last is the whole run's."""
    training = attrs.evolve(small_system().protocol.training, selection=worlds.selection(1))
    system = dozing(attrs.evolve(small_system(), protocol=cosim.HFedAvg(training=training)))
    rows, few, by_events = (
        cosim.run(system, num_workers=1, **kept)
        for kept in ({"clock": "arrays"}, {"records": "rounds"}, {"clock": "events"})
    )
    spans = rows.spans
    power_w = spans["energy_j"] / lasts_s(spans)
    at_rest = spans["activity"].isin(REST)
    for now_s, energy_j in zip(rows.evaluations["time_s"], rows.evaluations["energy_j"], strict=True):
        until_s = np.where(at_rest, np.minimum(spans["end_s"], now_s), spans["end_s"])
        passed_s = np.where(until_s <= now_s, np.maximum(until_s - spans["start_s"], 0.0), 0.0)
        assert energy_j == pytest.approx(float((power_w * passed_s).sum()), rel=1e-12)
    assert rows.evaluations.equals(by_events.evaluations)
    assert few.evaluations["energy_j"].tolist() == pytest.approx(
        rows.evaluations["energy_j"].tolist(), rel=1e-12
    )
    assert rows.evaluations["energy_j"].iloc[-1] == pytest.approx(rows.summary.energy_j, rel=1e-12)


@pytest.mark.parametrize(
    "system", [small_system(cosim.Deadline(deadline_s=2e-3)), asynchronous(cosim.FedAsync())]
)
def test_runs_with_rest_keep_all_laws_and_go_on_where_they_were_stopped(system):
    check_system(dozing(system))


def test_the_law_sees_a_gap_an_overlap_and_a_missing_client():
    usual = cosim.run(timed(dozing(small_system())))
    spans = usual.spans
    client = spans["node"] == "client-0002"
    for broken in (
        spans.drop(index=spans.index[client][1]),
        spans.assign(end_s=spans["end_s"] + 1e-12 * (spans.index == spans.index[client][1])),
        spans[~client],
        spans.drop(index=spans.index[client][-1]),
    ):
        with pytest.raises(BrokenLaw, match=r"^rest: "):
            rest_fills_the_gaps(usual.with_tables(spans=broken))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"sleep_w": 0.1}, "sleep_w"),
        ({"sleeps_after_s": 1.0}, "sleeps_after_s"),
        ({"idle_w": -1.0}, "idle_w"),
        ({"idle_w": 0.1, "sleeps_after_s": -1.0}, "sleeps_after_s"),
    ],
)
def test_what_would_have_no_effect_is_refused(fields, field):
    with refused(f"DrawnDevices.{field}"):
        cosim.DrawnDevices(**fields)


@pytest.mark.parametrize(
    "wrong",
    [{"capacitance_j_per_hz2": -1e-28}, {"capacitance_j_per_hz2": float("nan")}, {"static_power_w": -1.0}],
)
def test_a_processor_with_wrong_numbers_is_refused(wrong):
    with refused(*(f"Device.{field}" for field in wrong)):
        cosim.devices.Device(
            **{"frequency_hz": 1e9, "capacitance_j_per_hz2": 1e-28, "tx_power_w": 0.1} | wrong
        )


@pytest.mark.parametrize("wrong", [{"idle_w": -1.0}, {"sleep_w": float("nan")}, {"sleeps_after_s": -1.0}])
def test_a_table_of_devices_with_wrong_numbers_is_refused(wrong):
    with refused(*(f"Device.{field}" for field in wrong)):
        cosim.devices.Device(frequency_hz=1e9, capacitance_j_per_hz2=0.0, tx_power_w=0.1, **wrong)
