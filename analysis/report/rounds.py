"""Why a round took so long, as a part of a page: the critical path, the stragglers, the cells.

What a path and a slack are says `analysis.critical_path`.

Scope: numbers of designs are means over their counted runs; clients and cells are the first counted run's; at
most ten clients, 20 cells and 50 global rounds a design; clients and rounds of 12 designs.

Usage::

    html = rounds(designs)
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.critical_path import CriticalPath
from analysis.designs import Design, seed_of
from analysis.plots.bars import MOST_BARS, stacked
from analysis.plots.style import looks_of
from analysis.report.numbers import cell, number
from analysis.report.page import details, paragraph, table
from analysis.report.pictures import picture, wide
from cosim.records.rows import DONE

_MOST_CLIENTS = 10
_MOST_CELLS = 20
_MOST_ROUNDS = 50
_MOST_DESIGNS = 12


def rounds(designs: Sequence[Design]) -> str:
    """Clients that ended global rounds, doing what, and clients that had slack; nothing without rounds."""
    designs = [design for design in designs if all(run.has_rounds for run in design.counted)]
    if not designs:
        return ""
    paths = {design.name: [CriticalPath.of(run) for run in design.counted] for design in designs}
    doing = list(
        dict.fromkeys(name for own in paths.values() for path in own for name in path.by_activity().index)
    )
    if not doing:
        return paragraph("No global round has ended.")
    doing = list(looks_of(doing))
    meaning = (
        "The critical path of a global round leads from its start to its end: through the cell that was "
        "ready last, in each of its edge rounds through the client that ended it, then over the backhaul. "
        "Its times add up to the round. Slack is how long before the end of its edge round a client was "
        "done. Where a rule cut several clients at one instant, the first by number stands for them."
    )
    parts = [paragraph(meaning), _bars(paths)]
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
    parts.append(table("Shares of the critical paths, all global rounds of a run", header, rows))
    told = designs[:_MOST_DESIGNS]
    detailed = [(_of_design(d, paths[d.name][0]), _round_by_round(d, paths[d.name][0])) for d in told]
    if len(designs) == 1:
        (few, all_rounds), *_ = detailed
        parts += [few, details("Round by round", all_rounds)]
    else:
        rest = f", of the first {_MOST_DESIGNS}" if len(designs) > _MOST_DESIGNS else ""
        folded = (part for each in detailed for part in each)
        parts.append(details(f"Clients, cells and rounds, design by design{rest}", "\n".join(folded)))
    return "\n".join(parts)


def _bars(paths: dict[str, list[CriticalPath]]) -> str:
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
    return wide(made, "Critical paths", caption)


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


def _slack(paths: Sequence[CriticalPath]) -> str:
    return cell([float(path.jobs["slack_s"].median()) for path in paths if len(path.jobs)])


def _of_design(design: Design, path: CriticalPath) -> str:
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
    parts = [table(f"Stragglers, longest on critical paths first; {which}; {where}", header, clients)]
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
        parts.append(table(f"Cells; {which}; {where}", header, cells))
    return "\n".join(parts)


def _where(design: Design) -> str:
    return f"{design.name}, seed {seed_of(design.counted[0])}"


def _rows(frame: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """The rows by name, their values as attributes."""
    return zip(map(str, frame.index), frame.itertuples(index=False), strict=True)


def _round_by_round(design: Design, path: CriticalPath) -> str:
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
    return table(f"Critical paths, {which}; {_where(design)}", header, rows)
