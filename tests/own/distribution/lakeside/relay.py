"""Relay: a station between clients and edge servers, which handles an upload before it lets it through."""

import cosim
from cosim.configuration import knob, part, positive
from lakeside.service import Gamma


@part
class Relay(cosim.Link):
    """A relay in every cell.

    Attributes:
        handling: Law of the time for which a client waits. [no source]
        rate_bps: Rate of a client. [no source]
    """

    handling: cosim.queues.ServiceLaw = Gamma()
    rate_bps: float = knob(positive, default=1e5)

    def of_cells(self, sim, cells):
        """The relay of each cell."""
        return [RelayLink(sim, self) for _ in cells]


class RelayLink(cosim.CellLink):
    """The relay of a cell."""

    def __init__(self, sim, relay):
        self.sim, self.relay = sim, relay

    def open(self, client, payload, job, tx_power_w=None):
        """Begin; the wait of a job is drawn by its number."""
        (wait_s,) = self.relay.handling.draw(self.sim.stream(client, "relay", job.number), 1)
        return cosim.links.SteadyUpload(self.sim, payload.bits, self.relay.rate_bps, wait_s=float(wait_s))
