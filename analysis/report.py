"""Report: runs, told on one page that opens from disk.

What was asked, the table with intervals, the global model over time, energy and bits, the timeline of a
global round, where the energy went, who was dropped and why, configuration and provenance.

Runs whose configurations differ in the seed only are one design: its numbers are means over its runs, with
Student's t interval (95 % each, not jointly). Only complete runs enter, a seed once, unless a design has no
complete run. Points of a curve are means, over the runs, at the same global round, along both axes.

Wasted is the energy of the spans of a client in an edge round in which its update did not arrive. A span is
in the edge round of its cell in which it began and ended. What was spent in an edge round that never ended
(the run was stopped) is neither useful nor wasted, and is shown on its own.

Scope: reads run folders, plays nothing. A client of which no upload and no plan tells the cell counts by its
cut spans, for it never came to sending.

Usage::

    write(report([Result.load("runs/a"), Result.load("runs/b")]), "report.html")
"""

import json
import math
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd

from analysis.plots import telling_round
from analysis.report_pictures import (
    Curve,
    Markup,
    Section,
    curve_picture,
    details,
    page,
    paragraph,
    table,
    text,
    timeline_picture,
)
from analysis.statistics import Interval, paired_difference, t_interval
from cosim.records import DONE
from cosim.results import Result
from cosim.units import unit_of

__all__ = ["Section", "page", "report", "write"]

_MOST_TIMELINES = 4
_MOST_CLIENTS = 100
_MOST_POINTS = 50
_DOING = {"train": "training", "send": "sending", "wait": "waiting to send"}
_LOST = "left no rows"

Measure = Callable[[Result], float | None]


@attrs.frozen(kw_only=True, eq=False)
class Design:
    """Runs of one configuration, seeds apart.

    Attributes:
        fields: The configuration, its field names as paths.
        runs: All that were given.
        counted: Those whose numbers enter the means.
    """

    label: str
    fields: dict[str, Any]
    runs: tuple[Result, ...]
    counted: tuple[Result, ...]

    def values(self, measure: Measure) -> list[float | None]:
        """A measure of each counted run."""
        return [measure(run) for run in self.counted]


def report(results: Sequence[Result], *, global_round: int | None = None, title: str = "Run report") -> str:
    """The HTML text of runs.

    Args:
        global_round: Of the timeline; None: the first in which an update was dropped, or else the first.

    Raises:
        ValueError: There are no runs, or none has that global round.
    """
    if not results:
        raise ValueError("report: no runs. Usual fix: give at least one run folder.")
    played = {int(number) for run in results for number in run.rounds["global_round"]}
    if global_round is not None and global_round not in played:
        have = f"1 to {max(played)}" if played else "none"
        raise ValueError(
            f"global_round = {global_round}: no run has it; there are {have}. Usual fix: one of these."
        )
    designs = _designs(results)
    fates = {id(run): Fates.of(run) for run in results}
    sections = [
        Section("asked", "What was asked", _asked(designs)),
        Section("numbers", "The numbers", _numbers(designs, fates)),
        Section("learning", "The global model over time, energy and bits", _learning(designs)),
        Section("timeline", "One global round", _timelines(designs, global_round)),
        Section("energy", "Where the energy went", _energy(designs, fates)),
        Section("dropped", "Who was dropped, and why", _dropped(designs, fates)),
        Section("configuration", "Configuration", _configuration(designs)),
        Section("provenance", "Provenance", _provenance(designs)),
    ]
    return page(sections, title=title)


