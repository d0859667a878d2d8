"""Dealing: the port of the rule that gives each client its trace.

Usage::

    @part
    class FirstForAll(Dealing):
        \"\"\"The first trace for every client.\"\"\"

        def dealt(self, sim, where, devices, clients):
            return {client: Dealt(devices[0]) for client in clients}
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from typing_extensions import override

from cosim.clock.draws import uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, Port, knob, not_negative, part
from cosim.names import by_number


class Dealt(NamedTuple):
    """The trace of a client.

    Attributes:
        device: Name of the device in the file.
        offset_s: Place in the trace at which the run begins.
    """

    device: str
    offset_s: float = 0.0


@part
class Dealing(Port, ABC):
    """Rule that gives each client its trace."""

    @abstractmethod
    def dealt(
        self, sim: Simulation, where: str, devices: Sequence[str], clients: Sequence[str]
    ) -> Mapping[str, Dealt]:
        """Trace of each client.

        Args:
            where: The file, for messages.
            devices: Devices of the file, in its order.
            clients: Clients of all cells.

        Raises:
            ConfigurationError: Devices and clients do not match.
        """


@part
class OwnTraces(Dealing):
    """Each client's own trace: the file names devices by the clients' numbers or names."""

    @override
    def dealt(
        self, sim: Simulation, where: str, devices: Sequence[str], clients: Sequence[str]
    ) -> Mapping[str, Dealt]:
        known = {by_number(client)[1]: client for client in clients}
        found: dict[str, Dealt] = {}
        for device in devices:
            client = known.get(int(device) if device.isdecimal() else by_number(device)[1])
            if client is None or not (device.isdecimal() or by_number(device) == by_number(client)):
                raise ConfigurationError(
                    f"{where}: device {device!r} is not a client; clients are {clients[0]} to "
                    f"{clients[-1]}, or their numbers. Use dealing = InTurns, or num_clients = "
                    f"{len(devices)}."
                )
            if client in found:
                raise ConfigurationError(
                    f"{where}: devices {found[client].device!r} and {device!r} are both {client}. Give "
                    "each a name of its own."
                )
            found[client] = Dealt(device)
        missing = [client for client in clients if client not in found]
        if missing:
            raise ConfigurationError(
                f"{where}: has no trace for {len(missing)} of {len(clients)} clients, such as "
                f"{missing[0]}. Use dealing = InTurns, or add a device for each."
            )
        return found


@part
class InTurns(Dealing):
    """Traces in the order of their names, dealt to the clients in turns, for any names of devices.

    Attributes:
        largest_offset_s: Largest offset in a client's trace; each is uniform from 0 to this, so that clients
            with the same trace do not move as one. [no source]
    """

    largest_offset_s: float = knob(not_negative, default=0.0)

    @override
    def dealt(
        self, sim: Simulation, where: str, devices: Sequence[str], clients: Sequence[str]
    ) -> Mapping[str, Dealt]:
        order = sorted(devices, key=_numbers_first)
        return {
            client: Dealt(order[number % len(order)], self._offset_s(sim, client))
            for number, client in enumerate(clients)
        }

    def _offset_s(self, sim: Simulation, client: str) -> float:
        if not self.largest_offset_s:
            return 0.0
        return self.largest_offset_s * float(sim.of_client(client, "trace offset", uniforms))


def _numbers_first(device: str) -> tuple[bool, int, str]:
    return not device.isdecimal(), int(device) if device.isdecimal() else 0, device
