"""Clock: what runs the edge rounds, events or arrays, and why, before servers are made."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from cosim.configuration import ConfigurationError, form_of, lacks_in
from cosim.configuration.going_together import COMMON_ROUNDS
from cosim.engine.clients.fleet import Clients
from cosim.protocols.assignment import Route
from cosim.system.needs import ClockKind, RecordsKind, clock_by_size
from cosim.system.system import System


class ClockChoice(NamedTuple):
    """Clock and records that a user asks for.

    Attributes:
        clock: Clock of the edge rounds, "events" or "arrays"; "auto" decides by the size of the run, and
            takes events if a part needs them.
        records: "all" keeps the rows of clients; "rounds" keeps rows of edge rounds only, which needs arrays.
    """

    clock: ClockKind = "events"
    records: RecordsKind = "all"


BY_EVENTS = ClockChoice()


def clock_of(
    system: System, cells: Sequence[tuple[Route, Clients]], how: ClockChoice
) -> tuple[Literal["events", "arrays"], str]:
    """Clock of the edge rounds of a system, events or arrays, and why.

    Args:
        cells: The links of each cell, and its clients.

    Raises:
        ConfigurationError: A part that does not go with what is wanted.
    """
    clock, records = how
    if clock == "events" and records != "rounds":
        return "events", "asked for by clock = 'events'"
    part = _needs_events(system, cells)
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


def _needs_events(system: System, cells: Sequence[tuple[Route, Clients]]) -> str | None:
    """The part that does not say how it works on arrays; None if all do."""
    fleet = cells[0][1].fleet
    if lacks_in(system.protocol, COMMON_ROUNDS):
        return f"System.protocol = {type(system.protocol).__name__}"
    if (presence := fleet.devices.come_and_go) is not None:
        return f"{type(presence).__name__}, the presence of clients,"
    if fleet.devices.have_batteries:
        return f"{type(system.devices).__name__}.battery"
    waiting, receives_first = system.protocol.waiting, not system.downloads_count
    if form_of(waiting) == "events":
        return f"{type(waiting).__name__}, the rule of waiting,"
    for (_, uplink, downlink), _ in cells:
        if downlink is not None and (field := downlink.link.by_events) is not None:
            return _named(system, "downlink", field)
        waits = downlink is not None and receives_first and not downlink.link.ends_together
        if waits and fleet.devices.takes_power_at_rest:
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
