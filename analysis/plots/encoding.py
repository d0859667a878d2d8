"""Encoding: how the designs of a study look, the same in every panel, page and file.

A design has one colour, marker and dash. Where two or more fields tell the designs apart, the marker is the
value of one of them, the number with most values, and colour and dash are what else differs; where one does,
each design has a colour, a marker and a dash of its own. Up to twelve designs are named in one panel. More
are drawn in facets: a panel for each value of a field, in which colour, marker and dash are all else.

Colours are chosen by measured distances: their lightness differs, so that they are told apart in grey, and
so do they as people see them that do not tell red from green (tests/analysis/test_encoding.py).

Usage::

    encoding = Encoding.of(designs)
    axes.plot(x, y, label=encoding.labels[design.name], **encoding[design.name].line(len(x)))

Validation: tests/analysis/test_encoding.py.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from analysis.designs import Design, said, telling, without

COLOURS = ("#2a3d73", "#d7490a", "#769f89", "#490e00", "#523fdf", "#bca2fc")
"""On light pages, the faintest last."""
ON_DARK = ("#8ea4ff", "#cc7946", "#77eff2", "#ebffbb", "#e9bc00", "#c24f79")
"""The same on dark pages."""
MARKERS = "osD^vP"
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (1, 1.3)),
    (0, (9, 2)),
    (0, (4, 1.2, 1, 1.2, 1, 1.2)),
)
SHARED = "#4a4a4a"
"""Colour of what belongs to designs of several colours."""
MOST_NAMED = 12
"""Designs that can be told apart in one panel."""
_MARKED = 12
"""Points of a line that carry a marker, about."""


class Look(NamedTuple):
    """Colour, marker and dash of a design.

    Attributes:
        is_hollow: True if the marker is drawn without a filling.
    """

    colour: str
    marker: str
    dash: Any
    is_hollow: bool = False

    def line(self, num_points: int) -> dict[str, Any]:
        """Arguments of a line in Matplotlib; about twelve of its points carry a marker."""
        return {"linestyle": self.dash, "linewidth": 1.2, **self.points(num_points)}

    def points(self, num_points: int = 1) -> dict[str, Any]:
        """Arguments of markers in Matplotlib."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "markersize": 4.0,
            "markerfacecolor": "white" if self.is_hollow else self.colour,
            "markevery": max(1, num_points // _MARKED),
        }


def look_of(number: int) -> Look:
    """The look of a number; the first twelve differ without colour too."""
    place, row = number % len(COLOURS), number // len(COLOURS)
    return Look(COLOURS[place], MARKERS[place], DASHES[(place + row) % len(DASHES)], row % 2 == 1)


class Facet(NamedTuple):
    """Designs that are drawn in one panel.

    Attributes:
        title: What they have in common, in words; empty where there is one panel.
    """

    title: str
    designs: tuple[Design, ...]


@attrs.frozen(kw_only=True)
class Encoding:
    """Looks of the designs of a study.

    Attributes:
        looks: Name of a design -> its look.
        labels: Name of a design -> its name in the legend of its panel.
        facets: Panels that the designs are drawn in, one up to twelve designs.
    """

    looks: Mapping[str, Look]
    labels: Mapping[str, str]
    facets: Sequence[Facet]

    @classmethod
    def of(cls, designs: Sequence[Design]) -> "Encoding":
        """The encoding of a study, by its designs in their order."""
        along, others = _fields(designs)
        whole = (Facet("", tuple(designs)),)
        names = {design.name: design.name for design in designs}
        if len(designs) > MOST_NAMED:
            return cls._in_facets(designs, [*([along] if along else []), *others])
        rows, columns = _numbers(designs, others), _numbers(designs, [along] if along else [])
        if 1 < len({*rows.values()}) <= len(COLOURS) and len({*columns.values()}) > 1:
            looks = {name: _of_two(rows[name], columns[name]) for name in names}
        else:
            looks = {name: look_of(number) for number, name in enumerate(names)}
        return cls(looks=looks, labels=names, facets=whole)

    @classmethod
    def _in_facets(cls, designs: Sequence[Design], fields: Sequence[str]) -> "Encoding":
        for field in fields:
            groups: dict[str, list[Design]] = {}
            for design in designs:
                groups.setdefault(_value(design, field), []).append(design)
            rest = _numbers(designs, [name for name in fields if name != field])
            if len(groups) < len(designs) and max(map(len, groups.values())) <= MOST_NAMED > max(
                rest.values()
            ):
                return cls(
                    looks={name: look_of(number) for name, number in rest.items()},
                    labels={own.name: without(own, field, fields) for own in designs},
                    facets=[Facet(_words(own[0], field, fields), tuple(own)) for own in groups.values()],
                )
        return cls._in_order(designs)

    @classmethod
    def _in_order(cls, designs: Sequence[Design]) -> "Encoding":
        """Facets of designs that follow each other, where no field makes them."""
        size = -(-len(designs) // -(-len(designs) // MOST_NAMED))
        parts = [tuple(designs[at : at + size]) for at in range(0, len(designs), size)]
        firsts = range(1, len(designs) + 1, size)
        return cls(
            looks={own.name: look_of(number) for part in parts for number, own in enumerate(part)},
            labels={own.name: own.name for own in designs},
            facets=[
                Facet(f"designs {first} to {first + len(part) - 1}", part)
                for first, part in zip(firsts, parts, strict=True)
            ],
        )

    def __getitem__(self, name: str) -> Look:
        return self.looks[name]

    @property
    def most_in_a_panel(self) -> int:
        """Designs in the fullest panel."""
        return max(len(facet.designs) for facet in self.facets)

    def shared(self, names: Iterable[str]) -> Look:
        """Look of a line through several designs: what they have in common of colour, marker and dash."""
        own = [self[name] for name in names]
        first = own[0]
        has_colour = len({look.colour for look in own}) == 1
        has_marker = len({look[1::2] for look in own}) == 1
        return Look(
            first.colour if has_colour else SHARED,
            first.marker if has_marker else "",
            first.dash if has_colour else "-",
            has_marker and first.is_hollow,
        )


def numeric_fields(designs: Sequence[Design]) -> list[str]:
    """Fields that tell the designs apart and are numbers in all of them, most values first."""
    numbers = [
        name
        for name in telling(designs)
        if all(type(design.fields.get(name)) in (int, float) for design in designs)
    ]
    return sorted(numbers, key=lambda name: len({design.fields[name] for design in designs}), reverse=True)


def _fields(designs: Sequence[Design]) -> tuple[str | None, list[str]]:
    """The field along an axis, and the others: the numeric field with most values, or else any with most."""
    told = telling(designs)
    most = sorted(told, key=lambda name: len({_value(design, name) for design in designs}), reverse=True)
    along = next(iter([*numeric_fields(designs), *most]), None)
    return along, [name for name in told if name != along]


def _value(design: Design, field: str) -> str:
    return json.dumps(design.fields.get(field))


def _numbers(designs: Sequence[Design], fields: Collection[str]) -> dict[str, int]:
    """Number of each design's combination of values, in the order in which they come."""
    found = {design.name: tuple(_value(design, field) for field in fields) for design in designs}
    order = list(dict.fromkeys(found.values()))
    return {name: order.index(own) for name, own in found.items()}


def _of_two(row: int, column: int) -> Look:
    """The look of a design of two factors: colour and dash of the row, marker of the column."""
    marker = look_of(column)
    return Look(COLOURS[row], marker.marker, DASHES[row], marker.is_hollow)


def _words(design: Design, field: str, fields: Sequence[str]) -> str:
    return said(field, design.fields, fields) if field in design.fields else "others"