def write(html: str, path: str | Path) -> None:
    """Write a page, whole or not at all.

    Raises:
        ValueError: It cannot be written.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(html, encoding="utf-8", newline="\n")
        os.replace(partial, path)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror}). Usual fix: a file in a folder of yours."
        ) from None
    finally:
        partial.unlink(missing_ok=True)


@attrs.frozen(kw_only=True, eq=False)
class Fates:
    """What became of each client's work in each edge round.

    Attributes:
        spans: The clients' spans, with `fate`: "arrived", "wasted" or "not ended".
        attempts: A row per client and edge round that ended: client, edge, arrived, reason, energy_j.
    """

    spans: pd.DataFrame
    attempts: pd.DataFrame

    @classmethod
    def of(cls, result: Result) -> "Fates":
        """From the rows of a run."""
        spans = result.spans[result.spans["node"].str.startswith("client")]
        spans = spans.rename(columns={"node": "client"}).sort_values("start_s", kind="stable")
        told = pd.concat([result.transfers[["client", "edge"]], result.plans[["client", "edge"]]])
        edge_of = dict(zip(told["client"], told["edge"], strict=True))
        rounds = result.rounds[result.rounds["level"] == "edge"]
        only = rounds["node"].iloc[0] if rounds["node"].nunique() == 1 else ""
        spans = spans.assign(edge=[edge_of.get(client, only) for client in spans["client"]])
        rounds = rounds.sort_values(["start_s", "end_s"], kind="stable").rename(
            columns={"node": "edge", "end_s": "closed_s"}
        )
        columns = ["start_s", "edge", "closed_s", "global_round", "edge_round"]
        spans = pd.merge_asof(spans, rounds[columns], on="start_s", by="edge")
        stray = (spans["edge"] == "") & (spans["outcome"] != DONE)
        ended = (spans["end_s"] <= spans["closed_s"]) | stray
        key = ["client", "global_round", "edge_round"]
        arrivals = result.transfers[result.transfers["arrived"]][key].drop_duplicates()
        arrivals = arrivals.astype({"global_round": "float64", "edge_round": "float64"}).assign(come=True)
        spans[key[1:]] = spans[key[1:]].astype("float64")
        spans.loc[stray, "global_round"] = -1.0
        spans.loc[stray, "edge_round"] = np.flatnonzero(stray)
        come = spans[key].merge(arrivals, on=key, how="left")["come"].notna()
        spans["fate"] = np.where(~ended, "not ended", np.where(come, "arrived", "wasted"))
        cut = spans["outcome"] != DONE
        doing = [_DOING.get(activity, activity) for activity in spans["activity"]]
        spans["reason"] = pd.Series(spans["outcome"] + ", while " + pd.Series(doing, dtype="str")).where(cut)
        grouped = spans[ended].sort_values("end_s", kind="stable").groupby(key, sort=True)
        attempts = grouped.agg(
            edge=("edge", "last"),
            fate=("fate", "last"),
            reason=("reason", "last"),
            energy_j=("energy_j", "sum"),
        ).reset_index()
        attempts["arrived"] = attempts["fate"] == "arrived"
        attempts["reason"] = (
            attempts["reason"].fillna("ended before it could send").where(~attempts["arrived"])
        )
        return cls(spans=spans, attempts=attempts)

    def energy_j(self, fate: str | None = None, activity: str | None = None) -> float:
        """Energy of the clients, of one fate and one activity ("other": neither train nor send) if given."""
        chosen = pd.Series(True, index=self.spans.index)
        if fate is not None:
            chosen &= self.spans["fate"] == fate
        if activity == "other":
            chosen &= ~self.spans["activity"].isin(["train", "send"])
        elif activity is not None:
            chosen &= self.spans["activity"] == activity
        return float(self.spans.loc[chosen, "energy_j"].sum())

    def wasted_percent(self) -> float | None:
        """Share of the clients' energy that was wasted; None where there is none."""
        total_j = self.energy_j()
        return 100.0 * self.energy_j("wasted") / total_j if total_j else None


def _designs(results: Sequence[Result]) -> list[Design]:
    """Runs of one configuration, seeds apart, together; in the order in which they were given."""
    groups: dict[str, list[Result]] = {}
    for run in results:
        groups.setdefault(json.dumps(_seedless(_flat(run.config)), sort_keys=True), []).append(run)
    fields = [_seedless(_flat(runs[0].config)) for runs in groups.values()]
    differing = _differing(fields)
    designs = []
    for number, (runs, own) in enumerate(zip(groups.values(), fields, strict=True), start=1):
        telling = [
            f"{name.rpartition('.')[2]} = {_value(name, own[name])}" for name in differing if name in own
        ]
        label = ", ".join(telling[:2]) + (", ..." if len(telling) > 2 else "")
        label = f"{number}: {label[:60]}" if len(groups) > 1 else str(own.get("scenario") or "the run")
        complete = [run for run in runs if run.summary.status == "complete"]
        by_seed = {json.dumps(_seed(run)): run for run in reversed(complete or runs)}
        counted = tuple(run for run in runs if any(run is kept for kept in by_seed.values()))
        designs.append(Design(label=label, fields=own, runs=tuple(runs), counted=counted))
    return designs


