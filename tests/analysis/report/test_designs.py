"""A study of many designs on one page: few tables, lines that can be told apart, values in words."""

import re

import attrs
import pytest

import cosim
from analysis.report.designs import designs_of, in_words
from analysis.report.report import report
from cosim import (
    AfterRounds,
    FixedShares,
    Hist,
    Radio,
    Synthetic,
    System,
)

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


def captions(html):
    return re.findall(r"<caption><span>([^<]*)", html)


def test_many_designs_share_their_tables(result):
    html = report(study(result, 4))
    for once in ("Asked for", "Means over runs", "Differences to", "Energy of a run", "Fields in which"):
        assert sum(caption.startswith(once) for caption in captions(html)) == 1, once
    unfolded = re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
    assert len(captions(unfolded)) <= 8
    assert "12, which differ in uplink.sharing.bandwidth_hz (4 values), num_cells (3 values)" in html
    assert "36, seeds 1, 2, 3" in html


def test_no_picture_has_more_lines_than_can_be_told_apart(result):
    html = report(study(result, 4))
    pictures = re.findall(r'aria-label="Test accuracy[^"]*Last values: ([^"]*)"', html)
    assert len(pictures) == 6
    letters = [re.findall(r"(?:^|; )([A-Z]+): band", said) for said in pictures]
    assert letters == [list("ABCDEF")] * 3 + [list("GHIJKL")] * 3
    assert "without" not in html


def test_curves_that_are_left_out_are_named(result):
    html = report(study(result, 10)[::3])
    assert len(re.findall(r'aria-label="Test accuracy', html)) == 4 * 3
    assert "Drawn are the first 24 of 30 designs, without Y to AD." in html
    assert "the first 24 of 30 designs" in "".join(re.findall(r'aria-label="All clients[^"]*"', html))


def test_of_many_designs_the_extremes_have_timelines(result):
    runs = [with_fields(result, bandwidth_hz=1e5 * number) for number in range(1, 6)]
    dropped = (2, 4, 1, 3, 0)
    runs = [
        attrs.evolve(run, summary=run.summary._replace(num_dropped=number))
        for run, number in zip(runs, dropped, strict=True)
    ]
    drawn = re.findall(r'aria-label="Timeline\. ([A-Z]+):', report(runs))
    assert drawn == ["B", "E"]
    assert re.findall(r'aria-label="Timeline\. ([A-Z]+):', report(runs[:3])) == ["A", "B", "C"]


def test_repeated_and_incomplete_runs_do_not_count(result):
    stopped = with_fields(result, seed=2)
    stopped = attrs.evolve(stopped, summary=stopped.summary._replace(status="interrupted"))
    runs = [with_fields(result), with_fields(result), stopped]
    (design,) = designs_of(runs)
    assert design.runs == tuple(runs)
    assert design.counted == (runs[0],)
    html = report(runs)
    assert "repeats a seed of its design; not counted" in html
    assert "interrupted after 2 global rounds, and asked for AfterRounds (num_global_rounds = 2); not" in html
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
    assert (first.label, second.label) == ("A: num_cells 2", "B: num_cells 4")
    html = report([with_fields(result), other])
    assert "num_cells (2 values), and 2 further fields: see Configuration" in html


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("uplink.sharing.bandwidth_hz", 5e5, "500 kHz"),
        ("deadline_s", 0.022, "22 ms"),
        ("deadline_s", 0.0, "0 s"),
        ("deadline_s", None, "null"),
        ("step_cycles", 1e6, "1,000,000 cycles"),
        ("csi_error_db", -4.0, "-4 dB"),
        ("mean_throughput_bps", 1.5e9, "1.5 Gbit/s"),
        ("max_frequency_hz", [1e9, 2e9], "[1000000000.0, 2000000000.0] Hz"),
        ("num_cells", 3, "3"),
        ("model", "relu", "relu"),
    ],
)
def test_values_in_words(name, value, words):
    assert in_words(name, value) == words
