"""The over-the-air sum on the clock: barrier, airtime, deadline, by hand."""

import pytest
import worlds
from worlds import PARAMETERS, STEP_CYCLES, STEPS, TX_W

from cosim import ConfigurationError, Deadline, HFedAvg, Hist, Never, Radio, Rayleigh, WaitForAll
from cosim.radio import CoherenceTime, OverTheAir
from cosim.recording.recorder import Recorder
from cosim.selection.drawn import Uniform
from cosim.waiting import Waiting

PATIENT = WaitForAll()
AIRTIME_S = PARAMETERS / (1e6 / 15e3) * (1e-3 / 14.0)
"""Eq. 37 in 1 MHz."""


def run_uploads(
    frequencies_hz: tuple[float, ...],
    waiting: Waiting = PATIENT,
    order: int | None = None,
    num_edge_rounds: int = 1,
    **symbols,
) -> Recorder:
    """One cell of such processors, one global round."""
    training = worlds.training(num_edge_rounds=num_edge_rounds, waiting=waiting)
    system = worlds.one_cell(
        *frequencies_hz,
        uplink=Radio(sharing=OverTheAir(bandwidth_hz=1e6, **symbols)),
        protocol=HFedAvg(training=training),
        evaluation=Never(),
    )
    sim, _, cloud = worlds.built(system, shuffle_ties=order)
    sim.run(system.protocol.run(sim, cloud))
    return sim.recorder


def trains_s(frequency_hz: float) -> float:
    return STEPS * STEP_CYCLES / frequency_hz


@pytest.mark.parametrize("order", [None, 1, 2])
def test_all_wait_for_the_slowest_and_send_at_once(order):
    frequencies_hz = (1e9, 2e9, 3e9)
    trace = run_uploads(frequencies_hz, order=order)
    meet_s = trains_s(1e9)
    for number, frequency_hz in enumerate(frequencies_hz):
        own = [span for span in trace.spans if span.node == f"client-{number:04d}"]
        expected = [("train", 0.0, trains_s(frequency_hz))]
        if number:
            expected.append(("wait", trains_s(frequency_hz), meet_s))
        expected.append(("send", meet_s, meet_s + AIRTIME_S))
        assert [span.activity for span in own] == [activity for activity, _, _ in expected]
        times_s = [(span.start_s, span.end_s) for span in own]
        assert times_s == pytest.approx([pytest.approx(times, rel=1e-12) for _, *times in expected])
        assert own[-1].energy_j == pytest.approx(TX_W * AIRTIME_S, rel=1e-12)
        assert sum(span.energy_j for span in own if span.activity == "wait") == 0.0
    assert all(transfer.arrived for transfer in trace.transfers)


@pytest.mark.parametrize("num_clients", [1, 2, 30])
def test_airtime_does_not_depend_on_how_many_send(num_clients):
    trace = run_uploads((1e9,) * num_clients)
    sends = [span for span in trace.spans if span.activity == "send"]
    assert len(sends) == num_clients
    for span in sends:
        assert span.end_s - span.start_s == pytest.approx(AIRTIME_S, rel=1e-12)


def test_airtime_by_subcarrier_symbol_and_band():
    trace = run_uploads((1e9,), subcarrier_hz=30e3, symbol_s=1e-3 / 28.0)
    (send,) = [span for span in trace.spans if span.activity == "send"]
    assert send.end_s - send.start_s == pytest.approx(PARAMETERS / (1e6 / 30e3) * (1e-3 / 28.0), rel=1e-12)


@pytest.mark.parametrize("num_edge_rounds", [1, 40])
def test_before_a_deadline_those_who_are_there_send_in_time(num_edge_rounds):
    """The barrier opens at the last moment, however late the clock is; absent clients are left out."""
    deadline_s = trains_s(1e9) + 0.5 * AIRTIME_S
    trace = run_uploads(
        (1e9, 2e9, 3e9), waiting=Deadline(deadline_s=deadline_s), num_edge_rounds=num_edge_rounds
    )
    rounds = [row for row in trace.rounds if row.level == "edge"]
    assert [row.num_arrived for row in rounds] == [2] * num_edge_rounds
    for number, row in enumerate(rounds):
        assert row.end_s == pytest.approx((number + 1) * deadline_s, rel=1e-12)
    sends = [span for span in trace.spans if span.activity == "send"]
    assert {span.node for span in sends} == {"client-0001", "client-0002"}
    assert {span.outcome for span in sends} == {"done"}
    for number, row in enumerate(rounds):
        assert sends[2 * number].start_s == pytest.approx(row.end_s - AIRTIME_S, rel=1e-9)
    late = [span for span in trace.spans if span.node == "client-0000"]
    assert [(span.activity, span.outcome) for span in late[:2]] == [("train", "done"), ("wait", "deadline")]
    dropped = [transfer for transfer in trace.transfers if transfer.client == "client-0000"]
    assert all(not transfer.arrived and transfer.sent_bits == 0.0 for transfer in dropped)


def test_a_sum_begins_before_the_deadline_when_all_are_there():
    trace = run_uploads((1e9, 2e9), waiting=Deadline(deadline_s=1.0))
    sends = [span for span in trace.spans if span.activity == "send"]
    assert [span.start_s for span in sends] == pytest.approx([trains_s(1e9)] * 2)
    assert trace.rounds[0].end_s == pytest.approx(trains_s(1e9) + AIRTIME_S)


@pytest.mark.parametrize("order", [None, 1, 2, 3])
def test_who_comes_at_the_last_moment_is_there(order):
    """1e9 Hz train for 3 ms; the sum must begin then, a rounding aside; 0.5e9 Hz come later."""
    trace = run_uploads(
        (1e9, 1e9, 0.5e9),
        waiting=Deadline(deadline_s=(trains_s(1e9) + AIRTIME_S) * (1.0 + 1e-9)),
        order=order,
    )
    assert trace.rounds[0].num_arrived == 2


def test_nobody_sends_what_could_not_end_in_time():
    """All are there, but later than the last moment: no energy is spent on a sum that must be cut."""
    trace = run_uploads((1e9, 2e9), waiting=Deadline(deadline_s=0.5 * AIRTIME_S + trains_s(2e9)))
    assert not [span for span in trace.spans if span.activity == "send"]
    assert trace.rounds[0].num_arrived == 0


def test_participants_that_were_not_drawn_are_not_waited_for():
    system = worlds.over_the_air(
        num_clients=8,
        protocol=Hist(training=worlds.training(selection=Uniform(num_participants=2))),
        evaluation=Never(),
    )
    sim, _, cloud = worlds.built(system)
    sim.run(system.protocol.run(sim, cloud))
    assert [row.num_arrived for row in sim.recorder.rounds if row.level == "edge"] == [2] * 12


@pytest.mark.parametrize(
    ("radio", "message"),
    [
        ({"csi_error_db": 1.0}, r"Radio.csi_error_db = 1: .*channels that are known.*FixedShares"),
        ({"outage_probability": 0.1}, r"Radio.outage_probability = 0.1: .*channels that are known"),
        (
            {"fading": Rayleigh(redrawn=CoherenceTime())},
            r"Radio.fading = 'Rayleigh': .*do not change during an upload",
        ),
    ],
)
def test_refused(radio, message):
    with pytest.raises(ConfigurationError, match=message):
        Radio(sharing=OverTheAir(), **radio)
