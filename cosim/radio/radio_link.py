"""Radio link: the channels of the clients of a cell, and what is known of them beforehand."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.jobs.job import Job, Places
from cosim.jobs.payload import Payload
from cosim.links.port import Cell, CellLink, KnownLink, Sender, Sent
from cosim.radio.channel import Channel, Met, bps_per_hz, no_snr
from cosim.radio.fading_of_run import FadingOfRun
from cosim.radio.gain_errors import GainErrors
from cosim.radio.propagation.port import CellSnr, Each
from cosim.radio.redrawn import Block
from cosim.radio.sharing.port import Band
from cosim.radio.sharing.senders import OfRound, OneByOne, Senders


class RadioLink(CellLink, KnownLink):
    """What the clients of one cell send over: a band, and a channel each."""

    def __init__(
        self, cell: Cell, band: Band, mean_snr: CellSnr, fading: FadingOfRun, errors: GainErrors
    ) -> None:
        self._clients, self._powers_w = cell.clients, cell.tx_power_w
        self._band, self._mean_snr, self._fading, self._errors = band, mean_snr, fading, errors
        self.num_at_once = band.num_at_once

    @property
    @override
    def known(self) -> KnownLink | None:
        """The link without the errors of its gains; None: its band does not say beforehand."""
        return self if self._band.is_known else None

    @cached_property
    def _place(self) -> dict[str, int]:
        return {client: place for place, client in enumerate(self._clients)}

    @cached_property
    def _numbers(self) -> Numbers:
        return Numbers.of(self._clients)

    def places_of(self, clients: Numbers) -> Places:
        """Where some clients are among those of the cell, all ascending."""
        return clients.places_among(self._numbers)

    def known_channel(self, client: str, tx_power_w: float, job: Job) -> Channel:
        """What a plan knows of a client's channel."""
        return self._channel(client, tx_power_w, 1.0, job)

    def channel(self, client: str, tx_power_w: float | None, job: Job) -> Channel:
        """What an upload meets.

        Args:
            tx_power_w: Its transmit power; None: that of the edge server, from which it receives.
        """
        if tx_power_w is None:
            tx_power_w = self._powers_w.item(self._place[client])
        return self._channel(client, tx_power_w, float(self._errors.factors(client, job)), job)

    def _channel(self, client: str, tx_power_w: float, factor: float, job: Job) -> Channel:
        place, mean_snr = self._place[client], self._mean_snr

        def snr_in(bandwidth_hz: float) -> float:
            return float(mean_snr.snr_in(place, tx_power_w, factor, bandwidth_hz, job))

        met = Met(mean_snr, job, place, tx_power_w, factor)
        return Channel(snr_in, mean_snr.form == "flat", self._fading.of(client), client, met)

    def met_by(
        self, places: Places, tx_power_w: NDArray[np.float64] | None, job: Job
    ) -> tuple[Places, NDArray[np.float64], Each, Job]:
        """What uploads of some clients meet in a job; arguments of `rates_in`.

        Args:
            tx_power_w: Of each, shape (clients,); None: that of the edge server, from which they receive.
        """
        powers_w = self._powers_w[places] if tx_power_w is None else tx_power_w
        factors = self._errors.factors(self._numbers, job)
        return places, powers_w, factors if isinstance(factors, float) else factors[places], job

    def rates_in(
        self, bandwidth_hz: float, places: Places, tx_power_w: NDArray[np.float64], factor: Each, job: Job
    ) -> NDArray[np.float64]:
        """Rates of some clients in a bandwidth, shape (clients,); arguments as `CellSnr.snr_in`."""
        return bandwidth_hz * bps_per_hz(self._snrs(places, tx_power_w, factor, bandwidth_hz, job))

    def senders(self, sent: Sent) -> Senders:
        """The channels of uploads, as a band asks for them."""
        of = sent.in_round
        if of is None or not self._fading.follows_jobs:
            return OneByOne(sent, self._begins_with)
        met = self.met_by(of.places, of.tx_power_w, of.job)
        is_flat = self._mean_snr.form == "flat"
        return OfRound(of.payload.bits, lambda width_hz: self.rates_in(width_hz, *met), is_flat=is_flat)

    def _begins_with(self, sender: Sender) -> tuple[Channel, Block]:
        channel = self.channel(sender.client, sender.tx_power_w, sender.job)
        return channel, channel.fading.block_at(sender.job, sender.begins_s)

    @override
    def share_hz(self, num_clients: int) -> float:
        """The bandwidth that each of `num_clients` can count on."""
        return self._band.share_hz(num_clients)

    @override
    def snr_per_w(self, places: Places, bandwidth_hz: float, job: Job) -> NDArray[np.float64]:
        """SNR at 1 W in a bandwidth."""
        return self._snrs(places, np.ones(len(self._clients))[places], 1.0, bandwidth_hz, job)

    @override
    def upload_s(
        self,
        places: Places,
        payload: Payload,
        num_clients: int,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """How long uploads take where `num_clients` share the band."""
        powers_w = self._powers_w[places] if tx_power_w is None else tx_power_w
        known = places, powers_w, 1.0, job
        lasts_s = self._band.upload_s(lambda width_hz: self.rates_in(width_hz, *known), payload, num_clients)
        return np.zeros(len(powers_w)) + lasts_s

    def snrs(self, places: Places, job: Job) -> NDArray[np.float64]:
        """SNR of some clients in the whole band, as it is known, shape (clients,)."""
        return self._snrs(places, self._powers_w[places], 1.0, self._band.share_hz(1), job)

    def vectors(self, places: Places, job: Job) -> NDArray[np.complex128]:
        """Channels that a job of some clients meets at this instant, shape (clients, antennas)."""
        return self._fading.vectors(self._numbers, job)[places]

    def num_antennas(self, job: Job) -> int:
        """Antennas that a job meets."""
        return self.vectors(slice(0, 1), job).shape[1]

    def _snrs(
        self, places: Places, tx_power_w: NDArray[np.float64], factor: Each, bandwidth_hz: float, job: Job
    ) -> NDArray[np.float64]:
        """SNR of some clients in a bandwidth, shape (clients,); arguments as `CellSnr.snr_in`."""
        snr = self._mean_snr.snr_in(places, tx_power_w, factor, bandwidth_hz, job)
        found = snr * self._fading.gains(self._numbers, job)[places]
        if np.count_nonzero(fits := found >= 0.0) < len(found):
            wrong = int(fits.argmin())
            place = int(np.arange(len(self._clients))[places][wrong])
            raise no_snr(self._clients[place], found.item(wrong))
        return found

    @override
    def deviation_of_mean(self, places: Places, job: Job) -> Callable[[], float] | None:
        """Noise on the mean of what these clients have sent."""

        def received() -> NDArray[np.complex128]:
            """Channel vectors times the amplitude of power over noise, spread over the whole band."""
            whole_hz = self._band.share_hz(1)
            snr = self._mean_snr.snr_in(places, self._powers_w[places], 1.0, whole_hz, job)
            return np.sqrt(snr)[:, None] * self.vectors(places, job)

        return self._band.deviation_of_mean(received)
