"""Page: what `delay_laws` has found, law by law, as Markdown with one picture."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from analysis.laws.comparison import CLOSED_FORM, DISAGREES
from analysis.laws.port import Law
from cosim.files.on_disk import replace
from cosim.tables.read import table_of
from scenarios.command_line.papers import is_own

PICTURE = (
    "![The clock's interval of every number, over the closed form's, and wrong theories beside it](laws.png)"
)
INTRODUCTION = """\
# Laws of delays

What courses teach of queues, shared bands, barriers and fading, beside what happens on the clock. Each law is
a closed form that knows nothing of the engine (`analysis/closed_forms/`, held against quadrature, enumerated
Markov chains or brute force in `tests/analysis/`), and a scenario of parts that any scenario can use:
stations with disciplines, buffers, bursts and several servers (`cosim.QueuedLink`), bands
(`cosim.radio.RedividedShares`), edge rounds that wait for all, for the first K or for a deadline.

One command runs the laws and writes this page:

```sh
cosim validate delay-laws --out docs --coverage docs/laws-coverage.csv
```

It ends with exit code 1 where a number does not agree or a wrong theory is not caught. The intervals hold all
together with 95 %. They are made from cycles between empty instants, batch means, independent values or
counts; "exact" means that nothing is random, and that theory and clock differ by 1e-9 at most. *Coverage* is
how often 95 % intervals contain the closed form's number, in independent runs that are shorter than these;
`python benchmarks/delay_coverage.py` measures it. *Power* is how surely a run as long as this contradicts a
wrong theory. A formula of your own goes the same way: [Your formula beside the clock](own-laws.md). In
formulae E is a mean, P a probability, t >= 0 a time.
"""
OF_OWN = """\
# Laws beside the clock

The intervals hold all together with 95 %. *Power* is how surely a run of this length contradicts a wrong
theory.
"""


def page(points: pd.DataFrame, laws: Mapping[str, Law], coverage: pd.DataFrame | None) -> str:
    """The page.

    Args:
        points: The rows of `delay_laws`.
        laws: Name -> law.
        coverage: Rows of `benchmarks/delay_coverage.py`. None means none.
    """
    names = list(dict.fromkeys(points["law"]))
    contents = "\n".join(f"{place}. {laws[name].title}" for place, name in enumerate(names, start=1))
    sections = [_section(name, laws[name], points[points["law"] == name], coverage) for name in names]
    introduction = OF_OWN if any(map(is_own, names)) else INTRODUCTION
    return "\n".join([introduction, PICTURE, "", contents, "", "\n".join(sections)])


def _section(name: str, law: Law, points: pd.DataFrame, coverage: pd.DataFrame | None) -> str:
    lines = [f"## {law.title}", "", *_said(name, law), *_numbers(name, points, coverage)]
    lines += ["", "Wrong theories, and the numbers with which they disagree:", ""]
    wrong = points[points["theory"] != CLOSED_FORM]
    for theory, own in wrong.groupby("theory", sort=False):
        caught = own[own["verdict"] == DISAGREES]
        said = ", ".join(
            f"{quantity} {predicted:.4f}"
            for quantity, predicted in zip(caught["quantity"], caught["predicted"], strict=True)
        )
        power = f"power {100.0 * own['power'].max():.0f} %"
        lines.append(f"- {theory}: {said or 'none'} ({len(caught)} of {len(own)}; {power})")
    return "\n".join([*lines, ""])


def _said(name: str, law: Law) -> Iterator[str]:
    """Paragraphs of what a law says of itself."""
    if law.formula:
        yield from (f"    {law.formula}", "")
    if law.symbols:
        yield from (f"Symbols: {law.symbols}.", "")
    held = {"Conditions": law.conditions, "Source": law.source}
    if said := " ".join(f"{word}: {text}." for word, text in held.items() if text):
        yield from (said, "")
    values = "; ".join(_values(law))
    here = [f"Here: {values}."] if values else []
    if law.module:
        here.append(f"Closed form: `analysis/closed_forms/{law.module.replace('.', '/')}.py`.")
    command = f"cosim validate {name}" if is_own(name) else f"cosim validate delay-laws --laws {name}"
    yield from (" ".join([*here, f"Command: `{command}`."]), "")


def _numbers(name: str, points: pd.DataFrame, coverage: pd.DataFrame | None) -> Iterator[str]:
    """Table of the law's numbers."""
    headings = ["quantity", "closed form", "clock", "interval by", "verdict"]
    headings += [] if coverage is None else ["coverage of 95 %"]
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in points[points["theory"] == CLOSED_FORM].to_dict("records"):
        exact = row["method"] == "exact"
        clock = f"{row['estimate']:.4f}" + ("" if exact else f" [{row['low']:.4f}, {row['high']:.4f}]")
        cells = [row["quantity"], f"{row['predicted']:.4f}", clock, row["method"], row["verdict"]]
        cells += [] if coverage is None else [_covered(name, row["quantity"], coverage)]
        yield f"| {' | '.join(cells)} |"


def _values(part: Any) -> Iterator[str]:
    """Fields and their values, in its parts too, and names of parts without any."""
    for field in attrs.fields(type(part)):
        value = getattr(part, field.name)
        each = value if isinstance(value, tuple) else (value,)
        if not any(map(attrs.has, map(type, each))):
            yield f"{field.name} = {', '.join(map(_shown, each))}"
            continue
        for one in each:
            own = list(_values(one))
            yield "; ".join(own) if own else type(one).__name__


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


def _covered(law: str, quantity: str, coverage: pd.DataFrame) -> str:
    own = coverage[(coverage["law"] == law) & (coverage["quantity"] == quantity)]
    if own.empty:
        return ""
    row = own.iloc[0]
    return f"{100.0 * row['covered']:.1f} % of {row['num_runs']}"


def save_page(points: pd.DataFrame, laws: Mapping[str, Law], coverage: str | None, path: Path) -> None:
    """Write the page, whole or not at all.

    Raises:
        ConfigurationError: The table of coverage cannot be read.
    """
    covered = None if coverage is None else _coverage_of(Path(coverage))
    text = page(points, laws, covered)
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
