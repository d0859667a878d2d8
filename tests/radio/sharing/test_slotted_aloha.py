"""Slotted ALOHA: slots by hand, packets by the rate, cuts, energy, and what its band does not say."""

import attrs
import numpy as np
import pytest

import cosim
from cosim import ConfigurationError, Never
from cosim.clock.draws import uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import lacks_in
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.engine.ways.of_link import ways_of
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell
from cosim.radio import SlottedAloha
from cosim.records.rows import UP
from cosim.testing import check_link, check_system, small_system

SLOT_S, BAND_HZ = 1e-3, 1e6
JOB = Job(1, 0, 0)


def radio(**changes: object) -> cosim.Radio:
    """1 bit/s/Hz: a packet in one of m channels carries 1000 / m bits."""
    usual = {"bandwidth_hz": BAND_HZ, "slot_s": SLOT_S, "transmit_probability": 0.3}
    return cosim.Radio(
        sharing=SlottedAloha(**usual | changes),
        link=cosim.GivenSnr(snr_db=cosim.PerGroup(values=(0.0,))),
        fading=cosim.radio.NoFading(),
    )


def link_of(uplink: cosim.Radio, num_clients: int, sim: Simulation):
    names = tuple(f"client-{number:04d}" for number in range(num_clients))
    cell = Cell("edge-00", names, np.full(num_clients, 100.0), np.full(num_clients, 0.2))
    return ways_of(sim, uplink, [cell], UP)[0], names


def sent(sim, link, client, bits, begin_s=0.0):
    """The slots in which a client begins to send, and when it has arrived."""
    if begin_s:
        yield sim.timer(begin_s)
    upload, slots = link.open(client, Payload(1, bits), JOB, 0.2), []
    while True:
        yield upload.granted
        slots.append(sim.now_s / SLOT_S)
        if upload.turn_over is None:
            break
        yield upload.turn_over
    yield upload.done
    ended_s = sim.now_s
    upload.close()
    return slots, ended_s


def slots_of(uplink: cosim.Radio, num_clients: int, bits: float, begin_s: float = 0.0):
    sim = Simulation(seed=1)
    link, names = link_of(uplink, num_clients, sim)
    return sim.run(sim.together([sent(sim, link, name, bits, begin_s) for name in names]))


def test_alone_and_always_a_packet_in_each_slot():
    """2500 bits in packets of 1000 from the first whole slot on, 0.4 ms after it has begun to wait."""
    ((slots, ended_s),) = slots_of(radio(transmit_probability=1.0), 1, 2500.0, begin_s=0.6e-3)
    assert slots == pytest.approx([1, 2, 3], rel=1e-12)
    assert ended_s == 4 * SLOT_S


def test_packets_are_counted_whole():
    """1000 bits in a channel of 250 kHz are four packets, though 4 x 0.25 may round."""
    ((slots, ended_s),) = slots_of(radio(transmit_probability=1.0, num_channels=4), 1, 1000.0)
    assert (slots, ended_s) == ([0, 1, 2, 3], 4 * SLOT_S)


def test_who_meets_nobody_in_his_channel_gets_through():
    """Successes from the slots of all and their channels, drawn again here, by brute force."""
    found = slots_of(radio(num_channels=2), 6, 2000.0)
    sim, per_slot = Simulation(seed=1), {}
    for number, (slots, _) in enumerate(found):
        for slot in slots:
            per_slot.setdefault(round(slot), []).append(number)
    through = [0] * 6
    for slot, senders in sorted(per_slot.items()):
        channels = {
            number: int(2 * float(sim.of_client(f"client-{number:04d}", "random channel", uniforms, slot)))
            for number in senders
        }
        for number in senders:
            through[number] += list(channels.values()).count(channels[number]) == 1
    assert through == [4] * 6  # 2000 bits in packets of 500
    for slots, ended_s in found:
        assert ended_s == pytest.approx((round(slots[-1]) + 1) * SLOT_S, rel=1e-12)
    assert sum(len(slots) for slots, _ in found) > 24  # some met


