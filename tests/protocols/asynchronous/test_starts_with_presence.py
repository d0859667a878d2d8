"""Asynchronous servers whose clients come and go: which begin when, to the instant.

A job of client n lasts n + 1 units of time, exactly, if none leaves.
"""

import math

import pytest
import worlds

import cosim
from cosim import AfterSeconds, ClientTraining, FedAsync, Never, Sgd
from cosim.protocols import ConstantConcurrency, Dispatched, PoissonStarts, TimeTriggered

UNIT_S, UPLOAD_S = 2.0**-5, 2.0**-8
TRAINING = ClientTraining(num_local_steps=worlds.STEPS, local=Sgd(batch_size=10))
ALL_DAY = ((0.0, math.inf),)


def jobs(windows, until, kind=FedAsync, **knobs):
    """Client, start, end and fate of each job, in units of time, of clients that are present in windows."""

    class Own(cosim.devices.Presence):
        def windows(self, sim, client):
            for from_, to in windows[int(client.rpartition("-")[2])]:
                yield from_ * UNIT_S, to * UNIT_S

    units = [n + 1 for n in range(len(windows))]
    frequencies_hz = [worlds.STEPS * worlds.STEP_CYCLES / (n * UNIT_S - UPLOAD_S) for n in units]
    num_at_once = knobs["starts"].most_at_once(len(units)) if "starts" in knobs else len(units)
    share = cosim.FixedShares(bandwidth_hz=num_at_once * worlds.BITS / UPLOAD_S)
    system = worlds.one_cell(
        *frequencies_hz,
        uplink=worlds.still(1.0, sharing=share),
        protocol=kind(training=TRAINING, **knobs),
        end=AfterSeconds(duration_s=until * UNIT_S),
        evaluation=Never(),
    )
    system = cosim.evolve(system, devices=cosim.evolve(system.devices, presence=Own()))
    fates = cosim.run(system).fates.sort_values(["start_s", "client"])
    return [
        (int(row.client[-1]), row.start_s / UNIT_S, row.end_s / UNIT_S, row.outcome)
        for row in fates.itertuples()
    ]


def test_who_has_left_begins_again_when_it_is_back():
    windows = [((0.0, 1.5), (4.0, math.inf)), ALL_DAY]
    assert [job for job in jobs(windows, until=6.5) if job[0] == 0] == [
        (0, 0.0, 1.0, "done"),
        (0, 1.0, 1.5, "left"),
        (0, 4.0, 5.0, "done"),
        (0, 5.0, 6.0, "done"),
        (0, 6.0, 6.5, "end of the run"),
    ]


def test_who_comes_late_begins_then():
    assert jobs([((2.5, 3.5),)], until=9.0) == [(0, 2.5, 3.5, "done")]


def test_who_comes_back_while_it_waits_for_the_tick_waits_for_it():
    windows = [((0.0, 1.25), (1.5, math.inf))]
    found = jobs(windows, until=4.0, kind=TimeTriggered, period_s=2.0 * UNIT_S)
    assert found[:2] == [(0, 0.0, 1.0, "done"), (0, 2.0, 3.0, "done")]


def test_a_place_stays_open_until_somebody_comes():
    """One place; the second client comes while the first is away."""
    windows = [((0.0, 1.0), (5.0, 6.0)), ((2.5, 4.5), (5.5, 9.0))]
    found = jobs(windows, until=7.0, starts=ConstantConcurrency(num_in_flight=1))
    assert found == [
        (0, 0.0, 1.0, "done"),
        (1, 2.5, 4.5, "done"),
        (0, 5.0, 6.0, "done"),
        (1, 6.0, 7.0, "end of the run"),
    ]


def test_a_job_that_is_dispatched_to_who_is_away_waits_for_it():
    """Everything goes to the first client; its second job is given to it at 1 and begins when it is back."""
    windows = [((0.0, 1.0), (3.0, math.inf)), ALL_DAY]
    starts = Dispatched(num_in_flight=1, shares=(1.0, 1e-30))
    assert jobs(windows, until=3.5, starts=starts) == [(0, 0.0, 1.0, "done"), (0, 3.0, 3.5, "end of the run")]


@pytest.mark.parametrize("rate_per_s", [2.0 / UNIT_S])
def test_points_let_begin_only_who_is_there(rate_per_s):
    windows = [((10.0, 20.0), (60.0, 70.0)), ((15.0, 30.0),)]
    found = jobs(windows, until=100.0, starts=PoissonStarts(rate_per_s=rate_per_s))
    assert len(found) > 15
    for client, start, end, outcome in found:
        (window,) = [(from_, to) for from_, to in windows[client] if from_ <= start < to]
        assert end <= window[1]
        assert (outcome == "left") == (end - start < client + 1 - 1e-9)


def test_who_is_drawn_hangs_on_no_order_of_simultaneous_comings():
    """All come and leave at the same instants."""
    windows = [tuple((float(n), n + 0.75) for n in range(0, 40, 2))] * 6
    starts = ConstantConcurrency(num_in_flight=2)

    class Own(cosim.devices.Presence):
        def windows(self, sim, client):
            yield from windows[0]

    protocol = cosim.FedBuff(training=TRAINING, num_updates=2, starts=starts)
    end = AfterSeconds(duration_s=30.0)
    system = worlds.alike(6, protocol=protocol, end=end, evaluation=Never())
    system = cosim.evolve(system, devices=cosim.evolve(system.devices, presence=Own()))
    usual, shuffled = cosim.run(system), cosim.run(system, shuffle_ties=3)
    assert usual.fates.equals(shuffled.fates)
    assert usual.updates.equals(shuffled.updates)
    assert (usual.fates["outcome"] == "left").sum() > 20
