"""Shares of edge rounds of changing sizes: what is cut in one has sent at the rate that it had in it."""

import math

import attrs
import pytest
import worlds
from both_clocks import assert_same, both
from random_systems import Both
from worlds import BANDWIDTH_HZ, BITS, STEP_CYCLES, STEPS

import cosim
from cosim import HFedAvg, Never
from cosim.configuration import part
from cosim.links.machine import Machine
from cosim.radio.redrawn import GainCourse
from cosim.radio.sharing.port import Band

FREQUENCIES_HZ = (3e9, 1e9, 1e9, 1e9)
TRAIN_S = [STEPS * STEP_CYCLES / frequency_hz for frequency_hz in FREQUENCIES_HZ]
SIZES = (4, 1, 3, 2)


@part
class Shrinking(cosim.Selection):
    """Other numbers of clients in every round."""

    def participants(self, sim, edge, coming):
        return coming.clients.some(range(SIZES[coming.job.number]))


class Blinks(GainCourse):
    """A gain that stays, in blocks of 0.3 ms."""

    def at(self, now_s):
        return (math.floor(now_s / 3e-4 + 1e-9),)

    def end_s(self, block):
        return (block[0] + 1) * 3e-4

    def after(self, block):
        return (block[0] + 1,)

    def gain(self, block):
        return 1.0


@part
class Blinking(cosim.radio.Fading):
    """A course of each client."""

    def course(self, sim, client):
        return Blinks()


class ByRound(Machine):
    """Uploads at a rate that follows from what it was told of the round."""

    def __init__(self):
        super().__init__()
        self.begun_s = {}

    def begin_round(self, num_clients, ends_s):
        self.rate_bps, self.ends_by_s = BANDWIDTH_HZ / num_clients, ends_s

    def change(self, now_s, starts, stops):
        assert self.ends_by_s - Both().deadline_s <= now_s <= self.ends_by_s
        for number in stops:
            self.left_bits[number] = BITS - self.rate_bps * (now_s - self.begun_s.pop(number))
        self.begun_s.update(dict.fromkeys(starts, now_s))
        last_s = now_s - BITS / self.rate_bps * (1.0 - 1e-9)
        ended = [number for number, begun_s in self.begun_s.items() if begun_s <= last_s]
        for number in ended:
            self.ends_s[number] = now_s
            del self.begun_s[number]
        self.next_change_s = min(self.begun_s.values(), default=math.inf) + BITS / self.rate_bps


class ByRoundBand(Band):
    def share_hz(self, num_clients):
        return BANDWIDTH_HZ / num_clients

    def machine(self, senders):
        return ByRound()


@part
class ByRounds(cosim.FixedShares):
    def bands(self, sim, num_cells):
        return [ByRoundBand() for _ in range(num_cells)]


UPLINKS = {
    "steady": worlds.still(1.0),
    "channels that change": worlds.still(1.0, fading=Blinking()),
    "a machine of one's own": worlds.still(1.0, sharing=ByRounds()),
}


@pytest.mark.parametrize("uplink", UPLINKS.values(), ids=UPLINKS)
def test_what_is_cut_has_sent_at_the_rate_of_its_round(uplink):
    """The first client ends each round, at 1 bit/s/Hz; rows are asked for when the next rounds are over."""
    training = worlds.training(selection=Shrinking(), waiting=Both(num=1), num_edge_rounds=len(SIZES))
    system = worlds.one_cell(*FREQUENCIES_HZ, uplink=uplink, evaluation=Never())
    by_events, on_arrays = both(attrs.evolve(system, protocol=HFedAvg(training=training)))
    assert_same(by_events, on_arrays)
    for size, (_, sent) in zip(SIZES, by_events.transfers.groupby("job"), strict=True):
        rate_bps = BANDWIDTH_HZ / size
        late_bits = BITS - rate_bps * (TRAIN_S[1] - TRAIN_S[0])
        expected = [BITS] + [pytest.approx(late_bits, rel=1e-9)] * (size - 1)
        assert sent.sort_values("client")["sent_bits"].tolist() == expected
