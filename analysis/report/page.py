"""The page of a report: its looks, its tables, and what of it is folded away.

One HTML text that needs nothing beside itself: no script, no font, no address. Light or dark as the reader's
system wants it, from a phone's width to a desk's. Tables that are wider than the page scroll in their own
boxes, their first column in place.

Scope: what comes from files passes through `text` (or `table`, which calls it); `Section.body` is HTML.

Usage::

    body = table("Energy by activity", ["activity", "energy (J)"], [["computing", "12.3"]])
    html = page([Section("energy", "Where the energy went", body)], title="A run")
"""

import html
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from analysis.plots import COLOURS

DARK_COLOURS = dict(
    zip(
        (
            *COLOURS,
            "#9cc5e3",
            "#dddddd",
            "#c1121f",
            "#000000",
            "#ffffff",
            "#cccccc",
            "#b0b0b0",
            "#eeeeee",
            "#e3b5b5",
        ),
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
            "#79828b",
            "#2a3037",
            "#5c2f33",
        ),
        strict=True,
    )
)
"""Colour of a picture on light ground -> the same on dark ground."""
_CSS = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1c2126; --faint: #59636e; --line: #d5dae0;
  --shade: #f3f5f7; --mark: #0b5394; --warn: #fff3d6; --warn-line: #d99a1c; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --ink: #e4e7ea; --faint: #a3adb8;
  --line: #3a424b; --shade: #1b1f24; --mark: #8cc4f5; --warn: #3a2f14; --warn-line: #d99a1c;
  DARK_COLOURS } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 74rem; padding: 1.5rem 1rem 4rem; background: var(--ground);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .5rem; padding-top: .7rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p { max-width: 46rem; margin: .5rem 0; } a { color: var(--mark); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; margin: .8rem 0; padding: 0; }
.scroll { overflow-x: auto; margin: .8rem 0; }
.scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }
table { border-collapse: separate; border-spacing: 0; font-size: .875rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
caption { text-align: left; color: var(--faint); padding-bottom: .35rem; }
caption span { position: sticky; left: 0; display: inline-block; max-width: min(46rem, calc(100vw - 2rem)); }
th, td { padding: .3rem .55rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; }
th:first-child { padding-left: .3rem; text-align: left; position: sticky; left: 0;
  background: var(--ground); }
table.words th, table.words td { text-align: left; }
table.words td { overflow-wrap: anywhere; min-width: 5.5rem; }
table.numbers td { white-space: nowrap; }
thead th, thead th:first-child { background: var(--shade); vertical-align: bottom; font-weight: 600; }
tbody th { font-weight: 500; }
table.numbers tbody th { min-width: min(12rem, 30vw); max-width: min(20rem, 45vw);
  overflow-wrap: anywhere; }
td small { display: block; color: var(--faint); }
td small.ends { white-space: nowrap; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: 1rem; }
.panels svg { max-width: 34rem; }
figure { margin: .8rem 0; min-width: 0; }
figcaption { color: var(--faint); font-size: .9rem; }
svg { display: block; width: 100%; height: auto; fill: currentColor; }
figure.wide svg { min-width: 40rem; max-width: 60rem; }
figure.small { max-width: 46rem; } figure.small svg { min-width: 30rem; }
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
    dark = " ".join(f"--p{light[1:]}: {dark};" for light, dark in DARK_COLOURS.items())
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
        words: True if the cells hold words, which stand to the left, and not numbers.
    """
    head = "".join(f'<th scope="col">{_heading(cell)}</th>' for cell in header)
    lines = "\n".join(
        f'<tr><th scope="row">{_heading(first)}</th>' + "".join(f"<td>{text(c)}</td>" for c in rest) + "</tr>"
        for first, *rest in rows
    )
    kind = "words" if words else "numbers"
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">\n'
        f'<table class="{kind}">\n<caption><span>{text(caption)}</span></caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>"
    )


def paragraph(words: object, kind: str = "plain") -> str:
    """One paragraph, plain or a warning."""
    return f'<p class="{kind}">{text(words)}</p>'


def details(summary: str, body: str) -> str:
    """Folded part of a page, opened by a click."""
    return f"<details><summary>{text(summary)}</summary>\n{body}\n</details>"


def _heading(value: object) -> str:
    """Text that may break after a dot or an underscore, as the paths of fields do."""
    return re.sub(r"(?<=\w)([._])(?=[a-z])", r"\1<wbr>", text(value))
