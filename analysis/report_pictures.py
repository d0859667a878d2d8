"""The looks of a report: the page around it, its tables, and its pictures as inline SVG.

One HTML text that needs nothing beside itself: no script, no font, no address. Light or dark as the reader's
system wants it, from a phone's width to a desk's. The colours of the pictures are CSS variables, so that they
follow. The same rows give the same bytes.

Scope: what comes from files passes through `text` (or `table`, which calls it); `Section.body` is HTML.

Usage::

    body = table("Energy by activity", ["activity", "energy (J)"], [["computing", "12.3"]])
    html = page([Section("energy", "Where the energy went", body)], title="A run")
"""

import html
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import attrs
import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from analysis.plots import COLOURS, curves, style, timeline
from cosim.results import Result

MOST_ROWS = 60
"""Clients in a timeline: more cannot be told apart."""

_DARK_COLOURS = dict(
    zip(
        (*COLOURS, "#9cc5e3", "#dddddd", "#c1121f", "#000000", "#ffffff", "#cccccc"),
        (
            "#7db7e8",
            "#ff8c9a",
            "#7fcf8b",
            "#f5b04a",
            "#b79be0",
            "#bdbdbd",
            "#4fd0df",
            "#f07a7e",
            "#24455f",
            "#3b4249",
            "#ff5c68",
            "#e4e7ea",
            "#1b1f24",
            "#59616a",
        ),
        strict=True,
    )
)
_CSS = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1c2126; --faint: #59636e; --line: #d5dae0;
  --shade: #f3f5f7; --mark: #0b5394; --warn: #fff3d6; --warn-line: #d99a1c; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --ink: #e4e7ea; --faint: #a3adb8;
  --line: #3a424b; --shade: #1b1f24; --mark: #8cc4f5; --warn: #3a2f14; --warn-line: #d99a1c;
  DARK_COLOURS } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem 1rem 4rem; background: var(--ground);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .5rem; padding-top: .7rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p { max-width: 46rem; margin: .5rem 0; } a { color: var(--mark); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; margin: .8rem 0; padding: 0; }
