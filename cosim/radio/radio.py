"""Radio: an uplink over the air, a band for each cell.

The clients of a cell share its band (`sharing`) over channels with a mean SNR (`propagation`) and block
fading (`fading`). Plans know the channels, but for errors of the gains (`gain_errors`).

Scope and limitations: cells do not disturb each other. The downlink is a part of its own
(`System.downlink`).
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import (
    ConfigurationError,
    Lack,
    between,
    configuration,
    field,
    refuse,
)
from cosim.draws import Numbers
from cosim.going_together import EVERY_UPDATE
from cosim.links.link import Cell, CellLink, Job, KnownLink, Link, Places
from cosim.links.payload import Payload
from cosim.links.upload import Upload, Uploads
from cosim.radio.channel import Channel, Met, bps_per_hz, no_snr
from cosim.radio.fading import Fading, Rayleigh
from cosim.radio.fading_of_run import FadingOfRun
from cosim.radio.gain_errors import GainErrors
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.propagation.mean_snr import CellSnr, Each, Propagation
from cosim.radio.sharing.band import Band, Sharing
from cosim.radio.sharing.senders import OfRound, OneByOne, SendersOfRound
from cosim.radio.sharing.shares import FixedShares
from cosim.radio.sharing.ways import way_of
from cosim.records import UP
from cosim.simulation import Simulation


@configuration
class Radio(Link):
    """An uplink over the air.

    Attributes:
        sharing: How the clients of a cell share its band. [HIST journal, Section IV-A: fixed shares]
        link: How a client's mean SNR is found. [HIST journal, Section VI-C: given]
        fading: How channels vary around their mean. [HIST journal, Section VI-C: Rayleigh]
        csi_error_db: Spread of the difference between the gain that a plan knows and the one that an upload
            meets, normal in dB and redrawn every edge round. [no source]
        outage_probability: How often nothing of an upload gets through, redrawn every edge round. [no source]
    """

    directions: ClassVar[tuple[str, ...]] = (UP,)
    lacks = (Lack(EVERY_UPDATE, "outage_probability above 0", lambda own: own.outage_probability > 0.0),)

    sharing: Sharing = FixedShares()
    link: Propagation = GivenSnr()
    fading: Fading = Rayleigh()
    csi_error_db: float = field(between(0.0, 100.0), default=0.0)
    outage_probability: float = field(between(0.0, 1.0), default=0.0)

    def __attrs_post_init__(self) -> None:
        if not self.sharing.needs_exact_channels:
            return
        for name, shown, fits in (
            ("csi_error_db", self.csi_error_db, self.csi_error_db == 0.0),
            ("outage_probability", self.outage_probability, self.outage_probability == 0.0),
            ("fading", type(self.fading).__name__, not self.fading.within_uploads),
        ):
            if not fits:
                kind = type(self.sharing).__name__
                rule = f"{kind} needs channels that are known and stay while an upload lasts"
                raise refuse("Radio", name, shown, rule, "leave it out, or sharing = FixedShares")

    @property
    def finite_moments(self) -> float:
        """As many as of 1 over the gain, where uploads follow it."""
        return self.fading.finite_moments if self.sharing.follows_gains else math.inf

    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> "list[RadioLink]":
        """The link of each cell."""
        errors = GainErrors(sim, self.csi_error_db, self.outage_probability)
        bands, snrs = self.sharing.bands(sim, len(cells)), self.link.of_cells(sim, cells)
        return links_of(sim, cells, bands, snrs, self.fading, errors)


def links_of(
    sim: Simulation,
    cells: Sequence[Cell],
    bands: Sequence[Band],
    snrs: Sequence[CellSnr],
    fading: Fading,
    errors: GainErrors,
) -> "list[RadioLink]":
    """The link of each cell, with the draws of a simulation for its fading."""
    fading.check([client for cell in cells for client in cell.clients])
    of_run = FadingOfRun(sim, fading, cells)
    return [
        RadioLink(sim, cell, band, snr, of_run, errors)
        for cell, band, snr in zip(cells, bands, snrs, strict=True)
    ]


class RadioLink(CellLink, KnownLink):
    """What the clients of one cell send over: a band, and a channel each."""

    def __init__(
        self,
        sim: Simulation,
        cell: Cell,
        band: Band,
        mean_snr: CellSnr,
        fading: FadingOfRun,
        errors: GainErrors,
    ) -> None:
        self._clients, self._powers_w = cell.clients, cell.tx_power_w
        self._band, self._mean_snr, self._fading, self._errors = band, mean_snr, fading, errors
        self._way = way_of(sim, band)
        self.num_at_once = band.num_at_once

    def __init_subclass__(cls) -> None:
        raise ConfigurationError(
            f"{cls.__name__}: what a RadioLink does follows from its parts, on both clocks. Usual fix: a "
            "Sharing, Propagation or Fading of your own, or a CellLink."
        )

    @property
    def by_events(self) -> str | None:
        """Because of its band."""
        return "sharing" if self._band.form == "events" else None

    @property
    def stands_alone(self) -> bool:
        """Where each has a bandwidth of its own."""
        return self._band.form == "steady"

    @property
    def known(self) -> KnownLink | None:
        """The link without the errors of its gains; None: its band does not say beforehand."""
        return self if self._band.is_known else None

    @cached_property
    def _place(self) -> dict[str, int]:
        return {client: place for place, client in enumerate(self._clients)}

    def known_channel(self, client: str, tx_power_w: float, job: Job) -> Channel:
        """What a plan knows of a client's channel."""
        return self._channel(client, tx_power_w, 1.0, job)

    def channel(self, client: str, tx_power_w: float, job: Job) -> Channel:
        """What an upload meets."""
        return self._channel(client, tx_power_w, float(self._errors.factors(client, job)), job)

    def _channel(self, client: str, tx_power_w: float, factor: float, job: Job) -> Channel:
        place, mean_snr = self._place[client], self._mean_snr

        def snr_in(bandwidth_hz: float) -> float:
            return float(mean_snr.snr_in(place, tx_power_w, factor, bandwidth_hz, job))

        met = Met(mean_snr, job, place, tx_power_w, factor)
        return Channel(snr_in, mean_snr.form == "flat", self._fading.of(client), client, met)

    def share_hz(self, num_clients: int) -> float:
        """The bandwidth that each of `num_clients` can count on."""
        return self._band.share_hz(num_clients)

    def snr_per_w(self, places: Places, bandwidth_hz: float, job: Job) -> NDArray[np.float64]:
        """SNR at 1 W in a bandwidth."""
        return self._snrs(places, np.ones(len(self._clients))[places], 1.0, bandwidth_hz, job)

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

        def rates_bps(bandwidth_hz: float) -> NDArray[np.float64]:
            return bandwidth_hz * bps_per_hz(self._snrs(places, powers_w, 1.0, bandwidth_hz, job))

        return np.zeros(len(powers_w)) + self._band.upload_s(rates_bps, payload, num_clients)

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Tell the band."""
        self._way.begin_round(num_clients, ends_s)

    def start(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> Upload:
        """Begin an upload in the fading block of this instant."""
        if tx_power_w is None:
            tx_power_w = self._powers_w.item(self._place[client])
        block = self._fading.of(client).block(job)
        return self._way.open(self._place[client], self.channel(client, tx_power_w, job), payload, block)

    @cached_property
    def _numbers(self) -> Numbers:
        return Numbers.of(self._clients)

    def uploads(
        self,
        places: Places,
        begins_s: NDArray[np.float64],
        payload: Payload,
        job: Job,
        tx_power_w: NDArray[np.float64] | None = None,
    ) -> Uploads | None:
        """As the band is shared; by events where a channel would be over, then an error if one needs it."""
        powers_w = self._powers_w[places] if tx_power_w is None else tx_power_w
        factors = self._errors.factors(self._numbers, job)
        factors = factors if isinstance(factors, float) else factors[places]
        if not self._fading.follows_jobs:
            each = np.arange(len(self._clients))[places], powers_w, np.broadcast_to(factors, len(powers_w))
            senders = partial(self._senders, payload, job, begins_s, *each)
            with suppress(ConfigurationError):
                return self._way.uploads(begins_s, payload, SendersOfRound(None, senders))
            return None

        def rates_bps(bandwidth_hz: float) -> NDArray[np.float64]:
            return bandwidth_hz * bps_per_hz(self._snrs(places, powers_w, factors, bandwidth_hz, job))

        senders = partial(OfRound, payload.bits, rates_bps, is_flat=self._mean_snr.form == "flat")
        return self._way.uploads(begins_s, payload, SendersOfRound(rates_bps, senders))

    def _senders(self, payload: Payload, job: Job, *each: NDArray[Any]) -> OneByOne:
        """Participants of an edge round whose channels change by themselves.

        Args:
            each: When each begins, its place in the cell, power and factor, shape (participants,).
        """
        senders = OneByOne()
        for number, (begin_s, place, power_w, factor) in enumerate(zip(*each, strict=True)):
            channel = self._channel(self._clients[int(place)], float(power_w), float(factor), job)
            block = channel.fading.block_at(job, float(begin_s)) if begin_s < math.inf else ()
            senders.add(number, payload.bits, channel, block)
        return senders

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

    def deviation_of_mean(self, places: Places, job: Job) -> Callable[[], float] | None:
        """Noise on the mean of what these clients have sent."""

        def received() -> NDArray[np.complex128]:
            """Channel vectors times the amplitude of power over noise, spread over the whole band."""
            whole_hz = self._band.share_hz(1)
            snr = self._mean_snr.snr_in(places, self._powers_w[places], 1.0, whole_hz, job)
            return np.sqrt(snr)[:, None] * self.vectors(places, job)

        return self._band.deviation_of_mean(received)
