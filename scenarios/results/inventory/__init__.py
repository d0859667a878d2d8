"""Inventory: what the papers say, number by number, and where it is here: the page docs/results/claims.md.

Rows and numbers of the papers are data beside this file (`rows`). Verdicts come from the figures that are
kept, so a new claim of a reproduction, or a new reading of it, stands on the page by itself.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

import cosim
from scenarios.reproduce.claims import COMES_OUT, DOES_NOT_SHOW, NOT_RUN, TOO_NOISY
from scenarios.results.inventory.items import named
from scenarios.results.inventory.places import link
from scenarios.results.inventory.rows import STATES, Row, papers, rows_of
from scenarios.results.reproductions import Told, forms_of, how, is_quick, reproduction_of
from scenarios.results.table import line

PAGE = "claims.md"
TITLES = {
    "hist-conference": "HIST, the conference paper",
    "hist-journal": "HIST, the journal paper",
    "rawhfl": "RawHFL",
    "vhfl": "VHFL",
}
HEAD = """# Every claim of the papers

Written by `{command}`; do not edit. Every figure, table, algorithm, equation, theorem, lemma,
assumption, remark and footnote that the papers number has a row here, and so has what their text claims:
where it is in the paper, what it says in our words, where it is here, what comes out. Verdicts are those of
[the results](README.md), with the numbers that they follow from; claims that are ours and not the papers'
stand there only. *Implemented* is what a test holds; *not here* has its reason, *not run* its command. Of
several readings of a figure each has its verdict, and a row counts by the first.

