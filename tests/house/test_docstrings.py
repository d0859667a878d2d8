"""Docstrings and comments name files, modules and functions that are there."""

import ast
import io
import pkgutil
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("analysis", "benchmarks", "cosim", "models", "scenarios")
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]

A_PATH = re.compile(r"(?<![\w/.])(?:analysis|benchmarks|cosim|docs|models|scenarios|tests)/[\w/.-]*\w")
A_PROGRAM = re.compile(r"(?<![\w/.])\w+\.py\b")
READERS = "mine.py"
"""A program of the reader's own."""
A_NAME = re.compile(r"(?<![\w/.])(?:analysis|cosim|models|scenarios)(?:\.\w+)+")


A_COMMENT = re.compile(rf"#.*?(?:{A_PATH.pattern}|{A_PROGRAM.pattern}|{A_NAME.pattern})")
"""Comments are read only in files with such a line, since reading them takes most of the time."""


def said(path: Path) -> str:
    """The docstrings, of modules, classes, functions and attributes, and the comments of a file."""
    text = path.read_text(encoding="utf-8")
    docstrings = [
        node.value.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline) if A_COMMENT.search(text) else ()
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return "\n".join([*docstrings, *comments])


def exists(name: str) -> bool:
    """True if a dotted name is a module, or something in one."""
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_named_is_there(package):
    """A file by its path from the root, a program beside its user, a module or what is in it by dots."""
    missing = []
    for path in FILES:
        if path.relative_to(ROOT).parts[0] == package:
            text = said(path)
            names = [name for name in A_PATH.findall(text) if not (ROOT / name).exists()]
            programs = set(A_PROGRAM.findall(text)) - {READERS}
            names += [name for name in programs if not (path.parent / name).exists()]
            names += [name for name in A_NAME.findall(text) if not exists(name)]
            missing += [f"{path.relative_to(ROOT)}: {name}" for name in names]
    assert missing == []


def test_what_is_not_there_is_found():
    text = "Speed: `benchmarks/queue.py`. See cosim.queues.port.Disciplin (tests/queues), `queue.py`."
    assert A_PATH.findall(text) == ["benchmarks/queue.py", "tests/queues"]
    assert A_PROGRAM.findall(text) == ["queue.py"]
    assert A_NAME.findall(text) == ["cosim.queues.port.Disciplin"]
    assert not exists("cosim.queues.port.Disciplin")
    assert not exists("cosim.queueing")
    assert exists("cosim.queues.port.Discipline")
