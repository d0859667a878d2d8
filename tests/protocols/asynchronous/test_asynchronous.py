"""Asynchronous servers: which clients start when, what is applied when, and identities of their tables."""

import numpy as np
import pytest
import worlds
from fixtures.refusals import refused
from worlds import BITS, STEP_CYCLES, STEPS

import cosim
from cosim import (
    AfterSeconds,
    AfterVersions,
    ClientTraining,
    FedAsync,
    FedBuff,
    HFedAvg,
    Never,
    Sgd,
    System,
    evolve,
    run,
)
from cosim.ends import AfterUpdates
from cosim.protocols import (
    AsynchronousTraining,
    ConstantConcurrency,
    Dispatched,
    GeneralisedAsync,
    PoissonStarts,
    TimeTriggered,
    WholeCells,
)
from cosim.records.rows import END_OF_RUN
from cosim.results.result import Result
from cosim.testing.laws.broken import BrokenLaw
from cosim.testing.laws.tables import versions_age_what_is_in_flight

CLIENTS = ClientTraining(num_local_steps=STEPS, local=Sgd(batch_size=10))
UNIT_S, UPLOAD_S = 2.0**-5, 2.0**-8
LASTING = worlds.processors  # so that a job lasts a number of units


def lasting(*units: float, **changes: object) -> System:
    """One cell whose clients' jobs last these units of time, exactly; only times are asked for."""
    frequencies_hz = [STEPS * STEP_CYCLES / (unit * UNIT_S - UPLOAD_S) for unit in units]
    share = cosim.FixedShares(bandwidth_hz=len(units) * BITS / UPLOAD_S)
    usual = {"end": AfterVersions(num_versions=20), "evaluation": Never()}
    usual["uplink"] = worlds.still(1.0, sharing=share)
    return worlds.one_cell(*frequencies_hz, **usual | changes)


def random_times(num_clients: int, **changes: object) -> System:
    """One cell whose clients' jobs last log-normal times, and other lengths for each."""
    frequencies_hz = np.geomspace(3e8, 3e9, num_clients).tolist()
    devices = evolve(
        worlds.processors(*frequencies_hz), training_time=cosim.devices.LogNormalTime(spread=0.8)
    )
    usual = {"devices": devices, "end": AfterVersions(num_versions=150), "evaluation": Never()}
    return worlds.one_cell(*frequencies_hz, **usual | changes)


def ages_at_the_end(result: Result) -> int:
    """Sum over updates that are in no version, of the versions made since they started."""
    fates = result.fates.merge(
        result.updates[["client", "job"]], on=["client", "job"], how="left", indicator=True
    )
    left_s = fates.loc[fates["_merge"] == "left_only", "start_s"].to_numpy()
    made_s = result.versions["time_s"].to_numpy()
    return sum(int((made_s > start_s).sum()) for start_s in left_s)


@pytest.mark.parametrize("num_updates", [1, 3, 7])
@pytest.mark.parametrize("num_in_flight", [1, 4, 6])
def test_staleness_is_what_is_in_flight_at_each_version(num_updates: int, num_in_flight: int) -> None:
    """A version ages by one all that has started, is in no version, and is not in this one.

    These are the M - 1 that are at work when the last of its updates has come and has no replacement yet:
    what had come before is in it. So the applied staleness and the ages of what is left at the end add up to
    M - 1 for each version, in whole numbers.
    """
    protocol = FedBuff(
        num_updates=num_updates,
        training=CLIENTS,
        starts=ConstantConcurrency(num_in_flight=num_in_flight),
    )
    result = run(random_times(6, protocol=protocol))
    in_flight = (num_in_flight - 1) * len(result.versions)  # arrivals do not coincide
    assert set(result.versions["num_in_flight"]) == {num_in_flight - 1}
    assert result.updates["staleness"].sum() + ages_at_the_end(result) == in_flight
    wrong = num_in_flight * len(result.versions)
    assert result.updates["staleness"].sum() + ages_at_the_end(result) != wrong


@pytest.mark.parametrize(
    ("column", "by", "law"),
    [
        ("version", 1, "each is one more than the one before"),
        ("num_updates", 1, "it has the updates that were applied in it"),
        ("num_in_flight", -1, "staleness comes from what was in flight"),
    ],
)
def test_versions_that_say_otherwise_break_their_law(column: str, by: int, law: str) -> None:
    protocol = FedBuff(num_updates=2, training=CLIENTS, starts=ConstantConcurrency(num_in_flight=2))
    result = run(random_times(2, protocol=protocol))
    versions_age_what_is_in_flight(result)
    other = result.versions.assign(**{column: result.versions[column] + by})
    with pytest.raises(BrokenLaw, match=law):
        versions_age_what_is_in_flight(result.with_tables(versions=other))


