"""Sums of each client: counted by hand from its rows, on both clocks, and in runs that keep no such rows."""

import math
from itertools import accumulate

import numpy as np
import pytest
from both_clocks import assert_same, both

import cosim
from cosim import Never, evolve
from cosim.names import ClientNames, client_name
from cosim.records.columns import Words
from cosim.records.rows import ClientTotals
from cosim.results.tables import MAY_LACK, table_of
from cosim.testing import small_system
from scenarios import fedasync, fedbuff, phones
from scenarios.papers.rawhfl import RawHfl

TRAINING = small_system().protocol.training
DOZING = cosim.DrawnDevices(idle_w=0.5, sleep_w=0.1, sleeps_after_s=1e-3)
AWAY = cosim.devices.OnOff(
    on=cosim.queues.Exponential(rate_per_s=20.0), off=cosim.queues.Exponential(rate_per_s=50.0)
)
SMALL_BATTERY = cosim.devices.Battery(capacity_j=2e-3, charge_w=0.05, returns_at_share=0.5)


def timed(**changes) -> cosim.System:
    return evolve(small_system(), evaluation=Never(), **changes)


def waiting(rule: cosim.waiting.Waiting, **changes) -> cosim.System:
    return timed(
        protocol=cosim.HFedAvg(training=evolve(TRAINING, num_edge_rounds=2, waiting=rule)), **changes
    )


def asynchronous(system: cosim.System, **changes) -> cosim.System:
    return evolve(system, evaluation=Never(), end=cosim.ends.AfterUpdates(num_updates=200), **changes)


SYSTEMS = {
    "all arrive": timed(),
    "some late": waiting(cosim.Deadline(deadline_s=2e-3)),
    "own deadline": waiting(cosim.waiting.UploadDeadline(upload_deadline_s=2e-3)),
    "cut by the end": timed(end=cosim.AfterSeconds(duration_s=0.12)),
    "at rest, some late": waiting(cosim.Deadline(deadline_s=2e-3), devices=DOZING),
    "in turn": timed(uplink=cosim.Radio(sharing=cosim.radio.ResourceBlocks(num_blocks=1))),
    "unicast": waiting(
        cosim.Deadline(deadline_s=6e-3),
        downlink=cosim.radio.Unicast(sharing=cosim.FixedShares(bandwidth_hz=1e5)),
        devices=cosim.DrawnDevices(receive_w=0.5),
    ),
    "come and go": timed(devices=cosim.DrawnDevices(presence=AWAY)),
    "batteries": timed(devices=cosim.DrawnDevices(idle_w=0.01, battery=SMALL_BATTERY)),
    "asynchronous": asynchronous(fedasync.system()),
    "buffered, come and go": asynchronous(
        fedbuff.system(),
        devices=cosim.DrawnDevices(
            presence=cosim.devices.OnOff(
                on=cosim.queues.Exponential(rate_per_s=20.0), off=cosim.queues.Exponential(rate_per_s=50.0)
            )
        ),
    ),
    "energy budgets": evolve(
        small_system(),
        evaluation=Never(),
        protocol=RawHfl(num_edge_rounds=2, max_local_rounds=3),
        end=cosim.AfterRounds(num_global_rounds=2),
    ),
}


def by_hand(result: cosim.Result, num: int) -> list[dict[str, float]]:
    """Sums of each client, one row after the other."""
    found = []
    for number in range(num):
        name = f"client-{number:04d}"
        spans = result.spans[result.spans["node"] == name]
        transfers = result.transfers[result.transfers["client"] == name]
        outcomes = result.fates.loc[result.fates["client"] == name, "outcome"].tolist()
        waits = spans[spans["activity"] == "wait"]
        left = sum(outcome in ("left", "battery empty", "energy budget") for outcome in outcomes)
        late = sum(outcome not in ("done", "end of the run") for outcome in outcomes) - left
        found.append(
            {
                "energy_j": summed(spans["energy_j"]),
                "wait_s": summed(waits["end_s"] - waits["start_s"]),
                "sent_bits": summed(transfers.loc[transfers["direction"] == "up", "sent_bits"]),
                "received_bits": summed(transfers.loc[transfers["direction"] == "down", "sent_bits"]),
                "num_jobs": sum(outcome != "end of the run" for outcome in outcomes),
                "num_arrived": outcomes.count("done"),
                "num_late": late,
                "num_left": left,
            }
        )
    return found


def summed(values) -> float:
    return [0.0, *accumulate(values.tolist())][-1]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("clock", ["events", "auto"])
