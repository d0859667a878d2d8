"""Every protocol of ours with every part around it: it keeps the laws, or the part refuses it in a sentence.

Downlinks of radio have a table of their own, tests/radio/downlink/test_with_protocols.py.
"""

from functools import cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest
import worlds
from device_worlds import timed

import cosim
from cosim import ConfigurationError, Result
from cosim.clock.simulation import Simulation
from cosim.links import RepeatTrace
from cosim.testing import check_system, small_system
from cosim.testing.laws.tables import LAWS, same_tables
from scenarios import phones

TRAINING = small_system().protocol.training
CLIENTS = cosim.ClientTraining(num_local_steps=3, local=cosim.Sgd(batch_size=10))
BUFFERED = cosim.FedBuff(
    num_updates=2, training=CLIENTS, starts=cosim.protocols.ConstantConcurrency(num_in_flight=2)
)


SYSTEMS = {
    "HFedAvg": small_system(),
    "Hist": worlds.in_rounds(cosim.Hist(training=TRAINING)),
    "Hist, latency-optimal": worlds.in_rounds(
        cosim.Hist(training=TRAINING, submodel_sizes=cosim.protocols.LatencyOptimal())
    ),
    "RawHfl": worlds.rawhfl(),
    "Vhfl": worlds.vhfl(),
    "FedAsync": worlds.in_versions(cosim.FedAsync(training=CLIENTS)),
    "FedAsync, few at once": worlds.in_versions(
        cosim.FedAsync(training=CLIENTS, starts=cosim.protocols.ConstantConcurrency(num_in_flight=3))
    ),
    "FedBuff": worlds.in_versions(BUFFERED),
    "FedBuff of cells": worlds.in_versions(
        cosim.FedBuff(num_updates=2, training=cosim.protocols.WholeCells(training=TRAINING))
    ),
    "FedBuff in cells": worlds.in_rounds(
        cosim.HFedAvg(training=cosim.protocols.AsynchronousTraining(protocol=BUFFERED))
    ),
    "GeneralisedAsync": worlds.in_versions(cosim.protocols.GeneralisedAsync(training=CLIENTS)),
    "TimeTriggered": worlds.in_versions(cosim.protocols.TimeTriggered(training=CLIENTS, period_s=0.004)),
}
PLANNING = ("RawHfl", "Hist, latency-optimal")


def with_devices(system: cosim.System, **changes: Any) -> cosim.System:
    return attrs.evolve(system, devices=attrs.evolve(system.devices, **changes))


@cache
def job_s(system: cosim.System) -> float:
    """How long a job lasts on the average."""
    fates = cosim.run(timed(system)).fates
    return float((fates["end_s"] - fates["start_s"]).mean())


@cache
def job_j(system: cosim.System) -> float:
    """Energy that a job takes of its device on the average."""
    spans = cosim.run(timed(system)).spans
    own = spans[spans["job"] >= 0]
    return float(own["energy_j"].sum()) / len(own[["node", "job"]].drop_duplicates())


def rates(folder: Path, system: cosim.System) -> cosim.links.RateTrace:
    """Traces that change five times in a job, a tenth of the steps without any rate."""
    upload = cosim.run(timed(system)).uploads
    step_s, bits = job_s(system) / 5.0, float(upload["payload_bits"].mean())
    rng, num_rows = np.random.default_rng(1), 40
    shape = num_rows, system.num_clients
    rate_bps = rng.exponential(bits / (3.0 * step_s), shape) * (rng.random(shape) > 0.1)
    time_s, device = np.divmod(np.arange(rate_bps.size), system.num_clients)
    file = folder / "rates.csv"
    pd.DataFrame({"time_s": step_s * time_s, "device": device, "rate_bps": rate_bps.ravel()}).to_csv(
        file, index=False
    )
    return cosim.links.RateTrace(file=str(file), past_end=RepeatTrace())


def traced_up(system: cosim.System, folder: Path) -> cosim.System:
    return attrs.evolve(system, uplink=cosim.links.TracedLink(trace=rates(folder, system)))


def traced_down(system: cosim.System, folder: Path) -> cosim.System:
    return attrs.evolve(system, downlink=cosim.links.TracedLink(trace=rates(folder, system)))