def test_as_many_as_asked_for_are_at_work_at_any_time() -> None:
    protocol = FedBuff(num_updates=2, training=CLIENTS, starts=ConstantConcurrency(num_in_flight=4))
    result = run(random_times(6, protocol=protocol))
    end_s = result.summary.time_s
    for time_s in np.linspace(0.0, end_s, 200, endpoint=False):
        fates = result.fates
        assert ((fates["start_s"] <= time_s) & (fates["end_s"] > time_s)).sum() == 4
    starts = result.fates["client"].value_counts()
    assert len(starts) == 6
    cut = result.fates["outcome"] == END_OF_RUN
    assert cut.sum() == 3  # the last to report has no replacement any more
    assert (result.fates.loc[cut, "end_s"] == end_s).all()


def test_what_is_cut_at_the_end_has_spent_its_energy() -> None:
    result = run(
        lasting(2, 7, protocol=FedBuff(num_updates=1, training=CLIENTS), end=AfterVersions(num_versions=2))
    )
    (cut,) = result.spans[result.spans["outcome"] == END_OF_RUN].itertuples()
    assert (cut.node, cut.activity, cut.end_s) == ("client-0001", "train", 4 * UNIT_S)
    of_others = result.spans[result.spans["node"] == "client-0001"]
    assert cut.energy_j == pytest.approx(of_others["energy_j"].sum(), rel=1e-12)
    assert result.summary.num_updates == 2  # that which is under way is none yet


def test_a_client_that_is_lost_is_replaced() -> None:
    """With an upload deadline, over a link on which nothing arrives in time."""
    clients = evolve(CLIENTS, upload_deadline_s=UPLOAD_S / 2)
    protocol = FedBuff(num_updates=1, training=clients)
    result = run(lasting(2, 3, protocol=protocol, end=AfterSeconds(duration_s=10 * UNIT_S)))
    assert len(result.updates) == 0
    assert result.summary.num_dropped == result.summary.num_updates > 4


def hopeless(**changes: object) -> System:
    """Three clients, none of which may ever send an update in time."""
    training = evolve(CLIENTS, upload_deadline_s=UPLOAD_S / 2)
    usual = {"protocol": FedBuff(training=training), "end": AfterVersions(num_versions=1)}
    return lasting(1.0, 2.0, 3.0, **usual | changes)


@pytest.mark.parametrize("end", [AfterVersions(num_versions=1), AfterUpdates(num_updates=1)], ids=str)
@pytest.mark.parametrize("in_cells", [False, True], ids=["cloud", "cells"])
def test_jobs_that_never_bring_an_update_end_the_run_with_a_sentence(end, in_cells, monkeypatch) -> None:
    monkeypatch.setattr("cosim.engine.servers.asynchronous.MANY_JOBS", 12)
    monkeypatch.setattr("cosim.engine.servers.asynchronous.MANY_EACH", 4)
    system = hopeless(end=end)
    if in_cells:
        training = AsynchronousTraining(protocol=system.protocol, turn=end)
        system = evolve(system, protocol=HFedAvg(training=training), end=cosim.AfterRounds())
    told = (
        r'the last 12 jobs brought no update \(at .* s, the last of them: "deadline"\).* end = AfterSeconds'
    )
    with pytest.raises(cosim.ConfigurationError, match=told):
        run(system)


def test_a_run_that_ends_by_the_clock_may_lose_any_number_of_jobs(monkeypatch) -> None:
    monkeypatch.setattr("cosim.engine.servers.asynchronous.MANY_JOBS", 1)
    monkeypatch.setattr("cosim.engine.servers.asynchronous.MANY_EACH", 1)
    result = run(hopeless(end=AfterSeconds(duration_s=100 * UNIT_S)))
    assert len(result.updates) == 0
    assert result.summary.num_dropped == result.summary.num_updates > 150


