"""The results, docs/results: every figure that was played, beside what its paper says.

    python -m scenarios.results figures       takes in what `cosim reproduce` has left in a folder
    python -m scenarios.results               writes the pages anew from what is kept

Kept are, of each figure, NAME.json (the claims with the value of every seed, the command, what it cost),
NAME.csv (what its picture is made from) and NAME.png. The pages hold nothing else, so a number in them cannot
differ from what was run.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from cosim.files import read_json
from scenarios.command_line.catalogue import catalogue, find

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results"
COMMAND = "python -m scenarios.results"
PAPERS = {
    "hist": (
        "HIST",
        "Fang, Han, Brinton, the HIST journal paper; more on [its page](../hist.md) and, for sums "
        "over the air (Fig. 9), on [another](../aircomp.md)",
    ),
    "rawhfl": ("RawHFL", "Pervej, Molisch; more on [its page](../rawhfl.md)"),
    "vhfl": ("VHFL", "Wan et al.; more on [its page](../vhfl.md)"),
}
HEAD = f"""# Results

Written by `{COMMAND}` from what is kept beside this page; do not edit. Figures and tables of
the papers, each played with several seeds. Designs of one seed have the same data, places, channels and
mini-batches, so differences are paired. A claim *comes out* where the 95 % interval of the mean over seeds
lies where the paper has it, *does not show* where it lies elsewhere, and is *too noisy* otherwise. A claim of
several numbers has intervals that hold together.

| figure | claims | come out | do not show | too noisy | seeds | runs | global rounds | core-hours |
|---|---|---|---|---|---|---|---|---|
"""
ENDINGS = (".json", ".csv", ".png")

Told = Mapping[str, Any]
"""What a figure's NAME.json says."""


def take_in(folder: Path) -> list[str]:
    """Copy what reproductions have left in a folder and below; returns the figures' names.

    A figure that is there in several forms is taken in its longest: that of most processor time.

    Raises:
        FileNotFoundError: A figure lacks its table or picture.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.json")):
        told = read_json(path)
        if "claims" not in told or path.is_relative_to(FOLDER):
            continue
        name = told["figure"]
        if name not in found or told["core_hours"] > read_json(found[name])["core_hours"]:
            found[name] = path
    FOLDER.mkdir(exist_ok=True)
    for path in found.values():
        for ending in ENDINGS:
            shutil.copyfile(path.with_suffix(ending), FOLDER / f"{path.stem}{ending}")
    return sorted(found)


def kept() -> list[Told]:
    """The figures that are kept, in the order of the papers' names and of their own."""
    names = list(catalogue("reproduce"))
    found = [read_json(path) for path in FOLDER.glob("*.json")]
    return sorted(found, key=lambda told: (_paper(told), _place(told["figure"], names)))


def _paper(told: Told) -> str:
    return str(told["figure"]).partition("-")[0]


def _place(figure: str, names: Sequence[str]) -> tuple[int, str]:
    """Among the commands; a figure's variant comes behind it."""
    command = next((name for name in sorted(names, key=len, reverse=True) if figure.startswith(name)), "")
    return (names.index(command) if command else len(names)), figure


def pages() -> dict[Path, str]:
    """Every page: where it goes, and its text."""
    figures = kept()
    by_paper = {paper: list(own) for paper, own in groupby(figures, key=_paper)}
    found = {FOLDER / "README.md": index(by_paper)}
    return found | {FOLDER / f"{paper}.md": page(paper, own) for paper, own in by_paper.items()}


def index(by_paper: Mapping[str, Sequence[Told]]) -> str:
    """The first page: every figure in a line."""
    lines = [*HEAD.splitlines()]
    for paper, figures in by_paper.items():
        for told in figures:
            name, verdicts = told["figure"], [claim["verdict"] for claim in told["claims"]]
            counts = " | ".join(
                str(verdicts.count(verdict) or "") for verdict in ("comes out", "does not show", "too noisy")
            )
            cells = (f"[{name}{_form(told)}]({paper}.md#{name})", str(len(verdicts)), counts)
            cells += (str(len(told["seeds"])), str(told["runs"] or ""), _rounds(told))
            cells += (f"{told['core_hours']:.2g}",)
            lines.append(f"| {' | '.join(cells)} |")
    missing = sorted(
        set(catalogue("reproduce"))
        - {told["figure"] for own in by_paper.values() for told in own}
        - {"ranking"}
    )
    if missing:
        lines += ["", f"Not played here: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _form(told: Told) -> str:
    return ", quick form" if "--quick" in told["command"] else ""


def _rounds(told: Told) -> str:
    """Global rounds of a run, from the shortest to the longest."""
    numbers = told["global_rounds"]
    return " to ".join(str(number) for number in (numbers[0], numbers[-1])[: len(numbers)]) if numbers else ""


def page(paper: str, figures: Sequence[Told]) -> str:
    """A paper's page."""
    title, source = PAPERS[paper]
    lines = [
        f"# Results: {title}",
        "",
        f"Written by `{COMMAND}`; do not edit. Paper: {source}. What verdicts mean: [Results](README.md).",
    ]
    for told in figures:
        lines += ["", *section(told)]
    return "\n".join(lines) + "\n"


def section(told: Told) -> Iterator[str]:
    """One figure."""
    name, seeds = told["figure"], told["seeds"]
    yield f"## {name}"
    yield ""
    command = _place(name, list(catalogue("reproduce")))[0]
    module = find("reproduce", list(catalogue("reproduce"))[command])
    yield (module.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    yield ""
    yield f"![{name}]({name}.png)"
    yield ""
    yield "| the paper says | here | verdict |"
    yield "|---|---|---|"
    for claim in told["claims"]:
        here = "<br>".join(quantity["in_words"] for quantity in claim["quantities"])
        yield f"| {claim['paper']} | {here} | {claim['verdict']} |".replace("\n", " ")
    yield ""
    words = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    if told["runs"]:
        words += f", {told['runs']} runs of {_rounds(told)} global rounds"
    commits = "commit" + "s" * (len(told["commits"]) > 1)
    commits += " " + ", ".join(f"`{str(commit)[:7]}`" for commit in told["commits"])
    where = f"{told['core_hours']:.2g} core-hours on {told['cpu']}, {commits}"
    yield (
        f"`{told['command']}`: {words}, {where}. [Table]({name}.csv), [claims with the value of every "
        f"seed]({name}.json)."
    )