.scroll { overflow-x: auto; margin: .8rem 0; }
.scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
caption { text-align: left; color: var(--faint); padding-bottom: .35rem; }
th, td { padding: .3rem .75rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; }
th:first-child, td:first-child { padding-left: .3rem; text-align: left; }
table.words th, table.words td { text-align: left; }
table.words td { min-width: 9rem; overflow-wrap: anywhere; }
thead th { background: var(--shade); vertical-align: bottom; font-weight: 600; }
tbody th { font-weight: 500; } td small { color: var(--faint); white-space: nowrap; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: 1rem; }
figure { margin: .8rem 0; min-width: 0; }
figcaption { color: var(--faint); font-size: .9rem; }
svg { display: block; width: 100%; height: auto; fill: currentColor; }
figure.wide svg { min-width: 40rem; }
.warning { background: var(--warn); border-left: 4px solid var(--warn-line); padding: .5rem .8rem; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--mark); }
@media (max-width: 40rem) { body { padding: 1rem .75rem 3rem; } h1 { font-size: 1.4rem; }
  th, td { padding: .3rem .5rem; } }
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
"""


class Section(NamedTuple):
    """One part of a page: a name for links, a title, and HTML."""

    name: str
    title: str
    body: str


def page(sections: Sequence[Section], *, title: str = "Report") -> str:
    """The whole HTML text: title, links to the sections, the sections."""
    links = "".join(f'<li><a href="#{text(s.name)}">{text(s.title)}</a></li>' for s in sections)
    parts = "\n".join(
        f'<section id="{text(s.name)}" aria-labelledby="{text(s.name)}-title">\n'
        f'<h2 id="{text(s.name)}-title">{text(s.title)}</h2>\n{s.body}\n</section>'
        for s in sections
    )
    dark = " ".join(f"--p{light[1:]}: {dark};" for light, dark in _DARK_COLOURS.items())
    css = _CSS.replace("DARK_COLOURS", dark)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{text(title)}</title>\n<style>{css}</style>\n</head>\n<body>\n"
        f'<header><h1>{text(title)}</h1></header>\n<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        f"<main>\n{parts}\n</main>\n</body>\n</html>\n"
    )


class Markup(str):
    """HTML that is to stay as it is."""


def text(value: object) -> str:
    """Anything as HTML text that means nothing but itself."""
    if isinstance(value, Markup):
        return value
    return html.escape(str(value).encode("utf-8", "backslashreplace").decode("utf-8"))


def table(
    caption: str, header: Sequence[object], rows: Iterable[Sequence[object]], *, words: bool = False
) -> str:
    """A table whose first column names its rows; wider than the page, it scrolls.

    Args:
        words: Whether the cells hold words, which stand to the left, and not numbers.
    """
    head = "".join(f'<th scope="col">{text(cell)}</th>' for cell in header)
    lines = "\n".join(
        f'<tr><th scope="row">{text(first)}</th>' + "".join(f"<td>{text(c)}</td>" for c in rest) + "</tr>"
        for first, *rest in rows
    )
    kind = "words" if words else "numbers"
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">\n'
        f'<table class="{kind}">\n<caption>{text(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>"
    )


def paragraph(words: object, kind: str = "plain") -> str:
    """One paragraph, plain or a warning."""
    return f'<p class="{kind}">{text(words)}</p>'


def details(summary: str, body: str) -> str:
    """What is folded away until it is asked for."""
    return f"<details><summary>{text(summary)}</summary>\n{body}\n</details>"


class Curve(NamedTuple):
    """A measured quantity of one design: the mean over its runs, and the ends of its intervals."""

    label: str
    points: pd.DataFrame
    """Columns time_s, energy_j, bits_per_client, mean, low, high; a row per evaluated global round."""


def curve_picture(lines: Sequence[Curve], column: str, scale: float, x_label: str, *, measure: str) -> str:
    """Accuracy (measure "accuracy"), or a mean squared error, over one column, as a figure."""
    with _drawing():
        figure = Figure(figsize=(4.6, 3.4), layout="constrained")
        axes = figure.subplots()
        labels = [line.label.replace("$", r"\$") for line in lines]
        drawn = {
            label: (line.points[column] / scale, line.points["mean"])
            for label, line in zip(labels, lines, strict=True)
        }
        percent = 1.0
        if measure == "accuracy":
            percent = 100.0
            curves(axes, drawn, x_label)
        else:
            for index, (label, (x, error)) in enumerate(drawn.items()):
                axes.semilogy(x, error, label=label, **style(index, len(x)))
            axes.set(xlabel=x_label, ylabel="test mean squared error (target's unit squared)")
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
        for index, line in enumerate(lines):
            ends = percent * line.points["low"], percent * line.points["high"]
            colour = COLOURS[index % len(COLOURS)]
            axes.fill_between(line.points[column] / scale, *ends, color=colour, alpha=0.18, linewidth=0.0)
        if len(lines) == 1 and (legend := axes.get_legend()):
            legend.remove()
        name = "Test accuracy" if measure == "accuracy" else "Test mean squared error"
        last = "; ".join(
            f"{line.label}: {percent * line.points['mean'].iloc[-1]:.4g} at "
            f"{line.points[column].iloc[-1] / scale:.4g}"
            for line in lines
        )
        said = f"{name} over {x_label}. Last values: {last}."
        return f"<figure>{_svg(figure, said, f'{measure}-{column}-')}</figure>"


def timeline_picture(result: Result, global_round: int, prefix: str, caption: str) -> str:
    """Who computed, sent, waited and was cut off in one global round, as a figure that scrolls."""
    rounds = result.rounds[
        (result.rounds["global_round"] == global_round) & (result.rounds["level"] == "global")
    ]
    spans = result.spans
    if len(rounds):
        inside = spans["start_s"].ge(rounds["start_s"].iloc[0]) & spans["end_s"].le(rounds["end_s"].iloc[0])
        spans = spans[inside & spans["node"].str.startswith("client")]
    clients = sorted(spans["node"].unique())
    if len(clients) > MOST_ROWS:
        caption += f" Drawn are the first {MOST_ROWS} of {len(clients)} clients."
        spans = spans[spans["node"].isin(clients[:MOST_ROWS])]
    with _drawing(), matplotlib.rc_context({"text.parse_math": False}):
        height = 1.5 + 0.17 * min(len(clients), MOST_ROWS)
        figure = Figure(figsize=(9.0, max(2.4, height)), layout="constrained")
        axes = figure.subplots()
        timeline(axes, attrs.evolve(result, spans=spans), global_round)
        picture = _svg(figure, f"Timeline. {caption}", prefix)
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{text("Timeline")}">'
    return f'<figure class="wide">{region}{picture}</div><figcaption>{text(caption)}</figcaption></figure>'


@contextmanager
def _drawing() -> Iterator[None]:
    """Settings under which the same rows give the same bytes."""
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "cosim", "svg.fonttype": "none"}):
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        yield


def _svg(figure: Figure, said: str, prefix: str) -> str:
    """The figure as an SVG element with a text alternative; its ids begin with the prefix."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    drawing = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", buffer.getvalue(), flags=re.DOTALL)
    drawing = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), prefix), drawing[drawing.index("<svg") :])
    box = re.search(r'viewBox="[^"]*"', drawing)
    assert box
    opening = f'<svg {box.group()} role="img" aria-label="{text(said)}">'
    return re.sub(r"^<svg[^>]*>", lambda _: opening, drawing).strip()


def _tag(tag: str, prefix: str) -> str:
    """A tag without addresses, with ids that no other picture has, and with colours that follow the page."""
    tag = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", tag).replace("xlink:href=", "href=")
    tag = re.sub(r'\s(id|href)="(#?)', rf' \1="\2{prefix}', tag).replace("url(#", f"url(#{prefix}")
    return re.sub(r"(?<=: )#([0-9a-f]{6})\b", r"var(--p\1, #\1)", tag)
