"""Designs: the runs of a report, put together by configuration, and what tells the configurations apart.

Runs whose configurations differ in the seed only are one design. Only complete runs count, a seed once,
unless a design has no complete run. Several designs are called A, B, C in the order in which they were given.

Scope: the fields shown beside a letter are at most three, those that change least often from design to design
first. A field that splits the designs just as an earlier one, or that some designs have not, gives way.

Usage::

    for design in designs_of(results):
        print(design.label, len(design.counted))
"""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import attrs

from cosim.records import Measure
from cosim.results import Result
from cosim.units import unit_of

Reading = Callable[[Result], float | None]
"""Reads a number off a run."""

_MOST_FIELDS = 3
_LEAD = "system."
_LACKING = "–"
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SCALED = ("Hz", "bit", "bit/s", "s", "W", "J")


@attrs.frozen(kw_only=True, eq=False)
class Design:
    """Runs of one configuration, seeds apart.

    Attributes:
        name: Its letter, or the scenario where there is one design only.
        fields: The configuration, its field names as paths.
        told: The fields that tell it from the others, with their values in words.
        runs: All that were given.
        counted: Those whose numbers enter the means.
    """

    name: str
    fields: dict[str, Any]
    told: dict[str, str]
    runs: tuple[Result, ...]
    counted: tuple[Result, ...]

    @property
    def label(self) -> str:
        """Its name and what tells it apart, in a line."""
        words = ", ".join(f"{_last(field)} {value}" for field, value in self.told.items())
        return f"{self.name}: {words}" if words else self.name

    @property
    def cells(self) -> list[str]:
        """The first cells of its row in a table, under `heading`."""
        return [self.name, *self.told.values()]

    def values(self, reading: Reading) -> list[float | None]:
        """A number of each counted run."""
        return [reading(run) for run in self.counted]

    def by_seed(self) -> dict[str, Result]:
        """The counted runs by their seeds."""
        return {json.dumps(seed_of(run)): run for run in self.counted}


def designs_of(results: Sequence[Result]) -> list[Design]:
    """Runs of one configuration, seeds apart, together; in the order in which they were given."""
    groups: dict[str, list[Result]] = {}
    for run in results:
        groups.setdefault(json.dumps(_fields(run), sort_keys=True), []).append(run)
    fields = [_fields(runs[0]) for runs in groups.values()]
    telling = _telling(fields)
    return [
        Design(
            name=_letters(number) if len(groups) > 1 else str(own.get("scenario") or "the run"),
            fields=own,
            told={name: _said(name, own) for name in telling},
            runs=tuple(runs),
            counted=_counted(runs),
        )
        for number, (runs, own) in enumerate(zip(groups.values(), fields, strict=True))
    ]


def heading(designs: Sequence[Design]) -> list[str]:
    """What stands above the first cells of the designs' rows."""
    return ["design", *designs[0].told]


def seed_of(run: Result) -> Any:
    """The seed in a run's configuration; None without one."""
    return _flat(run.config).get("system.seed")


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


def in_words(name: str, value: Any) -> str:
    """A field's value with its unit, such as "500 kHz"."""
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    unit = unit_of(name)
    if not unit or value is None:
        return words
    if not isinstance(value, int | float):
        return f"{words} {unit}"
    scale, prefix = 1.0, ""
    if unit in _SCALED and value:
        scale, prefix = next((p for p in _PREFIXES if abs(value) >= p[0]), (1.0, ""))
    return f"{value / scale:,.15g} {prefix}{unit}"


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


def _telling(fields: Sequence[dict[str, Any]]) -> list[str]:
    """The few fields that stand beside the names of designs."""

    def rank(name: str) -> tuple[bool, int]:
        column = _column(fields, name)
        changes = sum(a != b for a, b in pairwise(column))
        return None in column, changes

    chosen: dict[tuple[int, ...], str] = {}
    for name in sorted(_differing(fields), key=rank):
        column = _column(fields, name)
        chosen.setdefault(tuple(column.index(value) for value in column), name)
    return list(chosen.values())[:_MOST_FIELDS]


def _said(name: str, fields: dict[str, Any]) -> str:
    return in_words(name, fields[name]) if name in fields else _LACKING


def _last(field: str) -> str:
    """The last name of a path; of the kind of a part, the part's."""
    return field.removesuffix(".kind").rpartition(".")[2]


def _letters(number: int) -> str:
    """A to Z, then AA, AB, ..."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)
