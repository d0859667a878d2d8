"""Directions: what went up and down, as a part of a page; nothing where no client received over the air.

Scope: means over counted runs of what was really sent and received, dropped updates included.

Usage::

    values = both_ways(designs)
"""

from collections.abc import Sequence
from typing import Any

from analysis.designs import Design
from analysis.plots.bars import MOST_BARS
from analysis.plots.directions import direction_parts, directions
from analysis.report.page import Figure
from analysis.report.pictures import picture


def both_ways(designs: Sequence[Design]) -> dict[str, Any] | None:
    """Bits that a client has sent and received."""
    parts = direction_parts(designs)
    if not any(own["received"] for own in parts.values()):
        return None
    drawn = list(parts.items())[:MOST_BARS]
    caption = "Per client, means over clients and runs" + (
        f"; the first {len(drawn)} of {len(designs)} designs." if len(designs) > len(drawn) else "."
    )
    told = "; ".join(
        f"{name}: " + ", ".join(f"{part} {bits / 1e6:.4g} Mbit" for part, bits in own.items())
        for name, own in drawn
    )
    made = picture(
        lambda axes: directions(axes, designs),
        said=f"{caption} {told}.",
        prefix="directions-",
        size=(9.0, 1.4 + 0.3 * len(drawn)),
    )
    return {"figure": Figure([made], caption, name="Sent and received")}
