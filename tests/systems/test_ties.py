"""Ties: what takes exactly as long as it may is in time, in every round and by every rule, on both clocks.

Times are decimals, such as 0.1 s of training and 0.2 s of sending, with a deadline of 0.3 s.
"""

from decimal import Decimal
from functools import partial

import attrs
import pytest
from both_clocks import assert_same, both
from hypothesis import given, settings
from hypothesis import strategies as st

import cosim
from cosim.devices.battery import Battery
from cosim.engine.clients.client import Client

pytestmark = pytest.mark.quick

CYCLES, BITS = 3e6, 4096  # of three steps, and of an update of the network
NUM_ROUNDS = 20


def tied(
    train_s: float, send_s: float, num_clients: int = 1, *, sharing=cosim.FixedShares, end=None, **training
) -> cosim.System:
    """A cell whose clients all train and send so long, each in its share of the band."""
    hz = cosim.PerGroup(values=(CYCLES / train_s,))
    training = {"num_edge_rounds": 1, "steps": cosim.SameSteps(num_local_steps=3)} | training
    return cosim.System(
        num_cells=1,
        num_clients=num_clients,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(split=cosim.data.Sampled(num_samples=10)),
        devices=cosim.DrawnDevices(min_frequency_hz=hz, max_frequency_hz=hz),
        uplink=cosim.Radio(
            sharing=sharing(bandwidth_hz=num_clients * BITS / send_s),
            fading=cosim.radio.NoFading(),
            link=cosim.GivenSnr(snr_db=cosim.PerGroup(values=(0.0,))),
        ),
        protocol=cosim.HFedAvg(training=cosim.EdgeTraining(**training)),
        end=end or cosim.AfterRounds(num_global_rounds=NUM_ROUNDS),
        evaluation=cosim.Never(),
    )


def result_of(system: cosim.System) -> cosim.Result:
    """By events, after a look at the arrays."""
    by_events, on_arrays = both(system)
    assert_same(by_events, on_arrays)
    return by_events


def num_in_time(result: cosim.Result) -> int:
    return int((result.fates["outcome"] == "done").sum())


DECIMALS = [(0.1, 0.2, 0.3), (0.7, 0.1, 0.8), (1.1, 2.2, 3.3), (1.0 / 3.0, 2.0 / 3.0, 1.0), (1.0, 1.0, 2.0)]


@pytest.mark.parametrize(("train_s", "send_s", "deadline_s"), DECIMALS)
@pytest.mark.parametrize("num_clients", [1, 3])
@pytest.mark.parametrize("sharing", [cosim.FixedShares, cosim.radio.RedividedShares])
def test_a_deadline_that_is_exactly_long_enough(train_s, send_s, deadline_s, num_clients, sharing):
    system = partial(tied, train_s, send_s, num_clients, sharing=sharing)
    in_time = result_of(system(waiting=cosim.Deadline(deadline_s=deadline_s)))
    assert num_in_time(in_time) == NUM_ROUNDS * num_clients
    assert in_time.summary.time_s == pytest.approx(NUM_ROUNDS * deadline_s, rel=1e-14)
    late = result_of(system(waiting=cosim.Deadline(deadline_s=deadline_s - 1e-9)))
    assert num_in_time(late) == 0
    one_step = result_of(system(waiting=cosim.Deadline(deadline_s=deadline_s - 1e-14)))
    assert one_step.fates["outcome"].iloc[0] == "deadline"


@pytest.mark.parametrize(("train_s", "send_s", "deadline_s"), DECIMALS)
def test_an_end_at_exactly_so_many_rounds(train_s, send_s, deadline_s):
    end = cosim.AfterSeconds(duration_s=NUM_ROUNDS * deadline_s)
    result = result_of(tied(train_s, send_s, 2, end=end))
    assert result.summary.num_global_rounds == NUM_ROUNDS
    assert num_in_time(result) == 2 * NUM_ROUNDS


@pytest.mark.parametrize(("train_s", "send_s", "deadline_s"), DECIMALS)
def test_an_upload_deadline_that_is_exactly_long_enough(train_s, send_s, deadline_s):
    for more_s, num in ((0.0, NUM_ROUNDS), (-1e-9, 0)):
        waiting = cosim.waiting.UploadDeadline(upload_deadline_s=send_s + more_s)
        assert num_in_time(result_of(tied(train_s, send_s, waiting=waiting))) == num


def test_a_training_that_ends_with_the_round_leaves_what_it_keeps(monkeypatch):
    """Client 1 has trained when client 0 arrives, at 0.3 s; with 0.31 s it has not."""
    kept: list[str] = []
    monkeypatch.setattr(Client, "keep", lambda self, update: kept.append(self.name))
    for of_second_s, names in ((0.3, ["client-0000", "client-0001"]), (0.31, ["client-0000"])):
        usual = tied(0.1, 0.2, 2, waiting=cosim.waiting.FirstK(num_updates=1))
        hz = cosim.client_values.port.PerClient(values=(CYCLES / 0.1, CYCLES / of_second_s))
        devices = cosim.DrawnDevices(min_frequency_hz=hz, max_frequency_hz=hz)
        end = cosim.AfterRounds(num_global_rounds=1)
        system = attrs.evolve(usual, devices=devices, end=end, evaluation=cosim.System().evaluation)
        for clock in ("events", "arrays"):
            kept.clear()
            cosim.run(system, clock=clock)
            assert sorted(kept) == names, clock


