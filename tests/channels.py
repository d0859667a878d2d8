"""Channels by hand."""

import numpy as np

from cosim.jobs.job import Job
from cosim.links.on_clock import OnClock
from cosim.links.port import Cell, Sender
from cosim.radio.channel import Channel
from cosim.radio.fading_of_run import ClientFading, FadingOfRun
from cosim.radio.sharing.lanes import Lanes
from cosim.radio.sharing.senders import OneByOne


def faded(fading, sim, client="client-0000") -> ClientFading:
    """One client's channel."""
    cell = Cell("edge-00", (client,), np.array([100.0]), np.array([0.2]))
    return FadingOfRun(sim, fading, [cell]).of(client)


def flat(snr, fading, client="a client") -> Channel:
    """An SNR that is the same in any bandwidth."""
    return Channel(mean_snr=lambda bandwidth_hz: snr, is_flat=True, fading=fading, client=client)


def budget(received_w, noise_w_per_hz, fading, client="a client") -> Channel:
    """An SNR by received power and noise."""

    def mean_snr(bandwidth_hz: float) -> float:
        return received_w / (noise_w_per_hz * bandwidth_hz)

    return Channel(mean_snr=mean_snr, is_flat=False, fading=fading, client=client)


class OnBand:
    """A band on a clock, whose uploads are opened with channels by hand."""

    in_round = None

    def __init__(self, sim, band):
        self._sim, self._of = sim, {}
        senders = OneByOne(self, lambda sender: self._of[sender.place][1:])
        steady = band.form == "steady"
        self._machine = Lanes(band.steady_hz, None, senders) if steady else band.machine(senders)
        self._on_clock = OnClock(sim, self._machine)

    def __getitem__(self, number):
        return self._of[number][0]

    def begin_round(self, num_clients, ends_s):
        """Of the band's machine."""
        self._machine.begin_round(num_clients, ends_s)

    def open(self, number, channel, payload, block):
        """Begin an upload in a fading block."""
        sender = Sender(channel.client, number, payload, Job(0, 0, 0), None, self._sim.now_s)
        self._of[number] = sender, channel, block
        return self._on_clock.open(number, payload.bits)
