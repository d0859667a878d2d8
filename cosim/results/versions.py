"""Versions: the cosim that made runs, so that neither a mean nor a run that goes on mixes different ones.

Two runs are of one version if the Python files of cosim were the same, byte by byte, when their processes
began: `code` of `provenance.json`, a hash. Neither the number nor the commit decides. A number stays the same
for many changes; a commit also counts changes of tests and pages; a checkout with changes has no commit of
its own. The hash is the same for a checkout and for what is installed from it. It also counts a changed
comment, as it does in sources of a user's own parts (`cosim.own_code.sources`): no file says which of its
lines move a number.

Scope and limitations: other packages do not count; `provenance.json` has their versions. A run that does not
say its code counts as none.

Validation: tests/studies/test_study_versions.py, tests/results/test_resumed_versions.py.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from cosim.files.on_disk import read_json
from cosim.results.provenance import FILE, software

DIGITS = 8
"""Of a hash in a message or on a page."""


@attrs.frozen
class Version:
    """A version of cosim.

    Attributes:
        code: Hash of its Python files, by which alone it is told from others.
        words: Its number, and the commit at which it was used.
    """

    code: str
    words: str = attrs.field(eq=False)

    @classmethod
    def of(cls, origin: Mapping[str, Any]) -> "Version":
        """The version that a process says in `provenance.json`."""
        commit, plus, changes = str(origin.get("commit") or "").partition("+")
        commit = f", commit {commit[:DIGITS]}{plus}{changes}" if commit else ""
        words = f"cosim {origin['versions']['cosim']} (code {origin['code'][:DIGITS]}{commit})"
        return cls(origin["code"], words)

    @classmethod
    def here(cls) -> "Version":
        """The version at work in this process."""
        return cls.of(software())


def versions_of(folders: Iterable[Path]) -> Counter[Version]:
    """Number of runs of each version; a run that others have resumed counts for each.

    Args:
        folders: Folders of runs.
    """
    found: Counter[Version] = Counter()
    for folder in folders:
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            first = read_json(folder / FILE)
            found.update(dict.fromkeys(map(Version.of, (first, *first.get("resumed", ())))).keys())
    return found


def others_of(folders: Iterable[Path]) -> Counter[Version]:
    """Number of runs of each version but the one at work, as `versions_of` counts them."""
    found = versions_of(folders)
    del found[Version.here()]
    return found


def listed(versions: Mapping[Version, int]) -> str:
    """Versions with their numbers of runs, in words."""
    return ", ".join(f"{number} of {version.words}" for version, number in versions.items())
