"""The results, docs/results: every figure that was run, beside what its paper says.

    python -m scenarios.results figures       takes in what `cosim reproduce` has left in a folder python -m
    scenarios.results               writes the pages again from what is kept

Kept are, of each figure, NAME.json (the claims with the value of every seed, the command, what it cost),
NAME.csv (what its picture is made from) and NAME.png. The pages hold nothing else, so a number in them cannot
differ from what was run.
"""

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import cosim
from cosim.files.on_disk import read_json, shown
from cosim.results.provenance import CHANGES
from scenarios.command_line.catalogue import catalogue, find
from scenarios.reproduce.claims import COMES_OUT, DOES_NOT_SHOW, NOT_RUN, TOO_NOISY, asked
from scenarios.results import inventory
from scenarios.results.across import claims_across
from scenarios.results.reproductions import Told, how, is_quick, reproduction_of
from scenarios.results.table import line, table

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results"
COMMAND = "python -m scenarios.results"
PAPERS = {
    "hist": (
        "HIST",
        "Fang, Han, Brinton, the HIST journal paper and, where it is named, the conference paper; more on "
        "[its page](../hist.md) and, for sums over the air (Fig. 9), on [another](../aircomp.md)",
    ),
    "rawhfl": ("RawHFL", "Pervej, Molisch; more on [its page](../rawhfl.md)"),
    "vhfl": ("VHFL", "Wan et al.; more on [its page](../vhfl.md)"),
}
HEAD = f"""# Results

Written by `{COMMAND}` from what is kept beside this page; do not edit. Figures and tables of the papers,
run with as many seeds as the column says; VHFL's Fig. 7 is one long run, whose intervals come from the
cycles of its queues. Designs of one seed have the same data, places, channels and mini-batches, so
differences are paired. A claim *comes out* where the 95 % interval of the mean over seeds, in brackets, lies
where the paper has it, *does not show* where it lies elsewhere, and is *too noisy* otherwise. A claim of
several numbers has intervals that hold together. A target counts as reached at the first of two evaluations
in a row that are there; a run that missed it has taken what it lasted, at least. Behind each number stands
what was *asked* of it: the range, ends rounded, in which its interval must lie for the claim to come out.
*Ours* are claims that the paper does not make and that we hold our numbers against: how many come out of how
many; they count in no other column. [Every claim of the papers](claims.md) has what else the papers say, and
where it is here.

"""
COLUMNS = ("figure", "claims", "come out", "do not show", "too noisy", "not run", "ours", "seeds", "runs")
COLUMNS += ("global rounds", "core-hours")
"""Of the table of figures."""
ENDINGS = (".json", ".csv", ".png")


def take_in(folder: Path) -> tuple[list[str], list[str]]:
    """Copy what reproductions have left in a folder and below.

    A figure that is there in several forms is taken in its longest: in full before the quick one, then that
    of most processor time. It replaces what is kept, but no quick form replaces a full one.

    Returns:
        Names of the figures taken in, and of figures that were left because a full form is kept.

    Raises:
        ConfigurationError: The code of a figure's runs or claims is not in a commit.
        FileNotFoundError: A figure lacks its table or picture.
    """
    found: dict[str, tuple[Path, Told]] = {}
    for path in sorted(folder.rglob("*.json")):
        told = read_json(path)
        if "claims" not in told or path.is_relative_to(FOLDER):
            continue
        name = told["figure"]
        if name not in found or _length(told) > _length(found[name][1]):
            found[name] = path, told
    left = sorted(name for name, (_, told) in found.items() if is_quick(told) and _is_kept_in_full(name))
    taken = sorted(found.keys() - left)
    for name in taken:
        check(*found[name])
    FOLDER.mkdir(exist_ok=True)
    for name in taken:
        for ending in ENDINGS:
            shutil.copyfile(found[name][0].with_suffix(ending), FOLDER / f"{name}{ending}")
    return taken, left


def _length(told: Told) -> tuple[bool, float]:
    return not is_quick(told), told["core_hours"]


def _is_kept_in_full(name: str) -> bool:
    path = FOLDER / f"{name}.json"
    return path.exists() and not is_quick(read_json(path))


def check(path: Path, told: Told) -> None:
    """Refuse a figure that cannot be repeated, or that does not say whose its claims are."""
    for commit in told["commits"]:
        if str(commit).endswith(CHANGES):
            raise cosim.ConfigurationError(
                f"{shown(path)}: commits = {commit}: must be without {CHANGES}, as a run can be "
                f"repeated only from a commit. Commit, delete the runs, and give `{told['command']}` "
                "again."
            )
    if any("is_ours" not in claim for claim in told["claims"]):
        raise cosim.ConfigurationError(
            f"{shown(path)}: claims: each must say `is_ours`, which this file is too old for. Use "
            f"`{told['command']}` again; its runs are not repeated."
        )


def kept() -> list[Told]:
    """The figures that are kept, in the order of the papers' names and of their own."""
    names = list(catalogue("reproduce"))
    found = [read_json(path) for path in FOLDER.glob("*.json")]
    return sorted(found, key=lambda told: (_paper(told), _place(told["figure"], names)))


def _paper(told: Told) -> str:
    return str(told["figure"]).partition("-")[0]


def _place(figure: str, names: Sequence[str]) -> tuple[int, str]:
    """Among the commands; a figure's variant comes behind it."""
    command = reproduction_of(figure)
    return (names.index(command) if command else len(names)), figure


