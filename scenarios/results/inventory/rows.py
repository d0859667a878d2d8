"""Rows of the inventory: what a paper says, in our words, and where it is here.

`PAPER.csv` has the columns

| column | content |
|---|---|
| section | of the paper |
| items | its numbers, such as `equation 2-4 7; figure 4a`; empty for a claim of the text |
| what | what it says |
| here | places: `file`, `file:name`, `validate:NAME`, a reproduction, or `NAME:PATTERN` for some claims |
| held_by | tests that hold it, as `file:name` |
| state | one of `STATES`; empty where a reproduction in `here` judges it |
| remark | what else comes out; why it is not here; the command of what was not run |

`numbers.json` has the numbers that the papers give to their figures, tables, equations and so on.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path

import attrs

import cosim
from cosim.files.on_disk import read_json
from scenarios.reproduce.claims import COMES_OUT, DOES_NOT_SHOW, NOT_RUN, TOO_NOISY
from scenarios.results.inventory.items import numbers, numbers_of
from scenarios.results.inventory.places import exists
from scenarios.results.reproductions import names

FOLDER = Path(__file__).parent
IMPLEMENTED, NOT_HERE = "implemented", "not here"
STATES = (COMES_OUT, DOES_NOT_SHOW, TOO_NOISY, IMPLEMENTED, NOT_RUN, NOT_HERE)
UNTESTED = (NOT_RUN, NOT_HERE)


@attrs.frozen(kw_only=True)
class Row:
    """Something that a paper says.

    Attributes:
        section: Section of the paper.
        items: Its numbers, as the file has them.
        what: Its content.
        here: Places in the project.
        held_by: Tests.
        state: What comes out; empty where a reproduction judges it.
        remark: What else there is to say.
    """

    section: str
    items: str
    what: str
    here: str
    held_by: str
    state: str
    remark: str

    @property
    def places(self) -> list[str]:
        """Places that are no reproduction."""
        return [place for place in self.here.split() if not _is_reproduction(place)]

    @property
    def reproductions(self) -> list[tuple[str, str]]:
        """Reproductions that judge it, each with a pattern of the claims that do."""
        own = (place.partition(":") for place in self.here.split() if _is_reproduction(place))
        return [(name, pattern or "*") for name, _, pattern in own]

    @property
    def is_shown(self) -> bool:
        """True if it is a figure or table, so that all claims of its reproductions stand below it."""
        return any(kind in ("figure", "table") for kind in numbers_of(self.items))


def papers() -> list[str]:
    """Papers that have an inventory."""
    return list(read_json(FOLDER / "numbers.json"))


def rows_of(paper: str) -> list[Row]:
    """Rows of a paper, in its order.

    Raises:
        ConfigurationError: A number of the paper has no row, or a row breaks a rule.
    """
    path = FOLDER / f"{paper}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [Row(**fields) for fields in csv.DictReader(file)]
    found = [(number, fault) for number, row in enumerate(rows, start=2) for fault in faults(row)]
    if found:
        raise cosim.ConfigurationError("\n".join(f"{path.name}, row {at}: {fault}" for at, fault in found))
    check(paper, rows)
    return rows


def faults(row: Row) -> Iterator[str]:
    """Rules that a row breaks, each with its fix."""
    if not row.reproductions and row.state not in STATES:
        yield f"state = {row.state!r}: must be one of {', '.join(STATES)}. Use one of them."
    if row.reproductions and row.state:
        yield f"state = {row.state!r}: {row.reproductions[0][0]} says what comes out. Leave it out."
    if row.state and row.state not in UNTESTED and not row.held_by:
        yield f"state = {row.state!r}: a test must hold it. Use held_by."
    if row.state in UNTESTED and not row.remark:
        yield f"state = {row.state!r}: the reason or the command must be there. Use remark."
    for place in (*row.places, *row.held_by.split()):
        if not exists(place):
            yield f"{place}: is not there. Use a file, file:name, a reproduction or validate:NAME."


def _is_reproduction(place: str) -> bool:
    return place.partition(":")[0] in names()


def check(paper: str, rows: Iterable[Row]) -> None:
    """Refuse rows that leave out a number of the paper, or have one that it has not.

    Raises:
        ConfigurationError: They do.
    """
    wanted = {kind: numbers(text) for kind, text in read_json(FOLDER / "numbers.json")[paper].items()}
    found: dict[str, set[str]] = {}
    for row in rows:
        for kind, own in numbers_of(row.items).items():
            found.setdefault(kind, set()).update(own)
    missing = _named_one_by_one(wanted, found)
    if missing:
        raise cosim.ConfigurationError(
            f"{paper}.csv: no row has {missing} of the paper. Use a row with it in `items`."
        )
    unknown = _named_one_by_one(found, wanted)
    if unknown:
        raise cosim.ConfigurationError(
            f"{paper}.csv: items has {unknown}, which the paper has not. Use the numbers of numbers.json."
        )


def _named_one_by_one(some: Mapping[str, Set[str]], others: Mapping[str, Set[str]]) -> str:
    """Numbers that the other rows lack."""
    return ", ".join(
        f"{kind} {number}"
        for kind, own in some.items()
        for number in sorted(own - others.get(kind, frozenset()))
    )
