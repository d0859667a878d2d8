"""Quick tests: `pytest -m quick` covers every room, so that one can run it while thinking."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {"jobs": "protocols", "records": "recording", "engine/rounds": "systems", "engine/ways": "links"}
"""Room -> tests of another that hold it."""


def rooms() -> list[str]:
    """Folders of cosim and of its engine, and the other packages, as folders of tests are named."""
    folders = [*(ROOT / "cosim").iterdir(), *(ROOT / "cosim" / "engine").iterdir()]
    inner = [
        path.relative_to(ROOT / "cosim").as_posix() for path in folders if (path / "__init__.py").exists()
    ]
    return sorted({*inner, "analysis", "models", "scenarios"})


@pytest.mark.parametrize("room", rooms())
def test_every_room_has_quick_tests(room):
    files = (ROOT / "tests" / ELSEWHERE.get(room, room)).rglob("test_*.py")
    assert any("pytest.mark.quick" in file.read_text(encoding="utf-8") for file in files)
