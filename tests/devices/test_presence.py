"""Presence: which clients are present, to the instant, and what becomes of clients that leave."""

import itertools
import math

import pytest
import worlds

import cosim
from cosim import AfterRounds, AfterSeconds, ConfigurationError, HFedAvg, Never
from cosim.clock.simulation import Simulation
from cosim.engine.clients.availability import Windows
from cosim.selection import Uniform

TRAIN_S = worlds.STEPS * worlds.STEP_CYCLES / 1e9


def upload_s(num: int) -> float:
    """Airtime of one of several clients that share the band of `worlds.one_cell`."""
    return num * worlds.BITS / worlds.BANDWIDTH_HZ


ALL_DAY = ((0.0, math.inf),)
A_SECOND = AfterSeconds(duration_s=1.0)


@pytest.fixture
def given():
    """A system of one cell whose clients are present in windows, and a run of it."""

    def result_of(*windows, **changes):
        class Own(cosim.devices.Presence):
            def windows(self, sim, client):
                yield from windows[int(client.rpartition("-")[2])]

        usual = worlds.one_cell(
            *[1e9] * len(windows), evaluation=Never(), end=AfterRounds(num_global_rounds=1)
        )
        system = cosim.evolve(usual, **changes)
        return cosim.run(cosim.evolve(system, devices=cosim.evolve(system.devices, presence=Own())))

    return result_of


def test_who_leaves_in_the_middle_is_cut_there_and_has_spent_what_it_has(given):
    leaves_s = TRAIN_S + 0.25 * upload_s(2)
    result = given(ALL_DAY, ((0.0, leaves_s),))
    stays, left = result.fates.sort_values("client").itertuples()
    assert (stays.outcome, left.outcome) == ("done", "left")
    assert left.end_s == leaves_s
    assert stays.end_s == pytest.approx(TRAIN_S + upload_s(2), rel=1e-12)
    (cut,) = result.transfers[result.transfers["client"] == left.client].itertuples()
    assert cut.sent_bits == pytest.approx(0.25 * worlds.BITS, rel=1e-12)
    assert not cut.arrived
    spent_j = 0.5 * worlds.CAPACITANCE * 1e9**3 * TRAIN_S + worlds.TX_W * 0.25 * upload_s(2)
    own = result.spans[result.spans["node"] == left.client]
    assert own["energy_j"].sum() == pytest.approx(spent_j, rel=1e-12)
    assert own["outcome"].tolist() == ["done", "left"]
    (row,) = result.rounds[result.rounds["level"] == "edge"].itertuples()
    assert (row.num_wanted, row.num_participants, row.num_arrived) == (2, 2, 1)


def test_who_leaves_at_the_instant_in_which_it_ends_has_arrived(given):
    ends_s = float(given(ALL_DAY).fates["end_s"].iloc[0])
    assert given(((0.0, ends_s),)).fates["outcome"].tolist() == ["done"]
    just_before_s = ends_s - 1e-14
    assert given(((0.0, just_before_s),)).fates["outcome"].tolist() == ["left"]


def test_a_deadline_at_the_instant_in_which_one_leaves_finds_it_left(given):
    protocol = HFedAvg(training=worlds.training(num_edge_rounds=1, waiting=cosim.Deadline(deadline_s=4e-3)))
    result = given(ALL_DAY, ((0.0, 4e-3),), protocol=protocol)
    assert result.fates.sort_values("client")["outcome"].tolist() == ["deadline", "left"]


def test_only_who_is_there_takes_part_and_the_round_says_how_many_were_wanted(given):
    training = worlds.training(num_edge_rounds=2, selection=Uniform(num_participants=3))
    windows = (ALL_DAY, ((1e-3, math.inf),), ((0.0, 1.0),), ((2.0, 3.0),))
    result = given(*windows, protocol=HFedAvg(training=training))
    rounds = result.rounds[result.rounds["level"] == "edge"]
    assert rounds["num_wanted"].tolist() == [3, 3]
    assert rounds["num_participants"].tolist() == [2, 3]
    first, second = (set(own["client"]) for _, own in result.fates.groupby("edge_round"))
    assert first == {"client-0000", "client-0002"}
    assert second == {"client-0000", "client-0001", "client-0002"}


