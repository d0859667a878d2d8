"""The numbers of a report against the tables of its runs, by independent arithmetic."""

import re
from functools import cache
from html.parser import HTMLParser

import attrs
import numpy as np
import pytest
from scipy import stats

import cosim
from analysis.designs import designs_of
from analysis.report.cells import in_small_units
from analysis.report.report import report
from cosim import (
    AfterRounds,
    Deadline,
    DrawnDevices,
    EdgeTraining,
    FixedShares,
    Hist,
    PerGroup,
    Radio,
    Sgd,
    System,
    evolve,
)
from cosim.data import Synthetic

pytestmark = pytest.mark.usefixtures("unwritten_pictures")
SYSTEM = System(
    num_cells=2,
    num_clients=6,
    model="relu-12-8-4",
    data=Synthetic(),
    devices=DrawnDevices(
        min_frequency_hz=PerGroup(values=(0.5e9,)), max_frequency_hz=PerGroup(values=(4e9,))
    ),
    uplink=Radio(sharing=FixedShares(bandwidth_hz=1e6)),
    protocol=Hist(
        training=EdgeTraining(
            num_edge_rounds=3,
            steps=cosim.SameSteps(num_local_steps=2),
            local=Sgd(batch_size=10),
            waiting=Deadline(deadline_s=0.0014),
        ),
    ),
    end=AfterRounds(num_global_rounds=4),
)


class Tables(HTMLParser):
    """Caption -> rows of cells."""

    def __init__(self, html):
        super().__init__()
        self.found, self.rows, self.caption, self.into = {}, [], "", None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.rows, self.caption = [], ""
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.into = "cell"
        elif tag == "caption":
            self.into = "caption"

    def handle_endtag(self, tag):
        if tag in ("td", "th", "caption"):
            self.into = None
        elif tag == "table":
            self.found[self.caption] = self.rows

    def handle_data(self, data):
        if self.into == "cell":
            self.rows[-1][-1] += data
        elif self.into == "caption":
            self.caption += data


def of(html, beginning):
    """The rows of the table whose caption begins so, as dictionaries by heading."""
    (rows,) = (rows for caption, rows in Tables(html).found.items() if caption.startswith(beginning))
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


@pytest.fixture(scope="module")
def runs():
    return [cosim.run(evolve(SYSTEM, seed=seed)) for seed in (1, 2, 3)]


@cache
def page(*runs):
    """Their report."""
    return report(list(runs))


def wasted_j(result):
    """Energy of clients in edge rounds in which their update did not arrive, round by round."""
    arrived = {
        (row.client, row.global_round, row.edge_round) for row in result.transfers.itertuples() if row.arrived
    }
    clients = result.config["system"]["num_clients"]
    cell_of = {f"client-{n:04d}": f"edge-{2 * n // clients:02d}" for n in range(clients)}
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    total_j = 0.0
    for client, edge in cell_of.items():
        own = result.spans[result.spans["node"] == client]
        for row in edge_rounds[edge_rounds["node"] == edge].itertuples():
            if (client, row.global_round, row.edge_round) not in arrived:
                inside = (own["start_s"] >= row.start_s) & (own["end_s"] <= row.end_s)
                total_j += own[inside]["energy_j"].sum()
    return total_j


def test_energy_of_one_run_adds_up(runs):
    (result, *_) = runs
    (row,) = of(page(result), "Energy of a run")
    clients = result.spans[result.spans["node"].str.startswith("client")]
    by_activity = clients.groupby("activity")["energy_j"].sum()
    assert 0.0 < wasted_j(result) < result.summary.energy_j
    for heading, value in (
        ("training (J)", by_activity["train"]),
        ("sending (J)", by_activity["send"]),
        ("all clients (J)", clients["energy_j"].sum()),
        ("wasted (J)", wasted_j(result)),
        ("wasted (%)", 100.0 * wasted_j(result) / clients["energy_j"].sum()),
    ):
        assert float(row[heading]) == pytest.approx(value, rel=1e-3), heading


def test_dropped_updates_are_counted_by_reason_and_by_client(runs):
    (result, *_) = runs
    html = page(result)
    (reasons,) = of(html, "Dropped updates of a run")
    assert int(reasons["all dropped"]) == result.summary.num_dropped > 0
    assert int(reasons["updates asked for"]) == result.summary.num_updates
    named = [int(number) for reason, number in reasons.items() if reason.startswith("deadline")]
    assert sum(named) == result.summary.num_dropped
    by_client = of(html, "Jobs by client")
    assert sum(int(row["dropped"]) for row in by_client) == result.summary.num_dropped
    assert {int(row["took part"]) for row in by_client} == {12}
    assert sum(float(row["wasted (J)"]) for row in by_client) == pytest.approx(wasted_j(result), rel=1e-3)