def traced_gains(system: cosim.System, folder: Path) -> cosim.System:
    radio = system.uplink if isinstance(system.uplink, cosim.Radio) else cosim.Radio()
    gain = 1e-9 * np.random.default_rng(1).exponential(3.0, (30, system.num_clients))
    np.savez(folder / "gains.npz", time_s=job_s(system) / 5.0 * np.arange(30), gain=gain)
    fading = cosim.radio.GainTrace(file=str(folder / "gains.npz"), past_end=RepeatTrace())
    return attrs.evolve(
        system,
        uplink=attrs.evolve(
            radio, link=cosim.radio.NoiseOnly(), fading=fading, sharing=cosim.FixedShares(bandwidth_hz=1e6)
        ),
    )


def at_random(system: cosim.System, folder: Path) -> cosim.System:
    """Slots of a tenth of a job."""
    sharing = cosim.radio.SlottedAloha(
        bandwidth_hz=1e7, slot_s=job_s(system) / 10.0, transmit_probability=0.3, num_channels=2
    )
    radio = system.uplink if isinstance(system.uplink, cosim.Radio) else cosim.Radio()
    return attrs.evolve(system, uplink=attrs.evolve(radio, sharing=sharing))


def on_batteries(system: cosim.System, folder: Path) -> cosim.System:
    """Which begin with less than a job takes, and come back with more."""
    capacity_j = 1.5 * job_j(system)
    battery = cosim.devices.Battery(
        capacity_j=capacity_j,
        initial_share=0.5,
        charge_w=capacity_j / (4.0 * job_s(system)),
        returns_at_share=0.7,
    )
    return with_devices(system, battery=battery)


def dozing(system: cosim.System, folder: Path) -> cosim.System:
    return with_devices(system, idle_w=0.5, sleep_w=0.03, sleeps_after_s=job_s(system) / 3.0)


def coming_and_going(system: cosim.System, folder: Path) -> cosim.System:
    usual_s = job_s(system)
    presence = cosim.devices.OnOff(
        on=cosim.queues.Exponential(rate_per_s=1.0 / usual_s),
        off=cosim.queues.Exponential(rate_per_s=2.0 / usual_s),
    )
    return with_devices(system, presence=presence)


PARTS = {
    "TracedUplink": traced_up,
    "TracedDownlink": traced_down,
    "GainTrace": traced_gains,
    "SlottedAloha": at_random,
    "battery": on_batteries,
    "idle and sleep": dozing,
    "presence": coming_and_going,
}
SHOWS = {
    "battery": lambda found: (found.fates["outcome"] == "battery empty").any(),
    "idle and sleep": lambda found: {"idle", "sleep"} & set(found.spans["activity"]),
    "presence": lambda found: (found.fates["outcome"] == "left").any(),
    "TracedDownlink": lambda found: (found.transfers["direction"] == "down").any(),
    "SlottedAloha": lambda found: (found.spans["activity"] == "wait").any(),
}
"""Effects of a part that must be seen in a run."""
SAY_TO_PLANS = {
    "TracedUplink": "asks for rates and gains beforehand, which are not known for a TracedCellLink",
    "TracedDownlink": "System.downlink = TracedLink: no plan knows .* plans how long jobs take",
    "SlottedAloha": "SlottedAloha: how long an upload takes is not known .* plans how long uploads take",
}
"""How parts refuse protocols that plan."""
ALWAYS_AT_WORK = ("FedAsync", "idle and sleep")


def keeps_the_laws(system: cosim.System) -> Result:
    """And has the same tables with simultaneous events in another order, and row by row."""
    found = cosim.run(system)
    for law in LAWS:
        law(found)
    again = cosim.run(system, shuffle_ties=1, group_rows=1)
    same_tables("repeated", found, again, "an order that hangs on insertion, or rows handed over too late")
    return found


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_it_runs_or_is_refused(name: str, part: str, tmp_path: Path) -> None:
    if name in PLANNING and part in SAY_TO_PLANS:
        with pytest.raises(ConfigurationError, match=SAY_TO_PLANS[part]):
            cosim.run(PARTS[part](timed(SYSTEMS[name]), tmp_path))
        return
    found = keeps_the_laws(PARTS[part](timed(SYSTEMS[name]), tmp_path))
    if part in SHOWS:
        assert SHOWS[part](found) or (name, part) == ALWAYS_AT_WORK


# --- Together -----------------------------------------------------------------------------------------------

UNICAST = cosim.radio.Unicast(sharing=cosim.FixedShares(bandwidth_hz=2e5))


def waiting(rule: cosim.waiting.Waiting) -> cosim.System:
    return attrs.evolve(small_system(rule), end=cosim.AfterRounds(num_global_rounds=12))


def outcomes(found: Result) -> set[str]:
    return set(found.fates["outcome"])


