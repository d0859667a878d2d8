"""Page: what `delay_laws` has found, law by law, as Markdown with one picture."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cosim.files.on_disk import replace
from cosim.files.tables.read import table_of
from scenarios.validate.delays.law import Law
from scenarios.validate.delays.laws import LAWS

CLOSED_FORM = "closed form"
"""The theory that is right."""
INTRODUCTION = """\
# Laws of delays

What courses teach of queues, shared bands, barriers and fading, beside what happens on the clock. Each law is
a closed form that knows nothing of the engine (`analysis/closed_forms/`, held against quadrature, enumerated
Markov chains or brute force in `tests/analysis/`), and a scenario of parts that any scenario can use:
stations with disciplines and several servers (`cosim.PublicNetwork`), bands
(`cosim.radio.RedividedShares`), edge rounds that wait for all, for the first K or for a deadline.

This page is written by one command, from what it has played:

```sh
cosim validate delay-laws --out docs --coverage docs/laws-coverage.csv
```

It ends with exit code 1 where a number does not agree or a wrong theory is not caught. The intervals hold all
together with 95 %. They are made from cycles between empty instants, batch means, independent values or
counts; "exact" means that nothing is random, and that theory and clock differ by 1e-9 at most. *Coverage* is
how often 95 % intervals contain the closed form's number, in independent runs that are shorter than these;
`python benchmarks/delay_coverage.py` measures it. In formulae E is a mean, P a probability, t >= 0 a time.

![The clock's interval of every number, over the closed form's, and wrong theories beside it](laws.png)
"""


def page(points: pd.DataFrame, coverage: pd.DataFrame | None) -> str:
    """The page.

    Args:
        points: The rows of `delay_laws`.
        coverage: Rows of `benchmarks/delay_coverage.py`. None means none.
    """
    names = list(dict.fromkeys(points["law"]))
    contents = "\n".join(f"{place}. {LAWS[name].title}" for place, name in enumerate(names, start=1))
    sections = [_section(LAWS[name], points[points["law"] == name], coverage) for name in names]
    return "\n".join([INTRODUCTION, contents, "", "\n".join(sections)])


def _section(law: Law, points: pd.DataFrame, coverage: pd.DataFrame | None) -> str:
    right = points[points["theory"] == CLOSED_FORM]
    lines = [
        f"## {law.title}",
        "",
        f"    {law.formula}",
        "",
        f"Symbols: {law.symbols}.",
        "",
        f"Conditions: {law.conditions}. Source: {law.source}.",
        "",
        f"Here: {'; '.join(_values(law))}. Closed form: `analysis/closed_forms/"
        f"{law.module.replace('.', '/')}.py`. Command: `cosim validate delay-laws --laws {law.name}`.",
        "",
        "| quantity | closed form | clock | interval by | verdict | coverage of 95 % |",
        "|---|---|---|---|---|---|",
    ]
    for row in right.to_dict("records"):
        exact = row["method"] == "exact"
        clock = f"{row['estimate']:.4f}" + ("" if exact else f" [{row['low']:.4f}, {row['high']:.4f}]")
        cells = [row["quantity"], f"{row['predicted']:.4f}", clock, row["method"], row["verdict"]]
        lines.append(f"| {' | '.join([*cells, _covered(law, row['quantity'], coverage)])} |")
    lines += ["", "Wrong theories, and the numbers with which they disagree:", ""]
    wrong = points[points["theory"] != CLOSED_FORM]
    for name, own in wrong.groupby("theory", sort=False):
        caught = own[own["verdict"] == "disagrees"]
        said = ", ".join(
            f"{quantity} {predicted:.4f}"
            for quantity, predicted in zip(caught["quantity"], caught["predicted"], strict=True)
        )
        lines.append(f"- {name}: {said or 'none'} ({len(caught)} of {len(own)})")
    return "\n".join([*lines, ""])


def _values(part: Any) -> Iterator[str]:
    """Fields and their values, in its parts too, and names of parts without any."""
    for field in attrs.fields(type(part)):
        value = getattr(part, field.name)
        each = value if isinstance(value, tuple) else (value,)
        if not any(map(attrs.has, map(type, each))):
            yield f"{field.name} = {', '.join(f'{one:.6g}' for one in each)}"
            continue
        for one in each:
            own = list(_values(one))
            yield "; ".join(own) if own else type(one).__name__


def _covered(law: Law, quantity: str, coverage: pd.DataFrame | None) -> str:
    if coverage is None:
        return ""
    own = coverage[(coverage["law"] == law.name) & (coverage["quantity"] == quantity)]
    if own.empty:
        return ""
    row = own.iloc[0]
    return f"{100.0 * row['covered']:.1f} % of {row['num_runs']}"


def drawn(points: pd.DataFrame) -> Figure:
    """Every number's interval and its wrong theories, over the closed form's; told apart by marker."""
    right = points[(points["theory"] == CLOSED_FORM) & (points["method"] != "exact")]
    figure = Figure(figsize=(7.2, 1.0 + 0.19 * len(right)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(right))[::-1]
    theory = right["predicted"].to_numpy()
    estimate, low, high = (right[name].to_numpy() / theory for name in ("estimate", "low", "high"))
    errors = [estimate - low, high - estimate]
    axes.axvline(1.0, color="#4a4a4a", linewidth=0.8)
    look = {"fmt": "o", "markersize": 3.0, "capsize": 2.0, "elinewidth": 1.0, "color": "#0b3c5d"}
    axes.errorbar(estimate, places, xerr=errors, label="clock, interval", **look)
    wrong = points[(points["theory"] != CLOSED_FORM) & (points["method"] != "exact")]
    merged = wrong.merge(
        right[["law", "quantity", "predicted"]], on=["law", "quantity"], suffixes=("", "_right")
    )
    place_of = {(row.law, row.quantity): place for row, place in zip(right.itertuples(), places, strict=True)}
    at = [place_of[law, quantity] for law, quantity in zip(merged["law"], merged["quantity"], strict=True)]
    ratio = merged["predicted"] / merged["predicted_right"]
    axes.plot(ratio, at, "x", markersize=4.0, color="#d1495b", label="wrong theory")
    axes.set_yticks(places, _labels(right["law"].tolist(), right["quantity"].tolist()), fontsize=6)
    shown = np.append(ratio, [0.1, 5.0])
    axes.set(
        xscale="log",
        xlim=(0.95 * shown.min(), 1.05 * shown.max()),
        xlabel="over the closed form's number",
    )
    axes.set_xticks([0.1, 0.2, 0.5, 1.0, 2.0, 5.0], ["0.1", "0.2", "0.5", "1", "2", "5"])
    axes.minorticks_off()
    axes.set_ylim(-1.0, len(right))
    axes.grid(alpha=0.3, axis="x")
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 1.04), ncols=2, frameon=False)
    return figure


def _labels(names: Sequence[str], quantities: Sequence[str]) -> list[str]:
    return [f"{LAWS[name].title}: {quantity}" for name, quantity in zip(names, quantities, strict=True)]


def save_page(points: pd.DataFrame, coverage: str | None, path: Path) -> None:
    """Write the page, whole or not at all.

    Raises:
        ConfigurationError: The table of coverage cannot be read.
    """
    covered = None if coverage is None else _coverage_of(Path(coverage))
    text = page(points, covered)
    replace(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def _coverage_of(path: Path) -> pd.DataFrame:
    table = table_of(path)
    names = {name: table.texts(name) for name in ("law", "quantity")}
    return pd.DataFrame(
        {
            **names,
            "covered": table.numbers("covered", most=1.0),
            "num_runs": table.numbers("num_runs").astype(int),
        }
    )
