"""Two clocks, one truth: what runs on arrays is what runs by events, all tables, bit for bit.

`COSIM_SYSTEMS=1000 pytest tests/systems/test_clocks.py` runs that many random systems; usually they are
fewer.
"""

import json
import math
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import numpy as np
import own_parts
import own_radio
import pytest
from both_clocks import assert_same, both
from hypothesis import given, settings
from hypothesis import strategies as st
from random_systems import Costlier, OwnSteps, Slower, Twofold, Wide, systems, ties

import cosim
from cosim import Never
from cosim.clock.draws import Numbers, normals
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.engine.rounds.on_arrays import RoundTimes
from cosim.radio.channel import bps_per_hz
from cosim.radio.redrawn import Redrawn
from cosim.radio.sharing.port import Band
from cosim.system.needs import clock_by_size
from cosim.testing import small_system
from scenarios.papers.rawhfl import RawHfl

NUM_SYSTEMS = int(os.environ.get("COSIM_SYSTEMS", "50"))


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Fail after so much time of the processor: a wrong machine never ends."""

    def late(_signal, _frame):
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@given(system=st.one_of(systems(), ties()))
@settings(max_examples=NUM_SYSTEMS)
def test_every_table_is_the_same(system):
    outcomes = []
    for clock in ("events", "arrays"):
        try:
            with limited(10.0):
                outcomes.append(cosim.run(system, num_workers=1, clock=clock))
        except ConfigurationError as refused:
            outcomes.append(str(refused))
    if isinstance(outcomes[0], str):
        assert outcomes[0] == outcomes[1]
    else:
        assert_same(*outcomes)


@pytest.mark.parametrize(
    "selection",
    [
        cosim.selection.PowerOfChoice(num_participants=1, num_candidates=2),
        cosim.selection.Oort(num_participants=2, wanted_s=1e-3, pacer_rounds=1),
    ],
)
def test_rules_that_read_losses_choose_the_same(selection):
    """With a deadline that cuts some, and steps that differ."""
    training = attrs.evolve(
        small_system(cosim.Deadline(deadline_s=0.0015)).protocol.training,
        selection=selection,
        steps=cosim.training.DrawnSteps(range_of_steps=(1, 5)),
    )
    by_events, on_arrays = both(attrs.evolve(small_system(), protocol=cosim.HFedAvg(training=training)))
    assert_same(by_events, on_arrays)
    assert {"done", "deadline"} == set(by_events.fates["outcome"])


def test_deadlines_at_the_very_end_of_an_upload_or_a_training():
    """Ties: the deadline is the end of an upload, and of a training, to the last bit."""
    system = attrs.evolve(small_system(), evaluation=Never())
    usual = cosim.run(system, clock="events")
    first = usual.fates[usual.fates["job"] == 0]
    trained_s = usual.spans[(usual.spans["activity"] == "train") & (usual.spans["job"] == 0)]["end_s"]
    for late_s in sorted({*first["end_s"], *trained_s}):
        waiting = cosim.Deadline(deadline_s=late_s)
        tied = attrs.evolve(
            system, protocol=attrs.evolve(system.protocol, training=attrs.evolve(TRAINING, waiting=waiting))
        )
        by_events, on_arrays = both(tied)
        assert_same(by_events, on_arrays)
        in_time = by_events.fates[by_events.fates["job"] == 0]["outcome"] == "done"
        assert in_time.sum() == (first["end_s"] <= late_s).sum()


TRAINING = small_system().protocol.training
"""Value of the small system."""


class Slack(cosim.waiting.Waiting):
    """A rule by events."""

    grace_s = 0.02

    def wait(self, sim, edge, jobs):
        yield from jobs.wait(within_s=3.0 * self.grace_s)
        return (yield from jobs.cut("very late"))


def slack() -> cosim.System:
    return small_system(Slack())


class Twice(cosim.FixedShares):
    """Uploads of its own, every bit twice."""

    def bands(self, sim, num_cells):
        return [TwiceBand(sim, self.bandwidth_hz) for _ in range(num_cells)]


class TwiceBand(Band):
    def __init__(self, sim, bandwidth_hz):
        self.sim, self.bandwidth_hz = sim, bandwidth_hz

    def share_hz(self, num_clients):
        return self.bandwidth_hz / num_clients

    def open(self, client, channel, payload, block):
        return cosim.links.SteadyUpload(self.sim, 2 * payload.bits, channel.rate_bps(self.share_hz(5), block))


class Hourly(Redrawn):
    """By the time of day."""

    def at(self, now_s):
        return (int(now_s / 0.01),)

    def end_s(self, block):
        return math.inf


class NightAndDay:
    def windows(self, sim, client):
        for night in range(1000):
            yield 0.01 * night, 0.01 * night + 0.005


class Shift(NightAndDay, cosim.devices.OnOff):
    """Is not there at any time."""


def with_uplink(**parts) -> cosim.System:
    return attrs.evolve(small_system(), uplink=cosim.Radio(**parts))


def with_downlink(downlink) -> cosim.System:
    return attrs.evolve(small_system(), downlink=downlink)


HOURLY = cosim.Rayleigh(redrawn=Hourly())


@pytest.mark.parametrize(
    ("system", "part"),
    [
        (slack(), "Slack, the rule of waiting,"),
        (small_system(cosim.waiting.AtLeast(rule=Slack())), "AtLeast, the rule of waiting,"),
        (
            attrs.evolve(
                small_system(cosim.waiting.UploadDeadline()),
                uplink=cosim.Radio(sharing=cosim.radio.RedividedShares()),
            ),
            "System.uplink = Radio, where uploads are given up,",
        ),
        (with_uplink(sharing=Twice()), r"System\.uplink\.sharing = Twice"),
        (
            with_downlink(cosim.radio.Unicast(sharing=Twice())),
            r"System\.downlink\.sharing = Twice",
        ),
        (
            attrs.evolve(small_system(), devices=cosim.DrawnDevices(presence=Shift())),
            "Shift, the presence of clients,",
        ),
        (
            attrs.evolve(small_system(), uplink=cosim.Radio(sharing=cosim.radio.SlottedAloha())),
            r"System\.uplink\.sharing = SlottedAloha",
        ),
        (attrs.evolve(small_system(), uplink=own_parts.Constant()), r"System\.uplink = Constant"),
        (attrs.evolve(small_system(), downlink=own_parts.CableDown()), r"System\.downlink = CableDown"),
        (cosim.System(protocol=RawHfl()), r"System\.protocol = RawHfl"),
    ],
)
def test_what_needs_events_says_so_and_runs_by_events(system, part, all_are_large):
    if not isinstance(system.protocol, RawHfl):
        by_events, usual = cosim.run(system, clock="events"), cosim.run(system)
        assert_same(by_events, usual)
    with pytest.raises(ConfigurationError, match=rf"clock = 'arrays': {part}.*Use clock = 'auto'"):
        cosim.run(attrs.evolve(system, evaluation=Never()), clock="arrays")


@pytest.mark.parametrize("fading", [HOURLY, own_radio.Steps()])
@pytest.mark.parametrize(
    "sharing", [cosim.FixedShares(), cosim.radio.RedividedShares(), cosim.radio.ResourceBlocks(num_blocks=2)]
)
def test_channels_of_ones_own_that_change_by_themselves_are_asked_on_both_clocks(fading, sharing):
    for waiting in (cosim.WaitForAll(), cosim.Deadline(deadline_s=0.02)):
        uplink = cosim.Radio(sharing=attrs.evolve(sharing, **slow(sharing)), fading=fading)
        by_events, on_arrays = both(attrs.evolve(small_system(waiting), uplink=uplink, evaluation=Never()))
        assert_same(by_events, on_arrays)


def slow(sharing: cosim.radio.Sharing) -> dict[str, float]:
    """So that uploads outlast a block."""
    return {"block_hz": 1e5} if isinstance(sharing, cosim.radio.ResourceBlocks) else {"bandwidth_hz": 5e5}


def drawn_devices(law: cosim.devices.TrainingTime | None) -> cosim.DrawnDevices:
    return cosim.DrawnDevices(training_time=law)


def steps(rule: cosim.training.LocalSteps) -> cosim.HFedAvg:
    return cosim.HFedAvg(training=attrs.evolve(TRAINING, steps=rule))


SAME = cosim.SameSteps(num_local_steps=2)


@pytest.mark.parametrize(
    ("own", "usual"),
    [
        ({"devices": drawn_devices(Slower())}, {"devices": drawn_devices(None)}),
        ({"cycles": Costlier()}, {"cycles": cosim.devices.CyclesPerStep()}),
        ({"protocol": steps(Twofold(range_of_steps=(2,)))}, {"protocol": steps(SAME)}),
        ({"topology": Wide()}, {"topology": cosim.topology.Disc()}),
    ],
)
def test_methods_of_mixins_are_asked_on_both_clocks(own, usual):
    budget = cosim.Radio(link=cosim.radio.LinkBudget(noise_figure_db=60.0))
    system = attrs.evolve(small_system(), evaluation=Never(), uplink=budget, **own)
    by_events, on_arrays = both(system)
    assert_same(by_events, on_arrays)
    assert by_events.summary.time_s > cosim.run(attrs.evolve(system, **usual)).summary.time_s


@pytest.mark.parametrize(
    "parts",
    [
        {"codec": cosim.codecs.ErrorFeedback()},
        {
            "protocol": cosim.HFedAvg(
                training=attrs.evolve(TRAINING, local=cosim.training.Scaffold(batch_size=10))
            )
        },
    ],
)
def test_what_clients_keep_is_kept_on_both_clocks(parts):
    """Counted by clients that have trained, though their updates do not arrive; a deadline cuts some."""
    system = attrs.evolve(small_system(), **parts)
    late = attrs.evolve(system.protocol.training, waiting=cosim.Deadline(deadline_s=0.0015))
    for of in (system, attrs.evolve(system, protocol=cosim.HFedAvg(training=late))):
        assert_same(*both(of))


def test_steps_of_a_mixin_are_trained():
    own, usual = (
        cosim.run(attrs.evolve(small_system(), protocol=steps(rule)))
        for rule in (Twofold(range_of_steps=(2,)), cosim.SameSteps(num_local_steps=4))
    )
    assert own.evaluations.equals(usual.evaluations)


def test_the_same_steps_for_all_and_each_its_own_cannot_be_said_at_once():
    with pytest.raises(ConfigurationError, match=r"Both has two forms, same .* and numbers \(OwnSteps"):
        type("Both", (OwnSteps, cosim.SameSteps), {})


@pytest.mark.parametrize(
    ("system", "clock", "expected", "why"),
    [
        (small_system(), "auto", "events", "30 client-rounds, at most 100,000"),
        (small_system(), "events", "events", "asked for by clock = 'events'"),
        (small_system(), "arrays", "arrays", "asked for by clock = 'arrays'"),
        (slack(), "auto", "events", "Slack, the rule of waiting, runs by events only"),
        (
            with_uplink(sharing=Twice()),
            "auto",
            "events",
            "System.uplink.sharing = Twice runs by events only",
        ),
    ],
)
def test_provenance_says_which_clock_a_run_had_and_why(system, clock, expected, why, tmp_path):
    cosim.run(attrs.evolve(system, evaluation=Never()), out=tmp_path / "run", clock=clock)
    told = json.loads((tmp_path / "run" / "provenance.json").read_text())
    assert (told["clock"], told["clock_why"]) == (expected, why)
    assert told["started_with"]["clock"] == clock


def rounds(number: int) -> cosim.AfterRounds:
    return cosim.AfterRounds(num_global_rounds=number)


ONE = cosim.selection.Uniform(num_participants=1)


def sized(num_clients: int, end: cosim.ends.End, **training) -> cosim.System:
    protocol = cosim.HFedAvg(training=cosim.EdgeTraining(**training))
    return cosim.System(num_cells=10, num_clients=num_clients, end=end, protocol=protocol)


@pytest.mark.parametrize(
    ("system", "expected", "why"),
    [
        (
            sized(100, rounds(200)),
            "events",
            "100,000 client-rounds, at most 100,000",
        ),
        (
            sized(100, rounds(201)),
            "arrays",
            "100,500 client-rounds, more than 100,000",
        ),
        (
            sized(200, cosim.AfterSeconds(duration_s=1.0)),
            "events",
            "100,000 client-rounds in 100 global rounds",
        ),
        (
            sized(210, cosim.AfterSeconds(duration_s=1.0)),
            "arrays",
            "105,000 client-rounds in 100 global rounds",
        ),
        (sized(210, cosim.AfterTarget(target=0.9)), "events", "42,000 client-rounds, at most"),
        (
            sized(100_010, cosim.AfterRounds(num_global_rounds=1), selection=ONE),
            "arrays",
            "100,010 clients, more than 100,000",
        ),
        (
            sized(100_000, cosim.AfterRounds(num_global_rounds=1), selection=ONE),
            "events",
            "50 client-rounds, at most 100,000",
        ),
    ],
)
def test_one_rule_of_size_says_which_clock_runs_it(system, expected, why):
    found, because = clock_by_size(system)
    assert found == expected
    assert because.startswith(why)


def test_a_large_run_runs_on_arrays(monkeypatch):
    monkeypatch.setattr("cosim.system.needs.MOST_BY_EVENTS", 29)
    system = attrs.evolve(small_system(), evaluation=Never())
    expected = Counter()
    init = RoundTimes.__init__

    def counted(self, *times):
        expected.update(rounds=1)
        init(self, *times)

    monkeypatch.setattr(RoundTimes, "__init__", counted)
    cosim.run(system)
    assert expected["rounds"] > 0
    expected.clear()
    monkeypatch.setattr("cosim.system.needs.MOST_BY_EVENTS", 30)
    cosim.run(system)
    assert not expected
    cosim.run(system, records="rounds")
    assert expected["rounds"] > 0


def test_rates_of_one_and_of_many_are_the_same_bits():
    """Of every length, in every place, with strides, as numpy takes other ways by the processor."""
    snr = np.exp(np.random.default_rng(1).uniform(-40.0, 40.0, 1003))
    one_by_one = np.array([float(bps_per_hz(float(value))) for value in snr])
    for length in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 1003):
        for first in (0, 1, 3):
            assert (bps_per_hz(snr[first : first + length]) == one_by_one[first : first + length]).all()
    assert (bps_per_hz(snr[::3]) == one_by_one[::3]).all()
    assert (bps_per_hz(snr[::-1]) == one_by_one[::-1]).all()
    assert one_by_one[7] == pytest.approx(math.log2(1.0 + snr[7]), rel=1e-12)


def test_many_draw_what_each_draws():
    names = [f"client-{number:04d}" for number in (0, 3, 255, 256, 257, 700, 12_345)]
    sim = Simulation(seed=3)
    drawn = sim.of_client(Numbers.of(names), "luck", normals, 4)
    assert drawn.tolist() == [sim.of_client(name, "luck", normals, 4) for name in names]


class Cable(cosim.Link):
    """The example of docs/parts.md: a cable to each client."""

    def of_cells(self, sim, cells):
        return [CableLink() for _ in cells]


class CableLink(cosim.CellLink):
    def rates_bps(self, sim, clients, job, tx_power_w):
        return np.full(len(clients), 1e5)


@pytest.mark.parametrize("deadline_s", [0.0325, 9.0])
def test_a_link_of_ones_own_that_offers_its_recurrence_runs_on_arrays(deadline_s):
    system = attrs.evolve(
        small_system(cosim.Deadline(deadline_s=deadline_s)), uplink=Cable(), evaluation=Never()
    )
    by_events, on_arrays = both(system)
    assert_same(by_events, on_arrays)
    assert len(by_events.transfers) > 0
    assert by_events.transfers["arrived"].all() == (deadline_s == 9.0)


def test_who_rests_until_all_have_received_runs_by_events():
    devices = cosim.DrawnDevices(idle_w=0.3)
    first = {"downlink": cosim.radio.Unicast(), "downloads_count": False}
    system = attrs.evolve(small_system(), **first, devices=devices, evaluation=Never())
    with pytest.raises(ConfigurationError, match="Unicast, after which devices rest, runs by events"):
        cosim.run(system, clock="arrays")
    assert set(cosim.run(system).spans["activity"]) >= {"receive", "idle", "train", "send"}


def test_who_has_received_together_with_all_others_does_not_rest_and_runs_on_arrays():
    devices = cosim.DrawnDevices(idle_w=0.3)
    first = {"downlink": cosim.radio.Broadcast(bandwidth_hz=1e6), "downloads_count": False}
    system = attrs.evolve(small_system(), **first, devices=devices, evaluation=Never())
    by_events, on_arrays = both(system)
    assert_same(by_events, on_arrays)
    of_job = by_events.spans[by_events.spans["job"] == 0]
    for _, own in of_job.groupby("node"):
        assert own["activity"].tolist() == ["receive", "train", "send"]
        assert own["start_s"].tolist()[1:] == own["end_s"].tolist()[:-1]


@part
class Odd(cosim.devices.DrawnTime):
    """One client's number is none that time can take."""

    drawn: tuple[str, ...] = ("nan",)

    def draw(self, rng, num):
        return np.where(np.arange(num) == 1, float(self.drawn[0]), 1.0)


