"""Given rates: uploads by hand at each client's own, refusals, the contract."""

import pytest

import cosim
from cosim import ConfigurationError, Never, PerClient
from cosim.devices import Column
from cosim.links import GivenRates
from cosim.testing import check_link, small_system

RATES_BPS = (1e4, 2e4, 3e4, 4e4, 5e4)


def test_an_upload_takes_its_bits_over_its_clients_rate():
    """4,096 bits of each of five clients in two cells."""
    uplink = GivenRates(rate_bps=PerClient(values=RATES_BPS))
    found = cosim.run(cosim.evolve(small_system(), uplink=uplink, evaluation=Never())).transfers
    lasts_s = (found["end_s"] - found["start_s"]).groupby(found["client"]).first().tolist()
    assert lasts_s == pytest.approx([4096 / own for own in RATES_BPS], rel=1e-12)


def test_they_keep_the_laws():
    check_link(GivenRates(rate_bps=PerClient(values=RATES_BPS)))


def test_rates_of_0_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"rate_bps = .*must be above 0"):
        GivenRates(rate_bps=0.0)
    (tmp_path / "phones.csv").write_text("device,uplink_bps\n0,1.0\n1,0.0\n")
    with pytest.raises(ConfigurationError, match=r"row 3, column 'uplink_bps': 0 must be above 0"):
        GivenRates(rate_bps=Column(file=str(tmp_path / "phones.csv"), column="uplink_bps"))