def test_where_nobody_is_there_the_edge_round_begins_when_the_next_comes(given):
    result = given(((5.0, math.inf),), ((1.0, 1.0 + 1e-3), (7.0, 8.0)))
    edge = result.rounds[result.rounds["level"] == "edge"]
    assert edge["start_s"].tolist() == [1.0]
    assert edge["num_participants"].tolist() == [1]
    gathers = result.spans[result.spans["activity"] == "gather"]
    assert gathers[["node", "start_s", "end_s"]].to_numpy().tolist() == [["edge-00", 0.0, 1.0]]
    assert result.fates["end_s"].tolist() == [1.0 + 1e-3]


def test_windows_that_meet_are_one(given):
    half_s = 0.5 * TRAIN_S
    assert given(((0.0, half_s), (half_s, math.inf))).fates["outcome"].tolist() == ["done"]


AWAY = (
    r"^deadlock: .* is not over\. Absent are 1 of 1 clients \(left\), such as client-0000\. Use "
    r"end = AfterSeconds, or devices that come back\.$"
)


def test_a_run_in_which_nobody_ever_comes_again_says_so(given):
    with pytest.raises(ConfigurationError, match=AWAY):
        given(((0.0, 1e-3),), end=AfterRounds(num_global_rounds=2))
    result = given(((0.0, 1e-3),), end=AfterSeconds(duration_s=3.0))
    assert result.summary.time_s == 3.0


@pytest.mark.parametrize(
    "windows", [((0.0, 2.0), (1.0, 3.0)), ((1.0, 1.0),), ((0.0, math.nan),), ((-1.0, 2.0),)]
)
def test_windows_out_of_order_are_refused(given, windows):
    with pytest.raises(ConfigurationError, match=r"Own\.windows of client-0000: a window from"):
        given(windows, end=AfterSeconds(duration_s=2.1))


def test_clients_that_are_always_there_may_run_on_arrays_and_no_others():
    system = worlds.one_cell(1e9, evaluation=Never())
    assert cosim.run(system, clock="arrays").summary.time_s > 0.0
    comes = cosim.evolve(system, devices=cosim.evolve(system.devices, presence=cosim.devices.OnOff()))
    with pytest.raises(ConfigurationError, match=r"OnOff, the presence of clients, .*by events only"):
        cosim.run(comes, clock="arrays")


def test_draws_are_the_clients_own():
    """Neither other clients nor how far another has been asked move anybody's windows."""

    def first(client: str, num: int) -> list[tuple[float, float]]:
        windows = presence.windows(sim, client)
        return [next(windows) for _ in range(num)]

    presence, sim = cosim.devices.OnOff(), Simulation(seed=3)
    alone = first("client-0001", 40)
    assert first("client-0000", 3) != first("client-0001", 3)
    assert first("client-0001", 40) == alone
    assert [to_s > from_s for from_s, to_s in alone] == [True] * 40


@pytest.mark.parametrize(
    ("on", "off", "end", "words"),
    [
        (1e20, 0.1, A_SECOND, r"OnOff\.on: Exponential keeps drawing times that are too short for the clock"),
        (0.1, 1e-29, AfterRounds(num_global_rounds=1), "deadlock: every process is waiting"),
        (1e20, 1e20, A_SECOND, "time stands still at 0 s"),
    ],
)
def test_rates_that_are_absurd_end(on, off, end, words, monkeypatch):
    monkeypatch.setattr("cosim.clock.event_loop._MOST_EVENTS", 10_000)
    monkeypatch.setattr("cosim.clock.event_loop._AT_ONCE", 1000)
    presence = cosim.devices.OnOff(
        on=cosim.queues.Exponential(rate_per_s=on),
        off=cosim.queues.Exponential(rate_per_s=off),
        initial_state="off",
    )
    system = worlds.one_cell(1e9, evaluation=Never(), end=end)
    with pytest.raises(ConfigurationError, match=words):
        cosim.run(cosim.evolve(system, devices=cosim.evolve(system.devices, presence=presence)))


def test_windows_without_end_in_a_wait_are_refused(monkeypatch):
    monkeypatch.setattr("cosim.engine.clients.availability._MOST_PASSED", 1000)
    windows = Windows(Simulation(1), ((k * 1e-9, (k + 0.5) * 1e-9) for k in itertools.count()), "mine")
    assert windows.is_present
    windows._sim._environment._now = 1.0
    with pytest.raises(ConfigurationError, match=r"mine: more than 1,000 windows pass by 1 s"):
        _ = windows.is_present
