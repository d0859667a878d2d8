"""Transmit powers: one for all clients, and a range in dBm."""

import numpy as np
import pytest

from cosim import ConfigurationError, Simulation
from cosim.clock.draws import Numbers
from cosim.devices import PowerRange, SamePower
from cosim.names import ClientNames

pytestmark = pytest.mark.quick

CLIENTS = Numbers.of(ClientNames(0, 2))


class Drawn(Simulation):
    """Draws one number for all."""

    def __init__(self, number: float) -> None:
        self._number = number

    def of_client(self, clients, purpose, draw, *index):
        return np.full(len(clients), self._number)


def test_one_power_is_everybodys():
    assert SamePower(power_w=0.3).highest_w(Simulation(1), CLIENTS).tolist() == [0.3, 0.3]


@pytest.mark.parametrize(("number", "power_w"), [(0.0, 0.1), (0.5, 10.0**-0.5), (1.0, 1.0)])
def test_a_range_is_uniform_in_dbm(number, power_w):
    """20 to 30 dBm are 0.1 to 1 W, and 25 dBm in the middle."""
    powers = PowerRange(lowest_dbm=20.0, highest_dbm=30.0)
    assert powers.highest_w(Drawn(number), CLIENTS) == pytest.approx([power_w, power_w], rel=1e-12)


def test_a_swapped_range_is_refused():
    with pytest.raises(ConfigurationError, match=r"PowerRange.lowest_dbm = 30: is above highest_dbm = 20"):
        PowerRange(lowest_dbm=30.0, highest_dbm=20.0)
