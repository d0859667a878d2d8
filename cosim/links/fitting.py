"""Fitting: which links fit which direction and which protocol.

Each link says what it offers and asks (`cosim.links.link.Link`), and so does each protocol; they are compared
here.
"""

from typing import Any

from cosim.configuration import ConfigurationError, refuse
from cosim.links.link import Link


def check_links(system: Any) -> None:
    """Refuse links that do not fit their direction, or the protocol.

    Raises:
        ConfigurationError: The first that does not fit.
    """
    for field, link, fix in (
        ("downlink", system.downlink, "downlink = Unicast or Broadcast"),
        ("uplink", system.uplink, "uplink = Radio"),
    ):
        if not link.may_be(field):
            raise _refused(field, link, f"it is for what goes {' or '.join(link.directions)}", fix)
    _check_down(system)
    _check_up(system.uplink, system.protocol)


def _check_down(system: Any) -> None:
    link, protocol, kind = system.downlink, system.protocol, type(system.protocol).__name__
    why = None
    if link.sends_one_for_all and not protocol.plays_edge_rounds:
        why = f"{kind} gives clients their jobs one by one, so there is no one to broadcast to"
    elif link.sends_one_for_all and not protocol.sends_all_the_same:
        why = f"{kind} sends each client something of its own"
    if why is not None:
        raise _refused("downlink", link, why, "downlink = Unicast")
    if system.model_codec is not None and not protocol.sends_all_the_same:
        why = f"changes models, and {kind} sends more than a model"
        raise refuse("System", "model_codec", type(system.model_codec).__name__, why, "leave it out")
    if link.takes_time and system.downloads_count and protocol.plans_times:
        raise _refused(
            "downlink",
            link,
            f"{kind} plans how long jobs take, and no plan knows how long a download does",
            "downloads_count = false, so that a round begins when all have received; downlink = "
            "Instantaneous; or a protocol that does not plan",
        )
    if system.downloads_count:
        return
    if not link.takes_time:
        why = f"has no effect with downlink = {type(link).__name__}, which takes no time"
        raise refuse("System", "downloads_count", False, why, "leave it out")
    if not protocol.plays_edge_rounds:
        why = f"clients of an edge round wait for each other then, and {kind} gives them jobs one by one"
        raise refuse("System", "downloads_count", False, why, "leave it out")


def _check_up(link: Link, protocol: Any) -> None:
    kind = type(protocol).__name__
    if link.loses_updates and not protocol.waiting.gives_up:
        raise _refused(
            "uplink",
            link,
            f"some uploads never end, and {kind} waits for every one",
            "a deadline (waiting = Deadline), a policy that keeps to its own, or no outages",
        )
    if link.adds_up and not protocol.takes_sums:
        raise _refused(
            "uplink",
            link,
            f"only the mean of a cell's updates arrives, and {kind} needs them one by one",
            "sharing = FixedShares, or protocol Hist or HFedAvg",
        )


def _refused(field: str, link: Link, why: str, fix: str) -> ConfigurationError:
    return ConfigurationError(f"System.{field} = {type(link).__name__}: {why}. Usual fix: {fix}.")
