"""One number everywhere: text, csv, picture and report, read back, against pandas from the run folders."""

import io
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

import cosim
from analysis.designs import designs_of
from analysis.metrics import metrics
from analysis.plots.drawn_study import DrawnStudy
from analysis.plots.factor import factor
from analysis.report.report import report
from analysis.sentences import sentences
from analysis.tables.cells import text_of
from analysis.tables.contents import by_metric, frame
from analysis.together import together
from cosim.data import Synthetic
from cosim.studies.study import Study
from scenarios.command_line.pictures import PlotOptions
from scenarios.command_line.plot import plot

pytestmark = pytest.mark.usefixtures("unwritten_pictures")
TARGET = 0.42


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two bandwidths, four seeds, of which some miss the target by the last round."""
    base = cosim.System(
        num_cells=2,
        num_clients=4,
        model="relu-12-8-4",
        data=Synthetic(),
        protocol=cosim.HFedAvg(
            training=cosim.EdgeTraining(
                num_edge_rounds=1,
                steps=cosim.SameSteps(num_local_steps=2),
                local=cosim.Sgd(batch_size=10, learning_rate=0.1),
                waiting=cosim.Deadline(deadline_s=0.002),
            )
        ),
        end=cosim.AfterTarget(target=TARGET, at_the_latest=cosim.AfterRounds(num_global_rounds=7)),
    )
    found = tmp_path_factory.mktemp("read") / "study"
    with ThreadPoolExecutor(1) as executor:
        Study(base, {"bandwidth_hz": (5e5, 2e6)}, 4, targets=(TARGET,)).run(found, executor=executor)
    return found


@pytest.fixture(scope="module")
def by_pandas(folder) -> dict[int, dict[str, tuple[float, float, str]]]:
    """Of each design the mean and half width of time and energy to the target, from the folders alone."""
    found = {}
    for design in (0, 1):
        taken = []
        for run in sorted(folder.glob(f"runs/design-{design:03d}-seed-*")):
            evaluations = pd.read_parquet(run / "evaluations.parquet")
            reached = evaluations[evaluations["accuracy"] >= TARGET]
            summary = json.loads((run / "summary.json").read_text())
            for name in ("time_s", "energy_j"):
                at = float(reached[name].iloc[0]) if len(reached) else math.inf
                taken.append({"of": name, "at": at, "lasted": float(summary[name])})
        table = pd.DataFrame(taken)
        found[design] = {name: summarised(own) for name, own in table.groupby("of")}
    return found


def summarised(own: pd.DataFrame) -> tuple[float, float, str]:
    missed = own[np.isinf(own["at"])]
    horizon = missed["lasted"].min() if len(missed) else math.inf
    within = own["at"].clip(upper=horizon)
    words = f"{len(own) - len(missed)} of {len(own)}" if len(missed) else ""
    half = stats.t.ppf(0.975, len(own) - 1) * within.std(ddof=1) / math.sqrt(len(own))
    return float(within.mean()), float(half), words


def drawn_numbers(study: DrawnStudy, column: str) -> list[list[float]]:
    """Heights of points and ends of bars over bandwidth, from left to right, in the unit of the column."""
    axes, amounts = Figure().subplots(), study.amounts[column]
    factor(axes, study.designs, amounts, "uplink.sharing.bandwidth_hz", study.encoding)
    found = []
    for container in axes.containers:
        line, _, (bars,) = container
        ends = [segment[:, 1] for segment in bars.get_segments()]
        found += [[x, y, *own] for x, y, own in zip(line.get_xdata(), line.get_ydata(), ends, strict=True)]
    return [[number / amounts.factor for number in own] for _, *own in sorted(found)]


def numbers_in(words: str) -> list[float]:
    return [float(word.replace(",", "")) for word in re.findall(r"-?\d[\d,.]*(?:e[+-]?\d+)?(?![\d.])", words)]


def test_text_csv_picture_and_report_show_what_pandas_makes_of_the_folders(folder, by_pandas):
    runs = together([folder])
    known = metrics(runs)
    columns = {"time_s": f"time_to_{TARGET}_s", "energy_j": f"energy_to_{TARGET}_j"}
    csv = pd.read_csv(io.StringIO(frame(runs, known, 0).to_csv(index=False))).set_index(["design", "metric"])
    text = by_metric(runs, list(columns.values()), 0)
    results = [cosim.Result.load(run) for run in sorted(folder.glob("runs/*"))]
    designs = designs_of(results, {id(run): "5e5" if n < 4 else "2e6" for n, run in enumerate(results)})
    study = DrawnStudy(designs, (TARGET,))
    drawn = {name: drawn_numbers(study, column) for name, column in columns.items()}
    html = report(results, targets=(TARGET,))
    (table,) = re.findall(r"<caption><span>To 42 %.*?</table>", html, flags=re.DOTALL)
    cells = [
        re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>.*?</tr>", table, flags=re.DOTALL)
    ]
    cells = [row for row in cells if row]
    seen = set()
    for design, found in by_pandas.items():
        for place, (name, column) in enumerate(columns.items()):
            mean, half, words = found[name]
            seen.add(words)
            row = csv.loc[(design, column)]
            assert row["value"] == pytest.approx(mean, rel=1e-12)
            assert row["high"] - row["low"] <= 2.0 * half * (1.0 + 1e-9)
            assert (row["note"] if isinstance(row["note"], str) else "") == words
            assert drawn[name][design] == pytest.approx([mean, row["low"], row["high"]], rel=1e-9)
            told = re.sub("<.*?>", "", cells[design][1 + place])
            assert numbers_in(told)[:3] == pytest.approx([mean, row["low"], row["high"]], rel=1e-3)
            (said,) = (
                text_of(line[-2]) for n, line in enumerate(text.rows) if (n % 2, n // 2) == (design, place)
            )
            scale = 10.0 ** round(math.log10(numbers_in(said)[0] / mean))
            wanted = [scale * number for number in (mean, row["low"], row["high"])]
            assert numbers_in(said)[:3] == pytest.approx(wanted, abs=0.05 * scale * half)
            assert said.endswith(words)
    assert len(seen) > 1  # else nothing was missed, or all


def test_curves_go_on_to_the_end_of_the_last_run(folder, tmp_path, capsys):
    """Runs end at their target; each keeps its last value, and how many still run stands beside the mean."""
    assert plot([folder], PlotOptions(out=tmp_path / "curves.csv")) == 0
    found = pd.read_csv(tmp_path / "curves.csv")
    for number, (_, own) in enumerate(found.groupby("design", sort=False)):
        runs = [
            pd.read_parquet(run / "evaluations.parquet")
            for run in sorted(folder.glob(f"runs/design-{number:03d}-seed-*"))
        ]
        ends_s = [run["time_s"].iloc[-1] for run in runs]
        assert own["time_s"].iloc[-1] == max(ends_s)
        for row in own.itertuples():
            reached = [run.loc[run["time_s"] <= row.time_s, "accuracy"].iloc[-1] for run in runs]
            assert row.accuracy == pytest.approx(np.mean(reached), rel=1e-12)
            assert row.num_running == sum(end_s >= row.time_s for end_s in ends_s)
            assert row.num_runs == 4
    assert found["num_running"].min() < 4
    assert plot([folder], PlotOptions(out=tmp_path / "curves.svg")) == 0
    words = (
        "Ticks: a run has ended there, and keeps its last value from then on, and how many are still running."
    )
    assert words in " ".join(capsys.readouterr().out.split())
    with pytest.raises(cosim.ConfigurationError, match=r"are in tables\. Use cosim table"):
        plot([folder], PlotOptions(kind="bars", out=tmp_path / "bars.csv"))


def test_sentences_of_table_and_report_are_the_same(folder):
    results = [cosim.Result.load(run) for run in sorted(folder.glob("runs/*"))]
    html = report(results, targets=(TARGET,))
    for words in sentences(together([folder])):
        assert f"<li>{words}</li>" in html
