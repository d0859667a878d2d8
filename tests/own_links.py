"""Links as a user would write them, one in each form; used both ways."""

import math

import numpy as np

import cosim
from cosim.configuration import configuration, field, for_each, positive


@configuration
class Rates(cosim.Link):
    """One rate for everyone."""

    rate_bps: float = field(positive, default=1e5)

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [Steady(self.rate_bps) for _ in cells]


class Steady(cosim.CellLink):
    """Clients of a round differ by their places."""

    def __init__(self, rate_bps):
        self.rate_bps = rate_bps

    def rates_bps(self, sim, clients, job, tx_power_w):
        """A tenth less for each client of a higher number."""
        return self.rate_bps * 0.9 ** (np.array([int(name[-1]) for name in clients]) + job.number % 3)


class OneByOne(cosim.Link):
    """A rule for one client."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [OneByOneLink() for _ in cells]


class OneByOneLink(cosim.CellLink):
    """The last client is slow."""

    @for_each
    def rates_bps(self, sim, client, job, tx_power_w):
        """Its rate."""
        return 2e4 if client.endswith("4") else 1e5


class ByPower(cosim.Link):
    """In proportion to power."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [ByPowerLink() for _ in cells]


class ByPowerLink(cosim.CellLink):
    """1 Mbit/s at 1 W."""

    def rates_bps(self, sim, clients, job, tx_power_w):
        """Of all."""
        return 1e6 * tx_power_w


class ByPowerEach(cosim.Link):
    """The same."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [ByPowerEachLink() for _ in cells]


class ByPowerEachLink(cosim.CellLink):
    """1 Mbit/s at 1 W."""

    @for_each
    def rates_bps(self, sim, client, job, tx_power_w):
        """Of each."""
        return 1e6 * tx_power_w


class Fading(cosim.Link):
    """Rates that die away."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [FadingLink() for _ in cells]


class FadingLink(cosim.CellLink):
    """Each client begins with a rate of its own."""

    def course(self, client):
        """Of a client."""
        return Dying(5e4 * (1.0 + int(client[-1]) / 4.0))


class Dying(cosim.Course):
    """A rate that halves every second."""

    def __init__(self, first_bps):
        self.first_bps, self.per_s = first_bps, math.log(2.0)

    def bits(self, start_s, end_s):
        """Integral of the rate."""
        return self.first_bps / self.per_s * (math.exp(-self.per_s * start_s) - math.exp(-self.per_s * end_s))

    def end_s(self, start_s, bits):
        """Its inverse."""
        left = math.exp(-self.per_s * start_s) - bits * self.per_s / self.first_bps
        return -math.log(left) / self.per_s if left > 0.0 else math.inf


class Line(cosim.Link):
    """One upload after the other."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [LineLink(sim) for _ in cells]


class LineLink(cosim.CellLink):
    """A queue without an order but that of coming."""

    def __init__(self, sim):
        self.sim, self.free_s = sim, 0.0

    def open(self, client, payload, job, tx_power_w=None):
        """Behind those that came before."""
        wait_s = max(0.0, self.free_s - self.sim.now_s)
        self.free_s = self.sim.now_s + wait_s + payload.bits / 1e5
        return cosim.SteadyUpload(self.sim, payload.bits, 1e5, wait_s)
