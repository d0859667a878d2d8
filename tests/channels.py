"""Channels by hand."""

import numpy as np

from cosim.links.link import Cell
from cosim.radio.channel import Channel
from cosim.radio.fading_of_run import ClientFading, FadingOfRun


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
