"""Given rates: a link whose rate is given for each client as a number, such as a benchmark's or a contract's.

Usage: `GivenRates(rate_bps=Column(file="phones.csv", column="uplink_bps"))`.

Scope and limitations: clients share nothing, and their power changes no rate. Retransmissions and overhead
are in a rate if they were in the measurement. Plans, which ask for bandwidths and SNRs, are refused.

Validation: tests/links/test_given_rates.py.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.client_values.port import PerGroup, Values, each
from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import knob, part, positive
from cosim.jobs.job import Job
from cosim.links.port import Cell, CellLink, Link
from cosim.names import by_number


@part
class GivenRates(Link):
    """A rate of each client.

    Attributes:
        rate_bps: Rate of a client, the same in all jobs. [no source]
    """

    rate_bps: Values = knob(each(positive), default=PerGroup(values=(1e6,)))

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellLink]:
        rates_bps = self.rate_bps.of_clients([len(cell.clients) for cell in cells])
        return [_CellRates(cell, np.array(own)) for cell, own in zip(cells, rates_bps, strict=True)]


class _CellRates(CellLink):
    def __init__(self, cell: Cell, rates_bps: NDArray[np.float64]) -> None:
        self._first, self._rates_bps = by_number(cell.clients[0])[1], rates_bps

    @override
    def rates_bps(
        self, sim: Simulation, clients: Numbers, job: Job, tx_power_w: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        return self._rates_bps[clients.numbers - self._first]