def test_two_who_always_send_never_get_through_which_is_said(monkeypatch):
    monkeypatch.setattr("cosim.radio.sharing.slotted_aloha.MOST_IN_VAIN", 1_000)
    with pytest.raises(ConfigurationError, match=r"probability = 1: none of 2 clients .* in 1,000 slots"):
        slots_of(radio(transmit_probability=1.0), 2, 1.0)


def test_a_cut_packet_has_not_been_sent():
    sim = Simulation(seed=1)
    link, (client,) = link_of(radio(transmit_probability=1.0), 1, sim)

    def process():
        upload = link.open(client, Payload(1, 5000.0), JOB, 0.2)
        yield sim.timer(2.5 * SLOT_S)
        upload.close()
        left = upload.bits_left
        yield sim.timer(1.0)
        assert not upload.done.triggered
        again = link.open(client, Payload(1, 1000.0), JOB, 0.2)
        yield again.done
        return left

    assert sim.run(process()) == 3000.0


def test_what_arrives_with_the_deadline_has_arrived():
    sim = Simulation(seed=1)
    link, (client,) = link_of(radio(transmit_probability=1.0), 1, sim)
    ((_, ended_s),) = sim.run(sim.with_deadline([sent(sim, link, client, 3000.0)], 3 * SLOT_S))
    assert ended_s == 3 * SLOT_S


def test_fading_may_change_from_slot_to_slot():
    """A packet carries what the block at the beginning of its slot gives."""
    fading = cosim.Rayleigh(num_antennas=2, redrawn=cosim.radio.CoherenceTime(coherence_time_s=SLOT_S))
    uplink = attrs.evolve(radio(transmit_probability=1.0), fading=fading)
    sim = Simulation(seed=1)
    link, (client,) = link_of(uplink, 1, sim)
    channel = link.link.known_channel(client, 0.2, JOB)
    packets = [SLOT_S * channel.rate_bps(BAND_HZ, (slot,)) for slot in range(5)]
    ((slots, ended_s),) = sim.run(sim.together([sent(sim, link, client, sum(packets[:4]) - 1.0)]))
    assert len(set(packets)) == 5
    assert (len(slots), ended_s) == (4, 4 * SLOT_S)


def test_sending_takes_power_in_its_slots_only():
    system = attrs.evolve(small_system(), uplink=radio(bandwidth_hz=1e7), evaluation=Never())
    spans = cosim.run(system).spans
    sending = spans[spans["activity"] == "send"]
    lasts_s = sending["end_s"] - sending["start_s"]
    assert lasts_s.to_numpy() == pytest.approx(SLOT_S, rel=1e-9)
    assert (spans.loc[spans["activity"] == "wait", "energy_j"] == 0.0).all()
    assert len(sending) > len(sending.groupby(["node", "job"]))


def test_the_contract_and_every_protocol():
    check_link(radio(bandwidth_hz=1e7, num_channels=2))
    for protocol in (cosim.Hist(training=small_system().protocol.training), cosim.FedBuff()):
        small = small_system(has_rounds=not lacks_in(protocol, GLOBAL_ROUNDS))
        check_system(attrs.evolve(small, protocol=protocol, uplink=radio(bandwidth_hz=1e7)))


def test_who_asks_for_a_rate_is_refused():
    selection = cosim.selection.ProportionalFair(num_participants=2)
    training = attrs.evolve(small_system().protocol.training, selection=selection)
    system = attrs.evolve(small_system(), uplink=radio(), protocol=cosim.HFedAvg(training=training))
    with pytest.raises(
        ConfigurationError, match=r"beforehand, which are not known for a LinkByEvents.*FixedShares"
    ):
        cosim.run(attrs.evolve(system, evaluation=Never()))