@part
class OddGain(cosim.radio.NoFading):
    """One client's gain is none that a channel can have."""

    gain: tuple[str, ...] = ("nan",)

    def gains(self, sim, clients, block):
        return np.array([float(self.gain[0]) if name == "client-0001" else 1.0 for name in clients])


def over(gain: str, sharing: cosim.radio.Sharing, way: str) -> cosim.System:
    fading = OddGain(gain=(gain,))
    parts = {
        "up": {"uplink": cosim.Radio(sharing=sharing, fading=fading)},
        "down": {"downlink": cosim.radio.Unicast(sharing=sharing, fading=fading)},
        "to all": {"downlink": cosim.radio.Broadcast(fading=fading)},
    }
    return one_cell(**parts[way])


def one_cell(**parts) -> cosim.System:
    training = attrs.evolve(TRAINING, selection=cosim.selection.Everyone())
    own = {"num_cells": 1, "num_clients": 3, "evaluation": Never()}
    return attrs.evolve(small_system(), protocol=cosim.HFedAvg(training=training), **own, **parts)


class Backwards(Cable):
    """A cable whose uploads end before they begin."""

    def of_cells(self, sim, cells):
        return [BackwardsLink()]


class BackwardsLink(CableLink):
    def rates_bps(self, sim, clients, job, tx_power_w):
        return -super().rates_bps(sim, clients, job, tx_power_w)