def _flat(config: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(config, dict):
        return {path: config}
    inner = (_flat(value, f"{path}.{name}" if path else str(name)) for name, value in config.items())
    return {name: value for part in inner for name, value in part.items()}


def _seedless(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "system.seed"}


def _seed(run: Result) -> Any:
    return _flat(run.config).get("system.seed")


def _differing(fields: Sequence[dict[str, Any]]) -> list[str]:
    """Names of fields that some have and others have not, or have otherwise."""
    names = dict.fromkeys(name for own in fields for name in own)
    return [
        name for name in names if len({json.dumps(own.get(name, [...].__repr__())) for own in fields}) > 1
    ]


def _value(name: str, value: Any) -> str:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    unit = unit_of(name)
    return f"{words} {unit}" if unit and value is not None else words


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "not finite"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _cell(values: Sequence[float | None]) -> str:
    """The mean and its 95 % interval, or the one value."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    if broken := sum(not math.isfinite(value) for value in known):
        return f"not finite in {broken} of {len(known)}"
    if len(known) == 1:
        return _number(known[0])
    return _interval(t_interval(known))


def _interval(interval: Interval) -> str:
    around = f"[{_number(interval.low)}, {_number(interval.high)}]"
    said = interval.remark if interval.too_noisy else around
    return Markup(f"{_number(interval.estimate)} <small>{text(said)}</small>")


def _dropped_percent(run: Result) -> float | None:
    return 100.0 * run.summary.num_dropped / run.summary.num_updates if run.summary.num_updates else None


def _measures(designs: Sequence[Design]) -> dict[str, Measure]:
    """What the table says of each run, without columns that would be empty."""
    measures: dict[str, Measure] = {
        "global rounds": lambda run: run.summary.num_global_rounds,
        "simulated time (s)": lambda run: run.summary.time_s,
        "final test accuracy (%)": lambda run: (
            None if run.summary.accuracy is None else 100.0 * run.summary.accuracy
        ),
        "final test mean squared error": lambda run: run.summary.test_mse,
        "energy (J)": lambda run: run.summary.energy_j,
        "dropped updates (%)": _dropped_percent,
        "sent per client (Mbit)": lambda run: run.summary.bits_per_client / 1e6,
    }
    known = (
        name
        for name, measure in measures.items()
        if any(v is not None for d in designs for v in d.values(measure))
    )
    return {name: measures[name] for name in known}


def _asked(designs: Sequence[Design]) -> str:
    parts = []
    for design in designs:
        own = {name.removeprefix("system."): value for name, value in design.fields.items()}
        seeds = ", ".join(str(_seed(run)) for run in design.runs)
        rows = [
            ("scenario", own.get("scenario") or "none"),
            ("protocol", own.get("protocol.kind", "unknown")),
            ("global rounds asked for", own.get("protocol.num_global_rounds", "unknown")),
            ("clients", f"{own.get('num_clients', 'unknown')} in {own.get('num_cells', 'unknown')} cells"),
            ("data", own.get("data.name", "unknown")),
            ("model", own.get("model", "unknown")),
            ("runs", f"{len(design.runs)}, seeds {seeds}"),
        ]
        parts.append(table(f"Design {design.label}", ["asked", "for"], rows, words=True))
    if len(designs) > 1:
        names = _differing([design.fields for design in designs])
        rows = [
            [name, *(_value(name, d.fields[name]) if name in d.fields else "–" for d in designs)]
            for name in names
        ]
        parts.append(
            table("Fields in which the designs differ", ["field", *_labels(designs)], rows, words=True)
        )
    return "\n".join([*_warnings(designs), *parts])


def _labels(designs: Sequence[Design]) -> list[str]:
    return [design.label for design in designs]


def _warnings(designs: Sequence[Design]) -> list[str]:
    """What a reader must know before the numbers."""
    said = []
    for design in designs:
        for run in design.runs:
            name = f"The run {run.folder.name if run.folder else 'without a folder'} (seed {_seed(run)})"
            if run.summary.status != "complete":
                use = (
                    "its numbers stand for what it did until then" if run in design.counted else "not counted"
                )
                asked = design.fields.get("system.protocol.num_global_rounds", "unknown")
                said.append(
                    f"{name} is not complete: {run.summary.status} after {run.summary.num_global_rounds} of "
                    f"{asked} global rounds; {use}."
                )
            elif run not in design.counted:
                said.append(f"{name} repeats a seed of its design; not counted.")
            if not np.isfinite(run.evaluations.to_numpy(dtype=float)).all():
                said.append(f"{name} has a loss that is not finite: its training diverged.")
    return [paragraph(words, "warning") for words in said]


def _numbers(designs: Sequence[Design], fates: dict[int, "Fates"]) -> str:
    measures = _measures(designs)
    measures["wasted energy (%)"] = lambda run: fates[id(run)].wasted_percent()
    rows = [
        [d.label, len(d.counted), *(_cell(d.values(measure)) for measure in measures.values())]
        for d in designs
    ]
    caption = "Means over runs, with 95 % intervals (Student's t) where there are several"
    parts = [table(caption, ["design", "runs", *measures], rows)]
    pairs = []
    first, *others = designs
    for other in others:
        a, b = ({json.dumps(_seed(run)): run for run in d.counted} for d in (first, other))
        shared = [seed for seed in a if seed in b]
        if len(shared) < 2:
            continue
        pairs.append([f"{other.label}, minus {first.label}", len(shared)])
        for measure in measures.values():
            ends = [(measure(a[seed]), measure(b[seed])) for seed in shared]
            pairs[-1].append(_difference(ends))
    if pairs:
        caption = "Differences between designs on the same seeds, with 95 % intervals (paired)"
        parts.append(table(caption, ["difference", "shared seeds", *measures], pairs))
    return "\n".join(parts)


def _difference(ends: Sequence[tuple[float | None, float | None]]) -> str:
    a = [x for x, y in ends if x is not None and y is not None]
    b = [y for x, y in ends if x is not None and y is not None]
    if len(a) < 2 or not np.isfinite([*a, *b]).all():
        return "–"
    return _interval(paired_difference(a, b))


def _learning(designs: Sequence[Design]) -> str:
    parts = []
    for measure, column in (("accuracy", "accuracy"), ("test mean squared error", "test_mse")):
        lines = [_curve(d, column) for d in designs if all(column in run.evaluations for run in d.counted)]
        lines = [line for line in lines if len(line.points)]
        if not lines:
            continue
        axes = (
            ("time_s", 1.0, "simulated time (s)"),
            ("energy_j", 1.0, "energy of all clients (J)"),
            ("bits_per_client", 1e6, "sent per client (Mbit)"),
        )
        pictures = [curve_picture(lines, *axis, measure=column) for axis in axes]
        parts.append(f'<div class="panels">{"".join(pictures)}</div>')
        parts += [details(f"The points of {line.label}", _points(line, measure)) for line in lines]
    if not parts:
        return paragraph("Nothing was evaluated: timing only, or stopped before the first evaluation.")
    if any(len(design.counted) > 1 for design in designs):
        parts.insert(
            0, paragraph("Shaded: 95 % intervals of the mean over runs, global round by global round.")
        )
    return "\n".join(parts)


def _curve(design: Design, column: str) -> Curve:
    """Means over the counted runs at the global rounds that all of them evaluated."""
    frames = [run.evaluations.set_index("global_round") for run in design.counted]
    common = sorted(set.intersection(*(set(frame.index) for frame in frames)))
    points = pd.DataFrame(index=pd.Index(common, name="global_round"))
    for name in ("time_s", "energy_j", "bits_per_client"):
        points[name] = np.mean([frame.loc[common, name] for frame in frames], axis=0)
    values = np.array([frame.loc[common, column] for frame in frames], dtype=float)
    points["mean"] = values.mean(axis=0)
    points["low"] = points["high"] = points["mean"]
    for place, number in enumerate(common):
        if len(frames) > 1 and np.isfinite(values[:, place]).all():
            interval = t_interval(values[:, place])
            points.loc[number, ["low", "high"]] = interval.low, interval.high
    return Curve(design.label, points)


def _points(line: Curve, measure: str) -> str:
    factor, unit = (100.0, " (%)") if measure == "accuracy" else (1.0, "")
    header = [
        "global round",
        "simulated time (s)",
        "energy (J)",
        "sent per client (Mbit)",
        f"{measure}{unit}",
    ]
    step = -(-len(line.points) // _MOST_POINTS)
    chosen = sorted({*range(0, len(line.points), step), len(line.points) - 1})
    rows = []
    for number, time_s, energy_j, bits, mean, low, high in line.points.iloc[chosen].itertuples(name=None):
        ends = f" [{_number(factor * low)}, {_number(factor * high)}]" if low < high else ""
        rows.append([number, *map(_number, (time_s, energy_j, bits / 1e6)), _number(factor * mean) + ends])
    which = "every evaluation" if step == 1 else f"every {step}th evaluation, and the last"
    return table(f"{line.label}: {which}", header, rows)


def _timelines(designs: Sequence[Design], global_round: int | None) -> str:
    parts = []
    for index, design in enumerate(designs[:_MOST_TIMELINES]):
        run = design.counted[0]
        number = telling_round(run) if global_round is None else global_round
        rounds = run.rounds[run.rounds["global_round"] == number]
        cells = rounds[rounds["level"] == "edge"]
        taken, arrived = int(cells["num_participants"].sum()), int(cells["num_arrived"].sum())
        caption = (
            f"{design.label}, seed {_seed(run)}: global round {number}, {len(cells)} edge rounds, "
            f"{taken} updates asked for, {taken - arrived} dropped."
        )
        parts.append(timeline_picture(run, number, f"timeline{index}-", caption))
    if len(designs) > _MOST_TIMELINES:
        parts.append(paragraph(f"Drawn are the first {_MOST_TIMELINES} of {len(designs)} designs."))
    return "\n".join(parts)


def _energy(designs: Sequence[Design], fates: dict[int, "Fates"]) -> str:
    def of(fate: str | None = None, activity: str | None = None) -> Measure:
        return lambda run: fates[id(run)].energy_j(fate, activity)

    columns: dict[str, Measure] = {
        "computing (J)": of(activity="train"),
        "sending (J)": of(activity="send"),
        "other (J)": of(activity="other"),
        "all clients (J)": of(),
        "wasted computing (J)": of("wasted", "train"),
        "wasted sending (J)": of("wasted", "send"),
        "wasted (J)": of("wasted"),
        "wasted (%)": lambda run: fates[id(run)].wasted_percent(),
        "in edge rounds that never ended (J)": of("not ended"),
        "servers (J)": _servers_j,
    }
    for name in ("other (J)", "in edge rounds that never ended (J)", "servers (J)"):
        if not any(value for design in designs for value in design.values(columns[name])):
            del columns[name]
    rows = [[d.label, *(_cell(d.values(measure)) for measure in columns.values())] for d in designs]
    meaning = (
        "Wasted is all energy that a client spent, computing and sending, in edge rounds in which its update "
        "did not arrive."
    )
    return paragraph(meaning) + table("Energy of a run, all clients together", ["design", *columns], rows)


def _servers_j(run: Result) -> float:
    return float(run.spans.loc[~run.spans["node"].str.startswith("client"), "energy_j"].sum())


def _dropped(designs: Sequence[Design], fates: dict[int, "Fates"]) -> str:
    def because(reason: str) -> Measure:
        return lambda run: float(_reasons(run, fates[id(run)]).get(reason, 0))

    known = {reason for d in designs for run in d.counted for reason in _reasons(run, fates[id(run)])}
    reasons = sorted(known)
    if not reasons:
        return paragraph("Nobody: every update arrived.")
    rows = [[reason, *(_cell(d.values(because(reason))) for d in designs)] for reason in reasons]
    rows.append(["all dropped", *(_cell(d.values(lambda run: run.summary.num_dropped)) for d in designs)])
    rows.append(
        ["updates asked for", *(_cell(d.values(lambda run: run.summary.num_updates)) for d in designs)]
    )
    parts = [table("Dropped updates of a run, by reason", ["reason", *_labels(designs)], rows)]
    for design in designs:
        body = _by_client(design, [fates[id(run)] for run in design.counted])
        parts.append(body if len(designs) == 1 else details(f"The clients of {design.label}", body))
    return "\n".join(parts)


def _reasons(run: Result, fates: "Fates") -> dict[str, int]:
    """Dropped updates by reason; those of which no span tells are counted too."""
    counts = {str(reason): int(n) for reason, n in fates.attempts["reason"].value_counts().items()}
    lost = run.summary.num_dropped - sum(counts.values())
    return counts | ({_LOST: lost} if lost > 0 else {})


def _by_client(design: Design, fates: Sequence["Fates"]) -> str:
    attempts = pd.concat([each.attempts for each in fates])
    plans = pd.concat([run.plans for run in design.counted])
    unable = plans[~plans["is_able"].astype(bool)].groupby("client").size()
    reasons = sorted(attempts["reason"].dropna().unique())
    rows = []
    for client, own in attempts.groupby("client"):
        lost = own[~own["arrived"]]
        counts = [int((own["reason"] == reason).sum()) for reason in reasons]
        row = [client, own["edge"].iloc[-1] or "unknown", len(own), len(lost), *counts]
        row += [_number(lost["energy_j"].sum())] + ([int(unable.get(client, 0))] if len(plans) else [])
        rows.append(row)
    rows.sort(key=lambda row: -row[3])
    header = ["client", "cell", "took part", "dropped", *reasons, "wasted (J)"]
    header += ["not able to take part (plan)"] if len(plans) else []
    which = f"the {_MOST_CLIENTS} of {len(rows)} with most drops" if len(rows) > _MOST_CLIENTS else "all"
    caption = f"Edge rounds by client, most drops first; {which}; {len(fates)} run(s) added up"
    return table(caption, header, rows[:_MOST_CLIENTS])


def _configuration(designs: Sequence[Design]) -> str:
    names = dict.fromkeys(name for design in designs for name in design.fields)
    rows = [[n, *(_value(n, d.fields[n]) if n in d.fields else "–" for d in designs)] for n in names]
    caption = "Every field, seeds apart; null means off"
    return details("All fields", table(caption, ["field", *_labels(designs)], rows, words=True))


def _provenance(designs: Sequence[Design]) -> str:
    rows = []
    for design in designs:
        for run in design.runs:
            origin = _origin(run)
            command = origin.get("command", "unknown")
            versions = origin.get("versions")
            versions = versions if isinstance(versions, dict) else {}
            rows.append(
                [
                    run.folder.name if run.folder else "in memory",
                    design.label,
                    _seed(run),
                    run.summary.status,
                    shlex.join(map(str, command)) if isinstance(command, list) else command,
                    *(
                        origin.get(name, "unknown")
                        for name in ("started", "commit", "device", "python", "platform")
                    ),
                    ", ".join(f"{name} {version}" for name, version in versions.items()),
                    len(origin.get("resumed", [])),
                ]
            )
    header = [
        "run",
        "design",
        "seed",
        "status",
        "command",
        "started",
        "commit",
        "device",
        "Python",
        "machine",
    ]
    return table("Where each run comes from", [*header, "packages", "times resumed"], rows, words=True)


def _origin(run: Result) -> dict[str, Any]:
    """What provenance.json says; nothing where it is missing or damaged."""
    try:
        origin = (
            json.loads((run.folder / "provenance.json").read_text(encoding="utf-8")) if run.folder else {}
        )
    except (OSError, ValueError):
        return {}
    return origin if isinstance(origin, dict) else {}
