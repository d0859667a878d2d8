"""Fitting: directions in which a link can be used."""

from typing import Any

from cosim.configuration import ConfigurationError, refuse


def check_directions(system: Any) -> None:
    """Refuse links in a direction in which they cannot be used.

    Raises:
        ConfigurationError: Names the first such link.
    """
    for field, link, fix in (
        ("downlink", system.downlink, "Use downlink = Unicast or Broadcast."),
        ("uplink", system.uplink, "Use uplink = Radio."),
    ):
        if not link.may_be(field):
            raise ConfigurationError(
                f"System.{field} = {type(link).__name__}: it is only for the "
                f"{' or the '.join(f'{way}link' for way in link.directions)}. {fix}",
                f"System.{field}",
            )
    if not (system.downloads_count or system.downlink.takes_time):
        why = f"has no effect with downlink = {type(system.downlink).__name__}, which takes no time"
        raise refuse("System", "downloads_count", False, why, "Leave it out.")
