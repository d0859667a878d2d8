"""A law of a user's own on the command line: the page's law, what it leaves behind, and what is refused."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_commands import called

from scenarios.validate.delay_laws import of_own
from scenarios.validate.law_clock import APART, LawClock

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "own-laws.md").read_text(encoding="utf-8")
MINE = re.search(r"```python\n# mine\.py\n(.*?)```", PAGE, re.DOTALL)[1]
SMALL = ("--size", "0.2", "--margin", "0.3")
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cosim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Call]:
    """The command in a folder with mine.py, changed: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str, **changes: str) -> tuple[int, str, str]:
        code = MINE
        for old, new in changes.values():
            assert old in code
            code = code.replace(old, new)
        (tmp_path / "mine.py").write_text(code, encoding="utf-8")
        sys.dont_write_bytecode = True
        return called(arguments, capsys)

    yield call
    sys.modules.pop("mine", None)


def test_the_pages_law_agrees_and_leaves_page_picture_and_table(cosim, tmp_path):
    code, out, _ = cosim("validate", "mine.py:InTime", *SMALL)
    assert code == 0
    assert "An upload over Rayleigh fading is there by its deadline" in out
    assert "Wrong theories caught: 1 of 1" in out
    folder = tmp_path / "validations" / "mine-InTime"
    points = pd.read_csv(folder / "laws.csv")
    share = np.exp(-(2.0 ** (1 / 0.7 * 32 * 128 / 4096) - 1.0) / 3.0)
    assert points.loc[0, "predicted"] == pytest.approx(share, rel=1e-12)
    assert points["verdict"].tolist() == ["agrees", "disagrees"]
    assert points.loc[1, "power"] > 0.99
    page = (folder / "laws.md").read_text(encoding="utf-8")
    assert "Command: `cosim validate mine.py:InTime`." in page
    assert "Conditions" not in page
    assert (folder / "laws.png").read_bytes().startswith(b"\x89PNG")


def test_the_law_is_12_lines():
    (law,) = re.findall(r"^class InTime.*?(?=\n\n\n)", MINE, re.DOTALL | re.MULTILINE)
    assert len([line for line in law.splitlines() if line.strip()]) <= 12


def test_a_law_that_does_not_hold_ends_with_exit_code_1(cosim):
    code, out, _ = cosim("validate", "mine.py:InTime", *SMALL, no_fading=("- 1.0) / SNR)", ") / SNR)"))
    assert code == 1
    assert re.search(r"share in time .* disagrees", out)


def test_a_wrong_theory_that_is_not_caught_is_told_with_the_size_that_helps(cosim):
    code, out, _ = cosim("validate", "mine.py:InTime", *SMALL, near=('in time": 1.0', 'in time": 0.575'))
    assert code == 1
    (size,) = re.findall(
        r"Not caught: .*: the mean gain\. The power of this run is \d+ %\. Use --size (\S+),", out
    )
    assert float(size) > 0.4


def test_a_run_that_is_too_short_is_told_the_size_that_decides(cosim):
    code, out, _ = cosim("validate", "mine.py:InTime", "--size", "0.05")
    assert code == 1
    (size,) = re.findall(r"Too noisy: .*: share in time\. Use --size (\S+)\.", out)
    assert cosim("validate", "mine.py:InTime", "--size", size)[0] == 0


@pytest.mark.parametrize(
    ("word", "change", "said"),
    [
        ("mine.py", (), r"mine\.py: there is no law\..* Write class law\(analysis\.laws\.Law\)\."),
        ("mine.py:InTim", (), r"mine\.py:InTim: there is no InTim\. Did you mean InTime\? Write"),
        ("mine.py:system", (), r"mine\.py:system: gives System, no law\. Use a class"),
        ("mime.py:law", (), r"there is no file mime\.py\. Did you mean mine\.py\? Use"),
        ("mine.py:InTime", ("/ SNR)}", "/ SNR + math.nan)}"), r"predict, 'share in time': is nan, .* Use"),
        (
            "mine.py:InTime",
            ('gain": {"share in time"', 'gain": {"share in time (%)"'),
            r"mine\.py:InTime: wrong, 'the mean gain': 'share in time \(%\)' is 'share in time' of predict "
            r"in another unit\. Use one",
        ),
        (
            "mine.py:InTime",
            ("num_cells=1,", "num_cells=9,"),
            r"mine\.py:InTime: System\.num_cells = 9: .*\. Use at most 4\. \(line \d+ of .*mine\.py\)",
        ),
        (
            "mine.py:InTime",
            ('transfers["arrived"]', 'transfers["came"]'),
            r"mine\.py:InTime: KeyError: 'came' \(line \d+ of .*mine\.py\)\. Mend it\.",
        ),
        (
            "mine.py:InTime",
            ("    def wrong(self):", "    def wrongs(self):"),
            r"mine\.py:InTime: TypeError: Can't instantiate abstract class InTime .*Mend it\.",
        ),
    ],
)
def test_what_is_wrong_with_a_law_is_one_sentence(word, change, said, cosim):
    code, _, err = cosim("validate", word, *SMALL, **({"change": change} if change else {}))
    assert code == 2
    assert re.search(said, err), err
    assert "Traceback" not in err


def test_laws_are_listed_and_an_own_one_beside_them(cosim):
    code, out, _ = cosim("list", "laws")
    assert code == 0
    assert re.search(r"cosim validate delay-laws --laws mm1 +│ M/M/1", out)
    assert "cosim validate mine.py:law" in out


def test_an_own_law_goes_beside_ours(cosim):
    code, out, _ = cosim("validate", "delay-laws", "--laws", "together", "mine.py:InTime", *SMALL)
    assert code == 0
    assert "Wrong theories caught: 2 of 2" in out


@pytest.mark.parametrize(
    ("word", "folder"),
    [("mine.py:InTime", "mine-InTime"), ("./mine.py", "mine"), ("my.laws:Late", "my-laws-Late")],
)
def test_the_folder_is_called_as_the_law(word, folder):
    options = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scenarios.validate.delay_laws.laws_of", lambda names: {})
        options = of_own(word)
    assert options.out == f"validations/{folder}"


def test_runs_of_a_validation_have_seeds_of_their_own(monkeypatch):
    import cosim as package

    seeds = list[int]()
    monkeypatch.setattr(package, "run", lambda system: seeds.append(system.seed))
    clock = LawClock(seed=3, size=0.5)
    for number in range(3):
        clock.run(package.System(seed=9), number)
    assert seeds == [3, 3 + APART, 3 + 2 * APART]
    assert (clock.num(1000), clock.num(1)) == (500, 1)
