"""Fitting: which links fit which direction and which protocol.

Each link says what it offers and asks (`cosim.links.link.Link`), and so does each protocol; they are compared
here.
"""

from typing import Any

from cosim.configuration import ConfigurationError
from cosim.links.link import Link
from cosim.records import DOWN, UP


def check_links(system: Any) -> None:
    """Refuse links that do not fit their direction, or the protocol.

    Raises:
        ConfigurationError: The first that does not fit.
    """
    _check_direction("downlink", system.downlink, DOWN)
    _check_direction("uplink", system.uplink, UP)
    _check_down(system.downlink, system.protocol)
    _check_up(system.uplink, system.protocol)


def _check_direction(field: str, link: Link, direction: str) -> None:
    if direction not in link.directions:
        (other,) = link.directions
        raise _refused(
            field,
            link,
            f"it is for what goes {other}",
            "uplink = Radio" if direction == UP else "downlink = Unicast or Broadcast",
        )


def _check_down(link: Link, protocol: Any) -> None:
    kind = type(protocol).__name__
    if link.sends_one_for_all and not protocol.plays_edge_rounds:
        why = f"{kind} gives clients their jobs one by one, so there is no one to broadcast to"
        raise _refused("downlink", link, why, "downlink = Unicast")
    if link.sends_one_for_all and not protocol.sends_all_the_same:
        raise _refused(
            "downlink", link, f"{kind} sends each client something of its own", "downlink = Unicast"
        )
    if link.model_codec is not None and not protocol.sends_all_the_same:
        why = f"{type(link.model_codec).__name__} changes models, and {kind} sends more than a model"
        raise _refused("downlink", link, why, "leave model_codec out")
    if link.takes_time and link.counts_in_round and protocol.plans_times:
        raise _refused(
            "downlink",
            link,
            f"{kind} plans how long jobs take, and no plan knows how long a download does",
            "counts_in_round = false, so that a round begins when all have received; downlink = "
            "Instantaneous; or a protocol that does not plan",
        )
    if not link.counts_in_round and not protocol.plays_edge_rounds:
        raise _refused(
            "downlink",
            link,
            f"with counts_in_round = false clients of an edge round wait for each other, and {kind} gives "
            "them jobs one by one",
            "leave it out",
        )


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
