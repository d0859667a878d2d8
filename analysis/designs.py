"""Designs: the runs of a report, put together by configuration, and named by what tells these apart.

Runs whose configurations differ in the seed only are one design. Only complete runs count, a seed once,
unless a design has no complete run. A name that was given (that of a study's table) stays; else a design is
called by the fields that tell it from the others, such as "5 MHz, deadline 60 ms"
(`cosim.display.words`).

Scope: a name says no more fields than are needed, the fields that change least often from design to design
first. A field that splits the designs just as an earlier one, or that some designs have not, gives way.

Usage::

    for design in designs_of(results):
        print(design.name, len(design.counted))
"""

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import attrs
import pandas as pd

from cosim.display.words import in_words, parts_of, value_in_words
from cosim.records.measures import Measure
from cosim.results.result import Result
from cosim.studies.table import outcome_of, table_of, target_label

Reading = Callable[[Result], float | None]
"""Reads a number off a run."""

_LEAD = "system."
_LACKING = "–"


@attrs.frozen(kw_only=True, eq=False)
class Design:
    """Runs of one configuration, seeds apart.

    Attributes:
        called: The given name, or what tells it from the others in words; the scenario where there is one
            design only.
        fields: The configuration, its field names as paths.
        runs: All its runs.
        counted: Runs whose numbers enter the means.
    """

    called: str
    fields: dict[str, Any]
    runs: tuple[Result, ...]
    counted: tuple[Result, ...]

    @property
    def name(self) -> str:
        """Its name: `called`, and the number of counted runs that have diverged, if any."""
        num = sum(run.summary.is_diverged for run in self.counted)
        if not num:
            return self.called
        many = "" if num == len(self.counted) else f"{num} of {len(self.counted)} "
        return f"{many}diverged: {self.called}"

    def values(self, reading: Reading) -> list[float | None]:
        """A number of each counted run."""
        return [reading(run) for run in self.counted]

    def by_seed(self) -> dict[str, Result]:
        """The counted runs by their seeds."""
        return {json.dumps(seed_of(run)): run for run in self.counted}


def designs_of(results: Sequence[Result], names: Mapping[int, str] | None = None) -> list[Design]:
    """Runs of one configuration, seeds apart, together; in the order in which they were given.

    Args:
        names: What the design of a run is called, by the run's `id`; None, or none for a run: what differs.
    """
    groups: dict[str, list[Result]] = {}
    for run in results:
        groups.setdefault(json.dumps(_fields(run), sort_keys=True), []).append(run)
    fields = [_fields(runs[0]) for runs in groups.values()]
    words = _words(fields)
    names = names or {}
    given = [next((names[id(run)] for run in runs if id(run) in names), None) for runs in groups.values()]
    called = [
        own if name is None else name if given.count(name) == 1 else f"{name}: {own}"
        for name, own in zip(given, words, strict=True)
    ]
    return [
        Design(called=name, fields=own, runs=tuple(runs), counted=_counted(runs))
        for name, own, runs in zip(_told_apart(called), fields, groups.values(), strict=True)
    ]


def wrapped(name: str, width: int = 30, most_lines: int = 2) -> str:
    """A name in lines, as a legend takes it; what is too long ends in …."""
    lines = textwrap.wrap(name, width, max_lines=most_lines, placeholder=" …") or [name]
    return "\n".join(lines)


def seed_of(run: Result) -> Any:
    """The seed in a run's configuration; None without one."""
    return run.config.get("system", {}).get("seed")


def runs_of(designs: Sequence[Design], targets: Sequence[float] = (), held: int = 1) -> pd.DataFrame:
    """The counted runs as a table of runs, from which metrics are read (`analysis.samples`).

    Args:
        targets: Targets of the headline; without a headline there are none.
        held: Evaluations in a row at which one must be reached to count.
    """
    targets = targets if headlines(designs) else ()
    rows = []
    for number, design in enumerate(designs):
        own = {"design": number, "name": design.name, "base": "", "error": "", "folder": ""}
        for run in design.counted:
            counts = {"seed": int(seed_of(run) or 0)} | outcome_of(run, targets, held)
            rows.append(own | counts | {"status": "complete"})  # what does not count is left out already
    runs, fields = table_of(rows, [target_label(target, held) for target in targets]), telling(designs)
    told = runs.attrs | {"fields": fields, "parts": parts_of(designs[0].fields)}
    runs = runs.assign(**{name: [designs[n].fields.get(name) for n in runs["design"]] for name in fields})
    runs.attrs = told
    return runs


