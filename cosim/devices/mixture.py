"""Mixture: clients of two kinds of devices, such as 30 % phones and 70 % sensors.

For three kinds, nest mixtures: with 30 % phones, 50 % sensors and 20 % cameras, `others` is a mixture with a
share of 5 / 7 sensors. Both kinds are drawn for every client, each by the client's own name, so a client that
changes its kind is the same as in a population of that kind alone.

Usage::

    phones = DrawnDevices(tx_power=SamePower(power_w=0.2), presence=OnOff())
    sensors = DrawnDevices(tx_power=SamePower(power_w=0.01))
    System(
        devices=Mixture(
            share=0.3, some=phones, some_name="phone", others=sensors, others_name="sensor"
        )
    )

Scope and limitations: data do not depend on the kind. A `DeviceTable` inside a mixture has a row for every
client.

Validation: tests/devices/test_populations.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers, uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import a_share, knob, not_empty, part, parts_of, refuse
from cosim.devices.device import NUMBERS, PARTS, DeviceArrays
from cosim.devices.drawn_devices import DrawnDevices
from cosim.devices.port import Devices
from cosim.names import ClientNames

SOME, OTHERS = "some", "others"
"""Names of the two kinds, unless they are given."""


@part
class Mixture(Devices):
    """Clients of two kinds.

    Attributes:
        share: Share of the clients that are of the first kind. [no source]
        is_exact: True if exactly this share, rounded to a whole number of clients, is of the first kind: the
            clients with the lowest draws, so that another client or a larger share changes the kind of few
            clients. Otherwise each client is of the first kind with this probability, independently of the
            others. [no source]
        some: The first kind.
        others: The second kind.
        some_name: Name of the first kind, by which reports group clients; a mixture within names its own.
        others_name: Name of the second kind, likewise.
    """

    share: float = knob(a_share, default=0.5)
    is_exact: bool = True
    some: Devices = DrawnDevices()
    others: Devices = DrawnDevices()
    some_name: str = knob(not_empty, default=SOME)
    others_name: str = knob(not_empty, default=OTHERS)

    @override
    def of_clients(self, sim: Simulation, cell_sizes: Sequence[int]) -> DeviceArrays:
        one, other = (DeviceArrays.of(kind.of_clients(sim, cell_sizes)) for kind in (self.some, self.others))
        is_one = self.are_some(sim, sum(cell_sizes))
        columns = {
            name: _chosen(is_one, *(getattr(kind, name) for kind in (one, other)))
            for name in (*NUMBERS, *PARTS)
        }
        self._check_names(one, other)
        names = np.where(is_one, self.some_name, self.others_name).tolist()
        columns["kind"] = [own or name for own, name in zip(columns["kind"] or names, names, strict=True)]
        return DeviceArrays(**columns)

    def _check_names(self, one: DeviceArrays, other: DeviceArrays) -> None:
        """Refuse a name for clients that all have one."""
        for field, usual, kind in (("some_name", SOME, one), ("others_name", OTHERS, other)):
            name = getattr(self, field)
            if name != usual and all(kind.each("kind")):
                rule = "has no effect, since all these devices have names of their kinds"
                raise refuse("Mixture", field, name, rule, "Leave it out.")

    def are_some(self, sim: Simulation, num_clients: int) -> NDArray[np.bool_]:
        """True for each client of the first kind, shape (clients,)."""
        depth = sum(
            isinstance(part, Mixture) for part in parts_of(self)
        )  # nested mixtures have draws of their own
        drawn = sim.of_client(Numbers.of(ClientNames(0, num_clients)), f"kind of device {depth}", uniforms)
        if not self.is_exact:
            return drawn < self.share
        is_one = np.zeros(num_clients, dtype=bool)
        is_one[np.argsort(drawn, kind="stable")[: round(self.share * num_clients)]] = True
        return is_one


def _chosen(is_one: NDArray[np.bool_], one: Any, other: Any) -> Any:
    """Value of each client from two kinds: arrays, or parts for all or for each."""
    if isinstance(one, np.ndarray):
        return np.where(is_one, one, other)
    if one == other:
        return one
    each = [
        value if isinstance(value, Sequence) else [value] * len(is_one)  # one for all
        for value in (one, other)
    ]
    return [first if is_first else second for is_first, first, second in zip(is_one, *each, strict=True)]
