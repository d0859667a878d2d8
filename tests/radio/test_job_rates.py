"""Rows of rates: a client reads its place, at a power of its own or beside a refused channel it is alone."""

import numpy as np
import pytest
from typing_extensions import override

from cosim import ConfigurationError, GivenSnr, PerGroup, Radio, Simulation
from cosim.configuration import part
from cosim.jobs.job import Job
from cosim.links.port import Cell
from cosim.names import ClientNames
from cosim.radio import Fading

JOB, NUM = Job(1, 0, 0), 300


@part
class Broken(Fading):
    """A negative gain of one client."""

    @override
    def gains(self, sim, clients, block):
        return np.array([-1.0 if name.endswith("0003") else 2.0 + int(name[-1]) for name in clients])


def link_of(**parts):
    cell = Cell("edge-00", ClientNames(0, NUM), np.full(NUM, 100.0), np.full(NUM, 0.2))
    (link,) = Radio(link=GivenSnr(snr_db=PerGroup(values=(0.0,))), **parts).of_cells(
        Simulation(seed=1), [cell]
    )
    return link


@pytest.mark.parametrize("tx_power_w", [0.2, 0.1, None])
def test_a_row_holds_what_a_client_has_alone(tx_power_w):
    rows = link_of().rows
    alone = link_of()
    for place in (0, 17, 255, 256, 299):
        found = rows.rate_bps(place, tx_power_w, JOB, 1e6)
        power_w = None if tx_power_w is None else np.array([tx_power_w])
        assert [found] == alone.met_by(np.array([place]), power_w, JOB).rate_bps(1e6).tolist()


def test_a_refused_channel_refuses_no_other():
    rows = link_of(fading=Broken()).rows
    assert rows.rate_bps(4, 0.2, JOB, 1e6) == pytest.approx(1e6 * np.log2(7.0), rel=1e-12)
    assert rows.rates_bps((0, JOB), np.array([4, 5]), 1e6) is None
    with pytest.raises(ConfigurationError, match=r"^client-0003 has an SNR of -1\.0"):
        rows.rate_bps(3, 0.2, JOB, 1e6)