WAYS = [(cosim.FixedShares(), "up"), (cosim.radio.RedividedShares(), "down"), (cosim.FixedShares(), "to all")]


@pytest.mark.parametrize(
    ("system", "said"),
    [
        *[
            (
                one_cell(devices=cosim.DrawnDevices(training_time=Odd(drawn=(drawn,)))),
                f"client-0001 cannot train for {shown}",
            )
            for drawn, shown in (("-1", "-0"), ("nan", "nan s"), ("inf", "inf s"))
        ],
        *[
            (over(gain, *way), f"client-0001 has an SNR of {gain}.*: must be 0 or above")
            for gain in ("nan", "-5")
            for way in WAYS
        ],
        *[
            (over("0.0", *way), "deadlock: .* A link whose rate stays 0, .* or a rate above 0")
            for way in WAYS
        ],
        (one_cell(uplink=Backwards()), "BackwardsLink.rates_bps gives .* a rate of 0 or above for each"),
    ],
)
def test_what_cannot_happen_is_refused_alike(system, said):
    for clock in ("events", "arrays"):
        with pytest.raises(ConfigurationError, match=said):
            cosim.run(system, clock=clock)


class Half(cosim.AfterRounds):
    """Its base's number is not its own."""

    def is_reached(self, progress):
        return 2 * progress.num_global_rounds >= self.num_global_rounds


def test_a_number_of_rounds_that_an_own_end_does_not_keep_does_not_count():
    end = Half(num_global_rounds=10_000)
    assert end.most_rounds is None
    assert clock_by_size(sized(100, end))[1].startswith("50,000 client-rounds in 100 global rounds")
    rested = attrs.evolve(sized(100, rounds(10)), protocol=own_parts.Rested())
    assert clock_by_size(rested)[1].startswith("1,000 client-rounds")
