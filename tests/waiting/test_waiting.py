"""Waiting rules on deterministic links against arithmetic: waiting, cuts, and their cost."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import worlds
from both_clocks import assert_same, both
from equal import exactly
from worlds import BITS, CAPACITANCE, STEP_CYCLES, STEPS, TX_W

import cosim
from cosim import (
    ConfigurationError,
    Deadline,
    EdgeTraining,
    HFedAvg,
    Never,
    Radio,
    Result,
    System,
    WaitForAll,
    evolve,
)
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import SideBySide, Simulation
from cosim.configuration import knob, part, positive
from cosim.engine.servers.edge import EdgeServer
from cosim.records.rows import DONE
from cosim.testing import BrokenLaw, check_system, small_system
from cosim.waiting import AtLeast, FirstK, UploadDeadline, Waiting
from scenarios.papers.vhfl import Vhfl

pytestmark = pytest.mark.quick

FREQUENCIES_HZ = (3e9, 1e9, 1.5e9, 0.5e9)
TRAIN_S = tuple(STEPS * STEP_CYCLES / frequency_hz for frequency_hz in FREQUENCIES_HZ)
SEND_S = BITS / 0.25e6
"""A quarter of 1 MHz each, at 1 bit/s/Hz."""
ARRIVE_S = tuple(train_s + SEND_S for train_s in TRAIN_S)
"""Client 0 first, then 2, 1 and 3: after 17.384, 18.384, 19.384 and 22.384 ms."""


def system(
    waiting: Waiting, frequencies_hz: tuple[float, ...] = FREQUENCIES_HZ, num_edge_rounds: int = 1
) -> System:
    """One cell, one global round, timing only, nothing random."""
    training = worlds.training(num_edge_rounds=num_edge_rounds, waiting=waiting)
    return worlds.one_cell(*frequencies_hz, protocol=HFedAvg(training=training), evaluation=Never())


def result_of(waiting: Waiting, shuffle_ties: int | None = None, **knobs: Any) -> Result:
    return cosim.run(system(waiting, **knobs), shuffle_ties=shuffle_ties)


def ends_s(result: Result) -> list[float]:
    """Ends of the edge rounds."""
    return result.rounds[result.rounds["level"] == "edge"]["end_s"].tolist()


def fates(result: Result) -> list[tuple[str, float]]:
    """Outcome of the first job of each client, and when."""
    first = result.fates[result.fates["job"] == 0].sort_values("client")
    return list(zip(first["outcome"], first["end_s"], strict=True))


# Each kind.


def test_for_all_is_until_the_slowest() -> None:
    result = result_of(WaitForAll())
    assert ends_s(result) == [exactly(max(ARRIVE_S))]
    assert fates(result) == [(DONE, exactly(end_s)) for end_s in ARRIVE_S]


def test_a_deadline_cuts_at_its_instant_and_ends_no_later_than_the_slowest() -> None:
    result = result_of(Deadline(deadline_s=19e-3), num_edge_rounds=2)
    assert ends_s(result) == [exactly(19e-3), exactly(38e-3)]
    assert [outcome for outcome, _ in fates(result)] == [DONE, "deadline", DONE, "deadline"]
    assert ends_s(result_of(Deadline(deadline_s=1.0))) == [exactly(max(ARRIVE_S))]


def test_an_upload_deadline_counts_from_each_uploads_own_start() -> None:
    """A client that computes long has as much time to send as the others; all need 16.384 ms."""
    late = result_of(UploadDeadline(upload_deadline_s=16e-3))
    assert fates(late) == [("deadline", exactly(train_s + 16e-3)) for train_s in TRAIN_S]
    assert ends_s(late) == [exactly(max(TRAIN_S) + 16e-3)]
    in_time = result_of(UploadDeadline(upload_deadline_s=16.5e-3))
    assert fates(in_time) == fates(result_of(WaitForAll()))


def test_the_first_two_end_a_round_and_the_others_pay_for_what_they_did() -> None:
    result = result_of(FirstK(num_updates=2), num_edge_rounds=2)
    second_s = ARRIVE_S[2]
    assert ends_s(result) == [exactly(second_s), exactly(2 * second_s)]
    assert [row.num_arrived for row in result.rounds.itertuples()][:2] == [2, 2]
    reason = "after the first 2"
    assert fates(result) == [
        (DONE, exactly(ARRIVE_S[0])),
        (reason, exactly(second_s)),
        (DONE, exactly(second_s)),
        (reason, exactly(second_s)),
    ]
    for client, frequency_hz, train_s in zip((1, 3), (1e9, 0.5e9), (TRAIN_S[1], TRAIN_S[3]), strict=True):
        own = result.spans[result.spans["node"] == f"client-{client:04d}"].iloc[:2]
        train_w = 0.5 * CAPACITANCE * frequency_hz**3
        assert own["outcome"].tolist() == [DONE, reason]
        assert own["energy_j"].tolist() == [exactly(train_w * train_s), exactly(TX_W * (second_s - train_s))]
        upload = result.transfers[result.transfers["client"] == f"client-{client:04d}"].iloc[0]
        assert not upload["arrived"]
        assert upload["sent_bits"] == pytest.approx(0.25e6 * (second_s - train_s), rel=1e-11)


def test_a_least_time_lasts_though_all_have_arrived_and_no_longer_than_the_rule() -> None:
    early = result_of(AtLeast(lasting_s=0.03, rule=FirstK(num_updates=1)), num_edge_rounds=2)
    assert ends_s(early) == [exactly(0.03), exactly(0.06)]
    assert fates(early)[1] == ("after the first 1", exactly(ARRIVE_S[0]))
    collect = early.spans[early.spans["activity"] == "collect"]
    assert list(zip(collect["start_s"], collect["end_s"], strict=True)) == [
        (0.0, exactly(0.03)),
        (exactly(0.03), exactly(0.06)),
    ]
    late = result_of(AtLeast(lasting_s=0.01))
    assert ends_s(late) == [exactly(max(ARRIVE_S))]


@pytest.mark.parametrize(
    "rule",
    [
        WaitForAll(),
        Deadline(deadline_s=19e-3),
        FirstK(num_updates=2),
        UploadDeadline(upload_deadline_s=16e-3),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_a_least_time_that_is_over_at_once_changes_nothing(rule: Waiting) -> None:
    """Nor does one that two rules have, one around the other, but for the longer of both."""
    usual, early = result_of(rule), result_of(AtLeast(lasting_s=1e-9, rule=rule))
    assert fates(early) == fates(usual)
    assert ends_s(early) == ends_s(usual)
    for lasts_s in ((0.05, 0.03), (0.03, 0.05)):
        both = AtLeast(lasting_s=lasts_s[0], rule=AtLeast(lasting_s=lasts_s[1], rule=rule))
        assert ends_s(result_of(both)) == [exactly(0.05)]
        assert fates(result_of(both)) == fates(usual)


def test_an_upload_that_is_given_up_never_arrives_though_its_round_goes_on() -> None:
    """Client 0 would arrive after 1 + 16.384 ms, and is given up at 11 ms; client 1 ends the round later."""
    of_two = worlds.one_cell(3e9, 0.15e9, uplink=worlds.still(0.414, 3.0), evaluation=Never())
    training = worlds.training(num_edge_rounds=1, waiting=UploadDeadline(upload_deadline_s=10e-3))
    by_events, on_arrays = both(evolve(of_two, protocol=HFedAvg(training=training)))
    assert_same(by_events, on_arrays)
    assert fates(by_events) == [
        ("deadline", exactly(11e-3)),
        (DONE, exactly(20e-3 + BITS / 1e6)),
    ]


def test_as_many_as_take_part_is_for_all() -> None:
    every, patient = result_of(FirstK(num_updates=4)), result_of(WaitForAll())
    for table in ("spans", "transfers", "fates", "rounds"):
        assert getattr(every, table).equals(getattr(patient, table))


# Ties.


@pytest.mark.parametrize("order", [None, *range(6)])
@pytest.mark.parametrize("num_updates", [2, 3])
def test_of_those_that_arrive_at_once_the_first_by_name_count(num_updates: int, order: int | None) -> None:
    """Client 4 comes first, then 0, 1 and 3 at once, client 2 never; the tied have sent."""
    result = result_of(FirstK(num_updates=num_updates), order, frequencies_hz=(1e9, 1e9, 0.5e9, 1e9, 2e9))
    reason, places = f"after the first {num_updates}", [4, 0, 1, 3]
    expected = [DONE if client in places[:num_updates] else reason for client in range(5)]
    assert [outcome for outcome, _ in fates(result)] == expected
    arrived = dict(zip(result.transfers["client"], result.transfers["arrived"], strict=True))
    assert arrived == {f"client-{client:04d}": client in places for client in range(5)}
    assert result.rounds["num_arrived"].iloc[0] == num_updates
    assert {end_s for _, end_s in fates(result)[:4]} == {ends_s(result)[0]}


@pytest.mark.parametrize("num_updates", [1, 2])
def test_ties_keep_the_laws_and_what_is_left_out_is_not_learned(num_updates: int) -> None:
    training = worlds.training(waiting=FirstK(num_updates=num_updates))
    tied = worlds.alike(3, 2, protocol=HFedAvg(training=training))
    check_system(tied)
    result = cosim.run(tied)
    assert (result.fates["outcome"] == DONE).sum() == num_updates * 2 * 2 * 3
    assert result.transfers["arrived"].all()


RULES = {
    "a deadline": worlds.DEADLINE,
    "a deadline of each upload": UploadDeadline(upload_deadline_s=5e-3),
    "the first": FirstK(num_updates=1),
    "a least time": AtLeast(lasting_s=0.002, rule=FirstK(num_updates=1)),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_our_rules_drop_some_and_keep_the_laws(rule: Waiting) -> None:
    check_some_are_dropped(worlds.some_late(), rule)


def check_some_are_dropped(usual: System, rule: Waiting) -> None:
    """Some arrive in every edge round, and a client with a weak link never does; by all laws."""
    late = evolve(usual, protocol=HFedAvg(training=worlds.training(waiting=rule)))
    check_system(late)
    rounds = cosim.run(late).rounds.query("level == 'edge'")
    assert (rounds["num_arrived"] > 0).all()
    assert (rounds["num_arrived"] < rounds["num_participants"])[rounds["node"] == "edge-01"].all()


# Rules of one's own.


@part
class Doubling(Waiting):
    """A deadline that comes twice as late where fewer than half have arrived."""

    asks = ()

    grace_s: float = knob(positive, default=18e-3)

    def wait(self, sim, edge, jobs):
        yield from jobs.wait(within_s=self.grace_s)
        if 2 * jobs.num_arrived < len(jobs):
            yield from jobs.wait(within_s=self.grace_s)
        return (yield from jobs.cut("too late"))


@part
class Grace(Waiting):
    """The first update, and updates that come shortly after it."""

    grace_s: float = knob(positive, default=1.5e-3)

    def wait(self, sim, edge, jobs):
        yield from jobs.wait(num_arrived=1)
        yield from jobs.wait(within_s=self.grace_s)
        return (yield from jobs.cut("after grace"))


def test_a_deadline_that_doubles_where_fewer_than_half_have_arrived() -> None:
    """One of four is there after 18 ms, so all have 36 ms; two of four are after 18.5."""
    assert ends_s(result_of(Doubling())) == [exactly(max(ARRIVE_S))]
    once = result_of(Doubling(grace_s=18.5e-3))
    assert ends_s(once) == [exactly(18.5e-3)]
    assert [outcome for outcome, _ in fates(once)] == [DONE, "too late", DONE, "too late"]


def test_grace_counts_from_the_first() -> None:
    result = result_of(Grace())
    assert ends_s(result) == [exactly(ARRIVE_S[0] + 1.5e-3)]
    assert [outcome for outcome, _ in fates(result)] == [DONE, "after grace", DONE, "after grace"]


@pytest.mark.parametrize("rule", [Doubling(grace_s=2.9e-3), Grace(grace_s=3e-3)])
def test_rules_of_ones_own_keep_the_laws(rule: Waiting) -> None:
    """A client in time trains until 3 ms and has sent before 5.8 ms: after 2.9 ms none has arrived."""
    devices = worlds.processors(1e9, 2e7, 1e9, 1e9, 1e9)
    check_some_are_dropped(worlds.some_late(devices=devices), rule)


class Choosy(Waiting):
    """Leaves out the first by name, though it has arrived."""

    def wait(self, sim, edge, jobs):
        yield from jobs.wait()
        _, *others = yield from jobs.cut("late")
        return [Dropped("not liked"), *others]


def test_an_update_that_is_left_out_though_it_came_alone_is_caught() -> None:
    with pytest.raises(BrokenLaw, match=r"drops: .* uploads arrive at edge-00 in round 1\.0, and 2 updates"):
        check_system(small_system(Choosy()))


class Silent(Waiting):
    """Waits, and says nothing."""

    def wait(self, sim, edge, jobs):
        yield from jobs.wait()


def test_a_rule_that_returns_no_outcomes_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Silent\.wait returned None: .* each of the 4 jobs"):
        result_of(Silent())


class Napping(Waiting):
    """Does something else while the clients are at work."""

    def wait(self, sim: Simulation, edge: EdgeServer, jobs: SideBySide) -> Iterator[Any]:
        yield from sim.spend(edge.name, "nap", 1.0)
        return (yield from jobs.cut("late"))


class Impatient(HFedAvg):
    """Gives a whole global round 18 ms."""

    def run(self, sim, cloud):
        edge, model = cloud.edges[0], cloud.initial_model(sim)
        yield from sim.with_deadline([self.training.run(sim, cloud, edge, model, None, 1)], 18e-3, "enough")
        yield from sim.spend(edge.name, "rest", 1.0)
        return cloud.close_round(sim, 1, 0.0, model)


@pytest.mark.parametrize("rule", [Napping(), WaitForAll(), AtLeast(lasting_s=0.5)])
def test_a_server_that_is_cut_cuts_its_clients(rule: Waiting) -> None:
    """Whatever its rule is doing at that instant; client 0 has arrived by then."""
    usual = system(rule)
    result = cosim.run(evolve(usual, protocol=Impatient(training=usual.protocol.training)))
    assert fates(result) == [
        (DONE, exactly(ARRIVE_S[0])),
        *[("enough", exactly(18e-3))] * 3,
    ]
    assert result.spans[result.spans["node"] != "edge-00"]["end_s"].max() == exactly(18e-3)


# What is refused.


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"FirstK\.num_updates = 5: .* has 4 participants"):
        system(FirstK(num_updates=5))
    with pytest.raises(ConfigurationError, match=r"FirstK\.num_updates = 5: .* has 4 participants"):
        system(AtLeast(rule=FirstK(num_updates=5)))
    two = EdgeTraining(selection=cosim.selection.Uniform(num_participants=2), waiting=FirstK(num_updates=3))
    with pytest.raises(ConfigurationError, match=r"FirstK\.num_updates = 3: .* has 2 participants"):
        evolve(system(WaitForAll()), protocol=HFedAvg(training=two))
    with pytest.raises(ConfigurationError, match=r"FirstK\.num_updates = 3: .* has 2 participants"):
        cosim.System(num_cells=1, protocol=Vhfl(num_senders=2, waiting=FirstK(num_updates=3)))


@pytest.mark.parametrize("rule", [FirstK(num_updates=2), AtLeast(rule=FirstK(num_updates=2))])
def test_nobody_is_taken_out_of_a_sum(rule: Waiting) -> None:
    with pytest.raises(ConfigurationError, match="leaves out updates that have arrived"):
        evolve(system(rule), uplink=Radio(sharing=cosim.radio.OverTheAir()))


@pytest.mark.parametrize("rule", [WaitForAll(), FirstK(num_updates=2), AtLeast(), Grace()])
def test_a_rule_that_waits_for_what_never_comes_is_refused(rule: Waiting) -> None:
    with pytest.raises(ConfigurationError, match=r"some uploads never end, and .* waits for every one"):
        evolve(system(rule), uplink=Radio(outage_probability=0.1))


@pytest.mark.parametrize("rule", [Deadline(), UploadDeadline(), AtLeast(rule=Deadline()), Doubling()])
def test_a_rule_that_gives_up_is_not(rule: Waiting) -> None:
    """Eighty uploads, of which half are lost."""
    lossy = evolve(system(rule, num_edge_rounds=20), uplink=Radio(outage_probability=0.5))
    outcomes = cosim.run(lossy).fates["outcome"]
    assert set(outcomes) == {DONE, "too late" if rule == Doubling() else "deadline"}


def test_a_link_is_told_when_a_round_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, float]] = []
    monkeypatch.setattr(
        "cosim.radio.by_band.SteadyLink.begin_round",
        lambda self, number, end_s, places=None: told.append((number, end_s)),
    )
    for rule in (
        WaitForAll(),
        Deadline(deadline_s=0.5),
        AtLeast(lasting_s=1.0, rule=Deadline(deadline_s=0.25)),
    ):
        result_of(rule)
    assert told == [(4, math.inf), (4, 0.5), (4, 0.25)]
