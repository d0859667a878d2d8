"""Pictures of a metric: what is drawn are the numbers of its samples, and notes say which seeds missed."""

import math

import attrs
import numpy as np
import pytest
from matplotlib.figure import Figure

import cosim
from analysis.designs import designs_of, runs_of
from analysis.metrics import metrics
from analysis.plots import DrawnStudy, distribution, factor, metric_bars, pareto
from analysis.plots.encoding import SHARED
from analysis.samples import samples
from cosim.testing import small_system

BANDS_HZ = (1e6, 2e6, 8e6)
KINDS = ("Hist", "HFedAvg")
TAKEN_S = {
    ("Hist", 1e6): (4.0, 5.0, 6.5, 4.5, 5.5),
    ("Hist", 2e6): (2.0, 2.5, 3.0, 2.2, 2.8),
    ("Hist", 8e6): (0.5, 0.6, 0.4, 0.55, 0.45),
    ("HFedAvg", 1e6): (math.inf,) * 5,
    ("HFedAvg", 2e6): (6.0, 7.0, math.inf, 5.0, 6.5),
    ("HFedAvg", 8e6): (1.0, 1.2, 0.9, 1.1, 1.3),
}
LASTS_S = 9.0


@pytest.fixture(scope="module")
def study():
    """Designs whose runs reached 70 % when they are told to have done so."""
    run = cosim.run(small_system(cosim.Deadline(deadline_s=0.1)))
    first = run.evaluations.iloc[:2].reset_index(drop=True)
    runs = []
    for (kind, band_hz), taken_s in TAKEN_S.items():
        for seed, at_s in enumerate(taken_s):
            times_s = [at_s, LASTS_S] if math.isfinite(at_s) else [1.0, LASTS_S]
            accuracy = [0.75, 0.8] if math.isfinite(at_s) else [0.2, 0.5]
            told = first.assign(time_s=times_s, accuracy=accuracy, energy_j=[2.0 * t for t in times_s])
            changed = {"seed": seed, "bandwidth_hz": band_hz, "protocol": {"kind": kind}}
            summary = run.summary._replace(time_s=LASTS_S, energy_j=2.0 * LASTS_S)
            config = run.config | {"system": run.config["system"] | changed}
            own = attrs.evolve(run, config=config, summary=summary)
            runs.append(own.with_tables(evaluations=told))
    return DrawnStudy(designs_of(runs), targets=(0.7,))


def own_samples(study, column):
    runs = runs_of(study.designs, (0.7,))
    found = samples(runs, metrics(runs)[column])
    return {study.designs[number].name: sample for number, sample in found.items()}


def axes():
    return Figure(figsize=(3.5, 2.6), layout="constrained").subplots()


def points(drawn):
    """Colour and marker -> place and ends of the bar, of what is drawn with bars."""
    found = {}
    for container in drawn.containers:
        line, _, bars = container.lines
        ends = [segment for bar in bars for segment in bar.get_segments()]
        found[line.get_color(), line.get_marker()] = (*line.get_xydata()[0], ends)
    return found


def test_time_to_a_target_over_a_field_is_that_of_the_samples(study):
    drawn, amounts = axes(), study.amounts["time_to_0.7_s"]
    assert factor(drawn, study.designs, amounts, "bandwidth_hz", study.encoding) == 2
    found, own = points(drawn), own_samples(study, "time_to_0.7_s")
    assert len(found) == 5  # none reached it at 1 MHz
    for design in study.designs:
        look, sample = study.encoding[design.name], own[design.name]
        if math.isnan(sample.value.estimate):
            assert (look.colour, look.marker) not in found
            continue
        x, y, (ends,) = found[look.colour, look.marker]
        assert y == pytest.approx(sample.value.estimate)
        assert ends[:, 1].tolist() == pytest.approx([sample.value.low, sample.value.high])
        assert x == pytest.approx(design.fields["bandwidth_hz"] / 1e6, rel=0.05)
    assert drawn.get_xlabel() == "bandwidth (MHz)"
    assert drawn.get_ylabel() == "time to 70 % test accuracy (s)"
    assert (drawn.get_xscale(), drawn.get_yscale()) == ("log", "log")