def test_sums_are_the_rows_by_hand(name, clock):
    system = SYSTEMS[name]
    result = cosim.run(system, num_workers=1, clock=clock, group_rows=50)
    expected, found = by_hand(result, system.num_clients), result.clients
    assert found[list(expected[0])].to_dict("records") == expected
    assert math.fsum(found["energy_j"]) == pytest.approx(result.summary.energy_j, rel=1e-12)
    assert sum(found["sent_bits"]) / system.num_clients == pytest.approx(result.summary.bits_per_client)


def test_every_kind_of_sum_occurs():
    """A sum that is zero in all systems would test nothing."""
    found = [cosim.run(system, num_workers=1).clients for system in SYSTEMS.values()]
    for column in ("energy_j", "wait_s", "sent_bits", "received_bits", "num_arrived", "num_late", "num_left"):
        assert any((own[column] > 0).any() for own in found), column


@pytest.mark.parametrize(
    "name",
    ["all arrive", "some late", "own deadline", "cut by the end", "at rest, some late", "in turn", "unicast"],
)
def test_a_run_without_rows_of_clients_has_the_same_sums(name):
    by_events, on_arrays = both(SYSTEMS[name])
    assert_same(by_events, on_arrays)
    tallied = cosim.run(SYSTEMS[name], num_workers=1, records="rounds")
    assert len(tallied.fates) == 0
    assert tallied.clients.equals(by_events.clients)


def test_groups_and_folders_change_nothing(tmp_path):
    system = SYSTEMS["at rest, some late"]
    whole = cosim.run(system, num_workers=1).clients
    for group_rows in (1, 37, 200_000):
        folder = tmp_path / str(group_rows)
        found = cosim.run(system, num_workers=1, out=folder, group_rows=group_rows)
        assert found.clients.equals(whole)
        assert cosim.Result.load(folder).clients.equals(whole)


def test_kinds_are_in_the_table():
    system = evolve(phones.system(), evaluation=Never(), end=cosim.AfterRounds(num_global_rounds=2))
    found = cosim.run(system, num_workers=1).clients
    assert found.groupby("kind").size().to_dict() == {"phone": 40, "sensor": 20}
    assert (found.loc[found["kind"] == "sensor", "tx_power_w"] == 0.05).all()


def test_columns_are_what_a_run_has():
    """Timing only: no samples; no mixture: no kinds; a link of given rates: no SNR."""
    every = list(ClientTotals._fields)
    lacks = MAY_LACK["clients"]
    assert list(cosim.run(SYSTEMS["all arrive"], num_workers=1).clients) == [
        column for column in every if column not in lacks or column == "snr_db"
    ]
    cable = timed(uplink=cosim.links.Instantaneous())
    assert list(cosim.run(cable, num_workers=1).clients) == [c for c in every if c not in lacks]
    task = cosim.tasks.Classification(metrics=("ClientAccuracy",))
    learned = evolve(small_system(), devices=cosim.devices.Mixture(), task=task)
    assert list(cosim.run(learned, num_workers=1).clients) == every


def test_devices_places_and_samples():
    system = small_system()
    result = cosim.run(system, num_workers=1)
    found, sim = result.clients, cosim.Simulation(seed=system.seed)
    devices = system.devices.of_clients(sim, system.sizes())
    assert found["frequency_hz"].tolist() == [device.frequency_hz for device in devices]
    assert found["tx_power_w"].tolist() == [device.tx_power_w for device in devices]
    dataset = system.data.load(cosim.Simulation(seed=system.seed), None)
    held = system.data.held(sim, dataset, system.sizes())
    assert found["num_samples"].tolist() == [len(own()) for own in held]
    assert found["num_labels"].tolist() == [len(np.unique(dataset.train_y[own()])) for own in held]
    assert found["edge"].tolist() == [
        f"edge-{cell:02d}" for cell, size in enumerate(system.sizes()) for _ in range(size)
    ]


def test_the_snr_is_the_mean_in_the_whole_band():
    link = cosim.GivenSnr(snr_db=17.0)
    found = cosim.run(timed(uplink=cosim.Radio(link=link)), num_workers=1).clients
    assert found["snr_db"].tolist() == pytest.approx([17.0] * len(found))


@pytest.mark.parametrize(("first", "num"), [(0, 3), (9_998, 5), (99_999, 2), (7, 0)])
def test_names_are_written_as_they_are_said(first, num):
    clients = ClientNames(first, num)
    words = Words(clients, np.arange(num))
    assert (
        table_of({"client": words})["client"].tolist()
        == list(clients)
        == [*map(client_name, range(first, first + num))]
    )
    backwards = Words(clients, np.arange(num)[::-1])
    assert table_of({"client": backwards})["client"].tolist() == list(clients)[::-1]
