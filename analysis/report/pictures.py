"""The pictures of a report: plots as inline SVG, whose colours are light or dark as the page is.

The colours are CSS variables of `page`. Each picture has a text alternative. The same rows give the same
bytes.

Usage::

    drawn = picture(lambda axes: energy(axes, designs), said="Energy.", prefix="energy-")
    figure = Figure([drawn], caption="Energy of all clients.")
"""

import html
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib.figure
from matplotlib.axes import Axes

from analysis.plots import Encoding, drawing, height_in, in_facets, legend_height_in
from analysis.plots.facets import Drawing
from analysis.report.page import Figure, plain
from cosim.results.result import Result

_SETTINGS: Any = {"svg.hashsalt": "cosim", "svg.fonttype": "none", "legend.fontsize": 8}

PANEL = (4.6, 3.6)
"""Width and height in inch of one of several pictures side by side."""
WIDE_IN = 10.0
"""Width in inch of a picture over the whole page."""


def panel(names: Iterable[str]) -> tuple[float, float]:
    """The same of one with a legend, which takes height of its own.

    Args:
        names: What the legend names.
    """
    named = list(names)
    return PANEL[0], PANEL[1] + (legend_height_in(named, 0.77 * PANEL[0]) if len(named) > 1 else 0.0)


def picture(draw: Callable[[Axes], Any], *, said: str, prefix: str, size: tuple[float, float] = PANEL) -> str:
    """Drawing of a function, as an SVG element.

    Args:
        said: Its text alternative.
        prefix: Of the ids in the picture, which no other one has.
        size: Width and height in inch.
    """
    return _drawn(lambda figure: draw(figure.subplots()), said, prefix, size)


def panels(encoding: Encoding, draw: Drawing, *, said: str, prefix: str, width_in: float) -> str:
    """The panels of a study, in which its designs are drawn, as an SVG element.

    Args:
        draw: Draws designs into axes.
        said: Its text alternative.
        prefix: Of the ids in the picture, which no other one has.
        width_in: Width where there is one panel; several have the width of the page.
    """
    width_in = width_in if len(encoding.facets) == 1 else WIDE_IN
    size = width_in, height_in(encoding, width_in)
    return _drawn(lambda figure: in_facets(figure, encoding, draw), said, prefix, size)


def _drawn(draw: Callable[[Any], Any], said: str, prefix: str, size: tuple[float, float]) -> str:
    with _drawing():
        figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
        draw(figure)
        return _svg(figure, said, prefix)


def panels_of(
    run: Result, drawings: Mapping[str, tuple[Callable[[Axes, Result], Any], str]], place: int, caption: str
) -> Figure:
    """Pictures of one run side by side.

    Args:
        drawings: Name -> the function that draws it, and its text alternative.
        place: Tells its ids from other runs' ids.
    """
    size = (PANEL[0], PANEL[1] + 0.3)
    drawn = [
        picture(lambda axes, draw=draw: draw(axes, run), said=said, prefix=f"{name}{place}-", size=size)
        for name, (draw, said) in drawings.items()
    ]
    return Figure(drawn, caption)


@contextmanager
def _drawing() -> Iterator[None]:
    """Settings under which the same rows give the same bytes."""
    with warnings.catch_warnings(), drawing(_SETTINGS):
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        yield


def _svg(figure: matplotlib.figure.Figure, said: str, prefix: str) -> str:
    """The figure as an SVG element with a text alternative; its ids begin with the prefix."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    drawing = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", buffer.getvalue(), flags=re.DOTALL)
    drawing = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), prefix), drawing[drawing.index("<svg") :])
    box = re.search(r'viewBox="[^"]*"', drawing)
    assert box
    opening = f'<svg {box.group()} role="img" aria-label="{html.escape(str(plain(said)))}">'
    return re.sub(r"^<svg[^>]*>", lambda _: opening, drawing).strip()


def _tag(tag: str, prefix: str) -> str:
    """A tag without addresses, with ids that no other picture has, and with colours that follow the page."""
    tag = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", tag).replace("xlink:href=", "href=")
    tag = re.sub(r'\s(id|href)="(#?)', rf' \1="\2{prefix}', tag).replace("url(#", f"url(#{prefix}")
    return re.sub(r'(?:(?<=: )|(?<=fill="))#([0-9a-f]{6})\b', r"var(--p\1, #\1)", tag)