def test_who_leaves_or_empties_while_others_receive_holds_up_nobody(tmp_path: Path) -> None:
    """A client that has received waits for the rest, which may never: the barrier opens for the ones left."""
    system = attrs.evolve(waiting(cosim.WaitForAll()), downlink=UNICAST, downloads_count=False)
    system = with_devices(timed(system), idle_w=0.05, receive_w=0.1)
    found = keeps_the_laws(coming_and_going(on_batteries(system, tmp_path), tmp_path))
    assert outcomes(found) == {"done", "left", "battery empty"}
    down = found.transfers[found.transfers["direction"] == "down"]
    assert not down["arrived"].all()
    cut = down[~down["arrived"]].merge(
        down[down["arrived"]], on=["edge", "global_round", "edge_round"], suffixes=("", "_of_other")
    )
    later = cut[cut["end_s_of_other"] > cut["end_s"]]
    assert len(later) > 0
    up = found.uploads.set_index(["client", "job"])["start_s"]
    ends_s = down.groupby(["edge", "global_round", "edge_round"])["end_s"].max()
    for row in down[down["arrived"]].itertuples():
        if (row.client, row.job) in up.index:
            assert up[row.client, row.job] > ends_s[row.edge, row.global_round, row.edge_round]


def test_who_has_received_waits_at_a_barrier_on_his_battery_by_hand() -> None:
    """Of two, the near one has received first, and idles until its battery is empty; the other goes on."""
    system = worlds.one_cell(1e9, 1e9, end=cosim.AfterSeconds(duration_s=0.1))
    downlink = cosim.radio.Unicast(
        sharing=cosim.FixedShares(bandwidth_hz=worlds.BANDWIDTH_HZ),
        link=cosim.GivenSnr(snr_db=cosim.PerClient(values=(80.0, -10.0))),
        fading=cosim.radio.NoFading(),
    )
    system = timed(attrs.evolve(system, downlink=downlink, downloads_count=False))
    near_s = _received_s(system, "client-0000")
    far_s = _received_s(system, "client-0001")
    assert far_s > 10.0 * near_s
    empty_s, idle_w, receive_w = 0.5 * (near_s + far_s), 0.5, 0.25
    battery = cosim.devices.Battery(
        capacity_j=receive_w * near_s + idle_w * (empty_s - near_s), returns_at_share=0.5
    )
    devices = attrs.evolve(system.devices, idle_w=idle_w, receive_w=receive_w)
    some, others = attrs.evolve(devices, battery=battery), devices
    mixed = cosim.devices.Mixture(share=0.5, some=some, others=others)
    seed = next(seed for seed in range(20) if _first_has(mixed, seed))
    found = cosim.run(attrs.evolve(system, devices=mixed, seed=seed))
    first = found.fates[found.fates["job"] == 0].set_index("client")
    assert first.loc["client-0000", "outcome"] == "battery empty"
    assert first.loc["client-0000", "end_s"] == pytest.approx(empty_s, rel=1e-12)
    assert first.loc["client-0001", "outcome"] == "done"


def _received_s(system: cosim.System, client: str) -> float:
    found = cosim.run(system).transfers
    own = found[(found["direction"] == "down") & (found["client"] == client)].iloc[0]
    return float(own["end_s"] - own["start_s"])


def _first_has(devices: cosim.devices.Mixture, seed: int) -> bool:
    """True if the first of two is of the first kind, and the second is not."""
    found = devices.of_clients(Simulation(seed), [2])
    return [device.battery is not None for device in found] == [True, False]


@pytest.mark.parametrize(
    "rule",
    [
        cosim.waiting.FirstK(num_updates=2),
        cosim.waiting.AtLeast(lasting_s=5e-3, rule=cosim.waiting.FirstK(num_updates=2)),
    ],
    ids=["first", "at least"],
)
@pytest.mark.parametrize("counts", [True, False], ids=["counted", "received first"])
def test_batteries_with_rules_that_wait_for_so_many(
    rule: cosim.waiting.Waiting, counts: bool, tmp_path: Path
) -> None:
    """Also where fewer are left than are waited for."""
    system = attrs.evolve(waiting(rule), downlink=UNICAST, downloads_count=counts)
    found = keeps_the_laws(on_batteries(with_devices(timed(system), idle_w=0.05), tmp_path))
    assert "battery empty" in outcomes(found)
    rounds = found.rounds[found.rounds["level"] == "edge"]
    assert (rounds["num_arrived"] < np.minimum(2, rounds["num_participants"])).any()


