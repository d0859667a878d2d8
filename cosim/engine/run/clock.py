"""Clock: what runs the edge rounds, events or arrays, and why, before servers are made."""

from collections.abc import Sequence
from typing import Literal

from cosim.configuration import ConfigurationError, lacks_in
from cosim.configuration.forms import form_of
from cosim.configuration.going_together import COMMON_ROUNDS
from cosim.devices.device import DeviceArrays
from cosim.engine.clients.fleet import Clients
from cosim.engine.run.ground import Ground
from cosim.protocols.assignment import Route
from cosim.system.needs import clock_by_size
from cosim.system.system import System


def clock_of(
    system: System, ground: Ground, cells: Sequence[tuple[Route, Clients]]
) -> tuple[Literal["events", "arrays"], str]:
    """Clock of the edge rounds of a system, events or arrays, and why.

    Args:
        cells: The links of each cell, and its clients.

    Raises:
        ConfigurationError: A part that does not go with what is wanted.
    """
    clock, records = ground.clock, ground.records
    if clock == "events" and records != "rounds":
        return "events", "asked for by clock = 'events'"
    part = _needs_events(system, ground.devices, cells)
    if part is not None and clock == "arrays":
        raise ConfigurationError(f"clock = 'arrays': {part} runs by events only. Use clock = 'auto'.")
    if records == "rounds" and (part is not None or clock == "events"):
        raise ConfigurationError(
            f"records = 'rounds': {part or 'a run'} runs by events, which keep the rows of all "
            "clients. Use records = 'all', or clock = 'auto'."
        )
    if part is not None:
        return "events", f"{part} runs by events only"
    if clock == "arrays":
        return "arrays", "asked for by clock = 'arrays'"
    if records == "rounds":
        return "arrays", "asked for by records = 'rounds'"
    return clock_by_size(system)


def _needs_events(
    system: System, devices: DeviceArrays, cells: Sequence[tuple[Route, Clients]]
) -> str | None:
    """The part that does not say how it works on arrays; None if all do."""
    if lacks_in(system.protocol, COMMON_ROUNDS):
        return f"System.protocol = {type(system.protocol).__name__}"
    if (presence := devices.come_and_go) is not None:
        return f"{type(presence).__name__}, the presence of clients,"
    if devices.have_batteries:
        return f"{type(system.devices).__name__}.battery"
    waiting, receives_first = system.protocol.waiting, not system.downloads_count
    if form_of(waiting) == "events":
        return f"{type(waiting).__name__}, the rule of waiting,"
    for (_, uplink, downlink), _ in cells:
        if downlink is not None and (field := downlink.link.by_events) is not None:
            return _named(system, "downlink", field)
        waits = downlink is not None and receives_first and not downlink.link.ends_together
        if waits and devices.takes_power_at_rest:
            return f"System.downlink = {type(system.downlink).__name__}, after which devices rest,"
        if (field := uplink.link.by_events) is not None:
            return _named(system, "uplink", field)
        if waiting.upload_deadline_s is not None and not uplink.link.stands_alone:
            return f"System.uplink = {type(system.uplink).__name__}, where uploads are given up,"
    return None


def _named(system: System, way: str, field: str) -> str:
    """The uplink or the downlink of a system, or a field of it where there is one of that name."""
    part = getattr(system, way)
    own = getattr(part, field, part) if field else part
    return f"System.{way}{'' if own is part else f'.{field}'} = {type(own).__name__}"
