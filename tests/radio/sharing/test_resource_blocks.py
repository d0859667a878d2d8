"""Resource blocks: which clients hold one, which wait, and for how long, by hand."""

import math

import channels
import pytest

from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Simulation
from cosim.jobs.payload import Payload
from cosim.radio.channel import Channel
from cosim.radio.fading import NoFading
from cosim.radio.sharing.resource_blocks import BandOfBlocks

SNR = 3.0
"""2 bit/s/Hz, so 540 kHz carry 1.08 Mbit/s."""
BLOCK_HZ = 540e3
RATE_BPS = 2.0 * BLOCK_HZ


def channel(sim: Simulation, name: str, snr: float = SNR) -> Channel:
    return channels.flat(snr, channels.faded(NoFading(), sim, name))


def blocks_of(sim: Simulation, num_blocks: int, block_hz: float) -> channels.OnBand:
    return channels.OnBand(sim, BandOfBlocks(num_blocks, block_hz))


def sender(sim, blocks, name, start_s, bits, log):
    """Wait until it is time, ask for a block, send."""
    if start_s:
        yield from sim.spend(name, "idle", start_s)
    upload = blocks.open(int(name, 36), channel(sim, name), Payload(1, bits), (1,))
    try:
        yield from sim.spend(name, "wait", upload.granted)
        began_s = sim.now_s
        yield from sim.spend(name, "send", upload.done, power_w=0.5)
        log[name] = (began_s, sim.now_s)
    finally:
        upload.close()
    return upload


@pytest.mark.parametrize("order", [None, 1, 2, 3])
@pytest.mark.parametrize("names", ["abcde", "edcba"])
def test_who_asks_at_one_instant_gets_a_block_by_name(order, names):
    sim, log = Simulation(seed=1, shuffle_ties=order), {}
    blocks = blocks_of(sim, 2, BLOCK_HZ)
    sim.run(sim.together([sender(sim, blocks, name, 0.0, RATE_BPS, log) for name in names]))
    assert log == {
        "a": (0.0, 1.0),
        "b": (0.0, 1.0),
        "c": (1.0, 2.0),
        "d": (1.0, 2.0),
        "e": (2.0, 3.0),
    }


def test_waiting_is_in_the_order_of_asking_and_takes_no_power():
    sim, log = Simulation(seed=1), {}
    blocks = blocks_of(sim, 1, BLOCK_HZ)
    processes = [
        sender(sim, blocks, name, start_s, RATE_BPS, log)
        for name, start_s in (("c", 0.0), ("b", 0.25), ("a", 0.5))
    ]
    sim.run(sim.together(processes))
    assert log == {"c": (0.0, 1.0), "b": (1.0, 2.0), "a": (2.0, 3.0)}
    waits = {span.node: span for span in sim.recorder.spans if span.activity == "wait"}
    assert {name: (span.start_s, span.end_s, span.energy_j) for name, span in waits.items()} == {
        "b": (0.25, 1.0, 0.0),
        "a": (0.5, 2.0, 0.0),
    }
    sends = [span.energy_j for span in sim.recorder.spans if span.activity == "send"]
    assert sends == [0.5, 0.5, 0.5]


def test_a_block_is_as_wide_whoever_else_sends():
    for num_senders in (1, 4):
        sim, log = Simulation(seed=1), {}
        blocks = blocks_of(sim, 4, BLOCK_HZ)
        blocks.begin_round(num_senders, math.inf)
        assert BandOfBlocks(4, BLOCK_HZ).share_hz(num_senders) == BLOCK_HZ
        processes = [sender(sim, blocks, f"c{i}", 0.0, 3 * RATE_BPS, log) for i in range(num_senders)]
        sim.run(sim.together(processes))
        assert set(log.values()) == {(0.0, 3.0)}


def test_a_cut_upload_frees_its_block_and_keeps_its_bits():
    sim, log = Simulation(seed=1), {}
    blocks = blocks_of(sim, 1, BLOCK_HZ)

    def impatient():
        (found,) = yield from sim.with_deadline([sender(sim, blocks, "a", 0.0, 4 * RATE_BPS, log)], 1.5)
        return found

    sim.run(sim.together([impatient(), sender(sim, blocks, "b", 0.5, RATE_BPS, log)]))
    assert log == {"b": (1.5, 2.5)}
    send = next(span for span in sim.recorder.spans if span.node == "a" and span.activity == "send")
    assert (send.end_s, send.energy_j, send.outcome) == (1.5, 0.75, "deadline")


def test_who_is_cut_while_waiting_holds_nothing():
    sim, log = Simulation(seed=1), {}
    blocks = blocks_of(sim, 1, BLOCK_HZ)

    def impatient():
        (found,) = yield from sim.with_deadline([sender(sim, blocks, "b", 0.0, RATE_BPS, log)], 0.5)
        return found

    processes = [sender(sim, blocks, "a", 0.0, RATE_BPS, log), impatient()]
    processes.append(sender(sim, blocks, "c", 0.75, RATE_BPS, log))
    found = sim.run(sim.together(processes))
    assert found[1] == Dropped("deadline")
    assert log == {"a": (0.0, 1.0), "c": (1.0, 2.0)}


def test_bits_left_of_waiting_and_sending():
    sim = Simulation(seed=1)
    blocks = blocks_of(sim, 1, BLOCK_HZ)
    left = {}

    def cell():
        first = blocks.open(0, channel(sim, "a"), Payload(1, int(4 * RATE_BPS)), (1,))
        second = blocks.open(1, channel(sim, "b"), Payload(1, 1000), (1,))
        yield from sim.spend("a", "send", 1.0)
        for name, upload in (("a", first), ("b", second)):
            upload.close()
            left[name] = upload.bits_left

    sim.run(cell())
    assert left["a"] == pytest.approx(3 * RATE_BPS, rel=1e-12)
    assert left["b"] == 1000.0


def test_no_link_never_ends():
    sim = Simulation(seed=1)
    blocks = blocks_of(sim, 1, BLOCK_HZ)
    nothing = channel(sim, "a", snr=0.0)

    def cell():
        upload = blocks.open(0, nothing, Payload(1, 1000), (1,))
        (found,) = yield from sim.with_deadline([sim.spend("a", "send", upload.done)], 10.0)
        upload.close()
        return found, upload.bits_left

    assert sim.run(cell()) == (Dropped("deadline"), 1000.0)
    assert math.isclose(sim.now_s, 10.0)
