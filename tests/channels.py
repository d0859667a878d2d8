"""Channels by hand."""

from cosim.radio.channel import Channel


def flat(snr, fading, client="a client") -> Channel:
    """An SNR that is the same in any bandwidth."""
    return Channel(mean_snr=lambda bandwidth_hz: snr, is_flat=True, fading=fading, client=client)


def budget(received_w, noise_w_per_hz, fading, client="a client") -> Channel:
    """An SNR by received power and noise."""

    def mean_snr(bandwidth_hz: float) -> float:
        return received_w / (noise_w_per_hz * bandwidth_hz)

    return Channel(mean_snr=mean_snr, is_flat=False, fading=fading, client=client)
