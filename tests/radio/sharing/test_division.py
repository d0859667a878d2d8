"""Redivided shares as a machine: fading blocks that outlast an upload, and uploads that take no time."""

import math

import attrs
import numpy as np
import pytest
import worlds
from both_clocks import assert_same, both

import cosim
from cosim import Never
from cosim.radio.sharing.division import Division
from cosim.radio.sharing.senders import Senders

pytestmark = pytest.mark.quick


class Rising(Senders):
    """Each client's rate in 1 Hz is that of the second: 1, 2, 3 bit/s, and so on."""

    def __init__(self, *bits):
        self.own_bits, self.second = dict(enumerate(bits)), dict.fromkeys(range(len(bits)), 0)

    def bits(self, number):
        return self.own_bits[number]

    def fade_s(self, number):
        return self.second[number] + 1.0

    def to_send(self, number):
        return self.bits(number), self.fade_s(number)

    def starting(self, numbers):
        return [(self.bits(number), self.rate_bps(number, 1.0), self.fade_s(number)) for number in numbers]

    def rate_bps(self, number, bandwidth_hz):
        return bandwidth_hz * (1.0 + self.second[number])

    def rates_bps(self, numbers, bandwidth_hz):
        raise AssertionError("rates are in proportion to shares")

    def fade(self, number, now_s):
        self.second[number] += 1
        return self.second[number] + 1.0


def test_a_block_in_which_a_client_sends_twice_ends_once():
    """Shares of 10 Hz: 4 bits until 1 s, then 20, 30, 40, and the last 6 at 50 bit/s; another sends on."""
    senders = Rising(1e9, 5.0)
    machine = Division(lambda num: 10.0, senders)
    machine.advance([0.0, 0.0], [0, 1], 0.6)
    assert machine.ends_s == {1: pytest.approx(0.5)}
    senders.own_bits[1] = 100.0
    machine.advance([0.6], [1], 9.0)
    assert machine.ends_s[1] == pytest.approx(4.12, rel=1e-12)


def test_the_end_of_what_was_stopped_is_not_that_of_the_next():
    """Of two that would end at 0.5 s one is stopped at 0.2 s, and sends 100 bits from 0.3 s on."""
    senders = Rising(5.0, 5.0)
    machine = Division(lambda num: 10.0, senders)
    machine.advance([0.0, 0.0], [0, 1], 0.2, (1,))
    assert machine.left_bits == {1: pytest.approx(3.0, rel=1e-12)}
    senders.own_bits[1] = 100.0
    machine.advance([0.3], [1], 9.0)
    assert machine.ends_s == {0: pytest.approx(0.5), 1: pytest.approx(4.06, rel=1e-12)}


class Budgeted(Rising):
    """Rates of which none is in proportion to a share, as the machine sees it; the last one stays."""

    def fade_s(self, number):
        return math.inf if number == len(self.own_bits) - 1 else super().fade_s(number)

    def starting(self, numbers):
        return [(self.bits(number), None, self.fade_s(number)) for number in numbers]

    def rates_bps(self, numbers, bandwidth_hz):
        return np.array([self.rate_bps(number, bandwidth_hz) for number in numbers.tolist()])


def test_at_one_instant_one_ends_another_fades_and_the_third_gets_a_larger_share():
    """Of 30 Hz. Client 1: 10 bits, 30, 45, and 15 at 60 bit/s; client 2: 10 bits, 15 a second, then 30."""
    machine = Division(lambda num: 30.0 / num, Budgeted(10.0, 100.0, 100.0))
    machine.advance([0.0, 0.0, 0.0], [0, 1, 2], 9.0)
    assert machine.ends_s == {
        0: 1.0,
        1: pytest.approx(3.25, rel=1e-12),
        2: pytest.approx(3.25 + (90.0 - 15.0 * 2.25) / 30.0, rel=1e-12),
    }


def test_what_a_stop_leaves_is_what_was_left_then():
    """Of client 1, stopped at 2.5 s: 100 bits less 10, 30 and half of 45; nothing of what has just ended."""
    machine = Division(lambda num: 30.0 / num, Budgeted(10.0, 100.0, 100.0))
    machine.advance([0.0, 0.0, 0.0], [0, 1, 2], 2.5, (1,))
    assert machine.left_bits == {1: pytest.approx(37.5, rel=1e-12)}
    assert machine.ends_s == {0: 1.0}


WIDE_HZ = 1e25
SHARINGS = [
    cosim.FixedShares(bandwidth_hz=WIDE_HZ),
    cosim.radio.RedividedShares(bandwidth_hz=WIDE_HZ),
    cosim.radio.ResourceBlocks(num_blocks=1, block_hz=WIDE_HZ),
]


@pytest.mark.parametrize(
    ("sharing", "fading"),
    [
        (sharing, fading)
        for sharing in SHARINGS
        for fading in (cosim.radio.NoFading(), cosim.Rayleigh(redrawn=cosim.radio.CoherenceTime()))
        if fading.within_uploads or not isinstance(sharing, cosim.FixedShares)
    ],
    ids=str,
)
@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_uploads_that_the_clock_takes_for_nothing_are_refused(clock, sharing, fading):
    """Three of them at one instant, 4,096 bits at some 1e25 bit/s."""
    uplink = worlds.still(1.0, sharing=sharing, fading=fading)
    system = worlds.one_cell(1e9, 1e9, 1e9, uplink=uplink, evaluation=Never())
    with pytest.raises(cosim.ConfigurationError, match=r"client-000\d would send for 0 s at 0\.003 s, which"):
        cosim.run(system, clock=clock)


def test_a_rate_of_nothing_lasts_until_the_deadline():
    """Nothing is sent where a share has no rate at all, and the rest goes on."""
    uplink = worlds.still(1.0, 1e-29, sharing=cosim.radio.RedividedShares(bandwidth_hz=1e6))
    training = worlds.training(num_edge_rounds=1, waiting=cosim.Deadline(deadline_s=20e-3))
    system = worlds.one_cell(1e9, 1e9, uplink=uplink, evaluation=Never())
    by_events, on_arrays = both(attrs.evolve(system, protocol=cosim.HFedAvg(training=training)))
    assert_same(by_events, on_arrays)
    sent = by_events.transfers.sort_values("client")
    assert sent["sent_bits"].tolist() == [worlds.BITS, pytest.approx(0.0, abs=1e-9)]
    assert sent["end_s"].tolist() == [pytest.approx(3e-3 + worlds.BITS / 0.5e6, rel=1e-12), 20e-3]
    assert math.isclose(by_events.summary.time_s, 20e-3)
