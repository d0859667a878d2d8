"""Words that plain English does without: in docstrings, comments and pages of docs.

`python tests/house/plain.py [file ...]` prints each offender with its line and rule, and counts by rule.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DATA = "scenarios/results/inventory/*.csv"
"""Data with sentences."""
GENERATED = ("docs/reference.md", "docs/words.md")
"""Pages made from docstrings, which are held where they are written."""

RULES = {
    "word": re.compile(
        r"\b(?:who|whoever|somebody|nobody|theirs|anew|so\s+many|goes\s+without|comes\s+to)\b"
        # "those" in place of a noun: nothing follows, or what a noun would stand before
        r"|\bthose\b(?=\s+(?:that|which|whose|of|in|on|at|with|without|from|for|by|to|before|after|beside|below"
        r"|above|not|and|or|is|are|was|were|has|have|do|it|they|we|you|a|an|the)\b|\s*(?:[.,;:)]|$))",
        re.IGNORECASE,
    ),
    "first word": re.compile(r"(?:Who|Those|That of|What|As|Where|Whether)\b"),
    "None": re.compile(r"\bNone: "),
}
CODE = re.compile(r"`[^`\n]*`")
SUSPECT = re.compile(
    rf'{RULES["word"].pattern}|"""{RULES["first word"].pattern}|(?<!\| )None: \w', re.IGNORECASE
)
SUSPECT_COMMENT = re.compile(rf"#.*?(?:{RULES['word'].pattern})", re.IGNORECASE)
"""Comments are read only in files with such a line, since reading them takes most of the time."""


class Offence(NamedTuple):
    """A word or docstring that is not plain, and its place."""

    file: str
    line: int
    rule: str
    text: str


class Said(NamedTuple):
    """A docstring, a comment or a page."""

    line: int
    text: str
    is_docstring: bool


def files() -> list[str]:
    """Programs and pages that git knows, from the root."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.py", "docs/*.md", "README.md"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return sorted(name for name in names if name not in GENERATED and not name.startswith("docs/results/"))


@cache
def read(name: str) -> str:
    """Text of a file; none where it was deleted."""
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


@cache
def parsed(name: str) -> ast.Module:
    """Syntax tree of a program."""
    return ast.parse(read(name))


def said(name: str) -> Iterator[Said]:
    """Docstrings (of attributes too) and comments of a program; the whole of a page or of data."""
    if not name.endswith(".py"):
        yield Said(1, read(name), False)
        return
    for node in ast.walk(parsed(name)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield Said(node.lineno, text, True)
    if not SUSPECT_COMMENT.search(read(name)):
        return
    for token in tokenize.generate_tokens(io.StringIO(read(name)).readline):
        if token.type == tokenize.COMMENT:
            yield Said(token.start[0], token.string, False)


def words(name: str) -> Iterator[Offence]:
    """Words of a file that the rules refuse."""
    if not SUSPECT.search(read(name)):
        return
    for line, text, is_docstring in said(name):
        prose = CODE.sub(lambda code: "`" * len(code[0]), text)
        found = [("word", match) for match in RULES["word"].finditer(prose)]
        if is_docstring:
            first = RULES["first word"].match(prose.lstrip())
            found += [("first word", first)] if first else []
            found += [("None", match) for match in RULES["None"].finditer(prose)]
        for rule, match in found:
            at = match.start() if rule != "first word" else 0
            before = prose.count("\n", 0, at)
            yield Offence(name, line + before, rule, text.splitlines()[before].strip())


# An override says only what its port does not.


class Class(NamedTuple):
    """A class: its bases, and the docstring of each method."""

    bases: tuple[str, ...]
    methods: dict[str, ast.FunctionDef]


def classes(names: list[str]) -> dict[str, list[tuple[str, Class]]]:
    """Classes of programs by name, with their files."""
    found: dict[str, list[tuple[str, Class]]] = {}
    for name in names:
        for node in ast.walk(parsed(name)):
            if isinstance(node, ast.ClassDef):
                bases = tuple(ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases)
                methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
                found.setdefault(node.name, []).append((name, Class(bases, methods)))
    return found


def plain(node: ast.FunctionDef) -> str:
    """Docstring of a method, on one line, without its last full stop."""
    return " ".join((ast.get_docstring(node) or "").split()).rstrip(".").lower()


def overrides(names: list[str]) -> Iterator[Offence]:
    """Docstrings of overrides that equal their port's, or are contained in it."""
    known = classes(names)

    def inherited(base: str, method: str, seen: frozenset[str]) -> Iterator[str]:
        for _, found in known.get(base, []) if base not in seen else []:
            if method in found.methods:
                yield plain(found.methods[method])
            for further in found.bases:
                yield from inherited(further, method, seen | {base})

    for entries in known.values():
        for name, found in entries:
            for method, node in found.methods.items():
                if any(ast.unparse(mark).endswith("override") for mark in node.decorator_list):
                    text = plain(node)
                    above = (doc for base in found.bases for doc in inherited(base, method, frozenset()))
                    if text and any(text == doc or (text in doc and text.count(" ") > 1) for doc in above):
                        yield Offence(name, node.lineno, "override", f"{method}: {text}")


def offences() -> list[Offence]:
    """All that is not plain, by file and line."""
    names = [*files(), *(path.relative_to(ROOT).as_posix() for path in ROOT.glob(DATA))]
    programs = [
        name for name in names if name.startswith(("cosim/", "scenarios/")) and "\nclass " in read(name)
    ]
    return sorted([found for name in names for found in words(name)] + list(overrides(programs)))


if __name__ == "__main__":
    wanted = sys.argv[1:]
    shown = [
        found for found in offences() if not wanted or any(found.file.startswith(name) for name in wanted)
    ]
    for found in shown:
        print(f"{found.file}:{found.line}: {found.rule}: {found.text}")
    print(dict(Counter(found.rule for found in shown)), f"{len({found.file for found in shown})} files")
