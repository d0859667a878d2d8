"""Encoding: one look of a design in all pictures, and colours told apart without red, green or hue."""

from itertools import combinations

import attrs
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import cosim
from analysis.designs import Design, designs_of
from analysis.plots import Encoding, in_facets, model_over
from analysis.plots.encoding import COLOURS, MOST_NAMED, ON_DARK, SHARED, look_of
from analysis.plots.facets import columns_of
from cosim.testing import small_system

TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)
SEEN = {
    "by all": np.eye(3),
    "without red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "without green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
}
"""Linear RGB -> linear RGB as it is seen. Source: Machado, Oliveira and Fernandes (2009), severity 1."""


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB of linear RGB."""
    xyz = TO_XYZ @ np.clip(rgb, 0.0, 1.0) / WHITE
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def least(distance, colours):
    return min(distance(a, b) for a, b in combinations(colours, 2))


def in_grey(a, b):
    return abs(lab(linear(a))[0] - lab(linear(b))[0])


@pytest.mark.parametrize("colours", [COLOURS, ON_DARK], ids=["light page", "dark page"])
def test_colours_lie_apart_as_people_see_them_and_in_grey(colours):
    """Measured: 44.9 without red cones on light pages, 38.1 without green cones on dark ones."""
    for seen in SEEN.values():
        places = [lab(seen @ linear(colour)) for colour in colours]
        assert least(lambda a, b: np.linalg.norm(a - b), places) > 38.0
    assert least(in_grey, colours) > 8.5
    assert least(in_grey, COLOURS[:3]) > 11.0


def test_colours_lie_apart_from_the_page():
    for colours, ground in ((COLOURS, "#ffffff"), (ON_DARK, "#14171a")):
        assert min(in_grey(colour, ground) for colour in colours) > 27.0


def test_twelve_looks_differ_without_colour():
    looks = [look_of(number) for number in range(MOST_NAMED)]
    assert len({(look.marker, look.is_hollow) for look in looks}) == MOST_NAMED
    assert len({look[:1] + look[3:] for look in looks}) == MOST_NAMED


def made(**columns: list) -> list[Design]:
    """Designs without runs, of a grid of values; fields are in the order in which they are given."""
    grid = [{}]
    for name, values in columns.items():
        grid = [own | {name: value} for own in grid for value in values]
    return [Design(called=", ".join(map(str, own.values())), fields=own, runs=(), counted=()) for own in grid]


def test_in_a_factorial_colour_is_one_factor_and_marker_the_other():
    designs = made(**{"protocol.kind": ["Hist", "HFedAvg", "VHFL"], "bandwidth_hz": [1e6, 2e6, 5e6]})
    encoding = Encoding.of(designs)
    assert len(encoding.facets) == 1
    looks = {(own.fields["protocol.kind"], own.fields["bandwidth_hz"]): encoding[own.name] for own in designs}
    assert {kind: {look.colour for (k, _), look in looks.items() if k == kind} for kind, _ in looks} == {
        "Hist": {COLOURS[0]},
        "HFedAvg": {COLOURS[1]},
        "VHFL": {COLOURS[2]},
    }
    for hz in (1e6, 2e6, 5e6):
        assert len({look.marker for (_, h), look in looks.items() if h == hz}) == 1
    assert len(set(looks.values())) == 9
    along = encoding.shared(own.name for own in designs if own.fields["protocol.kind"] == "VHFL")
    assert (along.colour, along.dash, along.marker) == (COLOURS[2], look_of(2).dash, "")
    across = encoding.shared(own.name for own in designs if own.fields["bandwidth_hz"] == 2e6)
    assert (across.colour, across.marker) == (SHARED, look_of(1).marker)


@pytest.mark.parametrize("number", [1, 2, 7, 12])
def test_of_one_field_every_design_has_a_look_of_its_own_up_to_twelve(number):
    designs = made(num_clients=list(range(number)))
    encoding = Encoding.of(designs)
    assert [encoding[own.name] for own in designs] == [look_of(place) for place in range(number)]
    assert len(encoding.facets) == 1


def test_forty_five_designs_are_nine_panels_in_which_a_protocol_looks_the_same():
    kinds = ["Hist", "HFedAvg", "VHFL", "FedBuff", "FedAsync"]
    designs = made(**{"protocol.kind": kinds, "bandwidth_hz": [float(n) * 1e6 for n in range(1, 10)]})
    encoding = Encoding.of(designs)
    assert len(encoding.facets) == 9
    assert [len(facet.designs) for facet in encoding.facets] == [5] * 9
    assert encoding.facets[1].title == "2 MHz"
    for facet in encoding.facets:
        assert [encoding[own.name] for own in facet.designs] == [look_of(place) for place in range(5)]


def test_designs_that_no_field_parts_are_drawn_in_order_by_at_most_twelve():
    designs = made(num_clients=list(range(45)))
    encoding = Encoding.of(designs)
    assert [len(facet.designs) for facet in encoding.facets] == [12, 12, 12, 9]
    assert sum((facet.designs for facet in encoding.facets), ()) == tuple(designs)


@pytest.mark.parametrize(
    ("number", "width_in", "columns"),
    [
        (1, 3.5, 1),
        (4, 3.5, 2),
        (9, 3.5, 2),
        (9, 7.0, 3),
        (9, 10.0, 3),
        (5, 7.0, 3),
        (6, 10.0, 3),
        (16, 10.0, 4),
    ],
)
def test_a_grid_of_panels_leaves_few_places_empty(number, width_in, columns):
    assert columns_of(number, width_in) == columns


@pytest.fixture(scope="module")
def run():
    return cosim.run(small_system(cosim.Deadline(deadline_s=0.1)))


def test_a_design_looks_the_same_in_all_panels_and_in_the_legend(run):
    told = run.config["system"]
    fields = [{"num_cells": cells, "num_clients": 60 + n} for cells in (1, 2, 3) for n in range(5)]
    runs = [attrs.evolve(run, config=run.config | {"system": told | own}) for own in fields]
    designs = designs_of(runs)
    encoding, figure = Encoding.of(designs), Figure(figsize=(7.0, 4.0), layout="constrained")
    drawn = in_facets(figure, encoding, lambda axes, own: model_over(axes, own, encoding))
    assert [axes.get_title() for axes in drawn] == [f"{60 + n} clients" for n in range(5)]

    def look(line):
        return line.get_color(), line.get_marker(), line.get_linestyle()

    looks = {}
    for line in (line for axes in drawn for line in axes.lines):
        if not str(line.get_label()).startswith("_"):
            looks.setdefault(line.get_label(), set()).add(look(line))
    assert {label: len(own) for label, own in looks.items()} == {"1 cell": 1, "2 cells": 1, "3 cells": 1}
    assert len(set.union(*looks.values())) == 3
    (legend,) = figure.legends
    shown = zip(legend.get_texts(), legend.legend_handles, strict=True)
    assert {text.get_text(): {look(handle)} for text, handle in shown} == looks