def test_notes_stand_where_a_seed_missed(study):
    drawn, amounts = axes(), study.amounts["time_to_0.7_s"]
    factor(drawn, study.designs, amounts, "bandwidth_hz", study.encoding)
    notes = {text.get_text(): text.xy for text in drawn.texts if text.get_text()}
    assert set(notes) == {"4 of 5", "0 of 5"}
    (missed,) = (d.name for d in study.designs if d.fields["bandwidth_hz"] == 2e6 and "HFedAvg" in d.name)
    assert notes["4 of 5"][1] == pytest.approx(amounts.mean(missed))
    assert notes["0 of 5"] == pytest.approx((1.0, 1.0), rel=0.05)  # at the upper edge
    (at_edge,) = (text for text in drawn.texts if text.get_text() == "0 of 5")
    drawn.figure.set_size_inches(2.0, 2.0)
    assert at_edge.get_window_extent().x0 > drawn.get_window_extent().x0  # though of the least value
    assert "“4 of 5”: 4 of 5 runs reached the target" in amounts.in_words()
    assert "95 % intervals" in amounts.in_words()


def test_lines_have_the_look_that_their_designs_share(study):
    drawn = axes()
    factor(drawn, study.designs, study.amounts["energy_to_0.7_j"], "bandwidth_hz", study.encoding)
    lines = {line.get_label(): line for line in drawn.lines if str(line.get_label()) in KINDS}
    for kind, line in lines.items():
        own = [study.encoding[d.name] for d in study.designs if kind in d.name]
        assert {look.colour for look in own} == {line.get_color()}
        assert len({look.marker for look in own}) == 3
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == list(KINDS)


def test_over_one_field_alone_the_line_is_of_no_design(study):
    few = DrawnStudy([design for design in study.designs if "HFedAvg" not in design.name], (0.7,))
    drawn = axes()
    factor(drawn, few.designs, few.amounts["time_to_0.7_s"], "bandwidth_hz", few.encoding)
    (line,) = (line for line in drawn.lines if line.get_label() == "Hist")
    assert line.get_color() == SHARED
    assert len({colour for colour, _ in points(drawn)}) == 3
    assert drawn.get_legend() is None


def test_a_line_without_any_mean_says_so_in_the_legend(study):
    none = [d for d in study.designs if "HFedAvg" not in d.name or d.fields["bandwidth_hz"] == 1e6]
    few, drawn = DrawnStudy(none, (0.7,)), axes()
    factor(drawn, few.designs, few.amounts["time_to_0.7_s"], "bandwidth_hz", few.encoding)
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["Hist", "HFedAvg: none"]
    assert not [text for text in drawn.texts if text.get_text()]


def test_bars_have_intervals_and_say_why_there_is_none(study):
    drawn, amounts = axes(), study.amounts["time_s"]
    assert metric_bars(drawn, study.encoding.looks, amounts) == 6
    assert [bar.get_width() for bar in drawn.patches] == [LASTS_S] * 6
    drawn, amounts = axes(), study.amounts["energy_to_0.7_j"]
    metric_bars(drawn, study.encoding.looks, amounts)
    own = own_samples(study, "energy_to_0.7_j")
    for _, (x, row, (ends,)) in points(drawn).items():
        value = own[study.designs[round(row)].name].value
        assert x == pytest.approx(value.estimate)
        assert ends[:, 0].tolist() == pytest.approx([value.low, value.high])
    assert "none by 18 J" in [text.get_text() for text in drawn.texts]


def test_a_pareto_picture_has_both_intervals_and_the_front_of_designs_without_misses(study):
    drawn, (across, up) = axes(), (study.amounts["time_to_0.7_s"], study.amounts["energy_to_0.7_j"])
    pareto(drawn, study.designs, across, up, study.encoding)
    found = points(drawn)
    assert len(found) == 5
    for _, (x, y, ends) in found.items():
        assert y == pytest.approx(2.0 * x)
        assert len(ends) == 2
    assert "4 of 5" in [text.get_text() for text in drawn.texts]
    front = next(line for line in drawn.lines if line.get_linestyle() == ":")
    assert front.get_xydata().tolist() == [[pytest.approx(0.5), pytest.approx(1.0)]]


def test_a_distribution_ends_at_the_share_of_runs_that_reached(study):
    drawn, amounts = axes(), study.amounts["time_to_0.7_s"]
    distribution(drawn, study.designs, amounts, study.encoding)
    lines = {line.get_label(): line.get_ydata() for line in drawn.lines}
    assert sorted(float(shares[-1]) for shares in lines.values()) == [0.0, 80.0, 100.0, 100.0, 100.0, 100.0]
    for shares in lines.values():
        assert (np.diff(shares) >= 0.0).all()


def test_the_report_has_the_same_pictures(study):
    from analysis.report.factors import factors

    told = factors(study)
    assert told is not None
    first = told["figure"].pictures[0]
    assert "time to 70 % test accuracy (s) over bandwidth_hz" in first
    for text in ("4 of 5", "0 of 5", "bandwidth (MHz)"):
        assert text in first
    for colour in {look.colour for look in study.encoding.looks.values()}:
        assert f"var(--p{colour[1:]}" in first