def test_several_seeds_are_one_design_with_students_interval(runs):
    (row,) = of(page(*runs), "Means over runs")
    assert row["runs"] == "3"
    for heading, values in (
        ("simulated time (s)", [result.summary.time_s for result in runs]),
        ("energy (J)", [result.summary.energy_j for result in runs]),
    ):
        mean, half = np.mean(values), stats.t.ppf(0.975, 2) * np.std(values, ddof=1) / np.sqrt(3)
        estimate, ends = row[heading].split("[")
        low, high = ends.rstrip("] ").split(",")
        assert float(estimate) == pytest.approx(mean, rel=1e-3)
        assert float(low) == pytest.approx(mean - half, rel=2e-3, abs=1e-3 * abs(mean))
        assert float(high) == pytest.approx(mean + half, rel=2e-3, abs=1e-3 * abs(mean))


def test_intervals_of_shares_stay_within_0_and_100_percent(runs):
    (row,) = of(page(*runs), "Means over runs")
    values = [result.summary.scores["accuracy"] for result in runs]
    mean = np.mean(values)
    half = stats.t.ppf(0.975, 2) * np.std(values, ddof=1) / np.sqrt(3) / (mean * (1.0 - mean))
    told = [100.0 * mean, *(100.0 / (1.0 + np.exp(-np.log(mean / (1.0 - mean)) - z)) for z in (-half, half))]
    found = row["final test accuracy (%)"].replace("[", "").replace("]", "").replace(",", "").split()
    assert [float(end) for end in found] == pytest.approx(told, rel=1e-3)


def test_designs_differ_by_the_fields_that_are_named(runs):
    other = cosim.run(evolve(SYSTEM, uplink=Radio(sharing=FixedShares(bandwidth_hz=2e6))))
    html = report([*runs, other])
    first, second = of(html, "Means over runs")
    assert (first["runs"], second["runs"]) == ("3", "1")
    assert (first["design"], second["design"]) == ("1 MHz", "2 MHz")
    assert [tuple(row.values()) for row in of(html, "Fields in which")] == [
        ("uplink.sharing.bandwidth_hz", "1 MHz", "1 MHz"),
        ("uplink.sharing.bandwidth_hz", "2 MHz", "2 MHz"),
    ]


def test_differences_are_taken_seed_by_seed(runs):
    slower = [
        attrs.evolve(
            run,
            config=run.config | {"system": run.config["system"] | {"uplink": "slow"}},
            summary=run.summary._replace(time_s=run.summary.time_s + extra_s),
        )
        for run, extra_s in zip(runs, (0.1, 0.2, 0.4), strict=True)
    ]
    (row,) = of(report([*runs, *slower]), "Differences to ")
    assert (row["design"], row["shared seeds"]) == ("uplink slow", "3")
    half = stats.t.ppf(0.975, 2) * np.std([0.1, 0.2, 0.4], ddof=1) / np.sqrt(3)
    ends = row["simulated time (s)"].replace("[", "").replace("]", "").replace(",", "").split()
    assert [float(end) for end in ends] == pytest.approx([0.7 / 3, 0.7 / 3 - half, 0.7 / 3 + half], rel=1e-3)
    assert row["energy (J)"] == "0 all equal"


def test_the_bars_of_the_picture_add_up_to_the_energy(runs):
    (result, *_) = runs
    (said,) = re.findall(
        r'aria-label="All clients together, means over runs\. [^":]*: ([^"]*)\."', page(result)
    )
    parts = dict(re.findall(r"([a-z:, ]+?) ([0-9.e-]+) J", said))
    parts = {name.strip(", "): float(joules) for name, joules in parts.items()}
    clients = result.spans[result.spans["node"].str.startswith("client")]
    assert sum(parts.values()) == pytest.approx(clients["energy_j"].sum(), rel=2e-3)
    wasted = sum(joules for name, joules in parts.items() if name.startswith("wasted"))
    assert wasted == pytest.approx(wasted_j(result), rel=2e-3)


def test_times_below_a_millisecond_are_said_in_small_units(runs):
    (design,) = designs_of(runs[:1])
    given = {
        "wait (s)": lambda run: 5.9e-5,
        "wait (s per update)": lambda run: 2e-9,
        "long (s)": lambda run: 0.2,
        "nothing (s)": lambda run: None,
        "energy (J)": lambda run: 1e-6,
    }
    found = {words: design.values(reading) for words, reading in in_small_units(given, [design]).items()}
    assert found == {
        "wait (µs)": [pytest.approx(59.0)],
        "wait (ns per update)": [pytest.approx(2.0)],
        "long (s)": [0.2],
        "nothing (s)": [None],
        "energy (J)": [1e-6],
    }
