"""Remarks: numbers that are legal and that few mean are told, and others are not."""

import pytest

import cosim
from cosim import evolve
from cosim.configuration import part
from cosim.engine.run.remarks import remarks_on
from cosim.links.traces.rate_trace import RateTrace
from cosim.testing import small_system

pytestmark = pytest.mark.quick

SYSTEM = small_system()


@part
class Cable(cosim.Link):
    """A part of a user's with a rate."""

    rate_bps: float = 1e7

    def of_cells(self, sim, cells):
        """None."""
        return []


def traced(folder, text: str) -> cosim.System:
    file = folder / "street.csv"
    file.write_text("time_s,device,rate_bps\n" + text)
    return evolve(SYSTEM, uplink=cosim.links.TracedLink(trace=RateTrace(file=str(file))))


def test_usual_numbers_are_not_remarked_on(tmp_path):
    assert remarks_on(SYSTEM) == remarks_on(evolve(SYSTEM, uplink=Cable())) == []
    assert remarks_on(traced(tmp_path, "0,0,1e6\n1,0,0\n2,0,2e6\n5,0,1e6\n0,1,5e6\n")) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"uplink": Cable(rate_bps=10.0)},
            "uplink.rate_bps = 10 bit/s is little. Use 1e+07, if",
        ),
        (
            {"topology": cosim.topology.Topology(backhaul_rate_bps=54.0)},
            "topology.backhaul_rate_bps = 54 bit/s is little. Use 5.4e+07, if 54 Mbit/s was meant.",
        ),
        (
            {"uplink": cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=5.0))},
            "uplink.sharing.bandwidth_hz = 5 Hz is little. Use 5e+06, if 5 MHz was meant.",
        ),
    ],
)
def test_rates_and_bands_that_look_like_millions(changed, words):
    (remark,) = remarks_on(evolve(SYSTEM, **changed))
    assert remark.startswith(words)


def test_a_table_of_rates_in_megabits_and_a_gap_in_its_stamps(tmp_path):
    slow, gap = remarks_on(traced(tmp_path, "0,a,10\n1,a,12.5\n2,a,9\n300,a,11\n301,a,11\n0,b,1\n"))
    assert slow.endswith("no rate is above 12.5 bit/s. Use rate_bps in bit/s, 1e6 times Mbit/s.")
    assert "device 'a': no row between 2 s and 300 s, so its rate stays for so long. Use " in gap
