"""Planted bugs, each of which a public contract must name: its law, where, and the usual reason.

Each part is a user's own, small, and wrong in one line; those of the oldest laws are in `test_testing.py`.
"""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import own_parts
import pytest

import cosim
from cosim.configuration import configuration
from cosim.radio.propagation.given_snr import FlatSnr
from cosim.radio.propagation.mean_snr import CellSnr
from cosim.radio.sharing.shares import FixedBand
from cosim.servers.waiting import Ending
from cosim.testing import (
    BrokenLaw,
    check_downlink,
    check_protocol,
    check_system,
    check_uplink,
    small_system,
)

SMALL = small_system()
TRAINING = SMALL.protocol.training


def in_small(**parts: Any) -> Callable[[], None]:
    """The contract of parts that have none but that of systems."""
    return lambda: check_system(attrs.evolve(SMALL, **parts))


def waiting_by(rule: cosim.Waiting) -> Callable[[], None]:
    training = attrs.evolve(TRAINING, waiting=rule)
    return lambda: check_protocol(cosim.HFedAvg(training=training))


def in_radio(**parts: Any) -> Callable[[], None]:
    return lambda: check_uplink(cosim.Radio(**parts))


# --- Fast on one clock only ---------------------------------------------------------------------------------


class Cable(cosim.Uplink):
    """A cable to each client, written for arrays too; a subclass has a link that is wrong."""

    def links(self, sim, cells):
        return [type(self).link(sim) for _ in cells]

    class link(cosim.Link):
        rate_bps = 1e6

        def __init__(self, sim):
            self.sim = sim

        def open(self, client, payload, tx_power_w, job):
            return cosim.SteadyUpload(self.sim, payload.bits, self.rate_bps)

        def uploads(self, places, begins_s, payload, tx_power_w, job):
            return cosim.SteadyUploads(begins_s, payload.bits, np.full_like(begins_s, self.rate_bps))


class FastUploads(Cable):
    class link(Cable.link):
        def uploads(self, places, begins_s, payload, tx_power_w, job):
            return cosim.SteadyUploads(begins_s, payload.bits, np.full_like(begins_s, 2.0 * self.rate_bps))


class Forgotten(cosim.SteadyUploads):
    def bits_left(self, cut_s):
        return np.where(self.ends_s <= cut_s, 0.0, self._bits)


class ForgottenBits(Cable):
    """Only what is cut differs, so without a deadline nothing does."""

    class link(Cable.link):
        def uploads(self, places, begins_s, payload, tx_power_w, job):
            return Forgotten(begins_s, payload.bits, np.full_like(begins_s, self.rate_bps))


class FastDown(own_parts.CableDown):
    def links(self, sim, cells):
        return [FastDownLink(sim, self.rate_bps) for _ in cells]


class FastDownLink(own_parts.CableDownLink):
    def downloads(self, places, begins_s, payload, job):
        return cosim.SteadyUploads(begins_s, payload.bits, np.full_like(begins_s, 2.0 * self.rate_bps))


@configuration
class HalfDeadline(cosim.Deadline):
    def ending(self, start_s, ends_s):
        late_s = start_s + self.after_s / 2.0
        return Ending(min(ends_s.max(initial=start_s), late_s), ends_s <= late_s, "deadline")


@configuration
class CountsAll(cosim.Deadline):
    def ending(self, start_s, ends_s):
        usual = super().ending(start_s, ends_s)
        return usual._replace(counts=np.ones(len(ends_s), dtype=bool))


@configuration
class HalfCycles(cosim.CyclesPerStep):
    def of_clients(self, sim, clients):
        usual = super().of_clients(sim, clients)
        return lambda step: usual(step) / 2.0


@configuration
class LoudArrays(cosim.Rayleigh):
    def gains_by_job(self, sim, clients):
        gains = super().gains_by_job(sim, clients)
        return lambda job: 4.0 * gains(job)


@configuration
class Near(cosim.Propagation):
    def of_cells(self, sim, cells):
        return [NearCell() for _ in cells]


class NearCell(CellSnr):
    def of(self, client, tx_power_w, job):
        return FlatSnr(snr=100.0 * tx_power_w)

    def of_all(self, tx_power_w, factor, bandwidth_hz, job):
        return 400.0 * tx_power_w * factor


@configuration
class WideArrays(cosim.FixedShares):
    def bands(self, sim, num_cells):
        return [WideBand(sim, self.bandwidth_hz) for _ in range(num_cells)]


class WideBand(FixedBand):
    def uploads(self, begins_s, payload, rates):
        return cosim.SteadyUploads(begins_s, int(payload.bits), rates.in_hz(2.0 * self.share_hz(5)))


ON_ONE_CLOCK = {
    "uploads": lambda: check_uplink(FastUploads()),
    "bits of a cut upload": lambda: check_uplink(ForgottenBits()),
    "downloads": lambda: check_downlink(FastDown()),
    "deadline": waiting_by(HalfDeadline(after_s=0.004)),
    "who counts": waiting_by(CountsAll(after_s=0.004)),
    "cycles": in_small(cycles=HalfCycles()),
    "gains": in_radio(fading=LoudArrays()),
    "mean SNR": in_radio(link=Near()),
    "band": in_radio(sharing=WideArrays(bandwidth_hz=1e6)),
}


@pytest.mark.parametrize("check", ON_ONE_CLOCK.values(), ids=ON_ONE_CLOCK)
def test_a_part_that_is_another_on_arrays_is_caught(check):
    with pytest.raises(BrokenLaw, match=r"^both clocks: .* Usual reason: a method of one event and one of"):
        check()


def test_a_part_that_says_the_same_on_arrays_keeps_the_laws():
    check_uplink(Cable())