def test_traces_down_to_who_comes_and_goes(tmp_path: Path) -> None:
    system = coming_and_going(traced_down(timed(waiting(cosim.WaitForAll())), tmp_path), tmp_path)
    found = keeps_the_laws(system)
    down = found.transfers[found.transfers["direction"] == "down"]
    assert (~down["arrived"] & (down["sent_bits"] > 0.0)).any()


def test_random_access_on_batteries_until_a_deadline(tmp_path: Path) -> None:
    system = at_random(timed(waiting(cosim.WaitForAll())), tmp_path)
    deadline = cosim.Deadline(deadline_s=1.2 * job_s(system))
    system = attrs.evolve(system, protocol=waiting(deadline).protocol)
    found = keeps_the_laws(on_batteries(with_devices(system, idle_w=0.05), tmp_path))
    assert outcomes(found) >= {"done", "deadline", "battery empty"}


def test_who_waits_and_never_rests_takes_the_idle_power(tmp_path: Path) -> None:
    """At work again at once, and idle between the slots of random access only."""
    system = with_devices(at_random(timed(SYSTEMS["FedAsync"]), tmp_path), idle_w=0.5)
    found = keeps_the_laws(system)
    assert "idle" not in set(found.spans["activity"])
    waits = found.spans[found.spans["activity"] == "wait"]
    assert (waits["energy_j"] == 0.5 * (waits["end_s"] - waits["start_s"])).all()


def test_sleep_and_groups_of_rows_in_both_clocks(tmp_path: Path) -> None:
    """With models broadcast, and downloads that count or do not."""
    for counts in (True, False):
        downlink = cosim.radio.Broadcast(bandwidth_hz=2e5)
        system = attrs.evolve(waiting(cosim.WaitForAll()), downlink=downlink, downloads_count=counts)
        system = timed(system)
        training = attrs.evolve(TRAINING, selection=worlds.selection(1))
        system = dozing(attrs.evolve(system, protocol=cosim.HFedAvg(training=training)), tmp_path)
        usual = keeps_the_laws(system)
        assert {"idle", "sleep", "receive"} <= set(usual.spans["activity"])
        for clock in ("events", "arrays"):
            found = cosim.run(system, clock=clock, group_rows=1, out=tmp_path / f"{clock}-{counts}")
            same_tables("groups", usual, found, "rows that are handed over too early or too late")


def small_phones() -> cosim.System:
    usual = phones.system()
    some = attrs.evolve(
        usual.devices.some,
        battery=cosim.devices.Battery(capacity_j=8.0, initial_share=0.5, charge_w=0.1, returns_at_share=0.7),
        presence=cosim.devices.OnOff(
            on=cosim.queues.Exponential(rate_per_s=1 / 60), off=cosim.queues.Exponential(rate_per_s=1 / 20)
        ),
    )
    return attrs.evolve(
        usual,
        num_clients=12,
        devices=attrs.evolve(usual.devices, some=some),
        end=cosim.AfterRounds(num_global_rounds=4),
    )


def test_phones_go_on_after_an_interrupt_and_keep_all_laws() -> None:
    system = small_phones()
    assert outcomes(cosim.run(timed(system))) >= {"done", "deadline", "left", "battery empty"}
    check_system(system)


def test_rows_of_rounds_with_rest_and_broadcast_add_up_to_those_of_clients(tmp_path: Path) -> None:
    """Joules, bits and seconds of every activity."""
    downlink = cosim.radio.Broadcast(bandwidth_hz=2e5)
    system = timed(attrs.evolve(waiting(cosim.Deadline(deadline_s=0.1)), downlink=downlink))
    rows, few = (cosim.run(dozing(system, tmp_path), records=kept) for kept in ("all", "rounds"))
    lasts_s = rows.spans["end_s"] - rows.spans["start_s"]
    of_clients = rows.spans["node"].str.startswith("client")
    for activity in ("train", "send", "idle", "sleep", "receive"):
        which = of_clients & (rows.spans["activity"] == activity)
        assert which.any()
        assert few.tallies[f"{activity}_s"].sum() == pytest.approx(lasts_s[which].sum(), rel=1e-12)
        energy_j = rows.spans["energy_j"][which].sum()
        assert few.tallies[f"{activity}_j"].sum() == pytest.approx(energy_j, rel=1e-12)
    assert few.summary.energy_j == pytest.approx(rows.summary.energy_j, rel=1e-12)
    assert few.summary.time_s == rows.summary.time_s
