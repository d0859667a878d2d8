"""Broadcast: an edge server sends its model once, to all participants of an edge round.

It has M antennas and no beam, since a beam for one client would miss the others: each antenna sends a signal
of its own with 1/M of the power (white Gaussian input of covariance (P / M) I), so that a client with the
channel h receives the power (P / M) |h|^2, |h|^2 the sum over antennas, for any phases. Its rate is
B log2(1 + SNR |h|^2 / M) (Telatar, "Capacity of multi-antenna Gaussian channels", Eur. Trans. Telecommun.
1999), and a message that all can decode has the lowest of their rates (Jindal and Luo, "Capacity limits of
multiple antenna multicast", ISIT 2006): the broadcast lasts as long as the slowest receiver needs.

All receive at that rate, so all have the model at the same instant. The rate is set by the participants when
the broadcast begins; it does not change if a client leaves.

Scope and limitations: no multicast beams, no layers for stronger receivers, no retransmissions. The channel
is constant during a broadcast, so coherence times that end within it are refused.

Validation: `cosim validate broadcast-latency`, tests/radio/downlink/test_broadcast.py.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import Ask, ConfigurationError, knob, part, positive, refuse
from cosim.configuration.going_together import EDGE_ROUNDS, ONE_MODEL
from cosim.jobs.job import Job
from cosim.links.port import Cell, CellLink
from cosim.radio.channel import bps_per_hz
from cosim.radio.downlink.base_station import BaseStation
from cosim.radio.radio_link import RadioLink
from cosim.radio.sharing.shares import FixedShares


@part
class Broadcast(BaseStation):
    """One transmission of the model to all participants of an edge round, at the rate of the slowest.

    Attributes:
        bandwidth_hz: Downlink band of one cell. [no source]
    """

    asks = (
        Ask(EDGE_ROUNDS, "sends one transmission to all of them", "downlink = Unicast"),
        Ask(ONE_MODEL, "sends one transmission to all", "downlink = Unicast"),
    )

    bandwidth_hz: float = knob(positive, default=20e6)

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.fading.within_uploads:
            rule = (
                "a broadcast has the rate of its slowest receiver, so channels must not change while it lasts"
            )
            fix = "Use redrawn = EveryEdgeRound, or downlink = Unicast."
            raise refuse("Broadcast", "fading", type(self.fading).__name__, rule, fix)

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> "list[BroadcastLink]":
        band = FixedShares(bandwidth_hz=self.bandwidth_hz)
        return [
            BroadcastLink(cell.clients, link, self.bandwidth_hz)
            for cell, link in zip(cells, self.radio_links(sim, cells, band), strict=True)
        ]


class BroadcastLink(CellLink):
    """Link on which the clients of one cell listen.

    Args:
        link: Channels between the edge server and its clients, as if each had a beam.
    """

    ends_together: ClassVar[bool] = True

    def __init__(self, clients: Sequence[str], link: RadioLink, bandwidth_hz: float) -> None:
        self._link, self._bandwidth_hz = link, bandwidth_hz
        self._first, self._num_receivers = Numbers.of(clients[:1]).numbers.item(0), 0

    @override
    def begin_round(self, num_clients: int, ends_s: float) -> None:
        self._num_receivers = num_clients

    @override
    def rates_bps(
        self, sim: Simulation, clients: Numbers, job: Job, tx_power_w: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        if len(clients) != self._num_receivers:
            raise ConfigurationError(
                f"Broadcast: {clients[0]} is sent something that the others of its cell do not get at "
                f"{sim.now_s:g} s. Use a protocol whose edge rounds send the same to all, or downlink "
                "= Unicast."
            )
        return np.full(len(clients), self.slowest_bps(clients, job) if len(clients) else 0.0)

    def slowest_bps(self, clients: Numbers, job: Job) -> float:
        """Rate of the slowest of at least one client."""
        snr = self._link.snrs(clients.numbers - self._first, job).min() / self._link.num_antennas(job)
        return float(self._bandwidth_hz * bps_per_hz(float(snr)))
