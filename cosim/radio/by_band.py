"""Link of a cell in the form that follows from how its band is shared.

| form of the band | form of the link |
|---|---|
| steady | rates; a machine of lanes if channels change while clients send |
| together | together |
| machine | machine |
| events | events |
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.machine import Machine
from cosim.links.port import Cell, Sent
from cosim.links.upload import Upload
from cosim.radio.fading import Fading
from cosim.radio.fading_of_run import FadingOfRun
from cosim.radio.gain_errors import GainErrors
from cosim.radio.propagation.port import CellSnr
from cosim.radio.radio_link import RadioLink
from cosim.radio.sharing.lanes import Lanes
from cosim.radio.sharing.port import Band


class SteadyLink(RadioLink):
    """Link with a bandwidth for each client, over channels that are constant while they send."""

    _num_clients = 1

    @override
    def begin_round(self, num_clients: int, ends_s: float) -> None:
        self._num_clients = max(1, num_clients)

    @override
    def rates_bps(
        self, sim: Simulation, clients: Numbers, job: Job, tx_power_w: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        width_hz = self._band.steady_hz(self._num_clients)
        if len(clients) == 1:  # by events, where arrays of one would take most of the time
            power_w = None if tx_power_w is None else tx_power_w.item()
            return np.array([self.rows.rate_bps(self.place_of[clients[0]], power_w, job, width_hz)])
        return self.met_by(self.places_of(clients), tx_power_w, job).rate_bps(width_hz)


class ChangingLink(RadioLink):
    """Link with a bandwidth for each client, over channels that change while they send."""

    @property
    @override
    def stands_alone(self) -> bool:
        return True

    @override
    def machine(self, sent: Sent) -> Lanes:
        return Lanes(self._band.steady_hz, None, self.senders(sent))


class SummedLink(RadioLink):
    """Link over which all send at once, as over the air."""

    @override
    def airtime_s(self, payload: Payload) -> float:
        return self._band.airtime_s(payload)


class SharedLink(RadioLink):
    """Link by a machine of the band."""

    @override
    def machine(self, sent: Sent) -> Machine:
        return self._band.machine(self.senders(sent))


class LinkByEvents(RadioLink):
    """Link with the band's own uploads."""

    @property
    @override
    def by_events(self) -> str:
        return "sharing"

    @override
    def begin_round(self, num_clients: int, ends_s: float) -> None:
        self._band.begin_round(num_clients, ends_s)

    @override
    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> Upload:
        channel = self.channel(client, tx_power_w, job)
        return self._band.open(client, channel, payload, channel.fading.block(job))


KINDS: Mapping[str | None, type[RadioLink]] = {
    "steady": SteadyLink,
    "together": SummedLink,
    "machine": SharedLink,
    "events": LinkByEvents,
}
"""Form of a band -> link in it over channels that are constant while clients send."""
CHANGING = {**KINDS, "steady": ChangingLink}
"""Form of a band -> link in it over channels that change while clients send."""


def links_of(
    sim: Simulation,
    cells: Sequence[Cell],
    bands: Sequence[Band],
    snrs: Sequence[CellSnr],
    fading: Fading,
    errors: GainErrors,
) -> list[RadioLink]:
    """Link of each cell, with the fading drawn by a simulation."""
    of_run = FadingOfRun(sim, fading, cells)
    kinds = KINDS if of_run.follows_jobs else CHANGING
    return [
        kinds[band.form](cell, band, snr, of_run, errors)
        for cell, band, snr in zip(cells, bands, snrs, strict=True)
    ]
