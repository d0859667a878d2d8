"""The page of a report: its templates, and the plain data that they lay out.

One HTML text that needs nothing beside itself: no script, no font, no address. Light or dark as the reader's
system wants it, from a phone's width to a desk's. Tables that are wider than the page scroll in their own
boxes, their first column in place. A section's layout is the template of its name in `templates`;
`parts.html.j2` has what they share, and `page.css` the looks.

Scope: what is data is text: a template marks nothing as HTML but pictures, which are SVG elements of ours.

Usage::

    spent = Table("Energy by activity", ["activity", "energy (J)"], [["computing", "12.3"]])
    html = page([Section("directions", "Sent and received", {"figure": figure})], title="A run")
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from analysis.plots.encoding import COLOURS, ON_DARK
from cosim.files.on_disk import as_text

DARK_COLOURS = {
    **dict(zip(COLOURS, ON_DARK, strict=True)),
    "#0b3c5d": "#7db7e8",
    "#4a4a4a": "#bdbdbd",
    "#e08e0b": "#f5b04a",
    "#9cc5e3": "#24455f",
    "#dddddd": "#3b4249",
    "#c1121f": "#ff5c68",
    "#9b2226": "#f07a7e",
    "#000000": "#e4e7ea",
    "#ffffff": "#1b1f24",
    "#cccccc": "#59616a",
    "#b0b0b0": "#79828b",
    "#eeeeee": "#2a3037",
    "#e3b5b5": "#5c2f33",
}
"""Colour of a picture on light ground -> the same on dark ground."""


class Section(NamedTuple):
    """One part of a page.

    Attributes:
        name: Its name for links, and of its template.
        title: Its title.
        values: Data that its template lays out; None where there is nothing to lay out.
        warning: A sentence before them, if any.
    """

    name: str
    title: str
    values: Mapping[str, Any] | None
    warning: str = ""


class Table(NamedTuple):
    """A table whose first column names its rows; wider than the page, it scrolls.

    Attributes:
        caption: Its caption.
        header: Name of each column.
        rows: Cells of each row: words, numbers, or an `Estimate`.
        words: True if the cells hold words, which stand to the left, and not numbers.
    """

    caption: str
    header: Sequence[object]
    rows: Iterable[Sequence[object]]
    words: bool = False


class Figure(NamedTuple):
    """Pictures under one caption.

    Attributes:
        pictures: SVG elements.
        caption: Its caption; none where it is empty.
        name: Its name, where it is one wide picture.
    """

    pictures: Sequence[str]
    caption: str = ""
    name: str = ""

    @property
    def columns(self) -> int:
        """Pictures in a row on a wide page: all up to three, else three, or two where that fills the rows."""
        number = len(self.pictures)
        return number if number < 4 else 2 if number == 4 else 3


def page(sections: Sequence[Section], *, title: str = "Report") -> str:
    """The whole HTML text: title, links to the sections, the sections."""
    bodies = [
        "" if one.values is None else _templates().get_template(f"{one.name}.html.j2").render(one.values)
        for one in sections
    ]
    return (
        _templates()
        .get_template("page.html.j2")
        .render(title=title, sections=list(zip(sections, bodies, strict=True)), dark_colours=DARK_COLOURS)
    )


def plain(value: object) -> object:
    """The value as a text that can be written in UTF-8; what is no text stays."""
    return as_text(value) if type(value) is str else value


def pieces(value: object) -> list[str]:
    """Pieces of a text that may break after a dot or an underscore, as the paths of fields do."""
    return re.split(r"(?<=\w[._])(?=[a-z])", str(value))


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=plain,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["pieces"] = pieces
    return templates
