"""Rounds: the part of a page that explains their length: the critical path, the stragglers, the cells.

`analysis.critical_path` defines path and slack.

Scope: numbers of designs are means over their counted runs; clients and cells are from the first counted run;
at most ten clients, 20 cells and 50 global rounds a design; clients and rounds of 12 designs.

Usage::

    values = rounds(designs)
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.critical_path import CriticalPath
from analysis.designs import Design, seed_of
from analysis.plots.bars import MOST_BARS, stacked
from analysis.plots.style import looks_of
from analysis.report.cells import Estimate, cell, number
from analysis.report.page import Figure, Table
from analysis.report.pictures import picture
from cosim.records.rows import DONE

_MOST_CLIENTS = 10
_MOST_CELLS = 20
_MOST_ROUNDS = 50
_MOST_DESIGNS = 12


def rounds(designs: Sequence[Design]) -> dict[str, Any] | None:
    """Clients that ended global rounds, doing what, and clients that had slack; None without rounds."""
    designs = [design for design in designs if all(run.has_rounds for run in design.counted)]
    if not designs:
        return None
    paths = {design.name: [CriticalPath.of(run) for run in design.counted] for design in designs}
    doing = list(
        dict.fromkeys(name for own in paths.values() for path in own for name in path.by_activity().index)
    )
    if not doing:
        return {"figure": None}
    doing = list(looks_of(doing))
    rows = [
        [
            name,
            *(cell([_share(path, each) for path in own], is_share=True) for each in doing),
            _slack(own),
            cell([_cut_percent(path) for path in own], is_share=True),
        ]
        for name, own in paths.items()
    ]
    header = [
        "design",
        *(f"{each} (%)" for each in doing),
        "median slack (s)",
        "edge rounds ended by a cut (%)",
    ]
    return {
        "figure": _bars(paths),
        "shares": Table("Shares of the critical paths, all global rounds of a run", header, rows),
        "num_designs": len(designs),
        "designs": [
            {"ranked": _ranked(d, paths[d.name][0]), "by_round": _round_by_round(d, paths[d.name][0])}
            for d in designs[:_MOST_DESIGNS]
        ],
        "rest": f", of the first {_MOST_DESIGNS}" if len(designs) > _MOST_DESIGNS else "",
    }


def _bars(paths: dict[str, list[CriticalPath]]) -> Figure:
    """The mean duration of a global round by what was done on its path."""
    drawn = {
        name: _mean(own) for name, own in list(paths.items())[:MOST_BARS] if any(len(p.rounds) for p in own)
    }
    looks = looks_of(doing for own in drawn.values() for doing in own)
    told = "; ".join(
        f"{name}: " + ", ".join(f"{doing} {lasted_s:.4g} s" for doing, lasted_s in own.items() if lasted_s)
        for name, own in drawn.items()
    )
    caption = "Mean duration of a global round, by what was done on its critical path" + (
        f"; the first {len(drawn)} of {len(paths)} designs." if len(paths) > len(drawn) else "."
    )
    made = picture(
        lambda axes: stacked(axes, drawn, looks, "duration of a global round (s)"),
        said=f"{caption} {told}.",
        prefix="rounds-",
        size=(9.0, 1.4 + 0.3 * len(drawn)),
    )
    return Figure([made], caption, name="Critical paths")


def _mean(paths: Sequence[CriticalPath]) -> dict[str, float]:
    """Seconds of a global round by what was done on its path, means over rounds and runs."""
    tables = [path.by_activity() / len(path.rounds) for path in paths if len(path.rounds)]
    means = pd.concat(tables).groupby(level=0).sum() / len(tables)
    return {str(doing): float(lasted_s) for doing, lasted_s in means.items()}


def _share(path: CriticalPath, doing: str) -> float | None:
    lasted_s = path.by_activity()
    return 100.0 * float(lasted_s.get(doing, 0.0)) / float(lasted_s.sum()) if len(lasted_s) else None


def _cut_percent(path: CriticalPath) -> float | None:
    outcomes = path.edge_rounds["outcome"]
    return 100.0 * float((outcomes != DONE).mean()) if len(outcomes) else None


def _slack(paths: Sequence[CriticalPath]) -> Estimate | str:
    return cell([float(path.jobs["slack_s"].median()) for path in paths if len(path.jobs)])


def _ranked(design: Design, path: CriticalPath) -> list[Table]:
    """Stragglers, and cells where there are several."""
    where = _where(design)
    ranked = path.stragglers()
    ended = ranked[(ranked["on_path_s"] > 0.0) | (ranked["rounds_ended"] > 0)]
    total_s = float(path.by_activity().sum())
    clients = [
        [
            client,
            row.edge,
            number(row.on_path_s),
            number(100.0 * row.on_path_s / total_s) if total_s else "–",
            f"{row.rounds_ended:,} of {row.num_jobs:,}",
            number(row.mean_slack_s),
        ]
        for client, row in _rows(ended.head(_MOST_CLIENTS))
    ]
    header = ["client", "cell", "on the path (s)", "of all rounds (%)", "edge rounds ended", "mean slack (s)"]
    which = f"the first {len(clients)} of {len(ranked):,}" if len(ranked) > len(clients) else "all"
    tables = [Table(f"Stragglers, longest on critical paths first; {which}; {where}", header, clients)]
    by_cell = path.by_cell()
    first = by_cell.sort_values(["on_path_s", "rounds_ended"], ascending=False, kind="stable").head(
        _MOST_CELLS
    )
    cells = [
        [edge, row.rounds_ended, *map(number, (row.on_path_s, row.mean_slack_s, row.mean_job_slack_s))]
        for edge, row in _rows(by_cell.loc[by_cell.index.isin(first.index)])
    ]
    header = ["cell", "global rounds ended", "on the path (s)", "mean slack (s)", "that of its clients (s)"]
    if len(cells) > 1:
        which = (
            "all" if len(cells) == len(by_cell) else f"{len(cells)} of {len(by_cell):,}, longest on the paths"
        )
        tables.append(Table(f"Cells; {which}; {where}", header, cells))
    return tables


def _where(design: Design) -> str:
    return f"{design.name}, seed {seed_of(design.counted[0])}"


def _rows(frame: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """The rows by name, their values as attributes."""
    return zip(map(str, frame.index), frame.itertuples(index=False), strict=True)


def _round_by_round(design: Design, path: CriticalPath) -> Table:
    by_round = path.by_round().reindex(path.rounds["global_round"], fill_value=0.0)
    step = -(-len(path.rounds) // _MOST_ROUNDS)
    rows = []
    found: list[Any] = list(path.rounds.itertuples(index=False))
    for row, lasted in list(zip(found, by_round.to_numpy(), strict=True))[::step]:
        how = row.doing if row.outcome == DONE else f"{row.doing}, cut: {row.outcome}"
        duration = number(row.end_s - row.start_s)
        rows.append([row.global_round, duration, row.edge, row.ended_by, how, *map(number, lasted)])
    activities = [f"{doing} (s)" for doing in by_round]
    header = ["global round", "duration (s)", "last cell", "ended by", "doing", *activities]
    which = "every global round" if step == 1 else f"every {step}th global round"
    return Table(f"Critical paths, {which}; {_where(design)}", header, rows)