def test_ticks_gather_what_has_come() -> None:
    """Jobs of 1, 3 and 5 units, and a tick every two: a client that has reported waits for it."""
    protocol = TimeTriggered(period_s=2 * UNIT_S, training=CLIENTS)
    updates = run(lasting(1, 3, 5, protocol=protocol, end=AfterVersions(num_versions=6))).updates
    of_client = dict(list(updates.groupby("client")))
    assert (of_client["client-0000"]["applied_s"] / UNIT_S).tolist() == [2, 4, 6, 8, 10, 12]
    assert (of_client["client-0000"]["arrival_s"] / UNIT_S).tolist() == [1, 3, 5, 7, 9, 11]
    assert (of_client["client-0001"]["applied_s"] / UNIT_S).tolist() == [4, 8, 12]
    assert (of_client["client-0002"]["applied_s"] / UNIT_S).tolist() == [6, 12]
    assert of_client["client-0001"]["staleness"].tolist() == [1, 1, 1]
    assert of_client["client-0002"]["staleness"].tolist() == [2, 2]
    assert of_client["client-0002"]["weight"].tolist() == [1 / 2, 1 / 3]


def test_jobs_queue_at_a_client_first_come_first_served() -> None:
    """All to one client: a job waits for earlier ones, and starts from the version when it was given."""
    starts = Dispatched(num_in_flight=3, shares=(1.0, 1e-12))
    protocol = GeneralisedAsync(training=CLIENTS, starts=starts)
    result = run(lasting(2, 3, protocol=protocol, end=AfterVersions(num_versions=6)))
    assert (result.updates["client"] == "client-0000").all()
    assert (result.updates["arrival_s"] / UNIT_S).tolist() == [2, 4, 6, 8, 10, 12]
    assert (result.updates["start_s"] / UNIT_S).tolist() == [0, 0, 0, 2, 4, 6]
    assert result.updates["staleness"].tolist() == [0, 1, 2, 2, 2, 2]
    np.testing.assert_allclose(result.updates["weight"], 1 / 2, rtol=1e-9)  # 1 / (n p), n = 2, p = 1


def test_who_is_asked_more_often_weighs_less() -> None:
    starts = Dispatched(num_in_flight=4, shares=(3.0, 1.0))
    protocol = GeneralisedAsync(training=CLIENTS, starts=starts, server_rate=0.5)
    updates = run(lasting(2, 3, protocol=protocol)).updates
    weights = dict(zip(updates["client"], updates["weight"], strict=True))
    assert weights == pytest.approx({"client-0000": 0.5 / 1.5, "client-0001": 0.5 / 0.5}, rel=1e-12)


def test_poisson_starts_that_find_nobody_idle_are_lost() -> None:
    """A thousand points for a job: one client is at work nearly all the time, one job after the other."""
    starts = PoissonStarts(rate_per_s=1e3 / UNIT_S)
    result = run(lasting(2, protocol=FedBuff(num_updates=1, training=CLIENTS, starts=starts)))
    gaps = result.updates["start_s"].to_numpy()[1:] - result.updates["arrival_s"].to_numpy()[:-1]
    assert (gaps > 0.0).all()
    assert gaps.mean() == pytest.approx(UNIT_S / 1e3, rel=1.0)
    assert (result.updates["staleness"] == 0).all()


def test_shares_of_a_band_are_those_of_the_concurrency() -> None:
    """Four in flight of six: an upload has a quarter of the band, whichever client sends."""
    protocol = FedBuff(num_updates=2, training=CLIENTS, starts=ConstantConcurrency(num_in_flight=4))
    transfers = run(random_times(6, protocol=protocol)).transfers
    transfers = transfers[transfers["arrived"]]
    lasted_s = transfers["end_s"] - transfers["start_s"]
    np.testing.assert_allclose(lasted_s, 4 * BITS / worlds.BANDWIDTH_HZ, rtol=1e-9)


def test_the_backhaul_takes_its_time_on_both_ways() -> None:
    topology = cosim.topology.Disc(backhaul_delay_s=UNIT_S)
    protocol = FedBuff(num_updates=1, training=CLIENTS)
    updates = run(lasting(2, protocol=protocol, topology=topology)).updates
    assert (updates["applied_s"].head(3) / UNIT_S).tolist() == [4, 8, 12]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (AfterVersions(num_versions=3), 3),
        (AfterUpdates(num_updates=5), 3),
        (AfterSeconds(duration_s=6 * UNIT_S), 3),
        (AfterSeconds(duration_s=5.99 * UNIT_S), 2),
    ],
)
def test_runs_end_after_versions_updates_or_seconds(end, expected: int) -> None:
    """Two clients of two units, two updates a version: at exactly the last second they have arrived."""
    protocol = FedBuff(num_updates=2, training=CLIENTS)
    result = run(lasting(2, 2, protocol=protocol, end=end))
    assert result.updates["made_version"].max() == expected
    assert result.progress == (expected, "versions")


