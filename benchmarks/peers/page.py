"""Page: the tables and the picture of docs/peers.md, from the results of `run`.

A table stands between two comments, `<!-- NAME -->` and `<!-- end -->`; what is between them is replaced.
"""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Results = Mapping[str, Any]
BESIDE = ("cosim", "ceiling")
DRAWN = {"W1", "W2", "W3"}
"""Works in the picture."""


def machine() -> dict[str, Any]:
    """Processor, cores and system."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0))
    return {"processor": processor, "cores": cores, "system": f"{platform.system()} {platform.machine()}"}


def table(name: str, rows: Sequence[Results]) -> str:
    """Rows of a work in words."""
    return {"W4": of_times, "W5": of_fleets}.get(name, of_learning)(rows)


def of_learning(rows: Sequence[Results]) -> str:
    """Rows with wall times beside cosim's on as many cores, and rates beside the ceiling's."""
    cosim_s, ceiling = ({row["num_cores"]: row for row in rows if row["tool"] == tool} for tool in BESIDE)
    lines = [f"{'':18}cores   wall s  / cosim   processor s   inside steps/s  / ceiling     loss"]
    for row in rows:
        wall_s, cores = row["wall_s"], row["num_cores"]
        beside = f"{wall_s / cosim_s[cores]['wall_s']:.2f}" if cores in cosim_s else ""
        share = f"{ceiling[cores]['inside_s'] / row['inside_s']:.2f}" if cores in ceiling else ""
        loss = "" if row["tool"] == "ceiling" else f"{row['loss']:.4f}"
        rate = row["client_steps"] / row["inside_s"]
        lines.append(
            f"{row['words']:18}{cores:5}{wall_s:9.2f}{beside:>9}{row['processor_s']:14.2f}{rate:17,.0f}"
            f"{share:>11}{loss:>9}".rstrip()
        )
    return "\n".join(lines)


def of_times(rows: Sequence[Results]) -> str:
    """Rows with the largest difference of a time from arithmetic."""
    lines = [f"{'':11}{'':10}versions   largest difference, s   wall s   processor s"]
    for row in rows:
        lines.append(
            f"{row['work'].removeprefix('W4 '):11}{row['words']:10}{row['num_times']:8}"
            f"{row['difference_s']:24.1e}{row['wall_s']:9.2f}{row['processor_s']:14.2f}"
        )
    return "\n".join(lines)


def of_fleets(rows: Sequence[Results]) -> str:
    """Rows with the rate of client-rounds of the rounds alone, and of the whole process."""
    lines = [f"{'clients':>9} {'':8}  wall s   processor s   client-rounds/s   inside"]
    for row in rows:
        jobs = row["client_steps"]
        lines.append(
            f"{int(row['work'].split()[1]):9,} {row['words']:8}{row['wall_s']:8.2f}{row['processor_s']:14.2f}"
            f"{jobs / row['wall_s']:18,.0f}{jobs / row['inside_s']:9,.0f}"
        )
    return "\n".join(lines)


def versions(results: Results) -> str:
    """Machine, and the versions of every tool."""
    of = {row["tool"]: row["versions"] for rows in results["works"].values() for row in rows}
    machine_ = results["machine"]
    first = f"{machine_['processor']}, {machine_['cores']} cores, {machine_['system']}"
    lines = [first, f"medians of {results['repetitions']}"]
    for tool, own in of.items():
        lines.append(f"{tool:10} " + ", ".join(f"{name} {number}" for name, number in own.items()))
    return "\n".join(lines)


def blocks(results: Results) -> dict[str, str]:
    """Name of a table -> its text."""
    of = {"versions": versions(results)}
    of |= {name: table(name, rows) for name, rows in results["works"].items()}
    return of | ({"stages": results["stages"]} if "stages" in results else {})


def written(text: str, of: Mapping[str, str]) -> str:
    """A page with these tables."""
    for name, block in of.items():
        text = replaced(text, name, f"```text\n{block}\n```")
    return text


def replaced(text: str, name: str, block: str) -> str:
    """A page with another text at a place.

    Raises:
        ValueError: It has no such place.
    """
    place = re.compile(rf"<!-- {re.escape(name)} -->\n.*?<!-- end -->", re.DOTALL)
    if not place.search(text):
        raise ValueError(f"The page has no line <!-- {name} -->. Write it, and <!-- end --> below.")
    return place.sub(lambda _: f"<!-- {name} -->\n{block}\n<!-- end -->", text)


def write(results: Results, page: Path) -> None:
    """Write the tables into a page, and the picture beside it once all of its works are there."""
    text = written(page.read_text(), blocks(results))
    if set(results["works"]) >= DRAWN:
        picture = page.with_suffix(".png")
        draw(results, picture)
        text = replaced(text, "picture", f"![Wall time of whole runs on two cores, by tool]({picture.name})")
    page.write_text(text)


def draw(results: Results, file: Path) -> None:
    """Wall time of whole runs on two cores, each tool in its fastest way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.0), layout="constrained")
    works = {name: rows for name, rows in results["works"].items() if name in DRAWN}
    fields = figure.subplots(1, len(works), squeeze=False)[0]
    for axes, (name, rows) in zip(fields, works.items(), strict=True):
        best: dict[str, float] = {}
        for row in rows:
            if row["num_cores"] == 2 and row["tool"] != "ceiling":
                best[row["tool"]] = min(row["wall_s"], best.get(row["tool"], float("inf")))
        axes.barh(list(best), list(best.values()), color=["#c4572b"] + ["#0b3c5d"] * (len(best) - 1))
        axes.invert_yaxis()
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("wall time (s)", fontsize=8)
        axes.tick_params(labelsize=8)
    figure.savefig(file, dpi=150)
