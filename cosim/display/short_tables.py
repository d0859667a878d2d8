"""Short tables for a notebook: names and values, as HTML in which user text is escaped."""

import html
from collections.abc import Mapping


def table(title: str, rows: Mapping[str, object]) -> str:
    """Table with a title, and a row for each name."""
    lines = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption>{html.escape(title)}</caption><tbody>{lines}</tbody></table>"


def in_a_line(title: str, rows: Mapping[str, object]) -> str:
    """Title and rows in one line of text."""
    return f"{title}({', '.join(f'{name}: {value}' for name, value in rows.items())})"