def test_bits_and_joules_of_an_update_are_those_of_its_job() -> None:
    result = run(random_times(3, protocol=FedAsync(training=CLIENTS), end=AfterVersions(num_versions=9)))
    assert (result.updates["sent_bits"] == BITS).all()
    spans = result.spans.groupby(["node", "job"])["energy_j"].sum()
    for row in result.updates.itertuples():
        assert row.energy_j == pytest.approx(spans[row.client, row.job], rel=1e-12)
    cells = WholeCells(training=worlds.training())
    result = run(worlds.alike(2, 3, protocol=FedAsync(training=cells), end=AfterVersions(num_versions=5)))
    assert set(result.updates["client"]) == {"edge-00", "edge-01"}
    for row in result.updates.itertuples():
        size = 2 if row.client == "edge-00" else 3
        assert row.sent_bits == 2 * size * BITS


def test_cells_take_turns_and_their_jobs_go_on() -> None:
    """Two cells of one client; a job of three units outlasts a turn of two, and counts cell versions."""
    training = AsynchronousTraining(
        protocol=FedBuff(num_updates=1, training=CLIENTS), turn=AfterSeconds(duration_s=2 * UNIT_S)
    )
    system = lasting(
        3, 3, num_cells=2, protocol=HFedAvg(training=training), end=cosim.AfterRounds(num_global_rounds=3)
    )
    system = evolve(system, uplink=worlds.still(1.0, sharing=cosim.FixedShares(bandwidth_hz=BITS / UPLOAD_S)))
    result = run(system)
    rounds = result.rounds
    assert (rounds["end_s"] / UNIT_S).tolist() == [2, 4, 6]
    for _, own in result.updates.groupby("server"):
        assert (own["applied_s"] / UNIT_S).tolist() == [3, 6]
        assert own["started_version"].tolist() == [1, 3]  # the model of each turn is a version
        assert own["staleness"].tolist() == [1, 1]
    assert set(result.fates["global_round"]) == {1, 2}


REFUSED = {
    "more in flight than clients": (
        {"protocol": FedBuff(starts=ConstantConcurrency(num_in_flight=9))},
        "num_in_flight = 9: each of the 3 clients has one job at a time",
    ),
    "probabilities": (
        {"protocol": GeneralisedAsync(starts=Dispatched(shares=(0.5, 0.5)))},
        "shares = .*2 values for 3 clients",
    ),
    "rounds": ({"end": cosim.AfterRounds()}, "FedBuff: it has no global rounds"),
    "sums": (
        {"uplink": cosim.Radio(sharing=cosim.radio.OverTheAir())},
        "only the mean of a cell's updates arrives, and .* = ClientTraining needs them one by one",
    ),
    "outages": (
        {"uplink": cosim.Radio(outage_probability=0.1)},
        "some uploads never end, and .* = ClientTraining waits for every one",
    ),
    "turns in rounds": (
        {"protocol": HFedAvg(training=AsynchronousTraining(turn=cosim.AfterRounds()))},
        "the server of a cell has no global rounds",
    ),
    "cells of cells": (
        {"protocol": HFedAvg(training=AsynchronousTraining(protocol=FedBuff(training=WholeCells())))},
        "a cell trains clients, not cells",
    ),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_together_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(cosim.ConfigurationError, match=message):
        run(lasting(2, 3, 7, **{"protocol": FedBuff()} | changes))


def test_a_plan_of_submodels_refuses_asynchronous_cells() -> None:
    with pytest.raises(cosim.ConfigurationError, match=r"Hist.training = .*must be an EdgeTraining"):
        cosim.Hist(training=AsynchronousTraining())


@pytest.mark.parametrize(("free", "slope"), [(-1.0, 10.0), (4.0, -10.0), (4.0, 0.0)])
def test_negative_hinges_are_refused(free: float, slope: float) -> None:
    with refused("Hinge.free", "Hinge.slope"):
        cosim.protocols.Hinge(free=free, slope=slope)


def test_weights_of_staleness_by_hand() -> None:
    assert [cosim.protocols.Constant().weight(u) for u in (0, 5)] == [1.0, 1.0]
    assert [cosim.protocols.Polynomial().weight(u) for u in (0, 3)] == [1.0, 0.5]
    assert [cosim.protocols.Hinge().weight(u) for u in (0, 4, 5, 14)] == [1.0, 1.0, 1 / 11, 1 / 101]