def headlines(designs: Sequence[Design]) -> dict[str, Measure]:
    """Column and meaning of what the counted runs report first, each once."""
    found = (run.summary.headline for design in designs for run in design.counted)
    return dict(headline for headline in found if headline is not None)


def differing(designs: Sequence[Design]) -> list[str]:
    """Names of the fields that some designs have and others have not, or have otherwise."""
    return _differing([design.fields for design in designs])


def ways(designs: Sequence[Design], name: str) -> dict[str, list[str]]:
    """The values of a field in words, each with the names of the designs that have it."""
    found: dict[str, list[str]] = {}
    for design in designs:
        found.setdefault(_said(name, design.fields), []).append(design.name)
    return found


def _counted(runs: Sequence[Result]) -> tuple[Result, ...]:
    complete = [run for run in runs if run.summary.status == "complete"]
    by_seed = {json.dumps(seed_of(run)): run for run in reversed(complete or runs)}
    return tuple(run for run in runs if any(run is kept for kept in by_seed.values()))


def _fields(run: Result) -> dict[str, Any]:
    """The configuration without its seed, its field names as on the command line."""
    flat = _flat(run.config)
    return {name.removeprefix(_LEAD): value for name, value in flat.items() if name != "system.seed"}


def _flat(config: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(config, dict):
        return {path: config}
    inner = (_flat(value, f"{path}.{name}" if path else str(name)) for name, value in config.items())
    return {name: value for part in inner for name, value in part.items()}


def _differing(fields: Sequence[dict[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for own in fields for name in own)
    return [name for name in names if len(set(_column(fields, name))) > 1]


def _column(fields: Sequence[dict[str, Any]], name: str) -> tuple[str | None, ...]:
    return tuple(json.dumps(own[name]) if name in own else None for own in fields)


def telling(designs: Sequence[Design]) -> list[str]:
    """The few fields that suffice to tell the designs apart, the least often changing first."""
    return _telling([design.fields for design in designs])


def _telling(fields: Sequence[dict[str, Any]]) -> list[str]:
    def rank(name: str) -> tuple[bool, int]:
        column = _column(fields, name)
        changes = sum(a != b for a, b in pairwise(column))
        return None in column, changes

    chosen: list[str] = []
    apart: list[tuple[str | None, ...]] = [() for _ in fields]
    for name in sorted(_differing(fields), key=rank):
        further = [(*key, value) for key, value in zip(apart, _column(fields, name), strict=True)]
        if len(set(further)) > len(set(apart)):
            chosen.append(name)
            apart = further
    return chosen


def _words(fields: Sequence[dict[str, Any]]) -> list[str]:
    """For each configuration what tells it from the others; the scenario of a single one."""
    if len(fields) == 1:
        return [str(fields[0].get("scenario") or "the run")]
    names = _telling(fields)
    found = []
    for own in fields:
        has = [name for name in names if name in own] or [n for n in _differing(fields) if n in own][:1]
        found.append(", ".join(said(name, own, has) for name in has) or "base")
    return found


def said(field: str, fields: Mapping[str, Any], among: Sequence[str] = ()) -> str:
    """A field of a configuration and its value, as a name says them.

    Args:
        fields: The configuration, its field names as paths.
        among: Other fields of the name.
    """
    return in_words(field, fields[field], among, parts_of(fields))


def without(design: Design, field: str, among: Sequence[str]) -> str:
    """Name of a design without the value of one field; empty if nothing is left.

    Args:
        field: Path of a field of its configuration.
        among: Fields that tell the designs apart (`telling`).
    """
    if field in design.fields:
        words = re.escape(said(field, design.fields, among))
        before, found, after = re.sub(rf"(^|, ){words}(?=, |$)", "\0", design.called, count=1).partition("\0")
        if found:
            return (before + after).removeprefix(", ")
    others = [name for name in among if name != field and name in design.fields]
    return ", ".join(said(name, design.fields, among) for name in others)


def _told_apart(names: Sequence[str]) -> list[str]:
    """The names, with a number after a name that an earlier design has already."""
    found: list[str] = []
    for name in names:
        number, own = 1, name
        while own in found:
            number += 1
            own = f"{name} ({number})"
        found.append(own)
    return found


def _said(name: str, fields: dict[str, Any]) -> str:
    return value_in_words(name, fields[name]) if name in fields else _LACKING