@pytest.mark.parametrize(("train_s", "send_s", "deadline_s"), DECIMALS)
@pytest.mark.parametrize("num_rounds", [1, 3, 20])
def test_who_leaves_when_its_job_ends_has_ended(train_s, send_s, deadline_s, num_rounds):
    class There(cosim.devices.Presence):
        def windows(self, sim, client):
            yield 0.0, num_rounds * deadline_s

    end = cosim.AfterSeconds(duration_s=30 * deadline_s)
    usual = tied(train_s, send_s, end=end)
    result = cosim.run(attrs.evolve(usual, devices=attrs.evolve(usual.devices, presence=There())))
    assert num_in_time(result) == num_rounds


@pytest.mark.parametrize(("train_s", "send_s", "deadline_s"), DECIMALS[:3])
@pytest.mark.parametrize("num_rounds", [1, 3, 20])
def test_a_battery_that_holds_exactly_the_energy_of_some_jobs(train_s, send_s, deadline_s, num_rounds):
    usual = tied(train_s, send_s, end=cosim.AfterSeconds(duration_s=30 * deadline_s))
    spans = cosim.run(attrs.evolve(usual, end=cosim.AfterRounds(num_global_rounds=1))).spans
    holds = Battery(capacity_j=num_rounds * float(spans["energy_j"].sum()), charge_w=0.0)
    result = cosim.run(attrs.evolve(usual, devices=attrs.evolve(usual.devices, battery=holds)))
    assert num_in_time(result) == num_rounds


@pytest.mark.parametrize(("train_s", "send_s", "deadline_s"), DECIMALS)
@pytest.mark.parametrize("static_power_w", [0.0, 3.0])
def test_an_energy_budget_that_is_exactly_enough(monkeypatch, train_s, send_s, deadline_s, static_power_w):
    usual, right = tied(train_s, send_s), Client.local_round
    usual = attrs.evolve(usual, devices=attrs.evolve(usual.devices, static_power_w=static_power_w))
    first = cosim.run(usual).spans.iloc[:2]
    for budget_j, outcome in (
        (first["energy_j"].sum(), "done"),
        ((1.0 - 1e-9) * first["energy_j"].sum(), "energy budget"),
        (first["energy_j"].iloc[0], "energy budget"),
    ):

        def given_some(self, sim, assignment, received=None, budget_j=float(budget_j)):
            return right(self, sim, attrs.evolve(assignment, energy_budget_j=budget_j), received)

        monkeypatch.setattr(Client, "local_round", given_some)
        system = attrs.evolve(
            usual, protocol=tied(1.0, 1.0, waiting=cosim.Deadline(deadline_s=99.0)).protocol
        )
        result = cosim.run(system, clock="events")
        assert result.fates["outcome"].tolist() == [outcome] * NUM_ROUNDS
    assert result.transfers.empty or deadline_s == 1.0  # it stops when it has trained, unless for 1 / 3 s


@pytest.mark.parametrize(
    "selection", [cosim.selection.FedCs, partial(cosim.selection.DeadlineFeasible, num_participants=2)]
)
@pytest.mark.parametrize(("train_s", "send_s", "deadline_s"), DECIMALS)
def test_who_is_planned_to_be_in_time_takes_part(selection, train_s, send_s, deadline_s):
    system = partial(tied, train_s, send_s, 2, end=cosim.AfterRounds(num_global_rounds=3))
    for more_s, num_participants in ((0.0, 2), (-1e-9, 1)):
        result = result_of(system(selection=selection(deadline_s=deadline_s + more_s)))
        rounds = result.rounds[result.rounds["level"] == "edge"]
        assert rounds["num_participants"].tolist() == [num_participants] * 3


def test_versions_at_every_multiple_of_an_interval_are_evaluated():
    times = cosim.ends.EverySeconds(interval_s=0.3)
    result = cosim.run(
        attrs.evolve(tied(0.1, 0.2, end=cosim.AfterRounds(num_global_rounds=9)), evaluation=times)
    )
    assert result.evaluations["time_s"].tolist() == [float(Decimal("0.3") * number) for number in range(10)]


def test_a_tick_counts_what_has_arrived_at_it():
    """Clients report after 0.1 s + 0.2 s, of which ticks every 0.3 s make versions."""
    protocol = cosim.protocols.TimeTriggered(
        period_s=0.3, training=cosim.ClientTraining(num_local_steps=3), starts=cosim.protocols.Restarts()
    )
    end = cosim.AfterSeconds(duration_s=6.0)
    result = cosim.run(attrs.evolve(tied(0.1, 0.2, 2, end=end), protocol=protocol))
    assert result.versions["num_updates"].tolist() == [2] * 20


@given(
    delay=st.decimals(0, 499_000, places=4),
    a=st.decimals("0.001", 10, places=3),
    b=st.decimals("0.001", 10, places=3),
    num_clients=st.integers(1, 3),
    sharing=st.sampled_from([cosim.FixedShares, cosim.radio.RedividedShares]),
)
@settings(max_examples=5)
def test_decimals_are_in_time_at_any_start_up_to_1e6_s(delay, a, b, num_clients, sharing):
    """Models reach the cell after a backhaul's delay; what is late by a nanosecond does not arrive."""
    for more, arrives in ((Decimal(0), True), (Decimal("1e-9"), False)):
        waiting = cosim.Deadline(deadline_s=float(a + b - more))
        system = tied(float(a), float(b), num_clients, sharing=sharing, waiting=waiting)
        system = attrs.evolve(
            system,
            topology=attrs.evolve(system.topology, backhaul_delay_s=float(delay)),
            end=cosim.AfterRounds(num_global_rounds=1),
        )
        assert num_in_time(result_of(system)) == num_clients * arrives
