"""Same tables: what 30 systems wrote before the engine was changed, by events and on arrays.

A table counts by its values, floats to 8 digits, since the last ones are the processor's.
`COSIM_TABLES=write pytest tests/systems/test_same_tables.py` writes new hashes: only where a system means
something else on purpose, never because the engine has changed.
"""

import hashlib
import json
import os
from pathlib import Path

import attrs
import pytest
from device_worlds import WORLDS
from test_parts_with_protocols import PARTS, SYSTEMS

import cosim
from cosim.records.tables import TABLES
from cosim.results.result import Result
from cosim.testing import small_system

FILE = Path(__file__).parent / "same_tables.json"
SMALL, TRAINING = small_system(), small_system().protocol.training


def training(**changes) -> cosim.System:
    return attrs.evolve(SMALL, protocol=cosim.HFedAvg(training=attrs.evolve(TRAINING, **changes)))


def radio(**changes) -> cosim.System:
    return attrs.evolve(SMALL, uplink=cosim.Radio(**changes))


def phones(system: cosim.System, **changes) -> cosim.System:
    return attrs.evolve(system, devices=cosim.DrawnDevices(**changes))


LATE = cosim.Deadline(deadline_s=0.012)
BUDGET = cosim.radio.LinkBudget(large_scale_redrawn=cosim.radio.EveryEdgeRound())
SHARED = cosim.radio.RedividedShares(bandwidth_hz=1e6)
FADES = cosim.Rayleigh(num_antennas=3, redrawn=cosim.radio.CoherenceTime(coherence_time_s=0.002))
DOWN = cosim.radio.Unicast(sharing=cosim.radio.RedividedShares(bandwidth_hz=2e6))
NAMED = {
    **{name: WORLDS[name] for name in ("one late", "the first", "in turn", "cut at 15 ms", "over the air")},
    **{
        name: SYSTEMS[name]
        for name in ("Hist, latency-optimal", "FedAsync", "FedBuff in cells", "RawHfl", "Vhfl")
    },
    "gain errors, outages": attrs.evolve(
        training(waiting=LATE), uplink=cosim.Radio(csi_error_db=2.0, outage_probability=0.3)
    ),
    "link budget": radio(link=BUDGET, fading=cosim.Rayleigh(redrawn=cosim.radio.EveryEdgeRound())),
    "redivided, link budget": radio(link=BUDGET, sharing=SHARED),
    "redivided, first": attrs.evolve(
        training(waiting=cosim.waiting.FirstK(num_updates=1)), uplink=cosim.Radio(sharing=SHARED)
    ),
    "coherence time": radio(fading=FADES),
    "coherence time, redivided": radio(fading=FADES, sharing=SHARED),
    "blocks, coherence time": radio(fading=FADES, sharing=cosim.radio.ResourceBlocks(num_blocks=2)),
    "broadcast, at rest": phones(
        attrs.evolve(training(waiting=LATE), downlink=cosim.radio.Broadcast(bandwidth_hz=1e6)),
        idle_w=0.3,
        sleep_w=0.01,
        sleeps_after_s=0.004,
        receive_w=0.1,
    ),
    "unicast, all first": attrs.evolve(SMALL, downlink=DOWN, downloads_count=False),
    "unicast": attrs.evolve(SMALL, downlink=DOWN),
    "at least": training(waiting=cosim.waiting.AtLeast(lasting_s=0.02, rule=LATE)),
    "upload deadline": training(waiting=cosim.waiting.UploadDeadline(upload_deadline_s=0.002)),
    "own times": phones(
        training(steps=cosim.training.DrawnSteps(), selection=cosim.selection.Uniform(num_participants=1)),
        training_time=cosim.devices.HyperExponentialTime(),
        presence=cosim.devices.OnOff(
            on=cosim.queues.Exponential(rate_per_s=20.0), off=cosim.queues.Exponential(rate_per_s=50.0)
        ),
    ),
}
CASES = [*NAMED, *PARTS]


def system_of(name: str, folder: Path) -> cosim.System:
    system = NAMED[name] if name in NAMED else PARTS[name](SMALL, folder)
    return attrs.evolve(system, evaluation=cosim.Never())


def fingerprint(result: Result) -> str:
    found = hashlib.blake2b(digest_size=8)
    for name in TABLES:
        table = getattr(result, name)
        for column in table:
            values = table[column].tolist()
            shown = [f"{value:.7e}" if isinstance(value, float) else str(value) for value in values]
            found.update("\n".join([name, column, *shown]).encode())
    return found.hexdigest()


@pytest.mark.parametrize("name", CASES)
def test_tables_are_what_they_were(name, tmp_path):
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    system, found = system_of(name, tmp_path), {}
    for clock in ("events", "auto") if name in PARTS else ("events", "arrays"):
        try:
            found[clock] = fingerprint(cosim.run(system, num_workers=1, clock=clock))
        except cosim.ConfigurationError as refused:
            if "runs by events only" not in str(refused):
                raise
    assert len(set(found.values())) == 1, "the two clocks differ"
    if os.environ.get("COSIM_TABLES") == "write":
        known[name] = found["events"]
        FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    assert found["events"] == known[name]
