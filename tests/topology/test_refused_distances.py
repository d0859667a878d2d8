"""Distances that a link refuses: the message names the place in the file, or the fields, that gave them."""

from typing import Any

import numpy as np
import pytest
import worlds
from numpy.typing import NDArray
from typing_extensions import override

import cosim
from cosim import ConfigurationError, part
from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.radio import EveryEdgeRound, LargeScale, LinkBudget
from cosim.radio.propagation.pathloss import Environment
from cosim.topology import Disc, TableTopology, Topology


def linked(topology: Topology, environment: Environment, **budget: Any) -> cosim.System:
    link = LinkBudget(large_scale=LargeScale(environment=environment), **budget)
    radio = cosim.Radio(link=link)
    return worlds.one_cell(1e9, 1e9, 1e9, topology=topology, uplink=radio, evaluation=cosim.Never())


@part
class Street(Topology):
    """Clients in a row."""

    @override
    def distances_m(self, sim: Simulation, clients: Numbers) -> NDArray[np.float64]:
        return np.arange(4.0, 4.0 * len(clients) + 1.0, 4.0)


RANGE = r"Use distances inside that range, or another environment\.$"


@pytest.mark.parametrize("budget", [{}, {"large_scale_redrawn": EveryEdgeRound()}])
@pytest.mark.parametrize(
    ("environment", "distance_m", "rule"),
    [
        ("uma", "5", "in uma, its distance must lie from 10 to 5000 m"),
        ("inh-open", "500", "in inh-open, its distance must lie from 0 to 150 m"),
        ("inh-open", "150", "in inh-open, the distance of its antenna must lie from 1 to 150 m"),
    ],
)
def test_a_distance_that_a_link_refuses_has_its_row(environment, distance_m, rule, budget, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"device,distance_m\n0,50\n2,{distance_m}\n1,50\n")
    said = rf"t\.csv, row 3, column 'distance_m': client-0002 is {distance_m} m .*: {rule} .*{RANGE}"
    with pytest.raises(ConfigurationError, match=said):
        cosim.run(linked(TableTopology(file=str(path)), environment, **budget))


@pytest.mark.parametrize(
    ("topology", "environment", "said"),
    [
        (
            Disc(),
            "inh-open",
            r"Disc\.min_distance_m = 35 and cell_radius_m = 500: client-000\d is .* from 0 to 150 m",
        ),
        (
            Disc(min_distance_m=0.0, cell_radius_m=9.0),
            "uma",
            r"Disc\.min_distance_m = 0 and cell_radius_m = 9: client-000\d is .* from 10 to 5000 m",
        ),
        (Street(), "uma", r"Street\.distances_m: client-0000 is 4 m .*from 10 to 5000 m"),
    ],
)
def test_a_distance_that_a_link_refuses_names_what_gave_it(topology, environment, said):
    with pytest.raises(ConfigurationError, match=rf"^{said}.*{RANGE}"):
        cosim.run(linked(topology, environment))


@pytest.mark.parametrize("distance_m", ["0", "-1"])
def test_a_distance_that_is_not_above_0_has_its_row(distance_m, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"device,distance_m\n0,50\n2,{distance_m}\n1,50\n")
    said = rf"t\.csv, row 3, column 'distance_m': {distance_m} is not above 0\. Use a distance above 0\.$"
    with pytest.raises(ConfigurationError, match=said):
        cosim.run(linked(TableTopology(file=str(path)), "uma"))
