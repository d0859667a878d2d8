"""Radio link: the channels of the clients of a cell, and what plans know about them."""

import math
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.jobs.job import Job, Places
from cosim.jobs.payload import Payload
from cosim.links.port import Cell, CellLink, KnownLink, Sender, Sent
from cosim.radio.channel import Channel, Met
from cosim.radio.fading_of_run import FadingOfRun
from cosim.radio.gain_errors import GainErrors
from cosim.radio.job_rates import Rows
from cosim.radio.propagation.port import CellSnr, Each
from cosim.radio.redrawn import Block
from cosim.radio.sharing.port import Band
from cosim.radio.sharing.senders import Fades, OfRound, OneByOne, Senders, Staying


class RadioLink(CellLink, KnownLink):
    """Band and channels of the clients of one cell."""

    def __init__(
        self, cell: Cell, band: Band, mean_snr: CellSnr, fading: FadingOfRun, errors: GainErrors
    ) -> None:
        self._clients, self._powers_w = cell.clients, cell.tx_power_w
        self._band, self._mean_snr, self._fading, self._errors = band, mean_snr, fading, errors
        self.num_at_once = band.num_at_once
        self.rows = Rows(cell.tx_power_w, self.met_by, self._met_alone)

    @override
    def mean_snr(self) -> NDArray[np.float64] | None:
        """SNR of each client in the whole band in the first job; None if the band has no width beforehand."""
        with suppress(NotImplementedError):
            whole_hz = math.nan if self._mean_snr.form == "flat" else self._band.share_hz(1)
            found = self._mean_snr.snr_in(slice(None), self._powers_w, 1.0, whole_hz, Job.of_round(1, 0, 1))
            return np.broadcast_to(np.asarray(found, dtype=float), self._powers_w.shape)
        return None

    @property
    @override
    def known(self) -> KnownLink | None:
        """The link without errors of its gains; None if its band is not known beforehand."""
        return self if self._band.is_known else None

    @cached_property
    def place_of(self) -> dict[str, int]:
        return {client: place for place, client in enumerate(self._clients)}

    @cached_property
    def _numbers(self) -> Numbers:
        return Numbers.of(self._clients)

    def places_of(self, clients: Numbers) -> Places:
        """Places of some clients among the clients of the cell, all ascending."""
        return slice(None) if clients is self._numbers else clients.places_among(self._numbers)

    def known_channel(self, client: str, tx_power_w: float, job: Job) -> Channel:
        """Channel of a client, as a plan knows it."""
        return self._channel(client, tx_power_w, 1.0, job)

    def channel(self, client: str, tx_power_w: float | None, job: Job) -> Channel:
        """Channel of an upload.

        Args:
            tx_power_w: The client's transmit power; None means that it receives from the edge server, at its
                power.
        """
        if tx_power_w is None:
            tx_power_w = self._powers_w.item(self.place_of[client])
        return self._channel(client, tx_power_w, float(self._errors.factors(client, job)), job)

    def _channel(self, client: str, tx_power_w: float, factor: float, job: Job) -> Channel:
        met = Met(self._clients, self._mean_snr, job, self.place_of[client], tx_power_w, factor, 1.0)
        return Channel(met, self._fading.of(client))

    def met_by(self, places: Places, tx_power_w: NDArray[np.float64] | None, job: Job) -> Met:
        """Channels of some clients' uploads in a job.

        Args:
            tx_power_w: Power of each, shape (clients,); None means that they receive from the edge server, at
                its power.
        """
        factors = self._errors.factors(self._numbers, job)
        return self._met(places, tx_power_w, factors if isinstance(factors, float) else factors[places], job)

    def _met_by_one(
        self, place: int, tx_power_w: float | None, job: Job, begins_s: float
    ) -> tuple[Met, Block]:
        """Channel of one client's upload when it begins, and its fading block."""
        client = self._clients[place]
        fading = self._fading.of(client)
        if tx_power_w is None:
            tx_power_w = self._powers_w.item(place)
        block, factor = fading.block_at(job, begins_s), self._errors.factors(client, job)
        met = Met(self._clients, self._mean_snr, job, place, tx_power_w, factor, fading.gain(block))
        return met, block

    def _met_alone(self, place: int, tx_power_w: float | None, job: Job) -> Met:
        return self._met_by_one(place, tx_power_w, job, 0.0)[0]

    def _met(self, places: Places, tx_power_w: NDArray[np.float64] | None, factor: Each, job: Job) -> Met:
        powers_w = self._powers_w[places] if tx_power_w is None else tx_power_w
        gains = self._fading.gains(self._numbers, job)[places]
        return Met(self._clients, self._mean_snr, job, places, powers_w, factor, gains)

    def senders(self, sent: Sent) -> Senders:
        """Channels of uploads, in the form that a band needs."""
        if not self._fading.follows_jobs:
            return OneByOne(sent, self._begins_with)
        of, is_flat = sent.in_round, self._mean_snr.form == "flat"
        if of is None:
            return Staying(sent, self._begins_with, self.rows, is_flat=is_flat)
        return OfRound(
            of.payload.bits, self.met_by(of.places, of.tx_power_w, of.job).rate_bps, is_flat=is_flat
        )

    def _begins_with(self, sender: Sender) -> tuple[Met, Fades]:
        client, place, _, job, tx_power_w, begins_s = sender
        met, block = self._met_by_one(place, tx_power_w, job, begins_s)
        return met, (Channel(met, self._fading.of(client)), block)

    @override
    def share_hz(self, num_clients: int) -> float:
        return self._band.share_hz(num_clients)

    @override
    def snr_per_w(self, places: Places, bandwidth_hz: float, job: Job) -> NDArray[np.float64]:
        return self._met(places, np.ones(len(self._clients))[places], 1.0, job).snr(bandwidth_hz)

    @override
    def upload_s(
        self,
        places: Places,
        payload: Payload,
        num_clients: int,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        known = self._met(places, tx_power_w, 1.0, job)
        lasts_s = self._band.upload_s(known.rate_bps, payload, num_clients)
        return np.zeros(len(known.gain)) + lasts_s  # type: ignore[arg-type]

    def snrs(self, places: Places, job: Job) -> NDArray[np.float64]:
        """SNR of some clients in the whole band, as it is known, shape (clients,)."""
        return self._met(places, None, 1.0, job).snr(self._band.share_hz(1))

    def vectors(self, places: Places, job: Job) -> NDArray[np.complex128]:
        """Channels of some clients in a job at this instant, shape (clients, antennas)."""
        return self._fading.vectors(self._numbers, job)[places]

    def num_antennas(self, job: Job) -> int:
        """Number of antennas in a job."""
        return self.vectors(slice(0, 1), job).shape[1]

    @override
    def deviation_of_mean(self, places: Places, job: Job) -> Callable[[], float] | None:
        def received() -> NDArray[np.complex128]:
            """Channel vectors times the amplitude of power over noise, spread over the whole band."""
            whole_hz = self._band.share_hz(1)
            snr = self._mean_snr.snr_in(places, self._powers_w[places], 1.0, whole_hz, job)
            return np.sqrt(snr)[:, None] * self.vectors(places, job)

        return self._band.deviation_of_mean(received)
