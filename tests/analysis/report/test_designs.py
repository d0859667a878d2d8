"""A study of many designs on one page: few tables, lines that can be told apart, values in words."""

import re
from functools import cache

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosim
from analysis.designs import designs_of, wrapped
from analysis.report.report import report
from cosim import AfterRounds, FixedShares, Hist, Radio, System
from cosim.data import Synthetic

pytestmark = pytest.mark.usefixtures("unwritten_pictures")
SYSTEM = System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    uplink=Radio(sharing=FixedShares(bandwidth_hz=1e6)),
    protocol=Hist(),
    end=AfterRounds(num_global_rounds=2),
)


@pytest.fixture(scope="module")
def result():
    return cosim.run(SYSTEM)


def with_fields(result, seed=1, **fields):
    """The run as if its configuration had been another one."""
    sharing = {"kind": "FixedShares", "bandwidth_hz": fields.pop("bandwidth_hz", 1e6)}
    uplink = result.config["system"]["uplink"] | {"sharing": sharing}
    system = result.config["system"] | {"seed": seed, "uplink": uplink} | fields
    return attrs.evolve(result, config=result.config | {"system": system})


def study(result, num_bands):
    """Designs over bands and three numbers of cells, of three seeds each."""
    return [
        with_fields(result, seed, bandwidth_hz=1e5 * (band + 1), num_cells=cells)
        for band in range(num_bands)
        for cells in (2, 3, 4)
        for seed in (1, 2, 3)
    ]


@pytest.fixture(scope="module")
def page(result):
    """The page of a study by its number of bands, which several tests read."""
    return cache(lambda num_bands: report(study(result, num_bands)))


def captions(html):
    return re.findall(r"<caption><span>([^<]*)", html)


def test_many_designs_share_their_tables(page):
    html = page(4)
    for once in ("Asked for", "Means over runs", "Differences to", "Energy of a run", "Fields in which"):
        assert sum(caption.startswith(once) for caption in captions(html)) == 1, once
    unfolded = re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
    assert len(captions(unfolded)) <= 8
    assert "12, which differ in uplink.sharing.bandwidth_hz (4 values), num_cells (3 values)" in html
    assert "36, seeds 1, 2, 3" in html


def section(html, name):
    return html[html.index(f'<section id="{name}"') :].partition("</section>")[0]


def test_up_to_twelve_curves_are_named_and_more_stand_in_panels(page, result):
    html = page(4)
    pictures = re.findall(r'aria-label="Test accuracy \(%\) over[^"]*Last values: ([^"]*)"', html)
    assert len(pictures) == 3
    called = [f"{band}00 kHz, {cells} cells" for band in (1, 2, 3, 4) for cells in (2, 3, 4)]
    for words in pictures:
        assert re.findall(r"(?:^|; )([^;:]*): ", words) == called
    learning = section(html, "learning")
    assert "Over energy and bits" not in learning
    html = report(study(result, 5)[::3])
    assert "Over energy and bits" in section(html, "learning")  # a panel for each band


def test_bars_that_are_left_out_are_counted(result, monkeypatch):
    monkeypatch.setattr("analysis.report.losses.MOST_BARS", 4)
    html = report(study(result, 2)[::3])
    assert "the first 4 of 6 designs" in "".join(re.findall(r'aria-label="All clients[^"]*"', html))


def test_of_several_designs_that_with_most_drops_has_its_timeline_on_the_page(result):
    runs = [with_fields(result, bandwidth_hz=1e5 * number) for number in range(1, 8)]
    dropped = (2, 4, 1, 3, 0, 0, 0)
    runs = [
        attrs.evolve(run, summary=run.summary._replace(num_dropped=number))
        for run, number in zip(runs, dropped, strict=True)
    ]
    html = report(runs)
    drawn = r'aria-label="Timeline\. (\d+) kHz, seed'
    assert re.findall(drawn, re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)) == ["200"]
    assert re.findall(drawn, html) == ["200", "100", "300", "400", "500", "600"]
    assert "5 of the 6 other designs" in html


def test_repeated_and_incomplete_runs_do_not_count(result):
    stopped = with_fields(result, seed=2)
    stopped = attrs.evolve(stopped, summary=stopped.summary._replace(status="interrupted"))
    runs = [with_fields(result), with_fields(result), stopped]
    (design,) = designs_of(runs)
    assert design.runs == tuple(runs)
    assert design.counted == (runs[0],)
    html = report(runs)
    assert "repeats a seed of its design; not counted" in html
    assert "interrupted after 2 global rounds, and asked for AfterRounds (2 global rounds); not" in html
    assert designs_of([stopped])[0].counted == (stopped,)


def test_of_many_warnings_some_are_folded_and_remarks_come_first(result):
    html = report([with_fields(result) for _ in range(20)], remarks=["A design of the study <failed>."])
    before, _, folded = html.partition("<summary>15 further warnings</summary>")
    assert before.count('<p class="warning">') == 5
    assert folded.count('<p class="warning">') == 15
    assert before.index("&lt;failed&gt;") < before.index("repeats a seed")


def test_fields_that_say_the_same_or_are_not_everywhere_give_way(result):
    other = with_fields(result, bandwidth_hz=2e6, num_cells=4, extra=1)
    first, second = designs_of([with_fields(result), other])
    assert (first.name, second.name) == ("2 cells", "4 cells")
    html = report([with_fields(result), other])
    assert "num_cells (2 values), and 2 further fields: see Configuration" in html


def test_names_are_given_or_said_and_always_unique(result):
    runs = [
        with_fields(result, bandwidth_hz=band, num_cells=cells) for band in (1e6, 2e6) for cells in (2, 3)
    ]
    assert [design.name for design in designs_of(runs[:2])] == ["2 cells", "3 cells"]
    named = designs_of(runs, {id(runs[0]): "ours", id(runs[2]): "theirs", id(runs[3]): "theirs"})
    assert [design.name for design in named] == [
        "ours",
        "1 MHz, 3 cells",
        "theirs: 2 MHz, 2 cells",
        "theirs: 2 MHz, 3 cells",
    ]
    long = [with_fields(result, model="m" * 20 + middle + "n" * 20) for middle in "abc"]
    names = [design.name for design in designs_of(long)]
    assert len(set(names)) == 3
    assert names[1] == f"{names[0]} (2)"


FIELDS = {
    "num_cells": st.integers(1, 3),
    "extra": st.text(max_size=3),
    "rate_hz": st.sampled_from((1.0, 2e3, None)),
}


@settings(max_examples=60)
@given(st.lists(st.fixed_dictionaries({}, optional=FIELDS), min_size=1, max_size=8))
def test_no_two_designs_have_one_name(result, configurations):
    designs = designs_of([with_fields(result, **fields) for fields in configurations])
    assert len({design.name for design in designs}) == len(designs)
    assert all(design.name for design in designs)


def test_long_names_are_wrapped_and_then_cut():
    assert wrapped("bandwidth 5 MHz, deadline 60 ms, 4 cells", 20) == "bandwidth 5 MHz,\ndeadline 60 ms, 4 …"
    assert wrapped("HIST") == "HIST"
