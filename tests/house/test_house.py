"""The house: no files of cosim that import each other in a circle, no two files of tests with one name."""

import runpy
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
House = runpy.run_path(str(ROOT / "benchmarks" / "house.py"))["House"]


def test_no_files_import_each_other_in_a_circle():
    assert House(ROOT).circles() == []


def test_files_of_tests_have_names_of_their_own():
    """Else pytest, which imports them by name, collects none of them."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py")
    assert [name for name, number in names.items() if number > 1] == []


def test_a_circle_is_found_over_other_files_and_in_functions(tmp_path):
    (tmp_path / "cosim").mkdir()
    for name, text in {
        "__init__": "",
        "one": "from cosim.two import a",
        "two": "def a():\n    import cosim.three",
        "three": "from cosim import one",
        "types": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cosim.user import a",
        "user": "from cosim.types import b",
    }.items():
        (tmp_path / "cosim" / f"{name}.py").write_text(text)
    assert House(tmp_path).circles() == [["cosim.one", "cosim.three", "cosim.two"]]