def pages() -> dict[Path, str]:
    """Every page: where it goes, and its text."""
    figures = kept()
    by_paper = {paper: list(own) for paper, own in groupby(figures, key=_paper)}
    others = claims_across(FOLDER, figures)
    found = {
        FOLDER / "README.md": index(by_paper),
        FOLDER / inventory.PAGE: inventory.page([*figures, *others], COMMAND),
    }
    return found | {
        FOLDER / f"{paper}.md": page(paper, own, [told for told in others if _paper(told) == paper])
        for paper, own in by_paper.items()
    }


def index(by_paper: Mapping[str, Sequence[Told]]) -> str:
    """The first page: every figure in a line."""
    lines = [*HEAD.splitlines(), line(COLUMNS), "|---" * len(COLUMNS) + "|"]
    for paper, figures in by_paper.items():
        for told in figures:
            name = told["figure"]
            of_paper, own = ([claim["verdict"] for claim in claims] for claims in _by_origin(told))
            cells = [f"[{name}{', quick form' * is_quick(told)}]({paper}.md#{name})", str(len(of_paper))]
            cells += [str(of_paper.count(v) or "") for v in (COMES_OUT, DOES_NOT_SHOW, TOO_NOISY, NOT_RUN)]
            own = [verdict for verdict in own if verdict != NOT_RUN]
            cells += [f"{own.count(COMES_OUT)} of {len(own)}" if own else ""]
            cells += [str(len(told["seeds"])), str(told["runs"] or ""), _rounds(told)]
            cells += [f"{told['core_hours']:.2g}"]
            lines.append(line(cells))
    missing = sorted(
        set(catalogue("reproduce"))
        - {told["figure"] for own in by_paper.values() for told in own}
        - {"ranking"}
    )
    if missing:
        lines += ["", f"Not run here: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _by_origin(told: Told) -> tuple[list[Told], list[Told]]:
    """The claims of the paper, and ours."""
    of_paper, own = ([claim for claim in told["claims"] if claim["is_ours"] is of] for of in (False, True))
    return of_paper, own


def _rounds(told: Told) -> str:
    """Global rounds of a run, from the shortest to the longest."""
    numbers = told["global_rounds"]
    return " to ".join(str(number) for number in (numbers[0], numbers[-1])[: len(numbers)]) if numbers else ""


def page(paper: str, figures: Sequence[Told], others: Sequence[Told] = ()) -> str:
    """A paper's page.

    Args:
        others: Claims across its figures.
    """
    title, source = PAPERS[paper]
    lines = [
        f"# Results: {title}",
        "",
        f"Written by `{COMMAND}`; do not edit. Paper: {source}. What verdicts mean: [Results](README.md).",
    ]
    for told in figures:
        lines += ["", *section(told)]
    for told in others:
        lines += ["", f"## {told['figure']}", "", told["caption"], "", *claim_tables(told)][:-1]
    return "\n".join(lines) + "\n"


def caption(words: str) -> Iterator[str]:
    """Caption of a figure from its module's docstring, without its commands."""
    for paragraph in words.split("\n\n"):
        if paragraph.lstrip().startswith("cosim "):
            return
        yield paragraph.replace("\n", " ")
        yield ""


def section(told: Told) -> Iterator[str]:
    """One figure."""
    name, seeds = told["figure"], told["seeds"]
    yield f"## {name}"
    yield ""
    command = _place(name, list(catalogue("reproduce")))[0]
    module = find("reproduce", list(catalogue("reproduce"))[command])
    yield from caption(module.__doc__ or "")
    yield f"![{name}]({name}.png)"
    yield ""
    own_table = list(table(FOLDER / f"{name}.csv"))
    if own_table:
        yield from (*own_table, "")
    yield from claim_tables(told)
    words = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    if told["runs"]:
        words += f", {told['runs']} runs of {_rounds(told)} global rounds"
    commits = "commit" + "s" * (len(told["commits"]) > 1)
    commits += " " + ", ".join(f"`{_short(str(commit))}`" for commit in told["commits"])
    where = f"{told['core_hours']:.2g} core-hours on {told['cpu']}, {commits}"
    yield (
        f"`{told['command']}`: {words}, {where}. [Table]({name}.csv), [claims with the value of every "
        f"seed]({name}.json)."
    )


def claim_tables(told: Told) -> Iterator[str]:
    """Claims of the paper, and ours, each kind in a table."""
    for words, claims in zip(("the paper says", "ours, not the paper's"), _by_origin(told), strict=True):
        if claims:
            yield line((words, "here", "verdict"))
            yield "|---|---|---|"
            yield from map(row, claims)
            yield ""


def row(claim: Told) -> str:
    """A claim, what came out and what was asked, or the command that would tell, and its verdict."""
    here = "<br>".join(
        f"{quantity['in_words']} (asked: {asked(*_range(quantity))})" for quantity in claim["quantities"]
    )
    if claim["verdict"] == NOT_RUN:
        here = how(claim)
    return line((claim["paper"], here, claim["verdict"])).replace("\n", " ")


def _range(quantity: Told) -> tuple[float, float]:
    least, most = quantity["least"], quantity["most"]
    return -math.inf if least is None else least, math.inf if most is None else most


def _short(commit: str) -> str:
    """A commit's first letters; that its tree held changes stays to be seen."""
    return commit[:7] + CHANGES * commit.endswith(CHANGES)