"""
COLUMNS = """| where | what it says | here | what comes out |
|---|---|---|---|
"""

Line = tuple[str, str, str, str, str]
"""Cells of a row: where, what, here, what comes out; and the state that counts."""


def page(figures: Sequence[Told], command: str) -> str:
    """The page.

    Args:
        figures: Figures that are kept.
        command: Command that writes it.
    """
    lines = {paper: list(lines_of(rows_of(paper), figures)) for paper in papers()}
    text = HEAD.format(command=command) + "\n".join(counts(lines)) + "\n"
    for paper, own in lines.items():
        text += f"\n## {TITLES[paper]}\n\n{COLUMNS}"
        text += "".join(f"{line(row[:4])}\n" for row in own)
    named = {name for paper in papers() for row in rows_of(paper) for name, _ in row.reproductions}
    others = [told for told in figures if reproduction_of(told["figure"]) not in named]
    if others:
        text += f"\n## Other reproductions\n\n{COLUMNS}"
        text += "".join(
            f"{line(row[:4])}\n"
            for told in others
            for row in claims_of(some(told["figure"], "*", figures), "")
        )
    return text


def counts(lines: dict[str, list[Line]]) -> Iterator[str]:
    """Number of rows by paper and state."""
    yield f"| paper | rows | {' | '.join(STATES)} |"
    yield "|---" * (2 + len(STATES)) + "|"
    for paper, own in lines.items():
        found = Counter(row[4] for row in own)
        yield line((TITLES[paper], str(len(own)), *(str(found[state] or "") for state in STATES)))


def lines_of(rows: Sequence[Row], figures: Sequence[Told]) -> Iterator[Line]:
    """Lines of a paper: of every row, and of every claim of its reproductions.

    Claims stand below a figure or table; where a reproduction has none, below the row that names it whole.
    """
    of_figures = {name for row in rows if row.is_shown for name, _ in row.reproductions}
    for row in rows:
        own = [
            name
            for name, pattern in row.reproductions
            if row.is_shown or (pattern == "*" and name not in of_figures)
        ]
        items = named(row.items)
        where = "; ".join(filter(None, (row.section, items)))
        forms = merged(told for name, pattern in row.reproductions for told in some(name, pattern, figures))
        places = [*map(link, row.places), *map(_section, forms)]
        tests = f"held by {', '.join(map(link, row.held_by.split()))}" if row.held_by else ""
        asked = own if forms else [name for name, _ in row.reproductions]
        missing = {name: words for name in asked if (words := not_run(name, figures))}
        outcome = row.state or _in_numbers(forms) or "; ".join(missing.values())
        said = ". ".join(filter(None, ("; ".join(filter(None, (outcome, tests))), row.remark)))
        is_counted = not (own and forms)
        yield where, row.what, ", ".join(places), said, is_counted * (row.state or _together(forms))
        for name in own if forms else ():
            yield from claims_of(some(name, "*", figures), where)
            if name in missing:
                yield where, "all of it, in full", f"`{name}`", missing[name], NOT_RUN


def merged(forms: Iterable[Told]) -> list[Told]:
    """Forms of a figure that are asked by several patterns, as one."""
    found: dict[str, Told] = {}
    for told in forms:
        claims = found[told["figure"]]["claims"] if told["figure"] in found else []
        found[told["figure"]] = {**told, "claims": [*claims, *told["claims"]]}
    return list(found.values())


def some(name: str, pattern: str, figures: Sequence[Told]) -> list[Told]:
    """Kept forms of a reproduction, with the claims of the paper that a pattern matches.

    Raises:
        ConfigurationError: It matches none.
    """
    forms: list[Told] = [
        {**told, "claims": [claim for claim in told["claims"] if _is_asked(claim, pattern)]}
        for told in forms_of(name, figures)
    ]
    if forms and pattern != "*" and not any(told["claims"] for told in forms):
        raise cosim.ConfigurationError(f"{name}:{pattern}: matches no claim. Use words of one of its claims.")
    return forms


def _is_asked(claim: Told, pattern: str) -> bool:
    return not claim["is_ours"] and fnmatchcase(claim["paper"], pattern)


def claims_of(forms: Sequence[Told], where: str) -> Iterator[Line]:
    """Claims in forms of a figure, each once, with its verdict by every form."""
    verdicts: dict[str, list[tuple[Told, str]]] = {}
    for told in forms:
        for claim in told["claims"]:
            said = f"{NOT_RUN}: {how(claim)}" if claim["verdict"] == NOT_RUN else claim["verdict"]
            verdicts.setdefault(claim["paper"], []).append((told, said))
    for words, own in verdicts.items():
        links = ", ".join(_section(told) for told, _ in own)
        is_one = len({verdict for _, verdict in own}) == 1
        said = own[0][1] if is_one else ", ".join(f"{verdict} ({told['figure']})" for told, verdict in own)
        quick = " (quick form)" if is_quick(own[0][0]) else ""
        yield where, words, links, said + quick, own[0][1].partition(":")[0]


def not_run(name: str, figures: Sequence[Told]) -> str:
    """Command of what was not run in full, with core-hours where another reading tells; else nothing."""
    full = [told for told in forms_of(name, figures) if not is_quick(told)]
    if any(told["figure"] == name for told in full):
        return ""
    said = f"{NOT_RUN}: `cosim reproduce {name}`"
    if full:
        hours, seeds = full[0]["core_hours"], len(full[0]["seeds"])
        said += f"; {full[0]['figure']} has taken {hours:.2g} core-hours with {seeds} seeds"
    return said


def _section(told: Told) -> str:
    name = told["figure"]
    return f"[{name}]({name.partition('-')[0]}.md#{name})"


def _together(forms: Sequence[Told]) -> str:
    """State of a row that reproductions judge: the verdict of all claims of each first form."""
    first = {reproduction_of(told["figure"]): told for told in reversed(forms)}.values()
    verdicts = {claim["verdict"] for told in first for claim in told["claims"]}
    return next((v for v in (DOES_NOT_SHOW, TOO_NOISY, COMES_OUT) if v in verdicts), NOT_RUN)


def _in_numbers(forms: Sequence[Told]) -> str:
    """How many claims of each form have which verdict."""
    found = []
    for told in forms:
        verdicts = Counter(claim["verdict"] for claim in told["claims"])
        words = [f"{v} {verdicts[v]}" for v in STATES if verdicts[v]]
        found += [f"{told['figure']}: {', '.join(words)} of {verdicts.total()}"] if words else []
    return "; ".join(found)
